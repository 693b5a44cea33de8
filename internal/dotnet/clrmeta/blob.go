package clrmeta

import "fmt"

// BlobReader reads the contents of a blob from front to back. The first error
// stays; after it every read gives zero, so that a caller checks Err once, at
// the end or before it relies on a value.
type BlobReader struct {
	b   []byte
	err error
}

// NewBlobReader returns a reader of b.
func NewBlobReader(b []byte) *BlobReader { return &BlobReader{b: b} }

// Err is the first error; it wraps [ErrMalformed].
func (r *BlobReader) Err() error { return r.err }

// Len is the number of bytes left, 0 after an error.
func (r *BlobReader) Len() int {
	if r.err != nil {
		return 0
	}
	return len(r.b)
}

func (r *BlobReader) fail(what string) {
	if r.err == nil {
		r.err = fmt.Errorf("%s: %w", what, ErrMalformed)
	}
}

// Bytes takes the next n bytes, without a copy.
func (r *BlobReader) Bytes(n int) []byte {
	if n < 0 || n > len(r.b) {
		r.fail("blob ends too early")
	}
	if r.err != nil {
		return nil
	}
	b := r.b[:n:n]
	r.b = r.b[n:]
	return b
}

// Byte takes the next byte.
func (r *BlobReader) Byte() byte {
	if b := r.Bytes(1); b != nil {
		return b[0]
	}
	return 0
}

// peek is the next byte, which stays; 0 at the end.
func (r *BlobReader) peek() byte {
	if r.Len() == 0 {
		return 0
	}
	return r.b[0]
}

// compressed takes a compressed integer and the number of bits that it had
// (ECMA-335 II.23.2): 7, 14 or 29.
func (r *BlobReader) compressed() (v uint32, width int) {
	first := r.Byte()
	switch {
	case first&0x80 == 0:
		return uint32(first), 7
	case first&0xC0 == 0x80:
		return uint32(first&0x3F)<<8 | uint32(r.Byte()), 14
	case first&0xE0 == 0xC0:
		b := r.Bytes(3)
		if b == nil {
			return 0, 29
		}
		return uint32(first&0x1F)<<24 | uint32(b[0])<<16 | uint32(b[1])<<8 | uint32(b[2]), 29
	}
	r.fail("integer with an invalid first byte")
	return 0, 7
}

// Unsigned takes a compressed unsigned integer, below 2²⁹.
func (r *BlobReader) Unsigned() uint32 {
	v, _ := r.compressed()
	if r.err != nil {
		return 0
	}
	return v
}

// Signed takes a compressed signed integer: the sign is the lowest bit, and the
// rest is two's complement within the width that is left.
func (r *BlobReader) Signed() int32 {
	v, width := r.compressed()
	if r.err != nil {
		return 0
	}
	n := int32(v >> 1)
	if v&1 != 0 {
		n -= 1 << (width - 1)
	}
	return n
}

// typeDefOrRef takes a token in the encoding of II.23.2.8.
func (r *BlobReader) typeDefOrRef() Token {
	v := r.Unsigned()
	if r.err != nil {
		return 0
	}
	t := decodeCoded(typeDefOrRef, v)
	if t == 0 && v > 3 {
		r.fail("type token with an invalid tag")
	}
	return t
}
