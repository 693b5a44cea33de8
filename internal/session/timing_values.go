package session

import (
	"bytes"
	"cmp"
	"fmt"
)

// TimingValueList is the table timing_value in memory as the file has it, which is a byte or two for each row: who
// needs the rows has them decoded again.
type TimingValueList struct {
	packer *packer
	chunks []keptChunk
}

// keptChunk is a chunk that was decoded before.
type keptChunk struct {
	rows, columns int
	checksum      int64
	packed        []byte
}

// TimingValueList reads the table, and calls check with the slices and the timings of some rows at a time, in any order
// and from several goroutines at once. The first of its errors is returned as it is.
func (s *Session) TimingValueList(check func(slices, timings []int64) error) (*TimingValueList, error) {
	out, refused := &TimingValueList{packer: &s.packer}, error(nil)
	err := s.decodeChunks(timingValueTable.name, nil, func(c *chunk) (decode, take func() error) {
		var wrong error
		decode = func() error {
			err := c.decode(len(timingValueTable.columns))
			if err == nil {
				err = timingValuesOf(c, func(*TimingValue) {})
			}
			if err == nil {
				wrong = check(c.block.Columns[0], c.block.Columns[1])
			}
			return err
		}
		return decode, func() error {
			refused = cmp.Or(refused, wrong)
			out.chunks = append(out.chunks, keptChunk{c.rows, c.columns, c.checksum, bytes.Clone(c.packed)})
			return nil
		}
	})
	switch {
	case err != nil:
		return nil, s.explain(fmt.Errorf("reading table %s: %w", timingValueTable.name, err))
	case refused != nil:
		return nil, refused
	}
	return out, nil
}

// timingValuesOf calls fn with each row of a chunk, which the next one overwrites.
func timingValuesOf(c *chunk, fn func(*TimingValue)) error {
	var row TimingValue
	u := unpacker[TimingValue]{timingValueTable, nil,
		cells{mode: unpackCells, block: &c.block, columns: c.block.Columns}}
	for at := range c.rows {
		u.set(at, &row)
		fn(&row)
	}
	return u.c.err
}

// Each calls fn with each row, in the order in which they were written. The row is overwritten by the next one.
func (l *TimingValueList) Each(fn func(*TimingValue)) {
	if l == nil {
		return
	}
	next := 0
	err := l.packer.decodeAhead(func(c *chunk) (bool, error) {
		if next == len(l.chunks) {
			return false, nil
		}
		kept := &l.chunks[next]
		next++
		c.rows, c.columns, c.checksum = kept.rows, kept.columns, kept.checksum
		c.packed = append(c.packed[:0], kept.packed...) // the memory of a chunk is used again
		return true, nil
	}, func(c *chunk) (decode, take func() error) {
		return func() error { return c.decode(len(timingValueTable.columns)) },
			func() error { return timingValuesOf(c, fn) }
	}, nil)
	if err != nil { // they were decoded before
		panic(fmt.Sprintf("rows of %s that were read once: %v", timingValueTable.name, err))
	}
}
