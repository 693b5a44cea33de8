package clrmeta

import (
	"encoding/binary"
	"fmt"
)

// Formats of method bodies, in the low bits of their first byte (ECMA-335 II.25.4.1 to 3).
const (
	bodyFormat  = 0x3
	bodyTiny    = 0x2 // one byte, with the size of the code in the other six bits
	bodyFat     = 0x3 // twelve bytes, with the size of the code in the second four
	bodySects   = 0x8 // fat: sections follow the code
	fatHeader   = 12
	sectFat     = 0x40 // the size of a section has three bytes, not one (II.25.4.5)
	sectMore    = 0x80 // another section follows
	sectMinimum = 4
)

// implCodeType are the bits of a method's implementation flags that say what its code is; 0: IL (II.23.1.11).
const implCodeType = 0x3

// maxBody bounds the body of one method. The largest of the frameworks has 200 KB; the runtime itself has no limit.
const maxBody = 256 << 20

// maxSects bounds the sections of a body. Compilers write one; there is only one kind.
const maxSects = 64

// BodySize returns how many bytes the body of a method has: header, IL and exception clauses, as the profiling
// interface of the runtime counts it (ICorProfilerInfo::GetILFunctionBody). It is 0 for methods that have no IL:
// abstract ones, those of native libraries and those that the runtime provides (II.23.1.10).
func (im *Image) BodySize(method Token) (int, error) {
	if err := im.meta.check(method, TableMethodDef); err != nil {
		return 0, fmt.Errorf("body size: %w", err)
	}
	at := im.meta.Cell(TableMethodDef, method.Row(), methodRVA)
	flags := im.meta.Cell(TableMethodDef, method.Row(), methodImplFlags)
	if at == 0 || flags&implCodeType != 0 {
		return 0, nil
	}
	size, err := im.bodySize(at)
	if err != nil {
		return 0, fmt.Errorf("body of %v: %w", method, err)
	}
	return int(size), nil
}

// Body returns the body of a method, as many bytes as [Image.BodySize] counts: nil for methods that have none.
func (im *Image) Body(method Token) ([]byte, error) {
	size, err := im.BodySize(method)
	if err != nil || size == 0 {
		return nil, err
	}
	at := im.meta.Cell(TableMethodDef, method.Row(), methodRVA)
	b, err := im.readAddress(directory{at, uint32(size)}, uint32(size))
	if err != nil {
		return nil, fmt.Errorf("body of %v: %w", method, err)
	}
	return b, nil
}

func (im *Image) bodySize(at uint32) (uint32, error) {
	b, err := im.readAddress(directory{at, 1}, 1)
	if err != nil {
		return 0, err
	}
	switch b[0] & bodyFormat {
	case bodyTiny:
		return 1 + uint32(b[0]>>2), nil
	case bodyFat:
	default:
		return 0, fmt.Errorf("format %#x: %w", b[0], ErrMalformed)
	}
	if b, err = im.readAddress(directory{at, fatHeader}, fatHeader); err != nil {
		return 0, err
	}
	code := binary.LittleEndian.Uint32(b[4:])
	if code > maxBody {
		return 0, fmt.Errorf("%d bytes: %w", code, ErrMalformed)
	}
	size := fatHeader + code
	more := b[0]&bodySects != 0
	for n := 0; more; n++ {
		size = (size + 3) &^ 3 // sections begin at multiples of 4, as bodies do
		if n == maxSects {
			return 0, fmt.Errorf("more than %d sections: %w", maxSects, ErrMalformed)
		}
		if b, err = im.readAddress(directory{at + size, sectMinimum}, sectMinimum); err != nil {
			return 0, err
		}
		section := uint32(b[1])
		if b[0]&sectFat != 0 {
			section |= uint32(b[2])<<8 | uint32(b[3])<<16
		}
		if size += max(section, sectMinimum); size > maxBody {
			return 0, fmt.Errorf("%d bytes: %w", size, ErrMalformed)
		}
		more = b[0]&sectMore != 0
	}
	return size, nil
}
