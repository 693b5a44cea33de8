package il

import (
	"encoding/binary"
	"fmt"
)

// Opcodes with a meaning here; those of two bytes are 0xFE00 and the second.
const (
	OpNop         = 0x00
	opLdcI4M1     = 0x15 // the first of those that load an int32
	opLdcI4       = 0x20 // the last
	OpLdcI8       = 0x21
	opLdcR4       = 0x22
	opDup         = 0x25
	OpJmp         = 0x27
	OpCall        = 0x28
	OpCalli       = 0x29
	OpRet         = 0x2A
	OpBrS         = 0x2B
	OpBrtrue      = 0x3A
	OpSwitch      = 0x45
	OpCallvirt    = 0x6F
	OpNewobj      = 0x73
	OpLdstr       = 0x72
	OpThrow       = 0x7A
	OpBox         = 0x8C
	OpNewarr      = 0x8D
	opStelemI     = 0x9B // the first of those that know their type
	opStelemRef   = 0xA2 // the last
	opStelem      = 0xA4
	OpLdtoken     = 0xD0
	OpConvI       = 0xD3
	OpEndfinally  = 0xDC
	OpLeave       = 0xDD
	OpLeaveS      = 0xDE
	OpArglist     = 0xFE00
	OpLdftn       = 0xFE06
	OpLdvirtftn   = 0xFE07
	OpEndfilter   = 0xFE11
	OpUnaligned   = 0xFE12
	OpVolatile    = 0xFE13
	OpTail        = 0xFE14
	OpConstrained = 0xFE16
	OpNo          = 0xFE19
	OpRethrow     = 0xFE1A
	OpReadonly    = 0xFE1E
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

// Instruction is one instruction of some code.
type Instruction struct {
	At, Next int // offsets in the code: of it, and of what follows it
	Op       int
	Operand  []byte
	Targets  []int // of a branch or a switch
}

// Token is the operand of an instruction that has a token of metadata.
func (i *Instruction) Token() uint32 { return binary.LittleEndian.Uint32(i.Operand) }

// HasToken reports whether the operand is a token of metadata: operands of four bytes are, but for targets of branches
// and two kinds of numbers (ECMA-335 III, table 1).
func (i *Instruction) HasToken() bool {
	return len(i.Operand) == 4 && !i.IsBranch() && i.Op != OpSwitch && i.Op != opLdcI4 && i.Op != opLdcR4
}

// IsPrefix reports whether it only says something of the next instruction.
func (i *Instruction) IsPrefix() bool {
	switch i.Op {
	case OpUnaligned, OpVolatile, OpTail, OpConstrained, OpNo, OpReadonly:
		return true
	}
	return false
}

// IsCall reports whether it calls a function.
func (i *Instruction) IsCall() bool {
	return i.Op == OpCall || i.Op == OpCalli || i.Op == OpCallvirt || i.Op == OpNewobj
}

// Ends says that what follows is not reached from here.
func (i *Instruction) Ends() bool {
	switch i.Op {
	case OpRet, OpThrow, OpRethrow, OpEndfinally, OpEndfilter, OpJmp, OpLeave:
		return true
	}
	return i.Long() == 0x38
}

// IsBranch reports whether it has one target.
func (i *Instruction) IsBranch() bool {
	return i.Op >= OpBrS && i.Op <= 0x44 || i.Op == OpLeave || i.Op == OpLeaveS
}

// Long is the opcode with which a branch is written if it is long.
func (i *Instruction) Long() int {
	switch {
	case i.Op >= OpBrS && i.Op <= 0x37:
		return i.Op + 0x38 - OpBrS
	case i.Op == OpLeaveS:
		return OpLeave
	}
	return i.Op
}

// Effect returns how many values an instruction takes from the stack and puts there. Those of calls, returns and leave
// depend on more, and are 0.
func (i *Instruction) Effect() (pop, push int) {
	o := ops[opIndex[slot(i.Op)]-1]
	return o.pop, o.push
}

// EffectOf is Effect also of calls, whose signatures are given.
func (i *Instruction) EffectOf(calls Calls) (pop, push int, err error) {
	s := Signature{}
	if i.IsCall() {
		if s, err = calls(i.Token()); err != nil {
			return 0, 0, err
		}
	}
	pop, push = i.effect(s)
	return pop, push, nil
}

// Read reads the instruction at an offset, which is one of the code.
func Read(code []byte, at int) (Instruction, error) {
	i := Instruction{At: at, Op: int(code[at]), Next: at + 1}
	if i.Op == 0xFE && i.Next < len(code) {
		i.Op = 0xFE00 | int(code[i.Next])
		i.Next++
	}
	index := opIndex[slot(i.Op)]
	if index == 0 {
		return i, fmt.Errorf("at %d: no instruction %#x: %w", at, i.Op, ErrMalformed)
	}
	size := ops[index-1].operand
	if i.Op == OpSwitch && i.Next+4 <= len(code) {
		size += 4 * int(binary.LittleEndian.Uint32(code[i.Next:]))
	}
	if i.Next+size > len(code) {
		return i, fmt.Errorf("at %d: instruction %#x with %d bytes: %w", at, i.Op, size, ErrMalformed)
	}
	i.Operand = code[i.Next : i.Next+size]
	i.Next += size
	switch {
	case i.Op == OpSwitch:
		for k := 4; k < size; k += 4 {
			i.Targets = append(i.Targets, i.Next+int(int32(binary.LittleEndian.Uint32(i.Operand[k:]))))
		}
	case i.IsBranch() && size == 1:
		i.Targets = []int{i.Next + int(int8(i.Operand[0]))}
	case i.IsBranch():
		i.Targets = []int{i.Next + int(int32(i.Token()))}
	}
	return i, nil
}
