package session

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"zombiezen.com/go/sqlite/sqlitex"
)

// ask runs a query and returns its columns and rows.
func ask(s *Session, query string) (columns []string, rows [][]any, err error) {
	err = s.Query(query, func(c []string) error { columns = c; return nil }, func(r []any) error {
		rows = append(rows, r)
		return nil
	})
	return columns, rows, err
}

func TestQuery(t *testing.T) {
	t.Chdir(t.TempDir())
	small(t, "s")
	s, err := Open("s")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	columns, rows, err := ask(s, "SELECT 1 AS n, 2.5 AS f, 'x' AS t, x'00ff' AS b, NULL AS none, 7 AS n")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"n", "f", "t", "b", "none", "n:1"}, columns); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([][]any{{int64(1), 2.5, "x", []byte{0, 0xff}, nil, int64(7)}}, rows); diff != "" {
		t.Error(diff)
	}
	for _, query := range []string{
		"SELECT count(*) FROM node;", "  SELECT 1 -- a comment", "WITH a AS (SELECT 1) SELECT * FROM a",
		"VALUES (1), (2)",
		"SELECT * FROM pragma_table_info('node')", "PRAGMA table_info(node)", "SELECT * FROM functions",
		"EXPLAIN SELECT 1",
	} {
		if _, rows, err := ask(s, query); err != nil || len(rows) == 0 {
			t.Errorf("%s: %d rows, %v", query, len(rows), err)
		}
	}
}

// TestQueryRefuses tries whatever could change something or reach out of the file.
func TestQueryRefuses(t *testing.T) {
	t.Chdir(t.TempDir())
	small(t, "s")
	before, err := os.ReadFile("s")
	if err != nil {
		t.Fatal(err)
	}
	w, err := Edit("s") // a connection that could write, to test more than the file's mode
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	for _, query := range []string{
		"DELETE FROM node", "INSERT INTO info VALUES ('a', 'b')", "UPDATE node SET parent_id = 0 RETURNING id",
		"DROP TABLE node", "CREATE TABLE x (a)",
		"CREATE TEMP TABLE x (a)", "ATTACH 'y' AS y", "DETACH main", "VACUUM", "VACUUM INTO 'copy'", "BEGIN", "COMMIT",
		"SAVEPOINT a", "REINDEX", "ANALYZE",
		"PRAGMA query_only = 0", "PRAGMA journal_mode = WAL", "PRAGMA user_version = 7", "PRAGMA writable_schema = 1",
		"SELECT load_extension('x')",
		"SELECT 1; SELECT 2", "SELECT 1; DELETE FROM node", "", " ", ";", "-- nothing", "SELECT", "SELECT * FROM nodes",
		"SELECT \"x\"", "SELECT 1\x00", "SELECT max()",
	} {
		_, _, err := ask(w.Session, query)
		if !errors.Is(err, ErrQuery) {
			t.Errorf("%q: %v", query, err)
		} else if strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: an error of several lines: %q", query, err)
		}
	}
	w.Close()
	after, err := os.ReadFile("s")
	if err != nil || string(before) != string(after) {
		t.Error("the file has changed", err)
	}
	entries, err := filepath.Glob("*")
	if err != nil || len(entries) != 1 {
		t.Error(entries, err)
	}
}

// FuzzQuery runs any text as a query: it must not change the file, end in a panic, or
// give an error of several lines. Queries that run long are cut off after some rows.
func FuzzQuery(f *testing.F) {
	path := filepath.Join(f.TempDir(), "s")
	small(f, path)
	for _, q := range []string{"SELECT 1", "SELECT * FROM functions", "VALUES (1)", "SELECT 'a' || x'00'",
		"DELETE FROM node", "PRAGMA user_version", "SELECT 1;;", "EXPLAIN SELECT *"} {
		f.Add(q)
	}
	f.Fuzz(func(t *testing.T, query string) {
		s, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		stop, n := errors.New("enough"), 0
		err = s.Query(query, func([]string) error { return nil }, func([]any) error {
			if n++; n > 100 {
				return stop
			}
			return nil
		})
		if err != nil && strings.Contains(err.Error(), "\n") && !strings.Contains(query, "\n") {
			t.Errorf("%q: %q", query, err)
		}
	})
}

// TestDamagedView: a view whose text is damaged is damage, not a mistake in the query.
func TestDamagedView(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	small(t, path)
	w, err := Edit(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, sql := range []string{"PRAGMA writable_schema = 1",
		"UPDATE sqlite_schema SET sql = replace(sql, 'm.id', 'm.id0') WHERE name = 'functions'"} {
		if err := sqlitex.ExecuteTransient(w.conn, sql, nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	s, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, _, err := ask(s, "SELECT * FROM functions"); !errors.Is(err, ErrCorrupt) || errors.Is(err, ErrQuery) {
		t.Errorf("a damaged view: %v", err)
	}
}
