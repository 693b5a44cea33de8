package session

import (
	"fmt"
	"slices"
	"strings"

	"zombiezen.com/go/sqlite"
)

// Types of columns, as the schema has them.
const (
	ColumnInteger = "INTEGER"
	ColumnReal    = "REAL"
	ColumnText    = "TEXT"
	ColumnBlob    = "BLOB"
)

// TableInfo describes a table as queries see it.
type TableInfo struct {
	Name    string
	Columns []ColumnInfo
}

// ColumnInfo is a column: its type is one of the constants above.
type ColumnInfo struct{ Name, Type string }

// Tables returns all tables, also packed ones, in the order of their names: those of the schema that this session has.
func (s *Session) Tables() ([]TableInfo, error) {
	if err := s.addVirtualTables(); err != nil {
		return nil, s.explain(err)
	}
	var out []TableInfo
	for _, name := range sortedTableNames() {
		if s.absent[name] {
			continue
		}
		t := TableInfo{Name: name}
		err := s.each("SELECT name, type FROM pragma_table_info('"+name+"')", func(stmt *sqlite.Stmt) error {
			t.Columns = append(t.Columns, ColumnInfo{stmt.ColumnText(0), stmt.ColumnText(1)})
			return nil
		})
		if err != nil {
			return nil, s.explain(err)
		}
		out = append(out, t)
	}
	return out, nil
}

// sortedTableNames are all tables but chunk.
func sortedTableNames() []string {
	names := slices.Concat(tableNames, packedTableNames)
	slices.Sort(names)
	return slices.DeleteFunc(names, func(name string) bool { return name == "chunk" })
}

// Views returns all views in the order of their names. The types of their columns are those of their values, which a
// view can compute; a column without values is one of integers.
func (s *Session) Views() ([]TableInfo, error) {
	if err := s.addVirtualTables(); err != nil {
		return nil, s.explain(err)
	}
	var out []TableInfo
	const all = "SELECT name FROM sqlite_schema WHERE type = 'view' UNION SELECT name FROM sqlite_temp_schema " +
		"WHERE type = 'view' ORDER BY name"
	err := s.each(all, func(stmt *sqlite.Stmt) error {
		out = append(out, TableInfo{Name: stmt.ColumnText(0)})
		return nil
	})
	for i := range out {
		if err == nil {
			out[i].Columns, err = s.viewColumns(out[i].Name)
		}
	}
	if err != nil {
		return nil, s.explain(err)
	}
	return out, nil
}

// viewColumns are the columns of a view.
func (s *Session) viewColumns(view string) ([]ColumnInfo, error) {
	var out []ColumnInfo
	var kinds []string
	err := s.each("SELECT name FROM pragma_table_info('"+view+"')", func(stmt *sqlite.Stmt) error {
		name := stmt.ColumnText(0)
		out = append(out, ColumnInfo{name, ColumnInteger})
		for _, kind := range []string{ColumnText, ColumnBlob, ColumnReal} {
			kinds = append(kinds, fmt.Sprintf(`max(typeof("%s") = '%s')`, name, strings.ToLower(kind)))
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, s.each("SELECT "+strings.Join(kinds, ", ")+" FROM "+view, func(stmt *sqlite.Stmt) error {
		for i := range out {
			for k, kind := range []string{ColumnText, ColumnBlob, ColumnReal} {
				if stmt.ColumnInt(3*i+k) != 0 {
					out[i].Type = kind
					break
				}
			}
		}
		return nil
	})
}
