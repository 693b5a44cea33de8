package session

import (
	"fmt"
	"math"
	"slices"
	"strings"

	_ "embed"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/clrprof/clrprof/internal/session/columns"
)

// packedSchema are the packed tables as they would be if they were not packed.
//
//go:embed packed.sql
var packedSchema string

// packedViews are the views that need them.
//
//go:embed packed_views.sql
var packedViews string

// addVirtualTables makes the packed tables tables of this connection, and makes the views that need them.
func (s *Session) addVirtualTables() error {
	if s.virtual {
		return nil
	}
	for _, name := range packedTableNames {
		t := &virtualTable{session: s, name: name, columns: declared(name)}
		connect := func(*sqlite.Conn, *sqlite.VTableConnectOptions) (sqlite.VTable, *sqlite.VTableConfig, error) {
			return t,
				&sqlite.VTableConfig{Declaration: strings.TrimSuffix(strings.Replace(declarations[name].text,
					"WITHOUT ROWID", "", 1), ";"), AllowIndirect: true}, nil
		}
		if err := s.conn.SetModule(name, &sqlite.Module{Connect: connect}); err != nil {
			return fmt.Errorf("table %s: %w", name, err)
		}
	}
	// Temporary ones are not the file's, which may come from anywhere: they may read virtual tables.
	script := strings.ReplaceAll(packedViews, "\nCREATE VIEW ", "\nCREATE TEMP VIEW ")
	if s.absent["counter.tags"] { // the only one of these views that has a column of an addition
		script = strings.ReplaceAll(script, "c.tags", "'' AS tags")
	}
	for _, step := range []string{"PRAGMA temp_store=MEMORY; PRAGMA query_only=0;", script, "PRAGMA query_only=1;"} {
		if err := sqlitex.ExecuteScript(s.conn, step, nil); err != nil {
			return fmt.Errorf("views of packed tables: %w", err)
		}
	}
	s.virtual = true
	return nil
}

// virtualTable shows a packed table to SQLite. Its rows are read when they are first asked for and then kept, with an
// index for each column by which rows were looked up.
type virtualTable struct {
	session *Session
	name    string
	columns []declaredColumn
	rows    *columns.Block
	byValue map[int]map[int64][]int32 // column, value → rows
}

// load reads the rows: those of all chunks, in the order in which they were written.
func (t *virtualTable) load() error {
	if t.rows != nil {
		return nil
	}
	all := &columns.Block{Columns: make([][]int64, len(t.columns))}
	numbers := map[string]int64{}
	err := t.session.eachChunk(t.name, len(t.columns), nil, func(b *columns.Block) error {
		for i, column := range b.Columns {
			if t.columns[i].text() {
				if err := renumber(column, b.Texts, all, numbers); err != nil {
					return err
				}
			}
			all.Columns[i] = append(all.Columns[i], column...)
		}
		return nil
	})
	if err != nil {
		t.session.unreadable = t.session.explain(fmt.Errorf("reading table %s: %w", t.name, err))
		return t.session.unreadable
	}
	if width, ok := replacedTables[t.name]; ok {
		keepLast(all, width)
	}
	t.rows, t.byValue = all, map[int]map[int64][]int32{}
	return nil
}

// renumber replaces the positions of texts in one block by those in another, which has them all afterwards.
func renumber(column []int64, texts []string, all *columns.Block, numbers map[string]int64) error {
	for i, n := range column {
		if n < 0 || n >= int64(len(texts)) {
			return fmt.Errorf("%w: a text is missing", ErrCorrupt)
		}
		number, ok := numbers[texts[n]]
		if !ok {
			number = int64(len(all.Texts))
			numbers[texts[n]] = number
			all.Texts = append(all.Texts, texts[n])
		}
		column[i] = number
	}
	return nil
}

// replacedTables are those of which rows are written again, with the number of columns of their keys.
var replacedTables = map[string]int{
	siteAgeTable.name: siteAgeTable.keyColumns(), survivalTable.name: survivalTable.keyColumns(),
	rootTable.name:          rootTable.keyColumns(),
	timingExtremeTable.name: timingExtremeTable.keyColumns(), timingRunningTable.name: timingRunningTable.keyColumns(),
}

// keepLast keeps the last of the rows with the same key.
func keepLast(b *columns.Block, width int) {
	type key [5]int64
	last := make(map[key]int32, b.Rows())
	keyOf := func(row int) (k key) {
		for i := range width {
			k[i] = b.Columns[i][row]
		}
		return k
	}
	for row := range b.Rows() {
		last[keyOf(row)] = int32(row)
	}
	kept := 0
	for row := range b.Rows() {
		if last[keyOf(row)] != int32(row) {
			continue
		}
		for _, column := range b.Columns {
			column[kept] = column[row]
		}
		kept++
	}
	for i := range b.Columns {
		b.Columns[i] = b.Columns[i][:kept]
	}
}

// BestIndex chooses one column that must be equal to something, the first of those there are.
func (t *virtualTable) BestIndex(in *sqlite.IndexInputs) (*sqlite.IndexOutputs, error) {
	const many, few = 1e6, 10
	out := &sqlite.IndexOutputs{EstimatedCost: many, EstimatedRows: many,
		ConstraintUsage: make([]sqlite.IndexConstraintUsage, len(in.Constraints))}
	best := -1
	for i, c := range in.Constraints {
		if c.Usable && c.Op == sqlite.IndexConstraintEq && c.Column >= 0 && t.columns[c.Column].whole() &&
			(best < 0 || c.Column < in.Constraints[best].Column) {
			best = i
		}
	}
	if best >= 0 {
		out.ConstraintUsage[best] = sqlite.IndexConstraintUsage{ArgvIndex: 1}
		out.ID = sqlite.IndexID{Num: int32(in.Constraints[best].Column) + 1}
		out.EstimatedCost, out.EstimatedRows = few, few
	}
	return out, nil
}

// Open makes a cursor.
func (t *virtualTable) Open() (sqlite.VTableCursor, error) { return &virtualCursor{table: t}, nil }

// Disconnect does nothing: the rows belong to the connection.
func (t *virtualTable) Disconnect() error { return nil }

// Destroy does nothing: no query can drop the table.
func (t *virtualTable) Destroy() error { return nil }

// find returns the rows that have a value in a column.
func (t *virtualTable) find(column int, value int64) []int32 {
	index := t.byValue[column]
	if index == nil {
		index = map[int64][]int32{}
		for row, v := range t.rows.Columns[column] {
			index[v] = append(index[v], int32(row))
		}
		t.byValue[column] = index
	}
	return index[value]
}

// virtualCursor goes through all rows, or through those that were found.
type virtualCursor struct {
	table *virtualTable
	found []int32
	all   bool
	next  int
}

// Filter begins with the first row of those that BestIndex chose.
func (c *virtualCursor) Filter(id sqlite.IndexID, args []sqlite.Value) error {
	if err := c.table.load(); err != nil {
		return err
	}
	*c = virtualCursor{table: c.table, all: id.Num == 0}
	if !c.all && len(args) == 1 &&
		slices.Contains([]sqlite.ColumnType{sqlite.TypeInteger, sqlite.TypeFloat, sqlite.TypeText}, args[0].Type()) {
		c.found = c.table.find(int(id.Num)-1, args[0].Int64()) // SQLite compares once more: 1.5 is not 1
	}
	return nil
}

// Next goes to the next row.
func (c *virtualCursor) Next() error { c.next++; return nil }

// EOF says whether there are no more rows.
func (c *virtualCursor) EOF() bool {
	if c.all {
		return c.next >= c.table.rows.Rows()
	}
	return c.next >= len(c.found)
}

func (c *virtualCursor) row() int {
	if c.all {
		return c.next
	}
	return int(c.found[c.next])
}

// Column returns a value of the row.
func (c *virtualCursor) Column(i int, _ bool) (sqlite.Value, error) {
	value := c.table.rows.Columns[i][c.row()]
	if c.table.columns[i].text() {
		return sqlite.TextValue(c.table.rows.Texts[value]), nil
	}
	if c.table.columns[i].real() {
		return sqlite.FloatValue(math.Float64frombits(uint64(value))), nil
	}
	return sqlite.IntegerValue(value), nil
}

// RowID returns the number of the row, from 1.
func (c *virtualCursor) RowID() (int64, error) { return int64(c.row()) + 1, nil }

// Close does nothing.
func (c *virtualCursor) Close() error { return nil }
