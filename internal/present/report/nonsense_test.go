package report

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"pgregory.net/rapid"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/clrprof/clrprof/internal/testkit/sessiontest"
)

// TestViewsSurviveNonsense puts values into a sound database that no session can have:
// ids of nothing, cycles, negative and enormous numbers, text for numbers.
func TestViewsSurviveNonsense(t *testing.T) {
	dir := t.TempDir()
	var good [][]byte
	for i, b := range []*sessiontest.Builder{sessiontest.Shop(), sessiontest.Kitchen()} {
		path := filepath.Join(dir, fmt.Sprint("good", i))
		complete(t, b, path)
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		good = append(good, content)
	}
	plain := filepath.Join(dir, "plain")
	if err := sessiontest.Unpack(filepath.Join(dir, "good0"), plain); err != nil {
		t.Fatal(err)
	}
	columns := tableColumns(t, plain)
	rapid.Check(t, func(t *rapid.T) {
		bad := filepath.Join(dir, "bad")
		if err := os.WriteFile(bad, rapid.SampledFrom(good).Draw(t, "session"), 0o644); err != nil {
			t.Fatal(err)
		}
		err := sessiontest.Change(bad, func(conn *sqlite.Conn) error {
			for range rapid.IntRange(1, 4).Draw(t, "changes") {
				c := rapid.SampledFrom(columns).Draw(t, "column")
				value := rapid.SampledFrom([]any{int64(-1), int64(0), int64(1), int64(2), int64(3), int64(1 << 31),
					int64(1 << 62), int64(-1 << 63), 1e300, "text", "", []byte{0xff, 0xfe}}).Draw(t, "value")
				query := "UPDATE OR IGNORE " + c[0] + " SET " + c[1] + " = ?"
				if rapid.Bool().Draw(t, "some rows") {
					query += " WHERE " + c[1] + " IN (1, 3, 5)"
				}
				// Some columns refuse some values: then nothing is changed.
				_ = sqlitex.ExecuteTransient(conn, query, &sqlitex.ExecOptions{Args: []any{value}})
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		showAll(bad)
	})
}

// TestEnormousPath: how often a function is called by itself on a stored path takes no memory.
func TestEnormousPath(t *testing.T) {
	path := filepath.Join(t.TempDir(), "bad")
	complete(t, sessiontest.Shop(), path)
	err := sessiontest.Change(path, func(conn *sqlite.Conn) error {
		return sqlitex.ExecuteTransient(conn, "UPDATE type_path SET times = ?",
			&sqlitex.ExecOptions{Args: []any{int64(1 << 62)}})
	})
	if err != nil {
		t.Fatal(err)
	}
	showAll(path)
}

// tableColumns returns all tables with their columns.
func tableColumns(t *testing.T, path string) [][2]string {
	conn, err := sqlite.OpenConn(path, sqlite.OpenReadOnly)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	var out [][2]string
	query := "SELECT m.name, c.name FROM sqlite_schema m JOIN pragma_table_info(m.name) c WHERE m.type = 'table' AND " +
		"m.name <> 'info' ORDER BY 1, 2"
	err = sqlitex.ExecuteTransient(conn, query, &sqlitex.ExecOptions{ResultFunc: func(stmt *sqlite.Stmt) error {
		out = append(out, [2]string{stmt.ColumnText(0), stmt.ColumnText(1)})
		return nil
	}})
	if err != nil || len(out) < 100 {
		t.Fatal(len(out), err)
	}
	return out
}
