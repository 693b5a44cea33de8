package session

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// Texts are the texts of a row of a table that is not packed.
type Texts struct {
	Table   string
	Columns []string // those that hold texts, in the order of the schema
	Values  []string // one for each column
}

// Of returns the text in a column, "" if it holds none.
func (t *Texts) Of(column string) string {
	if i := slices.Index(t.Columns, column); i >= 0 {
		return t.Values[i]
	}
	return ""
}

// TextColumns returns the names of all columns that hold texts, as TABLE.COLUMN, those of packed tables too.
func TextColumns() []string {
	var out []string
	for _, table := range slices.Concat(tableNames, packedTableNames) {
		for _, c := range declared(table) {
			if c.text() {
				out = append(out, table+"."+c.name)
			}
		}
	}
	return out
}

// EachText calls fn for each row with texts, table by table, and in each in the order of the key. The row is valid
// until fn returns.
func (s *Session) EachText(fn func(row *Texts) error) error {
	for _, table := range tableNames {
		var columns []declaredColumn // no others: those of the table chunk are the whole session
		for _, c := range declared(table) {
			if c.text() {
				columns = append(columns, c)
			}
		}
		if len(columns) == 0 || s.absent[table] {
			continue
		}
		row := textsOf(table, columns)
		err := s.each(s.selectDeclared(table, columns), func(stmt *sqlite.Stmt) error {
			row.read(stmt, columns)
			return fn(row)
		})
		if err != nil {
			return s.explain(err)
		}
	}
	return nil
}

// EachPackedText calls fn with each text of the packed tables, once for each chunk that has it.
func (s *Session) EachPackedText(fn func(table, text string) error) error {
	for _, table := range packedTableNames {
		err := s.decodeChunks(table, nil, func(c *chunk) (decode, take func() error) {
			decode = func() error {
				if err := c.block.DecodeFirst(c.data, c.rows, c.columns, 0); err != nil {
					return fmt.Errorf("%w: %w", ErrCorrupt, err)
				}
				return nil
			}
			return decode, func() error {
				for _, text := range c.block.Texts {
					if err := fn(table, text); err != nil {
						return err
					}
				}
				return nil
			}
		})
		if err != nil {
			return s.explain(err)
		}
	}
	return nil
}

// WriteRewritten writes a copy of the session to an empty file. rewrite is called as by EachText, may change the values
// of each row, and reports whether the row is kept. facts are added to those of the session. The copy has the tables
// and columns of the schema and nothing else: no free pages, and nothing that somebody added to the file.
func (s *Session) WriteRewritten(path string, facts map[string]string, rewrite func(row *Texts) (keep bool)) error {
	conn, err := sqlite.OpenConn(path, sqlite.OpenReadWrite)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if err = errors.Join(s.writeRewritten(conn, facts, rewrite), conn.Close()); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

func (s *Session) writeRewritten(conn *sqlite.Conn, facts map[string]string,
	rewrite func(row *Texts) (keep bool)) error {
	for _, pragma := range []string{"journal_mode=OFF", "synchronous=OFF", "cache_size=-65536"} {
		if err := sqlitex.ExecuteTransient(conn, "PRAGMA "+pragma, nil); err != nil {
			return err
		}
	}
	if err := sqlitex.ExecuteScript(conn, schema, nil); err != nil {
		return err
	}
	if err := sqlitex.ExecuteTransient(conn, "BEGIN", nil); err != nil {
		return err
	}
	for _, table := range tableNames {
		if s.absent[table] {
			continue
		}
		if err := s.rewriteTable(conn, table, rewrite); err != nil {
			return fmt.Errorf("table %s: %w", table, err)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(facts)) {
		err := sqlitex.Execute(conn, "INSERT OR REPLACE INTO info (key, value) VALUES (?, ?)",
			&sqlitex.ExecOptions{Args: []any{key, facts[key]}})
		if err != nil {
			return err
		}
	}
	return sqlitex.ExecuteTransient(conn, "COMMIT", nil)
}

// rewriteTable copies a table row by row.
func (s *Session) rewriteTable(to *sqlite.Conn, table string, rewrite func(row *Texts) (keep bool)) error {
	columns := declared(table)
	names := make([]string, len(columns))
	for i, c := range columns {
		names[i] = c.name
	}
	marks := strings.Join(slices.Repeat([]string{"?"}, len(names)), ",")
	into, err := to.Prepare("INSERT INTO " + table + " (" + strings.Join(names, ",") + ") VALUES (" + marks + ")")
	if err != nil {
		return err
	}
	row := textsOf(table, columns)
	return s.each(s.selectDeclared(table, columns), func(stmt *sqlite.Stmt) error {
		row.read(stmt, columns)
		if len(row.Columns) > 0 && !rewrite(row) {
			return nil
		}
		next := 0
		for i, c := range columns {
			if c.text() {
				into.BindText(i+1, row.Values[next])
				next++
			} else if err := bindNumber(into, stmt, i, c); err != nil {
				return err
			}
		}
		return step(into)
	})
}

// bindNumber copies a value that is no text. A text in its place is one that no clrprof writes.
func bindNumber(into, from *sqlite.Stmt, i int, c declaredColumn) error {
	kind := from.ColumnType(i)
	switch {
	case kind == sqlite.TypeInteger:
		into.BindInt64(i+1, from.ColumnInt64(i))
	case kind == sqlite.TypeFloat:
		into.BindFloat(i+1, from.ColumnFloat(i))
	case c.kind == "BLOB" && from.ColumnLen(i) == 0:
		into.BindZeroBlob(i+1, 0)
	case c.kind == "BLOB" && kind == sqlite.TypeBlob:
		b := make([]byte, from.ColumnLen(i))
		from.ColumnBytes(i, b)
		into.BindBytes(i+1, b)
	default:
		return fmt.Errorf("%w: its column %s has a value of another type", ErrCorrupt, c.name)
	}
	return nil
}

// selectDeclared is a query for the columns of the schema, with the defaults of those that an older session lacks.
func (s *Session) selectDeclared(table string, columns []declaredColumn) string {
	said := make([]string, len(columns))
	for i, c := range columns {
		switch {
		case !s.absent[table+"."+c.name]:
			said[i] = c.name
		case c.text():
			said[i] = "''"
		default:
			said[i] = "0"
		}
	}
	return "SELECT " + strings.Join(said, ", ") + " FROM " + table + " ORDER BY " + declarations[table].key
}

// textsOf returns an empty row of a table.
func textsOf(table string, columns []declaredColumn) *Texts {
	row := &Texts{Table: table}
	for _, c := range columns {
		if c.text() {
			row.Columns = append(row.Columns, c.name)
		}
	}
	row.Values = make([]string, len(row.Columns))
	return row
}

// read sets the values of a row from the result of selectDeclared.
func (t *Texts) read(stmt *sqlite.Stmt, columns []declaredColumn) {
	next := 0
	for i, c := range columns {
		if c.text() {
			t.Values[next] = stmt.ColumnText(i)
			next++
		}
	}
}
