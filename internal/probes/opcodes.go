package probes

import (
	"encoding/binary"
	"fmt"
)

// Opcodes with a meaning here; those of two bytes are 0xFE00 and the second.
const (
	opNop         = 0x00
	opLdcI8       = 0x21
	opJmp         = 0x27
	opCall        = 0x28
	opCalli       = 0x29
	opRet         = 0x2A
	opBrS         = 0x2B
	opBrtrue      = 0x3A
	opSwitch      = 0x45
	opCallvirt    = 0x6F
	opNewobj      = 0x73
	opThrow       = 0x7A
	opLdtoken     = 0xD0
	opConvI       = 0xD3
	opEndfinally  = 0xDC
	opLeave       = 0xDD
	opLeaveS      = 0xDE
	opArglist     = 0xFE00
	opLdftn       = 0xFE06
	opLdvirtftn   = 0xFE07
	opEndfilter   = 0xFE11
	opUnaligned   = 0xFE12
	opVolatile    = 0xFE13
	opTail        = 0xFE14
	opConstrained = 0xFE16
	opNo          = 0xFE19
	opRethrow     = 0xFE1A
	opReadonly    = 0xFE1E
)

// ops are the instructions (ECMA-335 III, table 1): from and to, bytes of the operand, and what they take from the
// stack and put there. Those of calls, returns and leave depend on more.
var ops = []struct{ from, to, operand, pop, push int }{
	{0x00, 0x01, 0, 0, 0}, {0x02, 0x09, 0, 0, 1}, {0x0A, 0x0D, 0, 1, 0}, {0x0E, 0x0F, 1, 0, 1}, {0x10, 0x10, 1, 1, 0},
	{0x11, 0x12, 1, 0, 1}, {0x13, 0x13, 1, 1, 0}, {0x14, 0x1E, 0, 0, 1}, {0x1F, 0x1F, 1, 0, 1}, {0x20, 0x20, 4, 0, 1},
	{0x21, 0x21, 8, 0, 1}, {0x22, 0x22, 4, 0, 1}, {0x23, 0x23, 8, 0, 1}, {0x25, 0x25, 0, 1, 2}, {0x26, 0x26, 0, 1, 0},
	{0x27, 0x29, 4, 0, 0}, {0x2A, 0x2A, 0, 0, 0}, {0x2B, 0x2B, 1, 0, 0}, {0x2C, 0x2D, 1, 1, 0}, {0x2E, 0x37, 1, 2, 0},
	{0x38, 0x38, 4, 0, 0}, {0x39, 0x3A, 4, 1, 0}, {0x3B, 0x44, 4, 2, 0}, {0x45, 0x45, 4, 1, 0}, {0x46, 0x50, 0, 1, 1},
	{0x51, 0x57, 0, 2, 0}, {0x58, 0x64, 0, 2, 1}, {0x65, 0x6E, 0, 1, 1}, {0x6F, 0x6F, 4, 0, 0}, {0x70, 0x70, 4, 2, 0},
	{0x71, 0x71, 4, 1, 1}, {0x72, 0x72, 4, 0, 1}, {0x73, 0x73, 4, 0, 0}, {0x74, 0x75, 4, 1, 1}, {0x76, 0x76, 0, 1, 1},
	{0x79, 0x79, 4, 1, 1}, {0x7A, 0x7A, 0, 1, 0}, {0x7B, 0x7C, 4, 1, 1}, {0x7D, 0x7D, 4, 2, 0}, {0x7E, 0x7F, 4, 0, 1},
	{0x80, 0x80, 4, 1, 0}, {0x81, 0x81, 4, 2, 0}, {0x82, 0x8B, 0, 1, 1}, {0x8C, 0x8D, 4, 1, 1}, {0x8E, 0x8E, 0, 1, 1},
	{0x8F, 0x8F, 4, 2, 1}, {0x90, 0x9A, 0, 2, 1}, {0x9B, 0xA2, 0, 3, 0}, {0xA3, 0xA3, 4, 2, 1}, {0xA4, 0xA4, 4, 3, 0},
	{0xA5, 0xA5, 4, 1, 1}, {0xB3, 0xBA, 0, 1, 1}, {0xC2, 0xC2, 4, 1, 1}, {0xC3, 0xC3, 0, 1, 1}, {0xC6, 0xC6, 4, 1, 1},
	{0xD0, 0xD0, 4, 0, 1}, {0xD1, 0xD5, 0, 1, 1}, {0xD6, 0xDB, 0, 2, 1}, {0xDC, 0xDC, 0, 0, 0}, {0xDD, 0xDD, 4, 0, 0},
	{0xDE, 0xDE, 1, 0, 0}, {0xDF, 0xDF, 0, 2, 0}, {0xE0, 0xE0, 0, 1, 1}, {0xFE00, 0xFE00, 0, 0, 1},
	{0xFE01, 0xFE05, 0, 2, 1},
	{0xFE06, 0xFE06, 4, 0, 1}, {0xFE07, 0xFE07, 4, 1, 1}, {0xFE09, 0xFE0A, 2, 0, 1}, {0xFE0B, 0xFE0B, 2, 1, 0},
	{0xFE0C, 0xFE0D, 2, 0, 1}, {0xFE0E, 0xFE0E, 2, 1, 0}, {0xFE0F, 0xFE0F, 0, 1, 1}, {0xFE11, 0xFE11, 0, 1, 0},
	{0xFE12, 0xFE12, 1, 0, 0}, {0xFE13, 0xFE14, 0, 0, 0}, {0xFE15, 0xFE15, 4, 1, 0}, {0xFE16, 0xFE16, 4, 0, 0},
	{0xFE17, 0xFE18, 0, 3, 0}, {0xFE19, 0xFE19, 1, 0, 0}, {0xFE1A, 0xFE1A, 0, 0, 0}, {0xFE1C, 0xFE1C, 4, 0, 1},
	{0xFE1D, 0xFE1D, 0, 1, 1}, {0xFE1E, 0xFE1E, 0, 0, 0},
}

// opIndex has for each opcode, as slot gives it, its entry and one more; 0: there is none.
var opIndex = func() (index [512]uint8) {
	for i, o := range ops {
		for op := o.from; op <= o.to; op++ {
			index[slot(op)] = uint8(i + 1)
		}
	}
	return index
}()

func slot(op int) int {
	if op >= 0xFE00 {
		return 256 + op&0xFF
	}
	return op
}

// instruction is one instruction of some code.
type instruction struct {
	at, next, op int
	operand      []byte
	targets      []int // of a branch or a switch
}

func (i *instruction) token() uint32 { return binary.LittleEndian.Uint32(i.operand) }

func (i *instruction) isPrefix() bool {
	switch i.op {
	case opUnaligned, opVolatile, opTail, opConstrained, opNo, opReadonly:
		return true
	}
	return false
}

func (i *instruction) isCall() bool {
	return i.op == opCall || i.op == opCalli || i.op == opCallvirt || i.op == opNewobj
}

// ends says that what follows is not reached from here.
func (i *instruction) ends() bool {
	switch i.op {
	case opRet, opThrow, opRethrow, opEndfinally, opEndfilter, opJmp, opLeave:
		return true
	}
	return i.long() == 0x38
}

func (i *instruction) isBranch() bool {
	return i.op >= opBrS && i.op <= 0x44 || i.op == opLeave || i.op == opLeaveS
}

// long is the opcode with which a branch is written if it is long.
func (i *instruction) long() int {
	switch {
	case i.op >= opBrS && i.op <= 0x37:
		return i.op + 0x38 - opBrS
	case i.op == opLeaveS:
		return opLeave
	}
	return i.op
}

// read reads the instruction at an offset.
func read(code []byte, at int) (instruction, error) {
	i := instruction{at: at, op: int(code[at]), next: at + 1}
	if i.op == 0xFE && i.next < len(code) {
		i.op = 0xFE00 | int(code[i.next])
		i.next++
	}
	index := opIndex[slot(i.op)]
	if index == 0 {
		return i, fmt.Errorf("at %d: no instruction %#x: %w", at, i.op, ErrMalformed)
	}
	size := ops[index-1].operand
	if i.op == opSwitch && i.next+4 <= len(code) {
		size += 4 * int(binary.LittleEndian.Uint32(code[i.next:]))
	}
	if i.next+size > len(code) {
		return i, fmt.Errorf("at %d: instruction %#x with %d bytes: %w", at, i.op, size, ErrMalformed)
	}
	i.operand = code[i.next : i.next+size]
	i.next += size
	switch {
	case i.op == opSwitch:
		for k := 4; k < size; k += 4 {
			i.targets = append(i.targets, i.next+int(int32(binary.LittleEndian.Uint32(i.operand[k:]))))
		}
	case i.isBranch() && size == 1:
		i.targets = []int{i.next + int(int8(i.operand[0]))}
	case i.isBranch():
		i.targets = []int{i.next + int(int32(i.token()))}
	}
	return i, nil
}
