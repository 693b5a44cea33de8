package session

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/clrprof/clrprof/internal/session/columns"
)

// plainSchema is the schema of a database that has packed tables as they are: not of a session.
func plainSchema() string {
	script := regexp.MustCompile(`(?m)^PRAGMA .*$`).ReplaceAllString(schema, "")
	script = regexp.MustCompile(`(?s)CREATE TABLE chunk \(.*?\n\);\n`).ReplaceAllString(script, "")
	script = regexp.MustCompile(`(?m)^CREATE INDEX chunk_.*$`).ReplaceAllString(script, "")
	return packedSchema + script + packedViews
}

// WritePlain writes all tables and views of the session to an empty file, as a database that any SQLite tool can read.
// It is larger, and no session.
func (s *Session) WritePlain(path string) error {
	conn, err := sqlite.OpenConn(path, sqlite.OpenReadWrite)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	err = errors.Join(s.writePlain(conn), conn.Close())
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

func (s *Session) writePlain(conn *sqlite.Conn) error {
	for _, pragma := range []string{"journal_mode=OFF", "synchronous=OFF", "cache_size=-65536"} {
		if err := sqlitex.ExecuteTransient(conn, "PRAGMA "+pragma, nil); err != nil {
			return err
		}
	}
	if err := sqlitex.ExecuteScript(conn, plainSchema(), nil); err != nil {
		return err
	}
	if err := sqlitex.ExecuteTransient(conn, "BEGIN", nil); err != nil {
		return err
	}
	for _, name := range tableNames {
		if name == "chunk" || s.absent[name] {
			continue
		}
		if err := s.copyTable(conn, name); err != nil {
			return fmt.Errorf("table %s: %w", name, err)
		}
	}
	for _, name := range packedTableNames {
		if err := s.unpackTable(conn, name); err != nil {
			return fmt.Errorf("table %s: %w", name, err)
		}
	}
	return sqlitex.ExecuteTransient(conn, "COMMIT", nil)
}

// copyTable copies a table that is not packed.
func (s *Session) copyTable(to *sqlite.Conn, name string) error {
	var into *sqlite.Stmt
	err := s.each("SELECT * FROM "+name, func(row *sqlite.Stmt) error {
		if into == nil {
			var err error
			if into, err = prepareInsert(to, name, columnNames(row)); err != nil {
				return err
			}
		}
		for i := range row.ColumnCount() {
			switch row.ColumnType(i) {
			case sqlite.TypeInteger:
				into.BindInt64(i+1, row.ColumnInt64(i))
			case sqlite.TypeFloat:
				into.BindFloat(i+1, row.ColumnFloat(i))
			case sqlite.TypeText:
				into.BindText(i+1, row.ColumnText(i))
			case sqlite.TypeBlob:
				b := make([]byte, row.ColumnLen(i))
				row.ColumnBytes(i, b)
				if len(b) == 0 {
					into.BindZeroBlob(i+1, 0)
				} else {
					into.BindBytes(i+1, b)
				}
			default:
				into.BindNull(i + 1)
			}
		}
		return step(into)
	})
	return s.explain(err)
}

// unpackTable writes the rows of a packed table.
func (s *Session) unpackTable(to *sqlite.Conn, name string) error {
	declared := declared(name)
	var names []string
	for _, c := range declared {
		names = append(names, c.name)
	}
	into, err := prepareInsert(to, name, names)
	if err != nil {
		return err
	}
	err = s.eachChunk(name, len(declared), nil, func(b *columns.Block) error {
		for row := range b.Rows() {
			for i, column := range declared {
				switch value := b.Columns[i][row]; {
				case column.real():
					into.BindFloat(i+1, math.Float64frombits(uint64(value)))
				case !column.text():
					into.BindInt64(i+1, value)
				case value < 0 || value >= int64(len(b.Texts)):
					return fmt.Errorf("%w: a text is missing", ErrCorrupt)
				default:
					into.BindText(i+1, b.Texts[value])
				}
			}
			if err := step(into); err != nil {
				return err
			}
		}
		return nil
	})
	return s.explain(err)
}

// prepareInsert makes a statement that adds a row, or replaces the one with the same key.
func prepareInsert(conn *sqlite.Conn, name string, names []string) (*sqlite.Stmt, error) {
	marks := strings.Join(slices.Repeat([]string{"?"}, len(names)), ",")
	return conn.Prepare("INSERT OR REPLACE INTO " + name + " (" + strings.Join(names, ",") + ") VALUES (" + marks + ")")
}
