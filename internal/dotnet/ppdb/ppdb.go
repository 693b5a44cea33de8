package ppdb

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/clrprof/clrprof/internal/dotnet/clrmeta"
)

// ErrWindows is wrapped by the error for a Windows PDB, the older format that
// other tools read.
var ErrWindows = errors.New("a Windows PDB, not a portable one")

// windowsMagic starts a Windows PDB.
const windowsMagic = "Microsoft C/C++ MSF 7.00\r\n"

const (
	// maxPath bounds the name of a document. Linux allows 4096 bytes, Windows
	// 32767 characters.
	maxPath = 32 << 10
	// hiddenLine is the line of hidden points in older tools; blobs mark them
	// in another way, but a writer may also use the number.
	hiddenLine = 0xFEEFEE
	// maxLine and maxColumn: the format ends lines before 0x20000000 and
	// columns before 0x10000.
	maxLine   = 0x20000000
	maxColumn = 0x10000
	// maxOffset: method bodies are smaller than 2²⁹ bytes.
	maxOffset = 0x20000000
)

// ID identifies a PDB. GUID and Stamp are those of the CodeView entry of the
// assembly that it belongs to.
type ID struct {
	GUID  clrmeta.GUID
	Stamp uint32
}

// Document is a row of the Document table, counted from 1; 0 is "none".
type Document uint32

// PDB is an open portable PDB.
type PDB struct {
	meta  *clrmeta.Metadata
	id    ID
	entry clrmeta.Token
}

// Open reads a portable PDB. It keeps b, which must not change afterwards.
func Open(b []byte) (*PDB, error) {
	if bytes.HasPrefix(b, []byte(windowsMagic)) {
		return nil, fmt.Errorf("PDB: %w", ErrWindows)
	}
	meta, err := clrmeta.Parse(b)
	if err != nil {
		return nil, fmt.Errorf("PDB: %w", err)
	}
	stream := meta.PDBStream()
	if stream == nil {
		return nil, fmt.Errorf("PDB: no #Pdb stream: %w", clrmeta.ErrMalformed)
	}
	p := &PDB{
		meta: meta,
		id: ID{
			GUID:  clrmeta.GUID(stream[:16]),
			Stamp: binary.LittleEndian.Uint32(stream[16:]),
		},
		entry: clrmeta.Token(binary.LittleEndian.Uint32(stream[20:])),
	}
	return p, nil
}

// ID returns what the PDB says it belongs to.
func (p *PDB) ID() ID { return p.id }

// EntryPoint is the MethodDef where the program starts, 0 in a library.
func (p *PDB) EntryPoint() clrmeta.Token { return p.entry }

// Methods is the number of methods of the assembly; their tokens have the rows
// from 1.
func (p *PDB) Methods() int { return int(p.meta.Rows(clrmeta.TableMethodDebugInformation)) }

// Documents is the number of documents.
func (p *PDB) Documents() int { return int(p.meta.Rows(clrmeta.TableDocument)) }

// StateMachine links the method that runs a state machine with the method that
// the programmer wrote.
type StateMachine struct {
	MoveNext, Kickoff clrmeta.Token
}

// StateMachines lists the StateMachineMethod table.
func (p *PDB) StateMachines() []StateMachine {
	n := p.meta.Rows(clrmeta.TableStateMachineMethod)
	machines := make([]StateMachine, 0, n)
	for row := uint32(1); row <= n; row++ {
		machines = append(machines, StateMachine{
			MoveNext: clrmeta.MakeToken(clrmeta.TableMethodDef, p.meta.Cell(clrmeta.TableStateMachineMethod, row, 0)),
			Kickoff:  clrmeta.MakeToken(clrmeta.TableMethodDef, p.meta.Cell(clrmeta.TableStateMachineMethod, row, 1)),
		})
	}
	return machines
}

// DocumentName returns the path of a document as the compiler wrote it. In the
// file it is a list of parts, each stored once, with a separator.
func (p *PDB) DocumentName(d Document) (string, error) {
	if d == 0 || uint32(d) > p.meta.Rows(clrmeta.TableDocument) {
		return "", fmt.Errorf("document %d: no such row: %w", d, clrmeta.ErrMalformed)
	}
	blob, err := p.meta.BlobAt(p.meta.Cell(clrmeta.TableDocument, uint32(d), 0))
	if err != nil {
		return "", fmt.Errorf("document %d: %w", d, err)
	}
	name, err := p.joinParts(blob)
	if err != nil {
		return "", fmt.Errorf("document %d: %w", d, err)
	}
	return name, nil
}

func (p *PDB) joinParts(blob []byte) (string, error) {
	if len(blob) == 0 {
		return "", nil
	}
	separator, size := utf8.DecodeRune(blob)
	if separator == utf8.RuneError {
		return "", fmt.Errorf("separator is not UTF-8: %w", clrmeta.ErrMalformed)
	}
	r := clrmeta.NewBlobReader(blob[size:])
	var b strings.Builder
	for first := true; r.Len() > 0; first = false {
		part, err := p.meta.BlobAt(r.Unsigned())
		if err != nil {
			return "", err
		}
		if !first && separator != 0 {
			b.WriteRune(separator)
		}
		if b.Len()+len(part) > maxPath {
			return "", fmt.Errorf("path longer than %d bytes: %w", maxPath, clrmeta.ErrMalformed)
		}
		b.Write(part)
	}
	if r.Err() != nil {
		return "", r.Err()
	}
	return strings.ToValidUTF8(b.String(), "\uFFFD"), nil
}
