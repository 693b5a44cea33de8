package il

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// ErrMalformed is wrapped by all errors about bodies that cannot be read.
var ErrMalformed = errors.New("malformed body")

// The kinds of clauses (II.25.4.6).
const (
	Catch   = 0
	Filter  = 1
	Finally = 2
	Fault   = 4
)

// Clause is an exception clause: offsets in the code.
type Clause struct {
	Kind                             uint32
	Try, TryEnd, Handler, HandlerEnd int
	Token                            uint32 // of a filter its offset
}

// Body is a method's body (II.25.4).
type Body struct {
	MaxStack   int
	InitLocals bool
	Locals     uint32 // token of their signature, 0: none
	Code       []byte
	Clauses    []Clause
}

const (
	fatHeader = 12
	tinyStack = 8
	initFlag  = 0x10
	// MoreSects is the flag of a fat header behind whose code there are sections.
	MoreSects = 0x08
)

// In the first byte of a section (II.25.4.5).
const (
	SectFat  = 0x40 // its size has three bytes
	SectMore = 0x80 // another section follows
	SectKind = 0x3F // what it has: 1, clauses
)

// ReadBody reads a body: header, code and clauses.
func ReadBody(b []byte) (*Body, error) {
	body, sections, err := ReadHead(b)
	if err != nil || sections == 0 {
		return body, err
	}
	return body, body.readSections(b, sections)
}

// ReadHead reads header and code, and where sections begin; 0: there is none.
func ReadHead(b []byte) (body *Body, sections int, err error) {
	if len(b) == 0 {
		return nil, 0, fmt.Errorf("no bytes: %w", ErrMalformed)
	}
	if b[0]&3 == 2 {
		size := int(b[0] >> 2)
		if len(b) < 1+size {
			return nil, 0, fmt.Errorf("%d bytes of code: %w", size, ErrMalformed)
		}
		return &Body{MaxStack: tinyStack, Code: b[1 : 1+size]}, 0, nil
	}
	if b[0]&3 != 3 || len(b) < fatHeader || b[1]>>4 != fatHeader/4 {
		return nil, 0, fmt.Errorf("header % x: %w", b[:min(len(b), fatHeader)], ErrMalformed)
	}
	size := uint64(binary.LittleEndian.Uint32(b[4:]))
	if uint64(len(b)) < fatHeader+size {
		return nil, 0, fmt.Errorf("%d bytes of code: %w", size, ErrMalformed)
	}
	body = &Body{
		MaxStack: int(binary.LittleEndian.Uint16(b[2:])), InitLocals: b[0]&initFlag != 0,
		Locals: binary.LittleEndian.Uint32(b[8:]), Code: b[fatHeader : fatHeader+size],
	}
	if b[0]&MoreSects != 0 {
		sections = fatHeader + int(size)
	}
	return body, sections, nil
}

func (body *Body) readSections(b []byte, at int) error {
	for more := true; more; {
		at = (at + 3) &^ 3
		if len(b) < at+4 {
			return fmt.Errorf("section at %d: %w", at, ErrMalformed)
		}
		kind, size, each := b[at], int(b[at+1]), 12
		if kind&SectFat != 0 {
			size, each = int(binary.LittleEndian.Uint32(b[at:])>>8), 24
		}
		n := size / each // without the four bytes of the section's head, as the runtime counts
		if kind&SectKind != 1 || len(b) < at+4+n*each {
			return fmt.Errorf("section %#x of %d bytes at %d: %w", kind, size, at, ErrMalformed)
		}
		for i := range n {
			body.Clauses = append(body.Clauses, ReadClause(b[at+4+i*each:], kind&SectFat != 0))
		}
		at += max(size, 4)
		more = kind&SectMore != 0
	}
	return nil
}

// ReadClause reads a clause, which has 24 bytes in a fat section and 12 in others.
func ReadClause(b []byte, fat bool) Clause {
	u16 := func(at int) int { return int(binary.LittleEndian.Uint16(b[at:])) }
	u32 := func(at int) int { return int(binary.LittleEndian.Uint32(b[at:])) }
	if fat {
		return Clause{
			Kind: uint32(u32(0)), Try: u32(4), TryEnd: u32(4) + u32(8), Handler: u32(12), HandlerEnd: u32(12) + u32(16),
			Token: uint32(u32(20)),
		}
	}
	return Clause{
		Kind: uint32(u16(0)), Try: u16(2), TryEnd: u16(2) + int(b[4]), Handler: u16(5), HandlerEnd: u16(5) + int(b[7]),
		Token: uint32(u32(8)),
	}
}
