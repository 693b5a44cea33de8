package ppdb

import (
	"bytes"
	"crypto/sha1" // older compilers name files by it
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/clrprof/clrprof/internal/dotnet/clrmeta"
)

// maxSource bounds a source that is embedded, after decompression: generated files are some megabytes.
const maxSource = 16 << 20

// The kind of custom debug information that is a source, and the algorithms of hashes, as the format has them.
var (
	embeddedSource = clrmeta.GUID{0x1B, 0x57, 0x8A, 0x0E, 0x26, 0x69, 0x6E, 0x46, 0xB4, 0xAD, 0x8A, 0xB0, 0x46, 0x11,
		0xF5, 0xFE}
	hashSHA1 = clrmeta.GUID{0xEC, 0x16, 0x18, 0xFF, 0x5E, 0xAA, 0x10, 0x4D, 0x87, 0xF7, 0x6F, 0x49, 0x63, 0x83, 0x34,
		0x60}
	hashSHA256 = clrmeta.GUID{0x0F, 0xD0, 0x29, 0x88, 0xB8, 0x11, 0x13, 0x42, 0x87, 0x8B, 0x77, 0x0E, 0x85, 0x97, 0xAC,
		0x16}
)

// Hash is what a compiler read of a document, by one of two algorithms. The zero Hash is not known.
type Hash struct {
	algorithm clrmeta.GUID
	sum       []byte
}

// Known reports whether contents can be compared with the hash.
func (h Hash) Known() bool {
	return h.algorithm == hashSHA1 && len(h.sum) == sha1.Size || h.algorithm == hashSHA256 && len(h.sum) == sha256.Size
}

// Is reports whether the hash is that of a content. One that is not known is of none.
func (h Hash) Is(content []byte) bool {
	if !h.Known() {
		return false
	}
	if h.algorithm == hashSHA256 {
		sum := sha256.Sum256(content)
		return bytes.Equal(sum[:], h.sum)
	}
	sum := sha1.Sum(content)
	return bytes.Equal(sum[:], h.sum)
}

// FindDocument returns the document of a path, as the compiler wrote it; 0 if there is none.
func (p *PDB) FindDocument(name string) Document {
	for d := 1; d <= p.Documents(); d++ {
		if have, err := p.DocumentName(Document(d)); err == nil && have == name {
			return Document(d)
		}
	}
	return 0
}

// DocumentHash returns the hash of a document.
func (p *PDB) DocumentHash(d Document) (Hash, error) {
	algorithm, err := p.meta.GUIDAt(p.meta.Cell(clrmeta.TableDocument, uint32(d), 1))
	if err != nil {
		return Hash{}, fmt.Errorf("hash of document %d: %w", d, err)
	}
	sum, err := p.meta.BlobAt(p.meta.Cell(clrmeta.TableDocument, uint32(d), 2))
	if err != nil {
		return Hash{}, fmt.Errorf("hash of document %d: %w", d, err)
	}
	return Hash{algorithm, sum}, nil
}

// EmbeddedSource returns the source of a document that is in the PDB, nil if there is none: its size, if it is
// compressed, else 0, and then its bytes, which are what the compiler read.
func (p *PDB) EmbeddedSource(d Document) ([]byte, error) {
	blob, found, err := p.meta.CustomDebugInformation(clrmeta.MakeToken(clrmeta.TableDocument, uint32(d)),
		embeddedSource)
	if err != nil || !found {
		return nil, err
	}
	if len(blob) < 4 {
		return nil, fmt.Errorf("source of document %d: %d bytes: %w", d, len(blob), clrmeta.ErrMalformed)
	}
	size, content := binary.LittleEndian.Uint32(blob), blob[4:]
	switch {
	case max(uint64(size), uint64(len(content))) > maxSource:
		return nil, fmt.Errorf("source of document %d: more than %d bytes: %w", d, maxSource, clrmeta.ErrMalformed)
	case size == 0:
		return slices.Concat([]byte{}, content), nil
	}
	b, err := clrmeta.Inflate(content, uint64(size))
	if err != nil {
		return nil, fmt.Errorf("source of document %d: %w", d, err)
	}
	return b, nil
}
