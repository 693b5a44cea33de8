package session

import (
	"encoding/binary"
	"fmt"
)

// ILPoint is one entry of a body's IL map: from this native offset on (to that of
// the next entry) the code belongs to this IL offset.
type ILPoint struct {
	Native uint32
	IL     uint32 // or one of the special values below
}

// Special IL offsets, as the runtime says them (ICorDebugInfo::MappingTypes).
const (
	ILNoMapping uint32 = 0xFFFF_FFFF
	ILProlog    uint32 = 0xFFFF_FFFE
	ILEpilog    uint32 = 0xFFFF_FFFD
)

// EncodeILMap makes the blob for Body.ILMap: little-endian u32 pairs, native
// offset then IL offset. Points must be sorted by native offset.
func EncodeILMap(points []ILPoint) []byte {
	out := make([]byte, 0, 8*len(points))
	for _, p := range points {
		out = binary.LittleEndian.AppendUint32(out, p.Native)
		out = binary.LittleEndian.AppendUint32(out, p.IL)
	}
	return out
}

// DecodeILMap reads a blob that EncodeILMap made. A length that is not a multiple
// of 8, or native offsets that are not in order, are errors wrapping ErrCorrupt.
func DecodeILMap(blob []byte) ([]ILPoint, error) {
	if len(blob)%8 != 0 {
		return nil, fmt.Errorf("%w: an IL map has %d bytes", ErrCorrupt, len(blob))
	}
	points := make([]ILPoint, 0, len(blob)/8)
	for ; len(blob) > 0; blob = blob[8:] {
		p := ILPoint{binary.LittleEndian.Uint32(blob), binary.LittleEndian.Uint32(blob[4:])}
		if n := len(points); n > 0 && points[n-1].Native > p.Native {
			return nil, fmt.Errorf("%w: an IL map is not in order", ErrCorrupt)
		}
		points = append(points, p)
	}
	return points, nil
}
