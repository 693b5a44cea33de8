package session

import (
	"fmt"
	"strings"

	q "github.com/clrprof/clrprof/internal/quantity"
	"zombiezen.com/go/sqlite"
)

// table maps the rows of one table to a Go struct. fields is called with a
// cell that either binds or reads, so that columns and fields cannot get out of
// step between writing and reading.
type table[T any] struct {
	name    string
	columns string // in the order in which fields visits them
	order   string // ORDER BY of a read: the key
	fields  func(c *cells, row *T)
}

// cells visits the columns of a row, to bind a statement's parameters from the
// row, or to set the row from a statement's result.
type cells struct {
	stmt  *sqlite.Stmt
	write bool
	next  int // 1-based parameter when writing, 0-based column when reading
}

func (c *cells) int64(p *int64) {
	if c.write {
		c.stmt.BindInt64(c.next, *p)
	} else {
		*p = c.stmt.ColumnInt64(c.next)
	}
	c.next++
}

func (c *cells) float64(p *float64) {
	if c.write {
		c.stmt.BindFloat(c.next, *p)
	} else {
		*p = c.stmt.ColumnFloat(c.next)
	}
	c.next++
}

func (c *cells) text(p *string) {
	if c.write {
		c.stmt.BindText(c.next, *p)
	} else {
		*p = c.stmt.ColumnText(c.next)
	}
	c.next++
}

func (c *cells) blob(p *[]byte) {
	if c.write {
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
}

func amount(c *cells, a *q.Amount) {
	integer(c, &a.Allocations)
	integer(c, &a.Bytes)
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
	marks := strings.TrimSuffix(strings.Repeat("?,", strings.Count(t.columns, ",")+1), ",")
	stmt, err := conn.Prepare(verb + " INTO " + t.name + " (" + t.columns + ") VALUES (" + marks + ")")
	if err != nil {
		return fmt.Errorf("writing table %s: %w", t.name, err)
	}
	c := cells{stmt: stmt, write: true}
	for i := range rows {
		c.next = 1
		t.fields(&c, &rows[i])
		_, err := stmt.Step()
		if resetErr := stmt.Reset(); err == nil {
			err = resetErr
		}
		if err != nil {
			return fmt.Errorf("writing table %s: %w", t.name, err)
		}
	}
	return nil
}

// maxExpectedRows bounds what is set aside for rows before they are seen: in a damaged
// file the largest id says nothing.
const maxExpectedRows = 1 << 20

// expectedRows guesses how many rows a read returns, from the largest id.
func expectedRows[T any](conn *sqlite.Conn, t table[T]) int64 {
	if t.order != "id" {
		return 0
	}
	stmt, err := conn.Prepare("SELECT max(id) FROM " + t.name)
	if err != nil {
		return 0 // the read itself will say it
	}
	defer stmt.Reset()
	if more, err := stmt.Step(); err != nil || !more {
		return 0
	}
	return min(max(stmt.ColumnInt64(0), 0), maxExpectedRows)
}

// selectRows reads the rows that match condition ("" for all), in the order of the key.
func selectRows[T any](conn *sqlite.Conn, t table[T], condition string, args ...int64) ([]T, error) {
	var rows []T
	if condition == "" {
		rows = make([]T, 0, expectedRows(conn, t))
	}
	err := eachRow(conn, t, condition, args, func(row *T) { rows = append(rows, *row) })
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	return rows, nil
}

// eachRow calls fn for each of the rows of selectRows. The row is overwritten by the next one.
func eachRow[T any](conn *sqlite.Conn, t table[T], condition string, args []int64, fn func(*T)) error {
	if condition != "" {
		condition = " WHERE " + condition
	}
	stmt, err := conn.Prepare("SELECT " + t.columns + " FROM " + t.name + condition + " ORDER BY " + t.order)
	if err != nil {
		return fmt.Errorf("reading table %s: %w", t.name, err)
	}
	defer stmt.Reset()
	for i, arg := range args {
		stmt.BindInt64(i+1, arg)
	}
	c := cells{stmt: stmt}
	var row T
	for {
		more, err := stmt.Step()
		if err != nil {
			return fmt.Errorf("reading table %s: %w", t.name, err)
		}
		if !more {
			return nil
		}
		c.next = 0
		t.fields(&c, &row)
		fn(&row)
	}
}
