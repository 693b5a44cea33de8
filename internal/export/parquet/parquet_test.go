package parquet

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"

	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/testkit/analysistest"
	"github.com/clrprof/clrprof/internal/testkit/sessiontest"
)

// TestWrite: the files have the rows of the tables, in their order, with all their columns.
func TestWrite(t *testing.T) {
	for name, b := range map[string]*sessiontest.Builder{"kitchen": sessiontest.Kitchen(), "aging": sessiontest.Aging(),
		"timed": sessiontest.Timed()} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			s := analysistest.Open(t, b, filepath.Join(dir, "s"))
			var paths []string
			err := Write(func(name string) (io.WriteCloser, error) {
				paths = append(paths, filepath.Join(dir, name))
				return os.Create(paths[len(paths)-1])
			}, s, Options{Views: true})
			if err != nil || len(paths) < 50 {
				t.Fatalf("%d files, %v", len(paths), err)
			}
			tables, err := s.Tables()
			if err != nil {
				t.Fatal(err)
			}
			views, err := s.Views()
			if err != nil || len(views) < 20 {
				t.Fatalf("%d views, %v", len(views), err)
			}
			if tables = append(tables, views...); len(paths) != len(tables) {
				t.Errorf("%d files of %d tables and views", len(paths), len(tables))
			}
			for i, table := range tables {
				var want []string
				err := s.Query("SELECT * FROM "+table.Name, func([]string) error { return nil }, func(row []any) error {
					for i, v := range row {
						if b, ok := v.([]byte); ok {
							row[i] = string(b)
						}
					}
					want = append(want, fmt.Sprintf("%v", row))
					return nil
				})
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(want, read(t, paths[i], table)); diff != "" {
					t.Errorf("%s (-session +file):\n%s", table.Name, diff)
				}
			}
		})
	}
}

// read returns the rows of a file as text.
func read(t *testing.T, path string, table session.TableInfo) []string {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	file, err := parquet.OpenFile(f, info.Size())
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	for i, field := range file.Schema().Fields() {
		if field.Name() != table.Columns[i].Name {
			t.Errorf("%s: column %d is %s, want %s", path, i, field.Name(), table.Columns[i].Name)
		}
	}
	var out []string
	for _, group := range file.RowGroups() {
		rows := group.Rows()
		buffer := make([]parquet.Row, 16)
		for {
			n, err := rows.ReadRows(buffer)
			for _, row := range buffer[:n] {
				var values []any
				for i, v := range row {
					switch kind := table.Columns[i].Type; {
					case v.IsNull():
						values = append(values, nil)
					case kind == session.ColumnText, kind == session.ColumnBlob:
						values = append(values, string(v.ByteArray()))
					case kind == session.ColumnReal:
						values = append(values, v.Double())
					default:
						values = append(values, v.Int64())
					}
				}
				out = append(out, fmt.Sprintf("%v", values))
			}
			if err != nil {
				break
			}
		}
		rows.Close()
	}
	if int64(len(out)) != file.NumRows() {
		t.Errorf("%s: %d rows read of %d", path, len(out), file.NumRows())
	}
	return out
}

// TestCompression: each way to compress gives the same rows, and files say which one it is.
func TestCompression(t *testing.T) {
	dir := t.TempDir()
	s := analysistest.Open(t, sessiontest.Aging(), filepath.Join(dir, "s"))
	tables, err := s.Tables()
	if err != nil {
		t.Fatal(err)
	}
	codecs := map[string]string{"": "ZSTD", "zstd": "ZSTD", "snappy": "SNAPPY", "none": "UNCOMPRESSED"}
	rows := map[string][]string{}
	for name, codec := range codecs {
		in := filepath.Join(dir, "of "+name)
		if err := os.Mkdir(in, 0o700); err != nil {
			t.Fatal(err)
		}
		err := Write(func(file string) (io.WriteCloser, error) { return os.Create(filepath.Join(in, file)) }, s,
			Options{Compression: name})
		if err != nil {
			t.Fatal(err)
		}
		for _, table := range tables {
			path := filepath.Join(in, table.Name+Extension)
			rows[name] = append(rows[name], read(t, path, table)...)
			if have := codecOf(t, path); have != codec && have != "" {
				t.Errorf("%q: %s is compressed with %s", name, table.Name, have)
			}
		}
		if diff := cmp.Diff(rows[""], rows[name]); name != "" && rows[""] != nil && diff != "" {
			t.Errorf("%s (-zstd +%s):\n%s", name, name, diff)
		}
	}
	if err := Write(nil, s, Options{Compression: "gzip"}); err == nil {
		t.Error("an unknown compression is no error")
	}
}

// codecOf is how the columns of a file are compressed; "" without any.
func codecOf(t *testing.T, path string) string {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	file, err := parquet.OpenFile(f, info.Size())
	if err != nil {
		t.Fatal(err)
	}
	for _, group := range file.Metadata().RowGroups {
		for _, column := range group.Columns {
			return column.MetaData.Codec.String()
		}
	}
	return ""
}
