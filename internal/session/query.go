package session

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// ErrQuery is wrapped by errors that a query itself causes.
var ErrQuery = errors.New("query")

// readPragmas are those that a query may use: they describe the schema.
var readPragmas = map[string]bool{
	"table_info": true, "table_xinfo": true, "table_list": true, "index_list": true, "index_info": true,
	"function_list": true,
}

// authorize lets a query read and nothing else.
func authorize(a sqlite.Action) sqlite.AuthResult {
	switch a.Type() {
	case sqlite.OpSelect, sqlite.OpRead, sqlite.OpRecursive:
		return sqlite.AuthResultOK
	case sqlite.OpFunction:
		if name := strings.ToLower(a.Column() + a.Operation()); strings.Contains(name, "load_extension") {
			return sqlite.AuthResultDeny
		}
		return sqlite.AuthResultOK
	case sqlite.OpPragma:
		if readPragmas[strings.ToLower(a.Pragma())] {
			return sqlite.AuthResultOK
		}
	}
	return sqlite.AuthResultDeny
}

// errEnough ends a query that has more rows than are wanted.
var errEnough = errors.New("enough rows")

// Bounds are what is wanted of the result of a query at most.
type Bounds struct {
	Skip  int // rows before those that are wanted
	Rows  int
	Bytes int64 // of texts and blobs, and cellBytes for each value
}

// cellBytes is what a number takes in an answer, and what there is beside a text.
const cellBytes = 16

// QueryUpTo is Query for those who do not want all rows: those within the bounds are returned, and whether there are
// more. What is beyond them is not even copied. Without rows the list is empty, not nil.
func (s *Session) QueryUpTo(query string, most Bounds) (columns []string, rows [][]any, more bool, err error) {
	columns, rows = []string{}, [][]any{}
	var size int64
	skipped := 0
	err = s.queryRows(query, func(names []string) error {
		columns = names
		return nil
	}, func(bytes int64) error {
		if skipped < most.Skip {
			return nil
		}
		if size += bytes; len(rows) >= most.Rows || size > most.Bytes {
			return errEnough
		}
		return nil
	}, func(row []any) error {
		if skipped < most.Skip {
			skipped++
			return nil
		}
		rows = append(rows, row)
		return nil
	})
	if more = errors.Is(err, errEnough); more {
		err = nil
	}
	return columns, rows, more, err
}

// Query runs one SELECT over the session. columns is called once with the names
// of the result's columns, then row for each row, with values of type nil, int64, float64,
// string or []byte that stay valid. Whatever would change something is refused.
// Errors of the query wrap ErrQuery.
func (s *Session) Query(query string, columns func([]string) error, row func([]any) error) error {
	return s.queryRows(query, columns, func(int64) error { return nil }, row)
}

// queryRows is Query, which calls admit with the size of each row before its values are copied.
func (s *Session) queryRows(query string, columns func([]string) error, admit func(bytes int64) error,
	row func([]any) error) error {
	release, err := limitMemory()
	if err != nil {
		return s.explain(err)
	}
	defer release()
	stmt, err := s.prepareQuery(query)
	if err != nil {
		return err
	}
	defer stmt.Finalize()
	names := columnNames(stmt)
	if slices.Contains(names, "") { // two of one name: the driver knows only the last
		if names, err = s.distinctNames(query); err != nil {
			return err
		}
	}
	if err := columns(names); err != nil {
		return err
	}
	for {
		more, err := stmt.Step()
		if err != nil {
			return s.explainQuery(err)
		}
		if !more {
			return nil
		}
		if err := admit(rowBytes(stmt, len(names))); err != nil {
			return err
		}
		values := make([]any, len(names))
		for i := range values {
			values[i] = columnValue(stmt, i)
		}
		if err := row(values); err != nil {
			return err
		}
	}
}

// rowBytes is the size of a statement's row, as Bounds has it.
func rowBytes(stmt *sqlite.Stmt, columns int) int64 {
	size := int64(columns) * cellBytes
	for i := range columns {
		if kind := stmt.ColumnType(i); kind == sqlite.TypeText || kind == sqlite.TypeBlob {
			size += int64(stmt.ColumnLen(i))
		}
	}
	return size
}

func columnNames(stmt *sqlite.Stmt) []string {
	names := make([]string, stmt.ColumnCount())
	for i := range names {
		names[i] = stmt.ColumnName(i)
	}
	return names
}

// distinctNames returns the names of a query's columns with :1, :2 … added to repeated
// ones, which SQLite does for the columns of a subquery.
func (s *Session) distinctNames(query string) ([]string, error) {
	stmt, _, err := s.conn.PrepareTransient("SELECT * FROM (" + strings.TrimRight(query, "; \t\r\n") + "\n)")
	if err != nil {
		return nil, s.explainQuery(err)
	}
	defer stmt.Finalize()
	return columnNames(stmt), nil
}

func (s *Session) prepareQuery(query string) (*sqlite.Stmt, error) {
	if err := sqlitex.ExecuteTransient(s.conn, "PRAGMA query_only=1", nil); err != nil {
		return nil, s.explain(err)
	}
	if err := s.addVirtualTables(); err != nil {
		return nil, s.explain(err)
	}
	if strings.TrimSpace(query) == "" {
		return nil, fmt.Errorf("%w: it is empty", ErrQuery)
	}
	if strings.ContainsRune(query, 0) {
		return nil, fmt.Errorf("%w: it has a zero byte", ErrQuery)
	}
	if err := s.conn.SetAuthorizer(sqlite.AuthorizeFunc(authorize)); err != nil {
		return nil, s.explain(err)
	}
	stmt, trailing, err := s.conn.PrepareTransient(query)
	if resetErr := s.conn.SetAuthorizer(nil); err == nil && resetErr != nil {
		err = resetErr
	}
	if err != nil {
		return nil, s.explainQuery(err)
	}
	rest := strings.Trim(query[len(query)-trailing:], " \t\r\n;")
	if stmt == nil || stmt.ColumnCount() == 0 || rest != "" && !strings.HasPrefix(rest, "--") {
		if stmt != nil {
			stmt.Finalize()
		}
		return nil, fmt.Errorf("%w: want one SELECT", ErrQuery)
	}
	return stmt, nil
}

// explainQuery separates mistakes in the query from damage in the file.
func (s *Session) explainQuery(err error) error {
	if s.unreadable != nil {
		return s.unreadable
	}
	switch sqlite.ErrCode(err).ToPrimary() {
	case sqlite.ResultTooBig:
		return fmt.Errorf("%w: a value has more than %d MB", ErrQuery, maxValueBytes>>20)
	case sqlite.ResultNoMem:
		return errQueryMemory
	case sqlite.ResultError, sqlite.ResultAuth, sqlite.ResultMismatch, sqlite.ResultRange, sqlite.ResultReadOnly,
		sqlite.ResultConstraint:
		message := err.Error()
		for _, prefix := range []string{"sqlite: prepare: ", "sqlite: step: "} {
			message = strings.TrimPrefix(message, prefix)
		}
		message = strings.Replace(message, "SQL logic error: ", "", 1)
		if sqlite.ErrCode(err).ToPrimary() == sqlite.ResultAuth {
			message = "only reading is allowed"
		}
		if err := s.checkViews(); err != nil {
			return err
		}
		return fmt.Errorf("%w: %s", ErrQuery, message)
	}
	return s.explain(err)
}

// checkViews finds damage in the text of a view, which a query of that view runs into.
func (s *Session) checkViews() error {
	var names []string
	err := sqlitex.ExecuteTransient(s.conn, "SELECT name FROM sqlite_schema WHERE type = 'view' ORDER BY name",
		&sqlitex.ExecOptions{ResultFunc: func(stmt *sqlite.Stmt) error {
			names = append(names, stmt.ColumnText(0))
			return nil
		}})
	if err != nil {
		return s.explain(err)
	}
	for _, name := range names {
		stmt, _, err := s.conn.PrepareTransient(`SELECT * FROM "` + strings.ReplaceAll(name, `"`, `""`) + `"`)
		if err != nil {
			return fmt.Errorf("session %s: %w: its view %s: %w", s.path, ErrCorrupt, name, err)
		}
		if err := stmt.Finalize(); err != nil {
			return s.explain(err)
		}
	}
	return nil
}

func columnValue(stmt *sqlite.Stmt, i int) any {
	switch stmt.ColumnType(i) {
	case sqlite.TypeInteger:
		return stmt.ColumnInt64(i)
	case sqlite.TypeFloat:
		return stmt.ColumnFloat(i)
	case sqlite.TypeText:
		return stmt.ColumnText(i)
	case sqlite.TypeBlob:
		b := make([]byte, stmt.ColumnLen(i))
		stmt.ColumnBytes(i, b)
		return b
	}
	return nil
}

// CheckFile reads every page of the file and returns an error that wraps ErrCorrupt
// if SQLite finds something wrong. It is slow on large files.
func (s *Session) CheckFile() error {
	found := ""
	err := s.each("PRAGMA quick_check(1)", func(stmt *sqlite.Stmt) error {
		found = stmt.ColumnText(0)
		return nil
	})
	if err == nil && found != "ok" {
		err = fmt.Errorf("%w: %s", ErrCorrupt, strings.Join(strings.Fields(found), " "))
	}
	return s.explain(err)
}
