package clrmeta

import (
	"encoding/binary"
	"fmt"
)

// Formats of method bodies, in the two low bits of their first byte (ECMA-335 II.25.4.1).
const (
	bodyFormat = 0x3
	bodyTiny   = 0x2 // one byte, with the size in the other six bits
	bodyFat    = 0x3 // twelve bytes, with the size in the second four
)

// implCodeType are the bits of a method's implementation flags that say what its code is; 0: IL (II.23.1.11).
const implCodeType = 0x3

// maxCode bounds the IL of one method. The longest of the frameworks has 200 KB; the runtime itself has no limit.
const maxCode = 256 << 20

// CodeSize returns how many bytes of IL a method has, without its headers and exception clauses. It is 0 for methods
// that have no IL: abstract ones, those of native libraries and those that the runtime provides (II.23.1.10).
func (im *Image) CodeSize(method Token) (int, error) {
	if err := im.meta.check(method, TableMethodDef); err != nil {
		return 0, fmt.Errorf("code size: %w", err)
	}
	at := im.meta.Cell(TableMethodDef, method.Row(), methodRVA)
	flags := im.meta.Cell(TableMethodDef, method.Row(), methodImplFlags)
	if at == 0 || flags&implCodeType != 0 {
		return 0, nil
	}
	b, err := im.readAddress(directory{at, 1}, 1)
	if err != nil {
		return 0, fmt.Errorf("body of %v: %w", method, err)
	}
	size := uint32(b[0] >> 2)
	switch b[0] & bodyFormat {
	case bodyTiny:
	case bodyFat:
		if b, err = im.readAddress(directory{at, 12}, 12); err != nil {
			return 0, fmt.Errorf("body of %v: %w", method, err)
		}
		size = binary.LittleEndian.Uint32(b[4:])
	default:
		return 0, fmt.Errorf("body of %v: format %#x: %w", method, b[0], ErrMalformed)
	}
	if size > maxCode {
		return 0, fmt.Errorf("body of %v: %d bytes: %w", method, size, ErrMalformed)
	}
	return int(size), nil
}
