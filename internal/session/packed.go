package session

import (
	"cmp"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/clrprof/clrprof/internal/session/columns"
	"github.com/klauspost/compress/zstd"
	"zombiezen.com/go/sqlite"
)

// packedTableNames are the tables that grow with stacks and time. Their rows are in the table chunk, many in one row of
// it: encoded by column (package columns), then compressed with Zstandard. docs/session.md describes the format.
var packedTableNames = []string{
	nodeTable.name, siteTable.name, siteValueTable.name,
	gcBirthTable.name, gcDeathTable.name, siteDeathTable.name, siteAgeTable.name, siteAliveTable.name,
	survivalTable.name, rootTable.name,
	counterValueTable.name, timingTable.name, timingValueTable.name, timingInclusiveTable.name, systemEventTable.name,
	systemEventCallTable.name,
	timingCountTable.name,
	timingInclusiveCountTable.name, timingExtremeTable.name,
	timingRunningTable.name,
	timingBeganTable.name,
	pathValueTable.name, pathTimeTable.name, userTimeTable.name,
	typeLifetimeTable.name, functionLifetimeTable.name,
}

func isPacked(name string) bool { return slices.Contains(packedTableNames, name) }

const (
	// maxChunkRows is how many rows a chunk has at most: a writer and a reader have as many in memory, twice.
	maxChunkRows = columns.MaxRows / 2
	// maxChunkBytes bounds a chunk that is not compressed: all rows of the table with most columns, and texts. A longer
	// one is damaged.
	maxChunkBytes = 64 << 20
)

// packer compresses and decompresses chunks; it is made when it is first needed.
type packer struct {
	encoder *zstd.Encoder
	mutex   sync.Mutex // of the next two: rows that are kept are decoded by several goroutines
	decoder *zstd.Decoder
	free    []*chunk // whose memory is used again
	writing []*fresh // in the order in which they are to be written
	spare   []*fresh // whose memory is used again
}

// prepare makes what decompresses chunks.
func (p *packer) prepare() (err error) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if p.decoder == nil {
		p.decoder, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(mostAhead),
			zstd.WithDecoderMaxMemory(maxChunkBytes), zstd.WithDecodeAllCapLimit(true)) // see decompress
	}
	return err
}

func (p *packer) close() {
	p.discard()
	if p.decoder != nil {
		p.decoder.Close()
	}
}

// keyColumns is how many columns the key has: the first ones, in a packed table.
func (t table[T]) keyColumns() int { return strings.Count(t.order, ",") + 1 }

// checkAscending refuses ids that do not rise from row to row and above those that are there.
func (s *Session) checkAscending(name string, ids []int64) error {
	last, known := s.lastIDs[name]
	if !known {
		stmt, err := s.conn.Prepare("SELECT coalesce(max(last), 0) FROM chunk WHERE name = ?")
		if err != nil {
			return err
		}
		defer stmt.Reset()
		stmt.BindText(1, name)
		if _, err := stmt.Step(); err != nil {
			return err
		}
		last = stmt.ColumnInt64(0)
	}
	for _, id := range ids {
		if id <= last {
			return fmt.Errorf("row %d follows row %d", id, last)
		}
		last = id
	}
	if s.lastIDs == nil {
		s.lastIDs = map[string]int64{}
	}
	s.lastIDs[name] = last
	return nil
}

// pack makes a block of rows, by column.
func pack[T any](b *columns.Block, t table[T], rows []T) {
	b.Resize(len(rows), len(t.columns))
	c := cells{mode: packCells, block: b, columns: b.Columns}
	for i := range rows {
		c.row, c.next = i, 0
		t.fields(&c, &rows[i])
	}
}

// packEach is pack of so many rows that are made one by one.
func packEach[T any](b *columns.Block, t table[T], rows int, at func(row int) T) {
	b.Resize(rows, len(t.columns))
	c := cells{mode: packCells, block: b, columns: b.Columns}
	var row T
	for i := range rows {
		row, c.row, c.next = at(i), i, 0
		t.fields(&c, &row)
	}
}

// span is a range of the first column of a table, both ends included.
type span struct{ from, to int64 }

// eachPacked calls fn for each row of a packed table, in the order in which they were written. The row is overwritten
// by the next one.
func eachPacked[T any](s *Session, t table[T], of *span, fn func(*T)) error {
	err := s.eachChunk(t.name, len(t.columns), of, func(b *columns.Block) error {
		var row T
		u := unpacker[T]{t, of, cells{mode: unpackCells, block: b, columns: b.Columns}}
		for at := range b.Rows() {
			if u.set(at, &row) {
				fn(&row)
			}
		}
		return u.c.err
	})
	if err != nil {
		return fmt.Errorf("reading table %s: %w", t.name, err)
	}
	return nil
}

// unpacker sets rows from a block.
type unpacker[T any] struct {
	table table[T]
	of    *span // that rows are in; nil: all
	c     cells
}

// set sets a row from a position in the block, and reports whether it is in the span.
func (u *unpacker[T]) set(at int, row *T) bool {
	if u.of != nil {
		if first := u.c.columns[0][at]; first < u.of.from || first > u.of.to {
			return false
		}
	}
	if u.table.direct == nil || uint64(u.table.direct(u.c.columns, at, row)) > math.MaxUint32 {
		u.c.row, u.c.next = at, 0
		u.table.fields(&u.c, row) // which says what is out of range
	}
	return true
}

// packedRows returns the rows of a packed table in the order of the key. Of those with the same key it returns the one
// that was written last.
func packedRows[T any](s *Session, t table[T], of *span) ([]T, error) {
	expected := s.expectedRows(t.name, of)
	all := &rowList[T]{rows: make([]T, 0, min(expected, maxExpectedBytes/int64(reflect.TypeFor[T]().Size())))}
	all.ascending = !slices.ContainsFunc(declared(t.name)[:t.keyColumns()], declaredColumn.text)
	err := s.decodeChunks(t.name, of, func(c *chunk) (decode, take func() error) {
		part := all.reserve(c.rows)
		return func() error {
			if err := c.decode(len(t.columns)); err != nil {
				return err
			}
			return part.unpack(t, of, &c.block)
		}, func() error { all.add(part, expected); return nil }
	})
	switch {
	case err != nil:
		return nil, fmt.Errorf("reading table %s: %w", t.name, err)
	case len(all.rows) == 0:
		return nil, nil
	case all.ascending:
		return all.rows, nil
	}
	return sortedRows(t, all.rows), nil
}

// rowList is the rows of a table, while they are read.
type rowList[T any] struct {
	rows      []T
	reserved  int     // places behind the rows that parts are written to
	last      []int64 // the key of the last one
	ascending bool    // keys rise from row to row
}

// rowPart is the rows of a chunk.
type rowPart[T any] struct {
	rows        []T
	at          int     // where they are in the list; none: elsewhere
	first, last []int64 // their keys
	ascending   bool
}

// elsewhere is the position of a part that is not in the list until it is added.
const elsewhere = -1

// reserve returns a part of so many rows, which is behind those that there are or will be, if there is a place.
func (l *rowList[T]) reserve(n int) *rowPart[T] {
	at := l.reserved
	if l.reserved += n; l.reserved > cap(l.rows) {
		return &rowPart[T]{at: elsewhere}
	}
	return &rowPart[T]{rows: l.rows[at:at:l.reserved], at: at}
}

// add adds the next part, which is as long as was reserved for it, or shorter.
func (l *rowList[T]) add(p *rowPart[T], expected int64) {
	if len(p.rows) == 0 {
		return
	}
	l.ascending = l.ascending && p.ascending && (l.last == nil || slices.Compare(p.first, l.last) > 0)
	l.last = p.last
	if p.at == len(l.rows) {
		l.rows = l.rows[:p.at+len(p.rows)]
		return
	}
	// Once what was expected has come true, more of it is believed. No part has a place in a list that grows: there was
	// none for this one, and so none for those that follow.
	if n := int64(len(l.rows)); len(l.rows)+len(p.rows) > cap(l.rows) {
		l.rows = slices.Grow(l.rows, max(len(p.rows), int(max(n/4, min(expected-n, 3*n)))))
	}
	l.rows = append(l.rows, p.rows...)
}

// unpack adds the rows of a block to the part.
func (p *rowPart[T]) unpack(t table[T], of *span, b *columns.Block) error {
	if cap(p.rows) < b.Rows() {
		p.rows = make([]T, 0, b.Rows())
	}
	u := unpacker[T]{t, of, cells{mode: unpackCells, block: b, columns: b.Columns}}
	p.rows = p.rows[:b.Rows()]
	key, last, n := b.Columns[:t.keyColumns()], 0, 0
	p.ascending = true
	for at := range b.Rows() {
		if !u.set(at, &p.rows[n]) {
			continue
		}
		if n == 0 {
			p.first = keyAt(key, at)
		} else if p.ascending && !rises(key, last, at) {
			p.ascending = false
		}
		last = at
		n++
	}
	if p.rows = p.rows[:n]; n > 0 {
		p.last = keyAt(key, last)
	}
	return u.c.err
}

// keyAt returns the key of a row.
func keyAt(key [][]int64, row int) []int64 {
	out := make([]int64, len(key))
	for i, column := range key {
		out[i] = column[row]
	}
	return out
}

// rises says whether the key of a row is greater than that of another one.
func rises(key [][]int64, before, row int) bool {
	for _, column := range key {
		if was, now := column[before], column[row]; now != was {
			return now > was
		}
	}
	return false
}

// sortedRows sorts rows by their key, and of those with the same key keeps the last one.
func sortedRows[T any](t table[T], rows []T) []T {
	b := &columns.Block{}
	pack(b, t, rows)
	declared := declared(t.name)
	order := make([]int32, len(rows))
	for i := range order {
		order[i] = int32(i)
	}
	compare := func(x, y int32) int {
		for i := range t.keyColumns() {
			a, z := b.Columns[i][x], b.Columns[i][y]
			switch {
			case a == z:
			case declared[i].text():
				return strings.Compare(b.Texts[a], b.Texts[z])
			default:
				return cmp.Compare(a, z)
			}
		}
		return 0
	}
	slices.SortStableFunc(order, compare)
	out := make([]T, 0, len(rows))
	for i, row := range order {
		if i+1 == len(order) || compare(row, order[i+1]) != 0 {
			out = append(out, rows[row])
		}
	}
	return out
}

// OnRows makes the session call fn with the number of rows of packed tables each time that some were read.
func (s *Session) OnRows(fn func(rows int)) { s.onRows = fn }

// PackedRows returns how many rows the packed tables have, those that others replace included.
func (s *Session) PackedRows() (map[string]int64, error) {
	out := map[string]int64{}
	if err := s.settle(); err != nil {
		return nil, s.explain(err)
	}
	err := s.each("SELECT name, sum(rows) FROM chunk GROUP BY name", func(stmt *sqlite.Stmt) error {
		out[stmt.ColumnText(0)] = stmt.ColumnInt64(1)
		return nil
	})
	return out, s.explain(err)
}

// expectedRows is how many rows the chunks of a span say that they have, as far as their data makes that credible.
func (s *Session) expectedRows(name string, of *span) int64 {
	if of == nil {
		of = &span{-1 << 63, 1<<63 - 1}
	}
	if err := s.settle(); err != nil {
		return 0 // the read itself will say it
	}
	stmt, err := s.conn.Prepare("SELECT coalesce(sum(min(rows, ?, ? * length(data))), 0) FROM chunk WHERE name = ? " +
		"AND last >= ? AND first <= ?")
	if err != nil {
		return 0 // the read itself will say it
	}
	defer stmt.Reset()
	stmt.BindInt64(1, columns.MaxRows)
	stmt.BindInt64(2, believedRows)
	stmt.BindText(3, name)
	stmt.BindInt64(4, of.from)
	stmt.BindInt64(5, of.to)
	if more, err := stmt.Step(); err != nil || !more {
		return 0
	}
	return max(stmt.ColumnInt64(0), 0)
}
