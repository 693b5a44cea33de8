package clrmeta

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// Errors that say what a file is not. Both come wrapped.
var (
	ErrNotPE      = errors.New("not a PE file")
	ErrNotManaged = errors.New("not a .NET module")
)

// Image is a PE file with metadata.
type Image struct {
	r        io.ReaderAt
	size     int64
	sections []section
	debug    directory
	meta     *Metadata
}

// section maps addresses of the loaded image to offsets in the file.
type section struct {
	address, size uint32 // where it is loaded
	offset, bytes uint32 // where it is in the file
}

// directory is an entry of the data directories (II.25.2.3.3).
type directory struct{ address, size uint32 }

// Open reads the headers and the metadata of a PE file of size bytes. It reads
// more only in [Image.Debug]; r must stay readable until then.
func Open(r io.ReaderAt, size int64) (*Image, error) {
	im := &Image{r: r, size: size}
	cli, err := im.readHeaders()
	if err != nil {
		return nil, fmt.Errorf("PE headers: %w", err)
	}
	if cli.address == 0 || cli.size < 16 {
		return nil, fmt.Errorf("PE headers: %w", ErrNotManaged)
	}
	header, err := im.readAddress(directory{cli.address, 16}, 16)
	if err != nil {
		return nil, fmt.Errorf("CLI header: %w", err)
	}
	where := directory{binary.LittleEndian.Uint32(header[8:]), binary.LittleEndian.Uint32(header[12:])}
	b, err := im.readAddress(where, maxMetadata)
	if err != nil {
		return nil, fmt.Errorf("metadata: %w", err)
	}
	im.meta, err = Parse(b)
	if err != nil {
		return nil, err
	}
	return im, nil
}

// Metadata returns the metadata of the image.
func (im *Image) Metadata() *Metadata { return im.meta }

// read returns n bytes of the file from offset.
func (im *Image) read(offset, n int64) ([]byte, error) {
	if offset < 0 || n < 0 || offset > im.size || n > im.size-offset {
		return nil, fmt.Errorf("%d bytes at %#x are beyond the file: %w", n, offset, ErrMalformed)
	}
	b := make([]byte, n)
	// io.ReaderAt may give EOF together with all bytes. Fewer are an error: the
	// size was checked, so the file shrank.
	if got, err := im.r.ReadAt(b, offset); int64(got) < n {
		return nil, fmt.Errorf("%d bytes at %#x: %w", n, offset, err)
	}
	return b, nil
}

// readAddress returns the bytes that a directory names, at most limit.
func (im *Image) readAddress(d directory, limit uint32) ([]byte, error) {
	if d.size > limit {
		return nil, fmt.Errorf("%d bytes at address %#x: more than %d: %w", d.size, d.address, limit, ErrMalformed)
	}
	for _, s := range im.sections {
		if d.address >= s.address && d.address-s.address < max(s.size, s.bytes) {
			at := d.address - s.address
			if uint64(at)+uint64(d.size) > uint64(s.bytes) {
				break
			}
			return im.read(int64(s.offset)+int64(at), int64(d.size))
		}
	}
	return nil, fmt.Errorf("%d bytes at address %#x are in no section: %w", d.size, d.address, ErrMalformed)
}

// readHeaders reads the PE headers (II.25.2) and returns the CLI header's
// directory.
func (im *Image) readHeaders() (cli directory, err error) {
	dos, err := im.read(0, 64)
	if err != nil || dos[0] != 'M' || dos[1] != 'Z' {
		return cli, errors.Join(ErrNotPE, err)
	}
	at := int64(binary.LittleEndian.Uint32(dos[60:]))
	coff, err := im.read(at, 24)
	if err != nil || string(coff[:4]) != "PE\x00\x00" {
		return cli, errors.Join(ErrNotPE, err)
	}
	count := int64(binary.LittleEndian.Uint16(coff[6:]))
	optional, err := im.read(at+24, int64(binary.LittleEndian.Uint16(coff[20:])))
	if err != nil {
		return cli, err
	}
	if count > maxSections {
		return cli, fmt.Errorf("%d sections: %w", count, ErrMalformed)
	}
	table, err := im.read(at+24+int64(len(optional)), count*40)
	if err != nil {
		return cli, err
	}
	for ; len(table) > 0; table = table[40:] {
		im.sections = append(im.sections, section{
			size: binary.LittleEndian.Uint32(table[8:]), address: binary.LittleEndian.Uint32(table[12:]),
			bytes: binary.LittleEndian.Uint32(table[16:]), offset: binary.LittleEndian.Uint32(table[20:]),
		})
	}
	directories, err := dataDirectories(optional)
	if err != nil {
		return cli, err
	}
	im.debug = directoryAt(directories, 6)
	return directoryAt(directories, 14), nil
}

// dataDirectories returns the part of the optional header that lists the data
// directories. The magic number says whether the header is of the 32-bit or of
// the 64-bit form.
func dataDirectories(optional []byte) ([]byte, error) {
	if len(optional) < 2 {
		return nil, fmt.Errorf("no optional header: %w", ErrMalformed)
	}
	start := 0
	switch magic := binary.LittleEndian.Uint16(optional); magic {
	case 0x10B:
		start = 96
	case 0x20B:
		start = 112
	default:
		return nil, fmt.Errorf("optional header of kind %#x: %w", magic, ErrMalformed)
	}
	if len(optional) < start {
		return nil, fmt.Errorf("optional header of %d bytes: %w", len(optional), ErrMalformed)
	}
	count := binary.LittleEndian.Uint32(optional[start-4:])
	b := optional[start:]
	return b[:min(uint64(len(b)), uint64(count)*8)], nil
}

func directoryAt(b []byte, i int) directory {
	if len(b) < i*8+8 {
		return directory{}
	}
	return directory{binary.LittleEndian.Uint32(b[i*8:]), binary.LittleEndian.Uint32(b[i*8+4:])}
}
