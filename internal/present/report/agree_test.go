package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/clrprof/clrprof/internal/analysis"
	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/testkit/sessiontest"
)

// TestViewsAgreeWithSQL compares the JSON of each view with the SQL view of the same
// meaning, which joins and divides by itself.
func TestViewsAgreeWithSQL(t *testing.T) {
	four := "inclusive_allocations, inclusive_allocations_percent, exclusive_allocations, " +
		"exclusive_allocations_percent, inclusive_bytes, inclusive_bytes_percent, exclusive_bytes, " +
		"exclusive_bytes_percent"
	two := "exclusive_allocations, exclusive_allocations_percent, exclusive_bytes, exclusive_bytes_percent"
	all := "allocations, allocations_percent, bytes, bytes_percent"
	pairs := []struct{ view, columns, from string }{
		{"functions", "name, module_path, process_id, " + four, "functions"},
		{"types", "name, module_path, process_id, instances, instances_percent, bytes, bytes_percent", "types"},
		{"lines", "function, line_name, column_begin, column_end, line_begin, line_end, process_id, " + two, "lines"},
		{"ips", "function, process_id, " + two, "instructions"},
		{"processes", "name, process_id, begin_ns, end_ns, end_state, " + all, "processes"},
		{"threads", "thread_id, process_id, begin_ns, end_ns, " + all, "threads"},
		{"callers", "name, process_id, " + four,
			"(SELECT caller AS name, * FROM calls WHERE callee = '%[1]s' AND caller <> '' UNION ALL " +
				"SELECT '(thread start)', * FROM calls WHERE callee = '%[1]s' AND caller = '' UNION ALL " +
				"SELECT callee, * FROM calls WHERE caller = '%[1]s')"},
	}
	ends := strings.ReplaceAll(strings.TrimSpace(lifetimeKeys("")), " ", ", ")
	gc := "number, process_id, generation, induced, pause_ns, agent_ns, finalizable, before_objects, before_bytes, " +
		"dead_objects, dead_bytes, survived_objects, survived_bytes, promoted_objects, promoted_bytes"
	pairs = append(pairs, []struct{ view, columns, from string }{
		{"lifetime", "name, module_path, process_id, instances, instances_percent, bytes, bytes_percent, " + ends,
			"lifetime"},
		{"types", "name, process_id, " + ends, "lifetime"},
		{"gcs", gc, "gcs"},
		{"survivors", "gc, name, process_id, surviving_objects, rooted_bytes, reachable_bytes",
			"(SELECT gc, type AS name, process_id, " +
				"sum(uncollected_objects + rooted_objects + reachable_objects) AS surviving_objects, " +
				"sum(rooted_bytes) AS rooted_bytes, sum(reachable_bytes) AS reachable_bytes FROM survivors GROUP BY " +
				"1, 2, 3)"},
	}...)
	sessions := sessiontest.Various(30, 0)
	for _, name := range slices.Sorted(mapsKeys(sessions)) {
		b := sessions[name]
		s := complete(t, b, filepath.Join(t.TempDir(), "s"))
		for _, p := range pairs {
			o, from := Options{Depth: 1}, p.from
			if len(b.SiteValues) == 0 && len(b.ProcessTimes) > 0 { // times alone
				continue
			}
			if strings.Contains(" lifetime gcs survivors ", " "+p.from+" ") && len(b.Lifetimes) == 0 ||
				p.view == "survivors" && len(b.Survivals) == 0 {
				continue
			}
			if p.view == "callers" {
				if len(b.Functions) == 0 || len(b.SiteValues) == 0 || strings.Contains(b.Functions[0].Name, "'") {
					continue
				}
				// The function that is a root, so that it has values.
				o.Argument = b.Functions[b.Nodes[0].Function-1].Name
				from = fmt.Sprintf(p.from, o.Argument)
			}
			got := viewObjects(t, s, p.view, o, strings.Split(p.columns, ", "))
			want := queryObjects(t, s, "SELECT "+p.columns+" FROM "+from)
			if p.view == "lines" || p.view == "ips" { // what is without a line or an instruction: SQL leaves it out
				got = slices.DeleteFunc(got, func(m map[string]any) bool { return m["process_id"] == 0.0 })
			}
			if p.view == "callers" { // the current function's own row is not a call
				got = slices.DeleteFunc(got, func(m map[string]any) bool { return m["type"] == "current" })
				for _, m := range got {
					delete(m, "type")
				}
			}
			if len(b.ProcessTimes) > 0 && p.view != "processes" && p.view != "threads" { // what only took time
				got = slices.DeleteFunc(got, func(m map[string]any) bool {
					inclusive, has := m["inclusive_bytes"]
					return m["exclusive_bytes"] == 0.0 && (!has || inclusive == 0.0)
				})
			}
			if diff := cmp.Diff(want, got, cmpopts.EquateApprox(0, 1e-6), cmpopts.EquateEmpty(),
				sortObjects); diff != "" {
				t.Errorf("%s: %s (-sql +view):\n%s", name, p.view, diff)
			}
		}
	}
}

var sortObjects = cmpopts.SortSlices(func(a, b map[string]any) bool { return fmt.Sprint(key(a)) < fmt.Sprint(key(b)) })

// key leaves the percentages out, which differ in the last digit.
func key(m map[string]any) map[string]any {
	out := map[string]any{}
	for k, v := range m {
		if !strings.HasSuffix(k, "_percent") {
			out[k] = v
		}
	}
	return out
}

func viewObjects(t *testing.T, s *session.Session, name string, o Options, columns []string) []map[string]any {
	t.Helper()
	src, err := analysis.Open(s, analysis.Selection{})
	if err != nil {
		t.Fatal(err)
	}
	view, err := FindView(name)
	if err != nil {
		t.Fatal(err)
	}
	o.Columns = columns
	if name == "callers" {
		o.Columns = append([]string{"type"}, columns...)
	}
	table, err := view.Build(src, o)
	if err != nil {
		t.Fatalf("%s %+v: %v", name, o, err)
	}
	var out bytes.Buffer
	if err := Writers.JSON(&out, table); err != nil {
		t.Fatal(err)
	}
	return parseObjects(t, out.Bytes())
}

func queryObjects(t *testing.T, s *session.Session, query string) []map[string]any {
	t.Helper()
	var r Records
	err := s.Query(query, func(c []string) error { r.Columns = c; return nil }, func(row []any) error {
		for i, v := range row {
			if v == nil && strings.HasSuffix(r.Columns[i], "_percent") {
				row[i] = 0.0 // of nothing
			}
		}
		r.Rows = append(r.Rows, row)
		return nil
	})
	if err != nil {
		t.Fatal(query, err)
	}
	var out bytes.Buffer
	if err := Writers.Records(&out, &r); err != nil {
		t.Fatal(err)
	}
	return parseObjects(t, out.Bytes())
}

func parseObjects(t *testing.T, b []byte) []map[string]any {
	t.Helper()
	var out []map[string]any
	if err := json.Unmarshal(b, &out); err != nil {
		t.Fatalf("%v in %s", err, b)
	}
	return out
}

// TestBytesWithoutInstruction: the list of instructions says how much of the bytes is at none of them.
func TestBytesWithoutInstruction(t *testing.T) {
	said := 0
	sessions := sessiontest.Various(30, 0)
	for _, name := range slices.Sorted(mapsKeys(sessions)) {
		b := sessions[name]
		if len(b.SiteValues) == 0 {
			continue
		}
		r := made(t, b)
		table, err := r.Build(ipsView, Options{})
		if err != nil {
			t.Fatal(err)
		}
		var placed, without, all q.Amount
		for _, row := range table.Rows {
			if row.kind == rowOutside {
				without = without.Add(row.values.Exclusive)
				continue
			}
			placed = placed.Add(row.values.Exclusive)
		}
		for _, v := range b.SiteValues {
			all = all.Add(v.Amount)
		}
		if without != all.Sub(placed) {
			t.Errorf("%s: %v of %v are at instructions, %v without one", name, placed, all, without)
		}
		at := slices.IndexFunc(table.Notes, func(n Note) bool { return n.Kind == NoteUnplacedBytes })
		if (at >= 0) != (placed != all) {
			t.Errorf("%s: %v of %v are at instructions, and the notes are %v", name, placed, all, table.Notes)
		} else if at >= 0 {
			said++
			if want := q.PercentOf(all.Bytes-placed.Bytes, all.Bytes); table.Notes[at].Facts[0] != want {
				t.Errorf("%s: %v without an instruction, want %v", name, table.Notes[at].Facts[0], want)
			}
		}
	}
	if said == 0 {
		t.Error("everything is at an instruction, in all sessions")
	}
}

// TestTreeAgreesWithSQL compares the call tree with the SQL view, whose rows are in another order.
func TestTreeAgreesWithSQL(t *testing.T) {
	for seed := range uint64(30) {
		s := complete(t, sessiontest.Random(seed), filepath.Join(t.TempDir(), "s"))
		got := viewObjects(t, s, "calltree", Options{}, []string{"level", "name", "process_id", "inclusive_bytes",
			"exclusive_allocations"})
		got = slices.DeleteFunc(got, func(m map[string]any) bool { return m["level"] == 0.0 })
		want := queryObjects(t, s,
			"SELECT level, function AS name, process_id, inclusive_bytes, exclusive_allocations FROM call_tree")
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty(), sortObjects); diff != "" {
			t.Errorf("seed %d (-sql +view):\n%s", seed, diff)
		}
	}
}
