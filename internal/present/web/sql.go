package web

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"time"

	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/shell"
)

// Limits of a query: who waits longer, or reads more rows, uses clrprof sql.
const (
	queryTime  = 10 * time.Second
	queryRows  = 10_000
	queryBytes = 1 << 20 // of the request

	queryAnswer = 16 << 20 // bytes of rows: a page shows no more
)

// queried is the result of a query.
type queried struct {
	Columns []string `json:"columns"`
	Rows    [][]any  `json:"rows"`
	Cut     bool     `json:"cut"` // there are more rows
	Command string   `json:"command"`
}

// sql runs a query on a connection of its own, so that other requests need not wait for it.
func (s *Server) sql(w http.ResponseWriter, r *http.Request) error {
	var asked struct {
		Query string `json:"query"`
	}
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, queryBytes)).Decode(&asked); err != nil {
		return bad("reading the query: %v", err)
	}
	ctx, cancel := context.WithTimeout(r.Context(), queryTime)
	defer cancel()
	path := s.sessions[0].Path()
	out := queried{Rows: [][]any{}, Command: "clrprof sql " + shell.Quote(path) + " " + shell.Quote(asked.Query)}
	if err := s.isSame(); err != nil {
		return err
	}
	var err error
	out.Columns, out.Rows, out.Cut, err = query(ctx, path, asked.Query)
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return bad("the query was stopped after %s: clrprof sql has no limit", queryTime)
	}
	if err != nil {
		return err
	}
	return writeJSON(w, out)
}

// query returns columns and rows, and whether there are more.
func query(ctx context.Context, path, text string) (columns []string, rows [][]any, more bool, err error) {
	of, err := session.Open(path)
	if err != nil {
		return nil, nil, false, err
	}
	defer of.Close()
	of.Until(ctx)
	columns, rows, more, err = of.QueryUpTo(text, session.Bounds{Rows: queryRows, Bytes: queryAnswer})
	for _, row := range rows {
		for i, v := range row {
			switch v := v.(type) {
			case []byte:
				row[i] = hex.EncodeToString(v)
			case int64:
				if v > 1<<53 || v < -1<<53 { // more than a number of JavaScript holds
					row[i] = fmt.Sprint(v)
				}
			}
		}
	}
	return columns, rows, more, err
}

// isSame checks that the file that a query would read is the session that the page shows: other answers read what was
// opened at first, also when it is deleted.
func (s *Server) isSame() error {
	path := s.sessions[0].Path()
	now, err := os.Stat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return bad("session %s was deleted: the other views show it as long as clrprof runs, but queries need the file",
			path)
	case err != nil:
		return fmt.Errorf("looking for the session: %w", err)
	case s.opened != nil && !os.SameFile(s.opened, now):
		return bad("session %s was replaced by another file: start clrprof view again to see the new one", path)
	}
	return nil
}

// schema answers with the tables and their columns.
func (s *Server) schema(w http.ResponseWriter, r *http.Request) error {
	if err := s.isSame(); err != nil {
		return err
	}
	path := s.sessions[0].Path()
	_, tables, _, err := query(r.Context(), path,
		`SELECT m.name, c.name, c.type FROM (SELECT name FROM pragma_table_list WHERE schema IN ('main', 'temp') AND name NOT LIKE 'sqlite%'
		UNION SELECT name FROM chunk) m
		JOIN pragma_table_info(m.name) c ORDER BY 1, c.cid`)
	if err != nil {
		return err
	}
	type column struct {
		Name string `json:"name"`
		Type string `json:"type"`
	}
	out := map[string][]column{}
	for _, row := range tables {
		table := fmt.Sprint(row[0])
		out[table] = append(out[table], column{fmt.Sprint(row[1]), fmt.Sprint(row[2])})
	}
	return writeJSON(w, out)
}
