// Package parquet writes the tables of a session as Parquet files, one for each, and its views if they are wanted, for
// DuckDB, ClickHouse, pandas and Spark.
//
// Rows and columns are those of docs/session.md, under the same names: 64-bit integers, doubles, UTF-8 strings and byte
// arrays. Columns of tables are required, those of views can be null. Pages are compressed with Zstandard, unless
// something else is wanted, and a row group has rowsInGroup rows: memory is bounded by that, and by the largest packed
// table.
package parquet

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress"

	"github.com/clrprof/clrprof/internal/session"
)

// rowsInGroup is how many rows are written at once.
const rowsInGroup = 1 << 17

// Extension is that of the files.
const Extension = ".parquet"

// Options say what is written.
type Options struct {
	Compression string // one of Compressions; "": the first
	Views       bool   // also a file for each view
}

// Compressions returns the names of the ways to compress pages, the default first.
func Compressions() []string { return []string{"zstd", "snappy", "none"} }

// codecs are the Compressions.
var codecs = map[string]compress.Codec{"": &parquet.Zstd, "zstd": &parquet.Zstd, "snappy": &parquet.Snappy,
	"none": &parquet.Uncompressed}

// Write writes a file TABLE.parquet for each table of s, in the order of s.Tables, and then for each view, if they are
// wanted. create makes a file of that name.
func Write(create func(name string) (io.WriteCloser, error), s *session.Session, o Options) error {
	codec, known := codecs[o.Compression]
	if !known {
		return fmt.Errorf("there is no compression %q: there are %q", o.Compression, Compressions())
	}
	tables, err := s.Tables()
	if err != nil {
		return err
	}
	var views []session.TableInfo
	if o.Views {
		if views, err = s.Views(); err != nil {
			return err
		}
	}
	for i, t := range slices.Concat(tables, views) {
		if err := writeFile(create, s, t, content{codec, i >= len(tables)}); err != nil {
			return fmt.Errorf("%s: %w", t.Name+Extension, err)
		}
	}
	return nil
}

// content is what is in a file, and how.
type content struct {
	codec  compress.Codec
	isView bool // columns can be null
}

func writeFile(create func(string) (io.WriteCloser, error), s *session.Session, t session.TableInfo, c content) error {
	f, err := create(t.Name + Extension)
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(f, 1<<20)
	return errors.Join(writeTable(w, s, t, c), w.Flush(), f.Close())
}

// writeTable writes one table or view.
func writeTable(to io.Writer, s *session.Session, t session.TableInfo, c content) error {
	w := parquet.NewWriter(to, schemaOf(t, c.isView), parquet.Compression(c.codec),
		parquet.CreatedBy("clrprof", "", ""))
	rows := make([]parquet.Row, 0, 1024)
	written := 0
	write := func() error {
		_, err := w.WriteRows(rows)
		if written += len(rows); err == nil && written >= rowsInGroup {
			written, err = 0, w.Flush()
		}
		rows = rows[:0]
		return err
	}
	err := s.Query("SELECT * FROM "+t.Name, func([]string) error { return nil }, func(row []any) error {
		out := make(parquet.Row, len(row))
		for i, value := range row {
			switch {
			case !c.isView:
				out[i] = valueOf(t.Columns[i].Type, value).Level(0, 0, i)
			case value == nil:
				out[i] = parquet.NullValue().Level(0, 0, i)
			default:
				out[i] = valueOf(t.Columns[i].Type, value).Level(0, 1, i)
			}
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

// kinds are the types of columns.
var kinds = map[string]parquet.Node{session.ColumnText: parquet.String(),
	session.ColumnBlob: parquet.Leaf(parquet.ByteArrayType), session.ColumnReal: parquet.Leaf(parquet.DoubleType),
	session.ColumnInteger: parquet.Int(64)}

func schemaOf(t session.TableInfo, nullable bool) *parquet.Schema {
	group := table{Group: parquet.Group{}}
	for _, c := range t.Columns {
		group.order = append(group.order, c.Name)
		group.Group[c.Name] = kinds[c.Type]
		if nullable {
			group.Group[c.Name] = parquet.Optional(kinds[c.Type])
		}
	}
	return parquet.NewSchema(t.Name, group)
}
