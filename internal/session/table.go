package session

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"zombiezen.com/go/sqlite"

	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session/columns"
)

// table maps the rows of one table to a Go struct. fields is called with a
// cell that either binds or reads, so that columns and fields cannot get out of
// step between writing and reading.
type table[T any] struct {
	name    string
	columns []string // in the order in which fields visits them
	order   string   // ORDER BY of a read: the key
	fields  func(c *cells, row *T)
	// direct sets a row of a large packed table as fields does, at a fourth of the time, and returns the bits of all
	// numbers that must fit 32 of them; nil: there is only fields.
	direct func(c [][]int64, at int, row *T) int64
}

// directly gives a table the function direct.
func (t table[T]) directly(direct func(c [][]int64, at int, row *T) int64) table[T] {
	t.direct = direct
	return t
}

// cells visits the columns of a row: to bind a statement's parameters from the row, to set the row from a statement's
// result, or to do either with a block of columns.
type cells struct {
	mode  cellMode
	stmt  *sqlite.Stmt
	next  int          // 1-based parameter when binding, else 0-based column
	bound []boundInt64 // by parameter: what it has, when binding
	last  int          // when reading: as many columns are selected; what a row has in others is 0

	block   *columns.Block
	columns [][]int64        // those of the block
	narrow  []columns.Narrow // the same, where they are kept
	row     int              // of the block
	numbers map[string]int64 // of texts that are in the block, when it is made
	err     error            // a text that the block does not have, or a number out of range
}

type cellMode int

const (
	readCells cellMode = iota
	bindCells
	packCells
	unpackCells
	narrowCells // as unpackCells, from narrow columns; of tables without texts
)

// int64 is small enough to be inlined where rows are unpacked, of which there are many millions.
func (c *cells) int64(p *int64) {
	if c.mode == unpackCells {
		*p = c.columns[c.next][c.row]
		c.next++
	} else {
		c.otherInt64(p)
	}
}

func (c *cells) otherInt64(p *int64) {
	switch c.mode {
	case bindCells:
		c.bindInt64(*p)
	case packCells:
		c.columns[c.next][c.row] = *p
	case narrowCells:
		*p = c.narrow[c.next].At(c.row)
	default:
		*p = c.stmt.ColumnInt64(c.next)
	}
	c.next++
}

// bindInt64 binds a parameter, unless the row before had the same number there: of the fifty columns of a table of
// times most are zero.
func (c *cells) bindInt64(n int64) {
	for len(c.bound) <= c.next {
		c.bound = append(c.bound, boundInt64{})
	}
	if now := (boundInt64{n, true}); c.bound[c.next] != now {
		c.bound[c.next] = now
		c.stmt.BindInt64(c.next, n)
	}
}

// boundInt64 is a number that a parameter has.
type boundInt64 struct {
	number int64
	is     bool
}

// float64 visits a column of numbers that need not be whole. A packed table has their bits.
func (c *cells) float64(p *float64) {
	switch c.mode {
	case bindCells:
		c.stmt.BindFloat(c.next, *p)
		c.next++
	case packCells, unpackCells:
		bits := int64(math.Float64bits(*p))
		c.int64(&bits)
		*p = math.Float64frombits(uint64(bits))
	default:
		*p = c.stmt.ColumnFloat(c.next)
		c.next++
	}
}

// text visits a column of names and words, which no reader believes to be longer than mostName.
func (c *cells) text(p *string) {
	c.longText(p)
	if isRead := c.mode != bindCells && c.mode != packCells; isRead && len(*p) > mostName {
		c.err = fmt.Errorf("%w: a name of %d bytes: no clrprof writes more than %d", ErrCorrupt, len(*p), mostName)
		*p = ""
	}
}

// longText visits a column of texts of the program's data, which views show once for each row that the file has.
func (c *cells) longText(p *string) {
	switch c.mode {
	case bindCells:
		c.stmt.BindText(c.next, *p)
		c.next++
	case packCells:
		number := c.numberOf(*p)
		c.int64(&number)
	case unpackCells:
		var number int64
		if c.int64(&number); number < 0 || number >= int64(len(c.block.Texts)) {
			c.err = fmt.Errorf("%w: a text is missing", ErrCorrupt)
			return
		}
		*p = c.block.Texts[number]
	default:
		*p = c.stmt.ColumnText(c.next)
		c.next++
	}
}

// numberOf is the position of a text in the block, which has it then.
func (c *cells) numberOf(text string) int64 {
	number, ok := c.numbers[text]
	if !ok {
		if c.numbers == nil {
			c.numbers = map[string]int64{}
		}
		number = int64(len(c.block.Texts))
		c.numbers[text] = number
		c.block.Texts = append(c.block.Texts, text)
	}
	return number
}

// blob visits a column of a table that is not packed.
func (c *cells) blob(p *[]byte) {
	if c.mode == bindCells {
		if len(*p) == 0 { // BindBytes would bind NULL for nil
			c.stmt.BindZeroBlob(c.next, 0)
		} else {
			c.stmt.BindBytes(c.next, *p)
		}
	} else {
		*p = nil
		if n := c.stmt.ColumnLen(c.next); n > 0 {
			*p = make([]byte, n)
			c.stmt.ColumnBytes(c.next, *p)
		}
	}
	c.next++
}

func (c *cells) bool(p *bool) {
	n := int64(0)
	if *p {
		n = 1
	}
	c.int64(&n)
	*p = n != 0
}

// integer visits a column of any integer type.
func integer[T ~int64 | ~uint64 | ~uint32](c *cells, p *T) {
	n := int64(*p)
	c.int64(&n)
	*p = T(n)
	if int64(*p) != n {
		c.err = fmt.Errorf("%w: %d", ErrRange, n)
	}
}

func amount(c *cells, a *q.Amount) {
	integer(c, &a.Allocations)
	integer(c, &a.Bytes)
}

// amountAt is amount for a function direct.
func amountAt(c [][]int64, at int) q.Amount {
	return q.Amount{Allocations: q.Count(c[0][at]), Bytes: q.Bytes(c[1][at])}
}

// amounts visits the four columns in the order in which the schema has them.
func amounts(c *cells, a *q.Amounts) {
	integer(c, &a.Inclusive.Allocations)
	integer(c, &a.Exclusive.Allocations)
	integer(c, &a.Inclusive.Bytes)
	integer(c, &a.Exclusive.Bytes)
}

// insert writes rows in order. verb is INSERT or INSERT OR REPLACE.
func insert[T any](conn *sqlite.Conn, verb string, t table[T], rows []T) error {
	marks := strings.TrimSuffix(strings.Repeat("?,", len(t.columns)), ",")
	stmt, err := conn.Prepare(verb + " INTO " + t.name + " (" + strings.Join(t.columns, ", ") + ") VALUES (" + marks +
		")")
	if err != nil {
		return fmt.Errorf("writing table %s: %w", t.name, err)
	}
	c := cells{stmt: stmt, mode: bindCells}
	for i := range rows {
		c.next = 1
		t.fields(&c, &rows[i])
		if err := step(stmt); err != nil {
			return fmt.Errorf("writing table %s: %w", t.name, err)
		}
	}
	return nil
}

// step runs a statement that returns no rows, and makes it ready to run again.
func step(stmt *sqlite.Stmt) error {
	_, err := stmt.Step()
	if resetErr := stmt.Reset(); err == nil { // else it says the same once more
		err = resetErr
	}
	return err
}

// maxExpectedRows bounds what is set aside for rows before they are seen: in a damaged
// file the largest id says nothing.
const maxExpectedRows = 1 << 20

// maxExpectedBytes is the same for packed tables, of which rows are small. It is not touched before there are rows.
const maxExpectedBytes = 256 << 20

// expectedRows guesses how many rows a read returns: from the largest id where there is one, which is found at once.
func expectedRows[T any](conn *sqlite.Conn, t table[T]) int64 {
	rows := "max(id)"
	if t.order != "id" {
		rows = "count(*)"
	}
	stmt, err := conn.Prepare("SELECT " + rows + " FROM " + t.name)
	if err != nil {
		return 0 // the read itself will say it
	}
	defer stmt.Reset()
	if more, err := stmt.Step(); err != nil || !more {
		return 0
	}
	return min(max(stmt.ColumnInt64(0), 0), maxExpectedRows, pagesBytes(conn)/int64(leastCell+len(t.columns)))
}

// selectRows reads the rows of a span of the first column (nil: all), in the order of the key.
func selectRows[T any](s *Session, t table[T], of *span) ([]T, error) {
	if of == nil {
		return selectWhere(s, t, "")
	}
	return selectWhere(s, t, t.columns[0]+" BETWEEN ? AND ?", of.from, of.to)
}

// selectWhere reads the rows for which a condition with parameters holds ("": all), in the order of the key.
func selectWhere[T any](s *Session, t table[T], where string, parameters ...int64) ([]T, error) {
	var rows []T
	var pieces [][]T // that are full, where it is not known how many rows there are
	names, err := columnList(s, t)
	if err != nil {
		return nil, fmt.Errorf("reading table %s: %w", t.name, err)
	}
	query := "SELECT " + strings.Join(names, ", ") + " FROM " + t.name
	if where == "" {
		rows = make([]T, 0, expectedRows(s.conn, t))
	} else {
		query += " WHERE " + where
	}
	stmt, err := s.conn.Prepare(query + " ORDER BY " + t.order)
	if err != nil {
		return nil, fmt.Errorf("reading table %s: %w", t.name, err)
	}
	defer stmt.Reset()
	for i, p := range parameters {
		stmt.BindInt64(i+1, p)
	}
	c := cells{stmt: stmt, last: len(names)}
	for {
		more, err := stmt.Step()
		if err != nil {
			return nil, fmt.Errorf("reading table %s: %w", t.name, err)
		}
		if !more {
			break
		}
		if len(rows) == cap(rows) && len(rows) >= pieceRows { // a list that grows is copied again and again
			pieces, rows = append(pieces, rows), make([]T, 0, pieceRows)
		}
		rows = append(rows, *new(T))
		c.next = 0
		t.fields(&c, &rows[len(rows)-1])
	}
	if c.err != nil {
		return nil, fmt.Errorf("reading table %s: %w", t.name, c.err)
	}
	switch {
	case len(rows) == 0:
		return nil, nil
	case len(pieces) > 0:
		return slices.Concat(append(pieces, rows)...), nil
	}
	return rows, nil
}

// pieceRows is how many rows selectRows reads at once into a list that does not grow.
const pieceRows = 1 << 12
