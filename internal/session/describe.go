package session

import (
	"slices"

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
