package columns

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"unicode/utf8"
)

// MaxRows and MaxColumns bound a block; Encode and decode refuse larger ones. A block of as many rows is read in some
// milliseconds, and is long enough for a compressor to learn from.
const (
	MaxRows    = 1 << 17
	MaxColumns = 64
)

// errDamaged is wrapped by the errors of decode.
var errDamaged = errors.New("damaged block of columns")

// Block is rows of integers and texts, by column.
type Block struct {
	Texts   []string  // different ones
	Columns [][]int64 // all of the same length; of a column of texts: positions in Texts

	own   [][]int64 // what was set aside for Columns, by position
	zeros []int64   // all columns that decode finds to be zero
}

// Resize gives a block so many rows and columns, whose memory it uses again: what is in them is to be overwritten.
func (b *Block) Resize(rows, columns int) {
	b.Columns = slices.Grow(b.Columns[:0], columns)[:columns]
	for i := range b.Columns {
		b.Columns[i] = b.column(i, rows)
	}
}

// column returns memory for a column.
func (b *Block) column(i, rows int) []int64 {
	for len(b.own) <= i {
		b.own = append(b.own, nil)
	}
	if cap(b.own[i]) < rows {
		b.own[i] = make([]int64, rows)
	}
	return b.own[i][:rows:rows]
}

// Rows returns the number of rows.
func (b *Block) Rows() int {
	if len(b.Columns) == 0 {
		return 0
	}
	return len(b.Columns[0])
}

// Append appends the encoding of a block to dst.
func (b *Block) Append(dst []byte) ([]byte, error) {
	if b.Rows() > MaxRows || len(b.Columns) > MaxColumns {
		return nil, fmt.Errorf("a block of %d rows and %d columns is too large", b.Rows(), len(b.Columns))
	}
	dst = binary.AppendUvarint(dst, uint64(len(b.Texts)))
	for _, text := range b.Texts {
		dst = append(binary.AppendUvarint(dst, uint64(len(text))), text...)
	}
	for _, column := range b.Columns {
		before := int64(0)
		for _, v := range column {
			dst = binary.AppendVarint(dst, v-before)
			before = v
		}
	}
	return dst, nil
}

// decode returns the block of so many rows and columns that data is the encoding of.
func decode(data []byte, rows, columns int) (*Block, error) {
	b := &Block{}
	if err := b.Decode(data, rows, columns); err != nil {
		return nil, err
	}
	return b, nil
}

// Decode is the function decode for a block whose memory is used again: what its columns held is overwritten. They are
// only to be read: those in which all is 0, which are most of some tables, are one.
func (b *Block) Decode(data []byte, rows, columns int) error {
	return b.DecodeFirst(data, rows, columns, columns)
}

// DecodeFirst is decode for who needs the first columns alone: others are passed over, but must be such that they can
// be decoded.
func (b *Block) DecodeFirst(data []byte, rows, columns, first int) error {
	start := func() { b.Columns = slices.Grow(b.Columns[:0], first)[:first] }
	return b.decode(data, rows, columns, start,
		func(i int, data []byte) []byte {
			if i >= first {
				return skipColumn(data, rows)
			}
			if isZero(data, rows) {
				if len(b.zeros) < rows {
					b.zeros = make([]int64, rows)
				}
				b.Columns[i] = b.zeros[:rows:rows]
				return data[rows:]
			}
			b.Columns[i] = b.column(i, rows)
			return decodeColumn(data, b.Columns[i])
		})
}

// isZero reports whether data begins with a column of so many values that are all 0.
func isZero(data []byte, rows int) bool { return rows <= len(data) && isClear(data[:rows]) }

// isClear reports whether all bytes are 0.
func isClear(data []byte) bool {
	for len(data) >= wordValues {
		if binary.LittleEndian.Uint64(data) != 0 {
			return false
		}
		data = data[wordValues:]
	}
	for _, b := range data {
		if b != 0 {
			return false
		}
	}
	return true
}

// EachColumn decodes a block column by column, and calls fn with each, which the next one overwrites: where there are
// many columns, all of them together would not stay in the processor's cache. Of a column whose values are all the
// same, which are most of some tables, fn gets the first alone. Columns that are not wanted are passed over, which
// takes a tenth of the time.
func EachColumn(data []byte, rows, columns int, wanted func(i int) bool,
	fn func(i int, column []int64)) error {
	var column []int64
	return new(Block).decode(data, rows, columns, func() { column = make([]int64, rows) },
		func(i int, data []byte) []byte {
			if !wanted(i) {
				return skipColumn(data, rows)
			}
			if rest := decodeSame(data, column); rest != nil {
				fn(i, column[:1])
				return rest
			}
			rest := decodeColumn(data, column)
			if rest != nil {
				fn(i, column)
			}
			return rest
		})
}

// decode reads the texts, and has column decode each column: it returns the bytes behind it, nil if there are too few.
// start is called once it is known that data can be a block of such a size.
func (b *Block) decode(data []byte, rows, columns int, start func(), column func(i int, data []byte) []byte) error {
	if rows < 0 || rows > MaxRows || columns < 0 || columns > MaxColumns || rows*columns > len(data) {
		return fmt.Errorf("%w: %d bytes for %d rows of %d columns", errDamaged, len(data), rows, columns)
	}
	b.Texts = nil
	data, err := b.decodeTexts(data)
	if err != nil {
		return err
	}
	start()
	for i := range columns {
		if data = column(i, data); data == nil {
			return fmt.Errorf("%w: column %d is cut off", errDamaged, i+1)
		}
	}
	if len(data) != 0 {
		return fmt.Errorf("%w: %d bytes too many", errDamaged, len(data))
	}
	return nil
}

func (b *Block) decodeTexts(data []byte) ([]byte, error) {
	count, n := binary.Uvarint(data)
	if n <= 0 || count > uint64(len(data)-n) { // a text takes a byte at least
		return nil, fmt.Errorf("%w: the number of texts", errDamaged)
	}
	data = data[n:]
	for range count {
		length, n := binary.Uvarint(data)
		if n <= 0 || length > uint64(len(data)-n) {
			return nil, fmt.Errorf("%w: a text is cut off", errDamaged)
		}
		text := data[n : n+int(length)]
		if !utf8.Valid(text) {
			return nil, fmt.Errorf("%w: a text is not UTF-8", errDamaged)
		}
		b.Texts = append(b.Texts, string(text))
		data = data[n+int(length):]
	}
	return data, nil
}

// decodeSame decodes a column whose values are all the same: it sets the first, and returns the bytes behind the
// column. nil: they are not, or there are none.
func decodeSame(data []byte, column []int64) []byte {
	value, n := binary.Varint(data)
	end := n + len(column) - 1
	if n <= 0 || len(column) == 0 || end > len(data) {
		return nil
	}
	if !isClear(data[n:end]) {
		return nil
	}
	column[0] = value
	return data[end:]
}

// skipColumn returns the bytes behind a column of so many values, nil if there are too few, or one is no number: it
// accepts what decodeColumn does.
func skipColumn(data []byte, rows int) []byte {
	if data == nil {
		data = []byte{}
	}
	rest, left, run := data, rows, 0                    // of bytes that do not end a value
	for left >= wordValues && len(rest) >= wordValues { // no more values end in a word than are left
		ends := ^binary.LittleEndian.Uint64(rest) & severalBytes
		if ends != severalBytes || run > 0 {
			if run += bits.TrailingZeros64(ends) / 8; run >= longestShort {
				return decodeColumn(data, make([]int64, rows)) // which knows whether it is too long
			}
			if ends != 0 {
				run = bits.LeadingZeros64(ends) / 8
			}
		}
		left -= bits.OnesCount64(ends)
		rest = rest[wordValues:]
	}
	for ; left > 0; rest = rest[1:] {
		if len(rest) == 0 {
			return nil
		}
		if run++; rest[0] < 0x80 {
			left, run = left-1, 0
		}
		if run >= longestShort {
			return decodeColumn(data, make([]int64, rows))
		}
	}
	return rest
}

// longestShort is how many bytes a number has at most that is in range, whatever they are.
const longestShort = binary.MaxVarintLen64 - 1

// decodeColumn fills a column and returns the bytes behind it, nil if there are too few.
func decodeColumn(data []byte, column []int64) []byte {
	if data == nil {
		data = []byte{}
	}
	value, at := int64(0), 0
	for i := 0; i < len(column); {
		if i+wordValues <= len(column) && at+wordValues <= len(data) {
			if word := binary.LittleEndian.Uint64(data[at:]); word&severalBytes == 0 {
				value = decodeWord(word, value, (*[wordValues]int64)(column[i:]))
				i, at = i+wordValues, at+wordValues
				continue
			}
		}
		switch {
		case at < len(data) && data[at] < 0x80: // nearly all are of one byte, or of two
			value += int64(data[at]>>1) ^ -int64(data[at]&1)
			at++
		case at+1 < len(data) && data[at+1] < 0x80:
			u := uint64(data[at]&0x7f) | uint64(data[at+1])<<7
			value += int64(u>>1) ^ -int64(u&1)
			at += 2
		default:
			difference, n := binary.Varint(data[at:])
			if n <= 0 {
				return nil
			}
			value += difference
			at += n
		}
		column[i] = value
		i++
	}
	return data[at:]
}

const (
	wordValues   = 8                  // that a word holds, if each is of one byte
	severalBytes = 0x8080808080808080 // in a word with a value that is not
)

// decodeWord fills a part of a column of which each difference is of one byte, and returns its last value.
func decodeWord(word uint64, value int64, column *[wordValues]int64) int64 {
	for i := range column {
		if word != 0 { // many columns are nearly all the same
			value += int64(word>>1&0x3f) ^ -int64(word&1)
			word >>= 8
		}
		column[i] = value
	}
	return value
}
