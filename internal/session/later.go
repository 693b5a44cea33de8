package session

import (
	"fmt"
	"slices"
	"strings"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	q "github.com/clrprof/clrprof/internal/quantity"
)

// addition is a table that came after the first sessions of this format, or a column at the end of one. A session that
// was made before lacks it: it is read as empty, and a column as 0 or "". A writer adds it. Packed tables need nothing
// of the kind: a chunk says how many columns it has.
type addition struct{ table, column string } // column "": the whole table

// additions to format 2, in the order in which they came.
var additions = append([]addition{{"module", "origin"}, {"type", "trait"}, {"process_time", "ready_measured"},
	{"process_time", "probes"}, {"counter", ""}, {"pause", ""}, {"mark", ""},
	{"counter", "tags"}, {"function_await", ""}, {"function_not_probed", ""}, {"thread_scope", ""},
	{"interaction", ""}, {"interaction_frame", ""}, {"cpu_counter", ""}, {"cause_total", ""}, {"cause", ""},
	{"type_death", ""}, {"type_path", ""}, {"rule_judged", ""}, {"finding", ""},
	{"function", "test"}, {"snapshot_static", ""}, {"snapshot", "statics_left_out"},
	{"snapshot_path", "static_id"}, {"snapshot_type", "static_id"}, {"snapshot_type", "static_bytes"},
	{"snapshot_site", "static_id"}, {"snapshot_site", "static_bytes"},
	{"system_call", ""}, {"params_array", ""}, {"function", "route"},
	{"process_time", "uncertain_ns"}, {"finding", "type_objects"}, {"finding", "type_bytes"}, {"process_ending", ""},
	{"gc_freed", ""}, {"process_time", "gc_pauses"}, {"process_time", "gc_paused_ns"},
	{"process_time", "gc_longest_ns"}, {"gc_heap", "extent_bytes"}, {"gc_caller", ""}, {"process", "agent_private"},
	{"process", "compiled"}, {"process", "compiled_ns"}, {"process", "recompiled"}, {"process", "recompiled_ns"},
	{"process", "compiled_missed"}, {"process_time", "measured"}, {"process_time", "least_ns"},
	{"process_time", "most_ns"}, {"process_time", "first_inside_ns"},
	{"process_time", "first_outside_ns"}, {"snapshot_holder", ""},
	{"function", "il_hash"}, {"process", "sampler"}, {"test_case", ""}, {"site_freed", ""}}, cpuCounterColumns()...)

// counterColumn begins the names of the columns of CPU counters.
const counterColumn = "cpu_counter"

// cpuCounterColumns are those of CPU counters in the derived tables of times.
func cpuCounterColumns() []addition {
	var out []addition
	for _, table := range []string{"call_time", "function_time", "module_time", "line_time", "instruction_time",
		"thread_time", "process_time_value"} {
		for i := range q.MaxCounters {
			for _, rule := range []string{"inclusive", "exclusive"} {
				out = append(out, addition{table, fmt.Sprintf(counterColumn+"%d_%s", i+1, rule)})
			}
		}
	}
	return out
}

// String is the name of a table, or TABLE.COLUMN.
func (a addition) String() string {
	if a.column == "" {
		return a.table
	}
	return a.table + "." + a.column
}

// findAbsent notes which additions the session was made before.
func (s *Session) findAbsent() error {
	have, err := s.tablesAndColumns()
	if err != nil {
		return err
	}
	s.absent = map[string]bool{}
	for _, a := range additions {
		if !have[a.String()] {
			s.absent[a.String()] = true
		}
	}
	for _, name := range tableNames {
		if !have[name] && !s.absent[name] {
			return fmt.Errorf("%w: table %s is missing", ErrCorrupt, name)
		}
	}
	return nil
}

// tablesAndColumns returns the names of the session's tables, and TABLE.COLUMN of their columns.
func (s *Session) tablesAndColumns() (map[string]bool, error) {
	have := map[string]bool{}
	ours := true
	err := s.each("SELECT name, sql FROM sqlite_schema WHERE type = 'table'", func(stmt *sqlite.Stmt) error {
		name := stmt.ColumnText(0)
		d := declarations[name]
		ours = ours && stmt.ColumnText(1)+";" == d.text
		have[name] = true
		for _, c := range d.columns {
			have[name+"."+c.name] = true
		}
		return nil
	})
	if err != nil || ours {
		return have, err
	}
	// To ask SQLite for the columns takes as long as a third of all that is done to open a file.
	clear(have)
	query := "SELECT m.name, c.name FROM sqlite_schema m JOIN pragma_table_info(m.name) c WHERE m.type = 'table'"
	err = s.each(query, func(stmt *sqlite.Stmt) error {
		have[stmt.ColumnText(0)] = true
		have[stmt.ColumnText(0)+"."+stmt.ColumnText(1)] = true
		return nil
	})
	return have, err
}

// columnList is what to select to read a table of the session: NULL for columns that it lacks. The last columns of
// derived tables of times, those of CPU counters, are left out where none were read.
func columnList[T any](s *Session, t table[T]) ([]string, error) {
	names := t.columns
	if first := slices.IndexFunc(names, isCounterColumn); first > 0 && t.name != cpuCounterTable.name {
		counters, err := s.CPUCounters()
		if err != nil {
			return nil, err
		}
		if len(counters) == 0 {
			names = names[:first]
		}
	}
	if len(s.absent) == 0 {
		return names, nil
	}
	names = slices.Clone(names)
	for i, name := range names {
		if s.absent[t.name+"."+name] {
			names[i] = "NULL"
		}
	}
	return names, nil
}

// isCounterColumn reports whether a column is that of a CPU counter.
func isCounterColumn(name string) bool { return strings.HasPrefix(name, counterColumn) }

// addLater adds what the session was made before.
func (s *Session) addLater() error {
	for _, a := range additions {
		if !s.absent[a.String()] {
			continue
		}
		declaration := declarations[a.table].text
		if a.column != "" {
			columns := declared(a.table)
			kind := columns[slices.IndexFunc(columns, func(c declaredColumn) bool { return c.name == a.column })].kind
			value := map[bool]string{true: "''", false: "0"}[kind == "TEXT"]
			declaration = "ALTER TABLE " + a.table + " ADD COLUMN " + a.column + " " + kind + " NOT NULL DEFAULT " +
				value
		}
		if err := sqlitex.ExecuteScript(s.conn, declaration, nil); err != nil {
			return fmt.Errorf("adding %v: %w", a, err)
		}
		delete(s.absent, a.String())
	}
	return nil
}
