package clrmeta

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"strings"
	"unicode/utf16"
)

// ErrMalformed is wrapped by every error about bytes that break the format.
var ErrMalformed = errors.New("malformed")

// Metadata is the metadata of one module or portable PDB: its heaps and
// tables. It refers to the bytes that it was made from.
type Metadata struct {
	version string
	strings string // a string, so that names share its memory: a name can be used by many rows
	blobs   []byte
	texts   []byte // of the strings that code loads
	guids   []byte
	pdb     []byte
	tables  [tableCount]table
	// methodOrder maps a method's row to its row in the pointer table of
	// uncompressed metadata; nil if there is none.
	methodOrder []uint32
}

// table is where one table lies, and how wide its columns are.
type table struct {
	data    []byte
	rows    uint32
	rowSize int
	offsets []uint8 // of each column in a row
	widths  []uint8 // 2 or 4
}

// Parse reads raw metadata (ECMA-335 II.24.2.1), as in an assembly or as a
// portable PDB. It keeps b, which must not change afterwards.
func Parse(b []byte) (*Metadata, error) {
	streams, version, err := parseRoot(b)
	if err != nil {
		return nil, fmt.Errorf("metadata root: %w", err)
	}
	m := &Metadata{
		version: version,
		strings: string(streams["#Strings"]),
		blobs:   streams["#Blob"],
		texts:   streams["#US"],
		guids:   streams["#GUID"],
		pdb:     streams["#Pdb"],
	}
	tables := streams["#~"]
	if tables == nil {
		tables = streams["#-"]
	}
	if tables == nil {
		return nil, fmt.Errorf("metadata root: no table stream: %w", ErrMalformed)
	}
	if err := m.parseTables(tables); err != nil {
		return nil, fmt.Errorf("metadata tables: %w", err)
	}
	m.orderMethods()
	return m, nil
}

// parseRoot returns the streams by name. Of streams of one name the first
// counts.
func parseRoot(b []byte) (map[string][]byte, string, error) {
	if len(b) < 20 || binary.LittleEndian.Uint32(b) != 0x424A5342 {
		return nil, "", fmt.Errorf("no BSJB signature: %w", ErrMalformed)
	}
	n := binary.LittleEndian.Uint32(b[12:])
	if n > maxVersion || int(n)+20 > len(b) {
		return nil, "", fmt.Errorf("version of %d bytes: %w", n, ErrMalformed)
	}
	version, _, _ := bytes.Cut(b[16:16+n], []byte{0})
	count := int(binary.LittleEndian.Uint16(b[16+n+2:]))
	if count > maxStreams {
		return nil, "", fmt.Errorf("%d streams: %w", count, ErrMalformed)
	}
	streams := make(map[string][]byte, count)
	rest := b[16+n+4:]
	for range count {
		if len(rest) < 8 {
			return nil, "", fmt.Errorf("stream header beyond the end: %w", ErrMalformed)
		}
		offset, size := binary.LittleEndian.Uint32(rest), binary.LittleEndian.Uint32(rest[4:])
		rest = rest[8:]
		end := bytes.IndexByte(rest[:min(len(rest), 32)], 0)
		if end < 0 {
			return nil, "", fmt.Errorf("stream name without end: %w", ErrMalformed)
		}
		name := string(rest[:end])
		rest = rest[min(len(rest), (end+4)&^3):]
		if uint64(offset)+uint64(size) > uint64(len(b)) {
			return nil, "", fmt.Errorf("stream %q beyond the end: %w", name, ErrMalformed)
		}
		if _, dup := streams[name]; !dup {
			streams[name] = b[offset : offset+size : offset+size]
		}
	}
	return streams, string(version), nil
}

// parseTables reads the table stream (II.24.2.6): which tables there are, how
// many rows they have, and from that where they lie.
func (m *Metadata) parseTables(b []byte) error {
	if len(b) < 24 {
		return fmt.Errorf("stream of %d bytes: %w", len(b), ErrMalformed)
	}
	heapSizes := b[6]
	valid := binary.LittleEndian.Uint64(b[8:])
	rest := b[24:]
	if valid>>tableCount != 0 {
		return fmt.Errorf("unknown tables %#x: %w", valid, ErrMalformed)
	}
	for t := range m.tables {
		if valid>>t&1 == 0 {
			continue
		}
		if schema[t] == nil {
			return fmt.Errorf("unknown table %#x: %w", t, ErrMalformed)
		}
		if len(rest) < 4 {
			return fmt.Errorf("row counts beyond the end: %w", ErrMalformed)
		}
		m.tables[t].rows = binary.LittleEndian.Uint32(rest)
		rest = rest[4:]
	}
	if heapSizes&0x40 != 0 { // extra data, written by edit-and-continue
		if len(rest) < 4 {
			return fmt.Errorf("extra data beyond the end: %w", ErrMalformed)
		}
		rest = rest[4:]
	}
	counts, err := m.rowCounts()
	if err != nil {
		return err
	}
	for t := range m.tables {
		tb := &m.tables[t]
		tb.layout(schema[t], heapSizes, &counts)
		if tb.rows == 0 {
			continue
		}
		size := uint64(tb.rows) * uint64(tb.rowSize)
		if tb.rows > 0xFFFFFF || size > uint64(len(rest)) {
			return fmt.Errorf("table %#x with %d rows beyond the end: %w", t, tb.rows, ErrMalformed)
		}
		tb.data, rest = rest[:size], rest[size:]
	}
	return nil
}

// rowCounts returns the row counts that decide how wide indexes are. In a
// portable PDB those of the type system tables stand in the #Pdb stream, since
// the tables themselves are in the assembly.
func (m *Metadata) rowCounts() (counts [tableCount]uint32, err error) {
	for t := range m.tables {
		counts[t] = m.tables[t].rows
	}
	if m.pdb == nil {
		return counts, nil
	}
	if len(m.pdb) < 32 {
		return counts, fmt.Errorf("#Pdb stream of %d bytes: %w", len(m.pdb), ErrMalformed)
	}
	referenced := binary.LittleEndian.Uint64(m.pdb[24:])
	rest := m.pdb[32:]
	if referenced>>tableCount != 0 || len(rest) < 4*bits.OnesCount64(referenced) {
		return counts, fmt.Errorf("#Pdb stream refers to tables %#x: %w", referenced, ErrMalformed)
	}
	for t := range counts {
		if referenced>>t&1 != 0 {
			counts[t] = max(counts[t], binary.LittleEndian.Uint32(rest))
			rest = rest[4:]
		}
	}
	return counts, nil
}

// layout computes widths and offsets of the columns.
func (tb *table) layout(cols []column, heapSizes byte, counts *[tableCount]uint32) {
	tb.offsets = make([]uint8, len(cols))
	tb.widths = make([]uint8, len(cols))
	for i, c := range cols {
		wide := false
		switch {
		case c < tableCount:
			wide = counts[c] > 0xFFFF
		case c == colU4:
			wide = true
		case c == colString:
			wide = heapSizes&1 != 0
		case c == colGUID:
			wide = heapSizes&2 != 0
		case c == colBlob:
			wide = heapSizes&4 != 0
		case c >= codedBase:
			limit := uint32(0xFFFF) >> tagBits(c)
			for _, t := range coded[c-codedBase] {
				wide = wide || t != noTable && counts[t] > limit
			}
		}
		tb.offsets[i], tb.widths[i] = uint8(tb.rowSize), 2
		if wide {
			tb.widths[i] = 4
		}
		tb.rowSize += int(tb.widths[i])
	}
}

// orderMethods inverts the MethodPtr table.
func (m *Metadata) orderMethods() {
	n := m.Rows(TableMethodPtr)
	if n == 0 {
		return
	}
	m.methodOrder = make([]uint32, m.Rows(TableMethodDef)+1)
	for row := n; row > 0; row-- {
		if method := m.Cell(TableMethodPtr, row, 0); method < uint32(len(m.methodOrder)) {
			m.methodOrder[method] = row
		}
	}
}

// Version is the version string of the metadata: v4.0.30319 in assemblies,
// "PDB v1.0" in portable PDBs.
func (m *Metadata) Version() string { return m.version }

// PDBStream is the #Pdb stream of a portable PDB, nil in an assembly.
func (m *Metadata) PDBStream() []byte { return m.pdb }

// Rows is the number of rows of a table.
func (m *Metadata) Rows(t Table) uint32 {
	if t >= tableCount {
		return 0
	}
	return m.tables[t].rows
}

// Cell reads one column of a row, both of which a caller takes from the
// specification: columns count from 0, rows from 1. Heap and table indexes come
// as they are stored. It is 0 if there is no such row or column.
func (m *Metadata) Cell(t Table, row uint32, col int) uint32 {
	if t >= tableCount {
		return 0
	}
	tb := &m.tables[t]
	if row == 0 || row > tb.rows || col < 0 || col >= len(tb.offsets) {
		return 0
	}
	at := int(row-1)*tb.rowSize + int(tb.offsets[col])
	if tb.widths[col] == 2 {
		return uint32(binary.LittleEndian.Uint16(tb.data[at:]))
	}
	return binary.LittleEndian.Uint32(tb.data[at:])
}

// codedCell reads a coded index as a token: 0 for none and for a tag without
// meaning.
func (m *Metadata) codedCell(t Table, row uint32, col int) Token {
	return decodeCoded(schema[t][col], m.Cell(t, row, col))
}

func decodeCoded(c column, v uint32) Token {
	tables := coded[c-codedBase]
	n := tagBits(c)
	tag, row := v&(1<<n-1), v>>n
	if int(tag) >= len(tables) || tables[tag] == noTable || row == 0 || row > 0xFFFFFF {
		return 0
	}
	return MakeToken(tables[tag], row)
}

// StringAt reads the string heap (II.24.2.3). Index 0 is the empty string.
func (m *Metadata) StringAt(index uint32) (string, error) {
	if index == 0 {
		return "", nil
	}
	if uint64(index) >= uint64(len(m.strings)) {
		return "", fmt.Errorf("string %#x beyond the heap: %w", index, ErrMalformed)
	}
	b := m.strings[index:]
	end := strings.IndexByte(b[:min(len(b), maxString+1)], 0)
	if end < 0 {
		return "", fmt.Errorf("string %#x without end: %w", index, ErrMalformed)
	}
	return b[:end], nil
}

// BlobAt reads the blob heap (II.24.2.4). Index 0 is the empty blob. The result
// is part of the metadata and must not be changed.
func (m *Metadata) BlobAt(index uint32) ([]byte, error) {
	if index == 0 {
		return nil, nil
	}
	if uint64(index) >= uint64(len(m.blobs)) {
		return nil, fmt.Errorf("blob %#x beyond the heap: %w", index, ErrMalformed)
	}
	b, err := counted(m.blobs[index:])
	if err != nil {
		return nil, fmt.Errorf("blob %#x: %w", index, err)
	}
	return b, nil
}

// counted reads bytes behind their number.
func counted(b []byte) ([]byte, error) {
	r := NewBlobReader(b)
	n := r.Unsigned()
	b = r.Bytes(int(n))
	return b, r.Err()
}

// CodeString returns a string that code loads (ldstr), by its token: the number 0x70, and the offset in the heap of
// user strings (II.24.2.4), where it has a last byte of flags behind its UTF-16.
func (m *Metadata) CodeString(t Token) (string, error) {
	const userString = 0x70
	if t.Table() != userString || int64(t.Row()) >= int64(len(m.texts)) {
		return "", fmt.Errorf("string of code, %v: no such string: %w", t, ErrMalformed)
	}
	b, err := counted(m.texts[t.Row():])
	if err != nil {
		return "", fmt.Errorf("string of code, %v: %w", t, err)
	}
	units := make([]uint16, len(b)/2)
	for i := range units {
		units[i] = binary.LittleEndian.Uint16(b[2*i:])
	}
	return string(utf16.Decode(units)), nil
}

// GUIDAt reads the GUID heap (II.24.2.5), which is indexed from 1. Index 0 is
// the zero GUID.
func (m *Metadata) GUIDAt(index uint32) (GUID, error) {
	if index == 0 {
		return GUID{}, nil
	}
	end := uint64(index) * 16
	if end > uint64(len(m.guids)) {
		return GUID{}, fmt.Errorf("GUID %d beyond the heap: %w", index, ErrMalformed)
	}
	return GUID(m.guids[end-16 : end]), nil
}
