package eventpipe

import (
	"encoding/binary"
	"math"
	"unicode/utf16"
)

// decoder takes values from bytes. Once there are too few, it has failed, and all values are 0.
type decoder struct {
	data   []byte
	failed bool
}

// take returns the next bytes, nil if there are not so many.
func (d *decoder) take(n int) []byte {
	if d.failed || n > len(d.data) {
		d.failed, d.data = true, nil
		return nil
	}
	b := d.data[:n]
	d.data = d.data[n:]
	return b
}

func (d *decoder) skip(n int) { d.take(n) }

func (d *decoder) byte() byte {
	if b := d.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (d *decoder) uint16() uint16 {
	if b := d.take(2); b != nil {
		return binary.LittleEndian.Uint16(b)
	}
	return 0
}

func (d *decoder) uint32() uint32 {
	if b := d.take(4); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

func (d *decoder) uint64() uint64 {
	if b := d.take(8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

func (d *decoder) float32() float64 { return float64(math.Float32frombits(d.uint32())) }

func (d *decoder) float64() float64 { return math.Float64frombits(d.uint64()) }

// varint64 takes a number in groups of 7 bits, the lowest first.
func (d *decoder) varint64() uint64 {
	n, size := binary.Uvarint(d.data)
	if size <= 0 {
		d.failed, d.data = true, nil
		return 0
	}
	d.skip(size)
	return n
}

func (d *decoder) varint32() uint32 {
	n := d.varint64()
	if n > math.MaxUint32 {
		d.failed, d.data = true, nil
		return 0
	}
	return uint32(n)
}

// text takes UTF-16 up to a 0.
func (d *decoder) text() string {
	for i := 0; i+1 < len(d.data); i += 2 {
		if d.data[i] != 0 || d.data[i+1] != 0 {
			continue
		}
		units := make([]uint16, 0, i/2)
		for k := 0; k < i; k += 2 {
			units = append(units, binary.LittleEndian.Uint16(d.data[k:]))
		}
		d.skip(i + 2)
		return string(utf16.Decode(units))
	}
	d.failed, d.data = true, nil
	return ""
}
