// Package parquet writes the tables of a session as Parquet files, one for each, for DuckDB, ClickHouse, pandas and
// Spark.
//
// Rows and columns are those of docs/session.md, under the same names. All columns are required: 64-bit integers,
// doubles, UTF-8 strings and byte arrays. Pages are compressed with Zstandard, and a row group has RowsInGroup rows:
// memory is bounded by that, and by the largest packed table.
package parquet

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/parquet-go/parquet-go"

	"github.com/clrprof/clrprof/internal/session"
)

// RowsInGroup is how many rows are written at once.
const RowsInGroup = 1 << 17

// Extension is that of the files.
const Extension = ".parquet"

// Write writes a file TABLE.parquet for each table of s, in the order of s.Tables. create makes a file of that name.
func Write(create func(name string) (io.WriteCloser, error), s *session.Session) error {
	tables, err := s.Tables()
	if err != nil {
		return err
	}
	for _, t := range tables {
		if err := writeFile(create, t.Name+Extension, s, t); err != nil {
			return fmt.Errorf("%s: %w", t.Name+Extension, err)
		}
	}
	return nil
}

func writeFile(create func(string) (io.WriteCloser, error), name string, s *session.Session,
	t session.TableInfo) error {
	f, err := create(name)
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(f, 1<<20)
	return errors.Join(writeTable(w, s, t), w.Flush(), f.Close())
}

// writeTable writes one table.
func writeTable(to io.Writer, s *session.Session, t session.TableInfo) error {
	w := parquet.NewWriter(to, schemaOf(t), parquet.Compression(&parquet.Zstd), parquet.CreatedBy("clrprof", "", ""))
	rows := make([]parquet.Row, 0, 1024)
	written := 0
	write := func() error {
		_, err := w.WriteRows(rows)
		if written += len(rows); err == nil && written >= RowsInGroup {
			written, err = 0, w.Flush()
		}
		rows = rows[:0]
		return err
	}
	err := s.Query("SELECT * FROM "+t.Name, func([]string) error { return nil }, func(row []any) error {
		out := make(parquet.Row, len(row))
		for i, value := range row {
			out[i] = valueOf(t.Columns[i].Type, value).Level(0, 0, i)
		}
		if rows = append(rows, out); len(rows) < cap(rows) {
			return nil
		}
		return write()
	})
	if err == nil {
		err = write()
	}
	return errors.Join(err, w.Close())
}

// valueOf converts a value of a column; what is null in a damaged file is zero.
func valueOf(typ string, value any) parquet.Value {
	switch typ {
	case session.ColumnText:
		text, _ := value.(string)
		return parquet.ByteArrayValue([]byte(text))
	case session.ColumnBlob:
		b, _ := value.([]byte)
		return parquet.ByteArrayValue(b)
	case session.ColumnReal:
		switch n := value.(type) {
		case float64:
			return parquet.DoubleValue(n)
		case int64: // as SQLite stores whole numbers
			return parquet.DoubleValue(float64(n))
		}
		return parquet.DoubleValue(0)
	}
	n, _ := value.(int64)
	return parquet.Int64Value(n)
}

// table is a group of columns in the table's order; parquet.Group has them in that of their names.
type table struct {
	parquet.Group
	order []string
}

// Fields returns the columns.
func (t table) Fields() []parquet.Field {
	fields := t.Group.Fields()
	slices.SortFunc(fields, func(a, b parquet.Field) int {
		return slices.Index(t.order, a.Name()) - slices.Index(t.order, b.Name())
	})
	return fields
}

func schemaOf(t session.TableInfo) *parquet.Schema {
	group := table{Group: parquet.Group{}}
	for _, c := range t.Columns {
		group.order = append(group.order, c.Name)
		switch c.Type {
		case session.ColumnText:
			group.Group[c.Name] = parquet.String()
		case session.ColumnBlob:
			group.Group[c.Name] = parquet.Leaf(parquet.ByteArrayType)
		case session.ColumnReal:
			group.Group[c.Name] = parquet.Leaf(parquet.DoubleType)
		default:
			group.Group[c.Name] = parquet.Int(64)
		}
	}
	return parquet.NewSchema(t.Name, group)
}
