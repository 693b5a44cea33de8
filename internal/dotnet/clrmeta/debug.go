package clrmeta

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"fmt"
	"io"
)

// CodeView names the PDB that belongs to the image.
type CodeView struct {
	GUID     GUID
	Stamp    uint32 // the entry's time stamp: with the GUID the id of a portable PDB
	Age      uint32 // always 1 with portable PDBs
	Path     string // as the compiler wrote it, of any operating system
	Portable bool   // false: a Windows PDB or the map of precompiled code
}

// Checksum is a hash of the portable PDB with the 20 bytes of its id set to 0.
type Checksum struct {
	Algorithm string // SHA256
	Sum       []byte
}

// Debug is the debug directory (PE-COFF specification, extended by .NET).
type Debug struct {
	CodeView     []CodeView
	Checksums    []Checksum
	Reproducible bool // compiled with -deterministic
	embedded     []byte
}

// Types of entries in the debug directory.
const (
	debugCodeView     = 2
	debugReproducible = 16
	debugEmbedded     = 17
	debugChecksum     = 19
)

// portableVersion marks entries of portable PDBs in the minor version.
const portableVersion = 0x504D

// Debug reads the debug directory. An image without one has an empty Debug.
// Entries of unknown types are skipped.
func (im *Image) Debug() (*Debug, error) {
	d := &Debug{}
	if im.debug.address == 0 || im.debug.size == 0 {
		return d, nil
	}
	b, err := im.readAddress(im.debug, maxDebugEntries*28)
	if err != nil {
		return nil, fmt.Errorf("debug directory: %w", err)
	}
	for ; len(b) >= 28; b = b[28:] {
		if err := im.debugEntry(d, b[:28]); err != nil {
			return nil, fmt.Errorf("debug directory: %w", err)
		}
	}
	return d, nil
}

func (im *Image) debugEntry(d *Debug, e []byte) error {
	kind, limit := binary.LittleEndian.Uint32(e[12:]), uint32(maxDebugName)
	switch {
	case kind == debugReproducible:
		d.Reproducible = true
		return nil
	case kind == debugEmbedded && d.embedded == nil:
		limit = maxDebugData
	case kind != debugCodeView && kind != debugChecksum:
		return nil
	}
	size, offset := binary.LittleEndian.Uint32(e[16:]), binary.LittleEndian.Uint32(e[24:])
	if size > limit {
		return fmt.Errorf("entry of type %d with %d bytes: %w", kind, size, ErrMalformed)
	}
	data, err := im.read(int64(offset), int64(size))
	if err != nil {
		return fmt.Errorf("entry of type %d: %w", kind, err)
	}
	switch kind {
	case debugCodeView:
		if len(data) < 24 || string(data[:4]) != "RSDS" {
			return nil // an older form, never of a portable PDB
		}
		path, _, _ := bytes.Cut(data[24:], []byte{0})
		d.CodeView = append(d.CodeView, CodeView{
			GUID:     GUID(data[4:20]),
			Stamp:    binary.LittleEndian.Uint32(e[4:]),
			Age:      binary.LittleEndian.Uint32(data[20:]),
			Path:     string(path[:min(len(path), maxString)]),
			Portable: binary.LittleEndian.Uint16(e[10:]) == portableVersion,
		})
	case debugEmbedded:
		d.embedded = data
	case debugChecksum:
		name, sum, ok := bytes.Cut(data, []byte{0})
		if !ok || len(name) > maxString {
			return fmt.Errorf("checksum without an algorithm: %w", ErrMalformed)
		}
		d.Checksums = append(d.Checksums, Checksum{Algorithm: string(name), Sum: sum})
	}
	return nil
}

// HasEmbedded reports whether the image contains its portable PDB.
func (d *Debug) HasEmbedded() bool { return d.embedded != nil }

// Embedded returns the portable PDB inside the image: after the bytes MPDB and
// its size, compressed with deflate.
func (d *Debug) Embedded() ([]byte, error) {
	if len(d.embedded) < 8 || string(d.embedded[:4]) != "MPDB" {
		return nil, fmt.Errorf("embedded PDB: no MPDB signature: %w", ErrMalformed)
	}
	size := uint64(binary.LittleEndian.Uint32(d.embedded[4:]))
	packed := d.embedded[8:]
	if size > maxEmbedded {
		return nil, fmt.Errorf("embedded PDB: %d bytes: %w", size, ErrMalformed)
	}
	b, err := Inflate(packed, size)
	if err != nil {
		return nil, fmt.Errorf("embedded PDB: %w", err)
	}
	return b, nil
}

// Inflate returns the size bytes that were compressed with deflate. A size that so many bytes cannot have is refused
// before anything is allocated.
func Inflate(packed []byte, size uint64) ([]byte, error) {
	if size > maxInflate*uint64(len(packed)) {
		return nil, fmt.Errorf("%d bytes from %d: %w", size, len(packed), ErrMalformed)
	}
	b := make([]byte, size)
	if _, err := io.ReadFull(flate.NewReader(bytes.NewReader(packed)), b); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	return b, nil
}
