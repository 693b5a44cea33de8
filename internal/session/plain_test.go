package session_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/clrprof/clrprof/internal/analysis"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/testkit/sessiontest"
)

// complete writes a session with all its sums.
func complete(t *testing.T, b *sessiontest.Builder, path string) *session.Session {
	t.Helper()
	if err := b.Write(path); err != nil {
		t.Fatal(err)
	}
	w, err := session.Edit(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := analysis.Complete(w); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	s, err := session.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// TestWritePlain: the database of an export has the tables, the views and the rows that queries of the session see.
func TestWritePlain(t *testing.T) {
	for name, b := range map[string]*sessiontest.Builder{"shop": sessiontest.Shop(), "kitchen": sessiontest.Kitchen(),
		"aging": sessiontest.Aging(),
		"heap":  sessiontest.Heap(), "timed": sessiontest.Timed()} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path, plain := filepath.Join(dir, "s"), filepath.Join(dir, "plain")
			s := complete(t, b, path)
			if err := sessiontest.Unpack(path, plain); err != nil {
				t.Fatal(err)
			}
			conn, err := sqlite.OpenConn(plain, sqlite.OpenReadOnly)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			tables := 0
			err = sqlitex.ExecuteTransient(conn, "SELECT name FROM sqlite_schema WHERE type IN ('table', 'view') AND "+
				"name NOT LIKE 'sqlite_%' ORDER BY name", &sqlitex.ExecOptions{
				ResultFunc: func(stmt *sqlite.Stmt) error {
					tables++
					name := stmt.ColumnText(0)
					if diff := cmp.Diff(linesOf(t, s, name), plainLines(t, conn, name)); diff != "" {
						t.Errorf("%s (-session +plain):\n%s", name, diff)
					}
					return nil
				}})
			if err != nil || tables < 80 {
				t.Errorf("%d tables and views, %v", tables, err)
			}
		})
	}
}

// linesOf are the rows of a table or view of a session, as queries see them, sorted.
func linesOf(t *testing.T, s *session.Session, name string) []string {
	t.Helper()
	var lines []string
	err := s.Query("SELECT * FROM "+name, func([]string) error { return nil }, func(row []any) error {
		lines = append(lines, fmt.Sprint(row...))
		return nil
	})
	if err != nil {
		t.Errorf("%s: %v", name, err)
	}
	slices.Sort(lines)
	return lines
}

func plainLines(t *testing.T, conn *sqlite.Conn, name string) []string {
	t.Helper()
	var lines []string
	err := sqlitex.ExecuteTransient(conn, "SELECT * FROM "+name,
		&sqlitex.ExecOptions{ResultFunc: func(stmt *sqlite.Stmt) error {
			var row []any
			for i := range stmt.ColumnCount() {
				switch stmt.ColumnType(i) {
				case sqlite.TypeInteger:
					row = append(row, stmt.ColumnInt64(i))
				case sqlite.TypeFloat:
					row = append(row, stmt.ColumnFloat(i))
				case sqlite.TypeText:
					row = append(row, stmt.ColumnText(i))
				case sqlite.TypeBlob:
					b := make([]byte, stmt.ColumnLen(i))
					stmt.ColumnBytes(i, b)
					row = append(row, b)
				default:
					row = append(row, nil)
				}
			}
			lines = append(lines, fmt.Sprint(row...))
			return nil
		}})
	if err != nil {
		t.Errorf("%s: %v", name, err)
	}
	slices.Sort(lines)
	return lines
}

// TestPackedInPython runs the program in docs/session.md.
func TestPackedInPython(t *testing.T) {
	for _, name := range []string{"python3", "zstd"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skipf("%s is not installed", name)
		}
	}
	text, err := os.ReadFile("../../docs/session.md")
	if err != nil {
		t.Fatal(err)
	}
	program := regexp.MustCompile("(?s)```python\n(.*?)```").FindSubmatch(text)
	if program == nil {
		t.Fatal("docs/session.md has no program")
	}
	path := filepath.Join(t.TempDir(), "s")
	s := complete(t, sessiontest.Aging(), path)
	var want strings.Builder
	for _, query := range []string{"SELECT sum(bytes) FROM site_value",
		"SELECT site_id || ' ' || measure || ' ' || bucket || ' ' || objects FROM site_age"} {
		err := s.Query(query, func([]string) error { return nil }, func(row []any) error {
			fmt.Fprintln(&want, row[0])
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("python3", "-", path)
	cmd.Stdin = bytes.NewReader(program[1])
	got, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, got)
	}
	if diff := cmp.Diff(want.String(), string(got)); diff != "" || strings.Count(want.String(), "\n") < 5 {
		t.Errorf("-SQL +Python:\n%s", diff)
	}
}
