package parquet

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"

	"github.com/clrprof/clrprof/internal/analysis/analysistest"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/session/sessiontest"
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
			}, s)
			if err != nil || len(paths) < 50 {
				t.Fatalf("%d files, %v", len(paths), err)
			}
			tables, err := s.Tables()
			if err != nil {
				t.Fatal(err)
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
					switch table.Columns[i].Type {
					case session.ColumnText, session.ColumnBlob:
						values = append(values, string(v.ByteArray()))
					case session.ColumnReal:
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
