package bundle

import (
	"bufio"
	"bytes"
	"compress/flate"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
)

const (
	// maxHost bounds how far into an executable the signature is looked for. The
	// hosts of .NET have 10 to 15 MB, the runtime included.
	maxHost = 64 << 20
	// maxFiles bounds the entries of one bundle. A large web server has 500.
	maxFiles = 1 << 16
	// maxPath bounds the path of an entry, in bytes: PATH_MAX of Linux.
	maxPath = 4096
	// maxInflated bounds a compressed file that is read into memory. The largest
	// assembly of the frameworks has 15 MB.
	maxInflated = 1 << 28
)

// signature is the SHA-256 of ".net core bundle".
var signature = []byte(
	"\x8b\x12\x02\xb9\x6a\x61\x20\x38\x72\x7b\x93\x02\x14\xd7\xa0\x32\x13\xf5\xb9\xe6\xef\xae\x33\x18\xee\x3b\x2d\xce\x24\xb3\x6a\xae")

// errNone means that an executable is no single-file application.
var errNone = errors.New("no single-file application")

// Entry is where a file lies in the executable. Offsets and sizes are in bytes.
type Entry struct {
	Path       string // relative, with slashes
	Offset     int64
	Size       int64
	Compressed int64 // size in the executable; 0 if it is not compressed
}

// Read lists the files in the executable f, of so many bytes. If it has none the
// error is [errNone].
func Read(f io.ReaderAt, size int64) ([]Entry, error) {
	header, err := findHeader(f, size)
	if err != nil {
		return nil, err
	}
	r := reader{r: bufio.NewReader(io.NewSectionReader(f, header, size-header))}
	major := r.uint32()
	r.uint32() // minor version
	n := r.uint32()
	r.string() // id
	if major >= 2 {
		r.skip(4*8 + 8) // two files' places, flags
	}
	if r.err == nil && (major == 0 || n > maxFiles) {
		return nil, fmt.Errorf("reading a bundle's header: version %d, %d files", major, n)
	}
	var entries []Entry
	for range n {
		e := Entry{Offset: r.int64(), Size: r.int64()}
		if major >= 6 {
			e.Compressed = r.int64()
		}
		r.skip(1) // type
		e.Path = r.string()
		if r.err != nil {
			break
		}
		stored := e.Size
		if e.Compressed != 0 {
			stored = e.Compressed
		}
		if e.Size < 0 || stored < 0 || e.Offset < 0 || e.Offset > size-stored {
			return nil, fmt.Errorf("reading a bundle: %.100q lies outside of the file", e.Path)
		}
		entries = append(entries, e)
	}
	if r.err != nil {
		return nil, fmt.Errorf("reading a bundle's entries: %w", r.err)
	}
	return entries, nil
}

// findHeader looks for the signature and returns the offset before it.
func findHeader(f io.ReaderAt, size int64) (int64, error) {
	const piece = 1 << 20
	buf := make([]byte, piece)
	overlap := int64(len(signature) + 8 - 1)
	for at := int64(0); at < min(size, maxHost); at += piece - overlap {
		n, err := f.ReadAt(buf, at)
		if err != nil && !errors.Is(err, io.EOF) {
			return 0, fmt.Errorf("looking for a bundle: %w", err)
		}
		i := bytes.Index(buf[:n], signature)
		if i < 8 {
			continue
		}
		header := int64(binary.LittleEndian.Uint64(buf[i-8:]))
		if header <= 0 || header >= size {
			return 0, errNone
		}
		return header, nil
	}
	return 0, errNone
}

// Open returns the content of an entry in the executable f, and its size.
func (e Entry) Open(f io.ReaderAt) (io.ReaderAt, int64, error) {
	if e.Compressed == 0 {
		return io.NewSectionReader(f, e.Offset, e.Size), e.Size, nil
	}
	if e.Size > maxInflated {
		return nil, 0, fmt.Errorf("reading %.100q in a bundle: %d bytes are too many", e.Path, e.Size)
	}
	inflated := flate.NewReader(io.NewSectionReader(f, e.Offset, e.Compressed))
	var b bytes.Buffer
	n, err := io.Copy(&b, io.LimitReader(inflated, e.Size+1))
	if err == nil && n != e.Size {
		err = fmt.Errorf("it has not the %d bytes that it should", e.Size)
	}
	if err != nil {
		return nil, 0, fmt.Errorf("inflating %.100q in a bundle: %w", e.Path, err)
	}
	return bytes.NewReader(b.Bytes()), e.Size, nil
}

// reader reads numbers and strings; after an error it returns zeros.
type reader struct {
	r   *bufio.Reader
	err error
}

func (r *reader) bytes(n int) []byte {
	b := make([]byte, n)
	if r.err == nil {
		_, r.err = io.ReadFull(r.r, b)
	}
	if r.err != nil {
		clear(b)
	}
	return b
}

func (r *reader) skip(n int)     { r.bytes(n) }
func (r *reader) uint32() uint32 { return binary.LittleEndian.Uint32(r.bytes(4)) }

// int64 reads a number that is not negative.
func (r *reader) int64() int64 {
	v := binary.LittleEndian.Uint64(r.bytes(8))
	if v > math.MaxInt64 && r.err == nil {
		r.err = fmt.Errorf("%#x is no offset or size", v)
		return 0
	}
	return int64(v)
}

func (r *reader) string() string {
	length := 0
	for shift := 0; ; shift += 7 {
		b := r.bytes(1)[0]
		length |= int(b&0x7f) << shift
		if b < 0x80 {
			break
		}
		if shift >= 14 { // more than maxPath anyway
			length = maxPath + 1
			break
		}
	}
	if length > maxPath && r.err == nil {
		r.err = fmt.Errorf("a string has more than %d bytes", maxPath)
	}
	if r.err != nil {
		return ""
	}
	return string(r.bytes(length))
}
