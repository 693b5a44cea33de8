package session

import (
	"cmp"
	"fmt"
	"hash/crc32"
	"math"
	"slices"
	"strings"

	"github.com/klauspost/compress/zstd"
	"zombiezen.com/go/sqlite"

	"github.com/clrprof/clrprof/internal/columns"
)

// packedTableNames are the tables that grow with stacks and time. Their rows are in the table chunk, many in one row of
// it: encoded by column (package columns), then compressed with Zstandard. docs/session.md describes the format.
var packedTableNames = []string{
	nodeTable.name, siteTable.name, siteValueTable.name,
	gcBirthTable.name, gcDeathTable.name, siteDeathTable.name, siteAgeTable.name, siteAliveTable.name,
	survivalTable.name, rootTable.name,
	counterValueTable.name, timingTable.name, timingValueTable.name, timingInclusiveTable.name, systemEventTable.name,
	timingCountTable.name,
	timingInclusiveCountTable.name, timingExtremeTable.name,
	timingRunningTable.name,
	timingBeganTable.name,
	pathValueTable.name, pathTimeTable.name, userTimeTable.name,
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
	decoder *zstd.Decoder
	buffer  []byte // a block, not compressed
	packed  []byte // and compressed
}

func (p *packer) compress(data []byte) ([]byte, error) {
	if p.encoder == nil {
		var err error
		if p.encoder, err = zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1),
			zstd.WithEncoderLevel(zstd.SpeedFastest)); err != nil {
			return nil, err
		}
	}
	return p.encoder.EncodeAll(data, nil), nil
}

func (p *packer) decompress(data []byte) ([]byte, error) {
	if p.decoder == nil {
		var err error
		if p.decoder, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1),
			zstd.WithDecoderMaxMemory(maxChunkBytes)); err != nil {
			return nil, err
		}
	}
	out, err := p.decoder.DecodeAll(data, p.buffer[:0])
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	p.buffer = out
	return out, nil
}

func (p *packer) close() {
	if p.decoder != nil {
		p.decoder.Close()
	}
}

// keyColumns is how many columns the key has: the first ones, in a packed table.
func (t table[T]) keyColumns() int { return strings.Count(t.order, ",") + 1 }

// insertPacked adds rows to a packed table as chunks.
func insertPacked[T any](s *Session, t table[T], rows []T) error {
	for part := range slices.Chunk(rows, maxChunkRows) {
		b := block(t, part)
		var err error
		if t.order == "id" {
			err = s.checkAscending(t.name, b.Columns[0])
		}
		if err == nil {
			err = s.insertChunk(t.name, b)
		}
		if err != nil {
			return fmt.Errorf("writing table %s: %w", t.name, err)
		}
	}
	return nil
}

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

// block encodes rows by column.
func block[T any](t table[T], rows []T) *columns.Block {
	b := &columns.Block{Columns: make([][]int64, len(t.columns))}
	for i := range b.Columns {
		b.Columns[i] = make([]int64, 0, len(rows))
	}
	c := cells{mode: packCells, block: b}
	for i := range rows {
		c.next = 0
		t.fields(&c, &rows[i])
	}
	return b
}

func (s *Session) insertChunk(name string, b *columns.Block) error {
	data, err := b.Append(s.packer.buffer[:0])
	if err != nil {
		return err
	}
	s.packer.buffer = data
	if data, err = s.packer.compress(data); err != nil {
		return err
	}
	stmt, err := s.conn.Prepare("INSERT INTO chunk (name, first, last, rows, columns, checksum, data) VALUES (?, ?, " +
		"?, ?, ?, ?, ?)")
	if err != nil {
		return err
	}
	stmt.BindText(1, name)
	stmt.BindInt64(2, slices.Min(b.Columns[0]))
	stmt.BindInt64(3, slices.Max(b.Columns[0]))
	stmt.BindInt64(4, int64(b.Rows()))
	stmt.BindInt64(5, int64(len(b.Columns)))
	stmt.BindInt64(6, int64(crc32.ChecksumIEEE(data)))
	stmt.BindBytes(7, data)
	return step(stmt)
}

// span is a range of the first column of a table, both ends included.
type span struct{ from, to int64 }

// eachChunk calls fn for each chunk of a table that may have rows of a span (nil: all), in the order in which they were
// written. Its columns are as many as the table has: those that were not recorded are 0. It is overwritten by the next
// one.
func (s *Session) eachChunk(name string, width int, of *span, fn func(*columns.Block) error) error {
	var b columns.Block
	return s.eachChunkData(name, of, func(data []byte, rows, n int) error {
		if err := b.Decode(data, rows, n); err != nil {
			return fmt.Errorf("%w: %w", ErrCorrupt, err)
		}
		for len(b.Columns) < width {
			b.Columns = append(b.Columns, make([]int64, rows))
		}
		b.Columns = b.Columns[:width]
		return fn(&b)
	})
}

// eachChunkData calls fn with the encoding of the chunks of eachChunk, which is overwritten by the next one.
func (s *Session) eachChunkData(name string, of *span, fn func(data []byte, rows, columns int) error) error {
	which := "SELECT id FROM chunk WHERE name = ?"
	if of != nil {
		which += " AND last >= ? AND first <= ?"
	}
	// The ids by themselves: of whole rows, data included, SQLite would write a temporary file to sort them.
	stmt, err := s.conn.Prepare("SELECT rows, columns, checksum, data FROM chunk WHERE id IN (" + which +
		") ORDER BY id")
	if err != nil {
		return err
	}
	defer stmt.Reset()
	stmt.BindText(1, name)
	if of != nil {
		stmt.BindInt64(2, of.from)
		stmt.BindInt64(3, of.to)
	}
	for {
		more, err := stmt.Step()
		if err != nil || !more {
			return err
		}
		data, err := s.chunkData(stmt)
		rows, n := int(stmt.ColumnInt64(0)), int(stmt.ColumnInt64(1))
		if err == nil {
			err = fn(data, rows, n)
		}
		if err != nil {
			return err
		}
		if s.onRows != nil {
			s.onRows(rows)
		}
	}
}

// chunkData returns the encoding of a chunk.
func (s *Session) chunkData(stmt *sqlite.Stmt) ([]byte, error) {
	rows, n := stmt.ColumnInt64(0), stmt.ColumnInt64(1)
	s.packer.packed = slices.Grow(s.packer.packed[:0], stmt.ColumnLen(3))[:stmt.ColumnLen(3)]
	data := s.packer.packed
	stmt.ColumnBytes(3, data)
	if int64(crc32.ChecksumIEEE(data)) != stmt.ColumnInt64(2) {
		return nil, fmt.Errorf("%w: a chunk's checksum is wrong", ErrCorrupt)
	}
	if rows < 1 || rows > columns.MaxRows || n < 1 || n > columns.MaxColumns {
		return nil, fmt.Errorf("%w: a chunk of %d rows and %d columns", ErrCorrupt, rows, n)
	}
	return s.packer.decompress(data)
}

// eachPacked calls fn for each row of a packed table, in the order in which they were written. The row is overwritten
// by the next one.
func eachPacked[T any](s *Session, t table[T], of *span, fn func(*T)) error {
	return eachUnpacked(s, t, of, func(_ *columns.Block, _ int, row *T) { fn(row) })
}

// eachUnpacked also tells where the row is: in a block, at a position.
func eachUnpacked[T any](s *Session, t table[T], of *span, fn func(*columns.Block, int, *T)) error {
	var row T
	err := s.eachChunk(t.name, len(t.columns), of, func(b *columns.Block) error {
		c := cells{mode: unpackCells, block: b, columns: b.Columns}
		for c.row = range b.Rows() {
			if first := b.Columns[0][c.row]; of != nil && (first < of.from || first > of.to) {
				continue
			}
			if t.direct == nil || uint64(t.direct(b.Columns, c.row, &row)) > math.MaxUint32 {
				c.next = 0
				t.fields(&c, &row) // which says what is out of range
			}
			fn(b, c.row, &row)
		}
		return c.err
	})
	if err != nil {
		return fmt.Errorf("reading table %s: %w", t.name, err)
	}
	return nil
}

// packedRows returns the rows of a packed table in the order of the key. Of those with the same key it returns the one
// that was written last.
func packedRows[T any](s *Session, t table[T], of *span) ([]T, error) {
	expected := s.expectedRows(t.name, of)
	rows := make([]T, 0, min(expected, maxExpectedRows))
	last := make([]int64, t.keyColumns())
	ascending := !slices.ContainsFunc(declared(t.name)[:len(last)], func(c declaredColumn) bool { return c.text() })
	err := eachUnpacked(s, t, of, func(b *columns.Block, at int, row *T) {
		ascending = ascending && (len(rows) == 0 || rises(b, at, last))
		for i := range last {
			last[i] = b.Columns[i][at]
		}
		// once what was expected has come true, more of it is believed
		if n := int64(len(rows)); len(rows) == cap(rows) {
			rows = slices.Grow(rows, int(max(n/4, min(expected-n, 3*n))))
		}
		rows = append(rows, *row)
	})
	switch {
	case err != nil:
		return nil, err
	case len(rows) == 0:
		return nil, nil
	case ascending:
		return rows, nil
	}
	return sortedRows(t, rows), nil
}

// rises says whether the key of a row is greater than another one.
func rises(b *columns.Block, row int, last []int64) bool {
	for i, before := range last {
		if now := b.Columns[i][row]; now != before {
			return now > before
		}
	}
	return false
}

// sortedRows sorts rows by their key, and of those with the same key keeps the last one.
func sortedRows[T any](t table[T], rows []T) []T {
	b := block(t, rows)
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
	err := s.each("SELECT name, sum(rows) FROM chunk GROUP BY name", func(stmt *sqlite.Stmt) error {
		out[stmt.ColumnText(0)] = stmt.ColumnInt64(1)
		return nil
	})
	return out, s.explain(err)
}

// expectedRows is how many rows the chunks of a span say that they have.
func (s *Session) expectedRows(name string, of *span) int64 {
	if of == nil {
		of = &span{-1 << 63, 1<<63 - 1}
	}
	stmt, err := s.conn.Prepare("SELECT coalesce(sum(rows), 0) FROM chunk WHERE name = ? AND last >= ? AND first <= ?")
	if err != nil {
		return 0 // the read itself will say it
	}
	defer stmt.Reset()
	stmt.BindText(1, name)
	stmt.BindInt64(2, of.from)
	stmt.BindInt64(3, of.to)
	if more, err := stmt.Step(); err != nil || !more {
		return 0
	}
	return max(stmt.ColumnInt64(0), 0)
}
