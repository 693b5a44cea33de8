package session

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"slices"

	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session/columns"
)

// TimingValueList is the table timing_value in memory. The zero TimingValueList has no rows.
type TimingValueList struct{ kept[TimingValue] }

// TimingInclusiveList is the table timing_inclusive in memory. The zero TimingInclusiveList has no rows.
type TimingInclusiveList struct{ kept[TimingInclusive] }

// kept is a packed table by slice and timing in memory as the file has it, which is a byte or two for each row: who
// needs the rows has them decoded again.
type kept[T any] struct {
	packer *packer
	table  table[T]
	chunks []keptChunk
	rows   int
}

// keptChunk is a chunk that was decoded before.
type keptChunk struct {
	rows, columns int
	checksum      int64
	packed        []byte
}

// TimingValueList reads the table timing_value, and calls check with the slices and the timings of some rows at a time,
// in any order and from several goroutines at once. The first of its errors is returned as it is.
func (s *Session) TimingValueList(check func(slices, timings []int64) error) (TimingValueList, error) {
	rows, err := keep(s, timingValueTable, check)
	return TimingValueList{rows}, err
}

// TimingInclusiveList is TimingValueList for the table timing_inclusive.
func (s *Session) TimingInclusiveList(check func(slices, timings []int64) error) (TimingInclusiveList, error) {
	rows, err := keep(s, timingInclusiveTable, check)
	return TimingInclusiveList{rows}, err
}

func keep[T any](s *Session, t table[T], check func(slices, timings []int64) error) (kept[T], error) {
	out, refused := kept[T]{packer: &s.packer, table: t}, error(nil)
	err := s.decodeChunks(t.name, nil, func(c *chunk) (decode, take func() error) {
		var wrong error
		decode = func() (err error) {
			wrong, err = checkKeys(c, check)
			return err
		}
		return decode, func() error {
			refused = cmp.Or(refused, wrong)
			out.chunks = append(out.chunks, keptChunk{c.rows, c.columns, c.checksum, bytes.Clone(c.packed)})
			out.rows += c.rows
			return nil
		}
	})
	switch {
	case err != nil:
		return kept[T]{}, s.explain(fmt.Errorf("reading table %s: %w", t.name, err))
	case refused != nil:
		return kept[T]{}, refused
	}
	return out, nil
}

// checkKeys decodes the slices and the timings of a chunk, and makes sure that the rest of it can be decoded. It
// returns what check returns.
func checkKeys(c *chunk, check func(slices, timings []int64) error) (wrong, err error) {
	const keys = 2
	if c.columns < keys {
		return nil, fmt.Errorf("%w: a chunk of %d columns", ErrCorrupt, c.columns)
	}
	if err := c.block.DecodeFirst(c.data, c.rows, c.columns, keys); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	for _, id := range c.block.Columns[1] {
		if uint64(id) > math.MaxUint32 {
			return nil, fmt.Errorf("%w: %d", ErrRange, id)
		}
	}
	return check(c.block.Columns[0], c.block.Columns[1]), nil
}

// Len is how many rows there are.
func (l *kept[T]) Len() int { return l.rows }

// Each calls fn with each row, in the order in which they were written. The row is overwritten by the next one.
func (l *kept[T]) Each(fn func(*T)) {
	l.eachBlock(func(b *columns.Block) error {
		var row T
		u := unpacker[T]{l.table, nil, cells{mode: unpackCells, block: b, columns: b.Columns}}
		for at := range b.Rows() {
			u.set(at, &row)
			fn(&row)
		}
		return u.c.err
	})
}

// eachBlock calls fn with some rows at a time, by column, which the next ones overwrite.
func (l *kept[T]) eachBlock(fn func(*columns.Block) error) {
	if len(l.chunks) == 0 {
		return
	}
	next := 0
	err := l.packer.decodeAhead(func(c *chunk) (bool, error) {
		if next == len(l.chunks) {
			return false, nil
		}
		k := &l.chunks[next]
		next++
		c.rows, c.columns, c.checksum = k.rows, k.columns, k.checksum
		c.packed = append(c.packed[:0], k.packed...) // the memory of a chunk is used again
		return true, nil
	}, func(c *chunk) (decode, take func() error) {
		return func() error { return c.decode(len(l.table.columns)) }, func() error { return fn(&c.block) }
	}, nil)
	if err != nil { // they were checked before
		panic(fmt.Sprintf("rows of %s that were read once: %v", l.table.name, err))
	}
}

// WaitColumns are what the operating system did in some rows, by column; nil: nothing in any of them.
type WaitColumns [][]int64

// At returns what it did in a row.
func (w WaitColumns) At(row int) q.Waits {
	if w == nil {
		return q.Waits{}
	}
	return waitsAt(w, row)
}

// waitColumns are the columns of waits, which begin at one of them.
func waitColumns(b *columns.Block, first int) WaitColumns {
	w := b.Columns[first : first+waitNumbers]
	for _, column := range w {
		if slices.ContainsFunc(column, func(n int64) bool { return n != 0 }) {
			return w
		}
	}
	return nil
}

// waitNumbers is how many columns waits have.
const waitNumbers = 8

// TimingValueColumns are rows of timing_value, by column: numbers of TimingValue, in its units.
type TimingValueColumns struct {
	Slices, Timings, Calls, Ended, Made, Elapsed, Waited []int64
	Waits                                                WaitColumns
}

// EachColumns calls fn with all rows, some at a time, in the order in which they were written. The next ones overwrite
// them.
func (l *TimingValueList) EachColumns(fn func(*TimingValueColumns)) {
	l.eachBlock(func(b *columns.Block) error {
		c := b.Columns
		fn(&TimingValueColumns{c[0], c[1], c[2], c[3], c[4], c[5], c[6], waitColumns(b, 7)})
		return nil
	})
}

// TimingInclusiveColumns are rows of timing_inclusive, by column: numbers of TimingInclusive, in its units.
type TimingInclusiveColumns struct {
	Slices, Timings, Times, Calls, Elapsed, Waited []int64
	EachCalls, EachElapsed, EachWaited, EachOffCPU []int64
	Waits                                          WaitColumns
}

// EachColumns calls fn as TimingValueList.EachColumns does.
func (l *TimingInclusiveList) EachColumns(fn func(*TimingInclusiveColumns)) {
	l.eachBlock(func(b *columns.Block) error {
		c, each := b.Columns, b.Columns[6+waitNumbers:]
		fn(&TimingInclusiveColumns{c[0], c[1], c[2], c[3], c[4], c[5], each[0], each[1], each[2], each[3],
			waitColumns(b, 6)})
		return nil
	})
}
