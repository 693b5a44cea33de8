package web_test

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/clrprof/clrprof/internal/cli"
	"github.com/clrprof/clrprof/internal/present/report"
	"github.com/clrprof/clrprof/internal/testkit/sessiontest"
)

// asCommand is the variable that makes the test binary clrprof itself.
const asCommand = "CLRPROF_TEST_WEB_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		os.Exit(cli.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

// typed runs a command that the page shows as somebody types it, with more behind it, and returns what it prints.
func (s *served) typed(command, more string) (string, error) {
	s.t.Helper()
	self, err := os.Executable()
	if err != nil {
		s.t.Fatal(err)
	}
	shell := exec.Command("bash", "-c", `clrprof() { "$CLRPROF_TEST_SELF" "$@"; }
		`+command+" "+more)
	shell.Env = append(os.Environ(), asCommand+"=1", "CLRPROF_TEST_SELF="+self)
	out, err := shell.Output()
	if failed, ok := err.(*exec.ExitError); ok {
		return "", fmt.Errorf("%s %s: %s", command, more, failed.Stderr)
	} else if err != nil {
		s.t.Fatal(err)
	}
	return string(out), nil
}

// typedRows are the rows that a command prints as JSON.
func (s *served) typedRows(command string) []map[string]any {
	s.t.Helper()
	out, err := s.typed(command, "--json")
	if err != nil {
		s.t.Error(err)
		return nil
	}
	var rows []map[string]any
	if err := json.Unmarshal([]byte(out), &rows); err != nil {
		s.t.Fatalf("%s: %v\n%s", command, err, out)
	}
	return rows
}

// selections are filters that every view is looked at with.
var selections = []string{"", "&function=*e*&my-code=1", "&my-code=1&my-code-callees=0&my-code-callers=2", "&filter=" + url.QueryEscape("process = #1 or thread = #1") +
	"&hide=*Main*", "&process=%231&thread=%231&focus=" + url.QueryEscape("*Main*")}

// TestCommands: the command beside each view, run by a shell, prints the numbers of the view, in every state that
// changes them.
func TestCommands(t *testing.T) {
	for name, b := range map[string]*sessiontest.Builder{"kitchen": sessiontest.Kitchen(), "aging": sessiontest.Aging(),
		"heap": sessiontest.Heap(), "several": sessiontest.Several()} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, compared := serve(t, b), 0
			for i, chosen := range selections {
				for _, view := range report.Views() {
					if i > 0 && len(view.Name)%len(selections) != i { // each view with one of them
						continue
					}
					for _, state := range statesOf(view) {
						argument := url.QueryEscape(viewArguments[name+" "+view.Name])
						compared += s.printsView("view=" + view.Name + "&argument=" + argument + state + chosen)
					}
				}
			}
			if compared < 20 {
				t.Errorf("only %d views were compared", compared)
			}
		})
	}
}

// statesOf are the states of a view, as parameters.
func statesOf(view report.View) []string {
	out := []string{""}
	for _, by := range view.Groups() {
		out = append(out, "&by="+by)
	}
	if keys := view.OptionalKeys(); len(keys) > 0 {
		out = append(out, "&columns=name,"+keys[0]+"&sort="+keys[0])
	}
	return append(out, "&sort=name")
}

// printsView compares the rows of a view with what its command prints, and returns how many views that were.
func (s *served) printsView(query string) int {
	s.t.Helper()
	r, body := s.ask(http.MethodGet, "/api/view?limit=20000&"+query, nil)
	if r.StatusCode != http.StatusOK { // what the session has not, or the view
		return 0
	}
	var got shownSheet
	if err := json.Unmarshal([]byte(body), &got); err != nil {
		s.t.Fatal(err)
	}
	if got.Command == "" {
		s.t.Errorf("%s: no command", query)
		return 0
	}
	return s.printsRows(query, got)
}

// printsRows compares rows with what a command prints: those that are there, in their order.
func (s *served) printsRows(query string, got shownSheet) int {
	s.t.Helper()
	want := s.typedRows(got.Command)
	if len(want) == 0 {
		if len(got.Rows) > 0 {
			s.t.Errorf("%s: %d rows, and %s prints none", query, len(got.Rows), got.Command)
		}
		return 0
	}
	var keys []string
	for key := range want[0] {
		keys = append(keys, key)
	}
	records, hasRest := got.records(keys), slices.ContainsFunc(got.Rows, func(r row) bool { return r.Hidden > 0 })
	if !hasRest && !got.IsTree && len(records) != len(want) { // of a tree JSON has all levels
		s.t.Errorf("%s: %d rows, and %s prints %d", query, len(records), got.Command, len(want))
	}
	at := 0
	for _, record := range records {
		for at < len(want) && !reflect.DeepEqual(record, want[at]) {
			at++
		}
		if at == len(want) {
			s.t.Errorf("%s: row %v is not printed by %s, or not in this order", query, record, got.Command)
			return 0
		}
		at++
	}
	return 1
}

// TestTreeCommand: the command beside the call tree prints its rows, in every shape.
func TestTreeCommand(t *testing.T) {
	for name, b := range map[string]*sessiontest.Builder{"kitchen": sessiontest.Kitchen(), "shop": sessiontest.Shop()} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, roots := serve(t, b), map[string]string{"kitchen": "Waiter.Serve", "shop": "Tree.Insert"}
			for _, shape := range []string{"", "fold-recursion=1", "min-share=5", "root=" + roots[name], "async=physical", "by=module",
				"by=namespace&bottom-up=1", "bottom-up=1&sort=exclusive_allocations&root=" + roots[name],
				"sort=inclusive_allocations&columns=name,inclusive_allocations"} {
				var of shownSheet
				s.get("/api/tree?"+shape, &of)
				want := s.typedRows(of.Command)
				if len(want) == 0 {
					continue
				}
				for i, r := range of.Rows { // the roots
					record := of.records(keysOf(want))[i]
					delete(record, "level")
					if !slices.ContainsFunc(want, func(w map[string]any) bool {
						delete(w, "level")
						return reflect.DeepEqual(record, w)
					}) {
						t.Errorf("%s: %v is not printed by %s", shape, r.Values, of.Command)
					}
				}
				if len(of.Rows) == 0 {
					t.Errorf("%s: no rows", shape)
				}
			}
		})
	}
}

func keysOf(rows []map[string]any) (out []string) {
	for key := range rows[0] {
		out = append(out, key)
	}
	return out
}

// flamed is a call tree as it is drawn.
type flamed struct {
	Command string
	Sent    int
	Full    []string
	Colors  []string
	Gone    *struct{ Frames int }
	Metric  struct{ Key string }
	Value   []float64 `json:"-"`
	Other   []float64 `json:"-"`
	Name    []uint32  `json:"-"`
	Depth   []uint16  `json:"-"`
}

// flame reads the answer for a flame graph, nil: there is none.
func (s *served) flame(query string) *flamed {
	s.t.Helper()
	r, body := s.ask(http.MethodGet, "/api/flame?most=1000000&"+query, nil)
	if r.StatusCode != http.StatusOK {
		return nil
	}
	b := []byte(body)
	length := int(binary.LittleEndian.Uint32(b))
	out := &flamed{}
	if err := json.Unmarshal(b[4:4+length], out); err != nil {
		s.t.Fatal(err)
	}
	b = b[4+length:]
	floats := func() (list []float64) {
		for i := range out.Sent {
			list = append(list, math.Float64frombits(binary.LittleEndian.Uint64(b[8*i:])))
		}
		b = b[8*out.Sent:]
		return list
	}
	out.Value = floats()
	if out.Gone != nil {
		out.Other = floats()
	}
	for i := range out.Sent {
		out.Name = append(out.Name, binary.LittleEndian.Uint32(b[4*i:]))
	}
	b = b[8*out.Sent:] // also how many frames others stand for
	if out.Colors != nil {
		b = b[4*out.Sent:]
	}
	for i := range out.Sent {
		out.Depth = append(out.Depth, binary.LittleEndian.Uint16(b[2*i:]))
	}
	return out
}

// stacked are sums by path. Those of all processes are together, as they are in a graph from below.
type stacked struct {
	sums  map[string]float64
	above []string
}

// add adds a value at a level: at level 0 are processes, which are left out.
func (s *stacked) add(level int, name string, value float64) {
	s.above = append(s.above[:min(level, len(s.above))], name)
	if level > 0 && value != 0 {
		s.sums[strings.Join(s.above[1:], " › ")] += value
	}
}

// TestFlameCommand: the command beside the flame graph prints its frames, by every metric, from above and from below,
// in every shape; where no command can, there is none.
func TestFlameCommand(t *testing.T) {
	for name, b := range map[string]*sessiontest.Builder{"kitchen": sessiontest.Kitchen(), "aging": sessiontest.Aging(),
		"several": sessiontest.Several()} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, compared := serve(t, b), 0
			var of struct{ Metrics []struct{ Key string } }
			s.get("/api/session", &of)
			for i, m := range of.Metrics {
				shapes := []string{"", "&up=1"}
				if i == 0 {
					shapes = append(shapes, "&fold-recursion=1&up=1", "&root=Main", "&async=logical", "&async=logical&up=1",
						"&my-code=1&up=1", "&root=Main&fold-recursion=1", "&color=type&up=1", "&color=generation")
				}
				for _, shape := range shapes {
					compared += s.printsFrames("metric=" + m.Key + shape)
				}
			}
			if compared < len(of.Metrics) {
				t.Errorf("%d graphs were compared, and there are %d metrics", compared, len(of.Metrics))
			}
		})
	}
}

// printsFrames compares a flame graph with what its command prints, and returns how many were compared.
func (s *served) printsFrames(query string) int {
	s.t.Helper()
	f := s.flame(query)
	if f == nil || len(f.Name) == 0 {
		return 0
	}
	key := f.Metric.Key
	if strings.Contains(query, "up=1") {
		key = strings.Replace(key, "inclusive", "exclusive", 1)
	}
	if f.Command == "" {
		if _, err := s.typed("clrprof report "+s.paths[0]+" calltree --bottom-up --sort "+key+" --columns name,level,"+key, "--json"); err == nil {
			s.t.Errorf("%s: no command", query)
		}
		return 0
	}
	got, want := stacked{sums: map[string]float64{}}, stacked{sums: map[string]float64{}}
	for i, d := range f.Depth {
		got.add(int(d), f.Full[f.Name[i]], f.Value[i])
	}
	top := 0
	if strings.Contains(query, "root=") { // its rows begin with the function
		top = 1
	}
	want.above = []string{""}
	for _, row := range s.typedRows(f.Command) {
		level, value := int(row["level"].(float64)), 0.0
		if n, ok := row[key].(float64); ok {
			value = n
		}
		want.add(top+level, row["name"].(string), value)
	}
	if !reflect.DeepEqual(got.sums, want.sums) {
		s.t.Errorf("%s:\n%v\nand %s prints\n%v", query, got.sums, f.Command, want.sums)
	}
	return 1
}

// TestSummaryCommand: the command beside the overview prints its facts and findings.
func TestSummaryCommand(t *testing.T) {
	flat := func(s string) string { return strings.Join(strings.Fields(s), " ") }
	for name, b := range map[string]*sessiontest.Builder{"kitchen": sessiontest.Kitchen(), "aging": sessiontest.Aging()} {
		s := serve(t, b)
		for _, query := range append([]string{"&all=1"}, selections...) {
			var of struct {
				Facts    [][2]string
				Findings []struct{ Text string }
				Command  string
			}
			s.get("/api/summary?"+query, &of)
			out, err := s.typed(of.Command, "--full-names --width 10000")
			if err != nil {
				t.Fatal(err)
			}
			out = flat(out)
			for _, fact := range of.Facts {
				if !strings.Contains(out, flat(fact[1])) {
					t.Errorf("%s%s: %s does not print %q:\n%s", name, query, of.Command, fact, out)
				}
			}
			for _, finding := range of.Findings {
				if !strings.Contains(out, flat(finding.Text)) {
					t.Errorf("%s%s: %s does not print %q:\n%s", name, query, of.Command, finding.Text, out)
				}
			}
		}
	}
}

// TestOtherCommands: the commands beside a source file, a query and comparisons print their numbers.
func TestOtherCommands(t *testing.T) {
	s := serve(t, sessiontest.Shop(), sessiontest.Several())
	var source struct {
		Sheet   shownSheet
		Command string
	}
	s.get("/api/source?path=/src/Shop/Program.cs", &source)
	if len(source.Sheet.Rows) == 0 || s.printsRows("source", shownSheet{Columns: source.Sheet.Columns, IsTree: true,
		Rows: ordered(source.Sheet.Rows, s.typedRows(source.Command)), Command: source.Command}) == 0 {
		t.Errorf("%d lines of the source", len(source.Sheet.Rows))
	}
	r, body := s.ask(http.MethodPost, "/api/sql", func(r *http.Request) {
		r.Body = io.NopCloser(strings.NewReader(`{"query":"select name, exclusive_bytes from functions order by 1, 2 desc"}`))
	})
	var queried struct {
		Columns []string
		Rows    [][]any
		Command string
	}
	if err := json.Unmarshal([]byte(body), &queried); err != nil || r.StatusCode != http.StatusOK {
		t.Fatal(r.Status, body, err)
	}
	var got []map[string]any
	for _, row := range queried.Rows {
		got = append(got, map[string]any{queried.Columns[0]: row[0], queried.Columns[1]: row[1]})
	}
	if want := s.typedRows(queried.Command); len(want) == 0 || !reflect.DeepEqual(got, want) {
		t.Errorf("the query gives %v, and %s prints %v", got, queried.Command, want)
	}
	for _, query := range []string{"of=functions", "of=calltree&column=inclusive_allocations", "of=types", "of=lines&function=*e*"} {
		var compared struct {
			Columns []string
			Rows    [][]any
			Command string
		}
		s.get("/api/compare?"+query, &compared)
		want := s.typedRows(compared.Command)
		if len(want) == 0 || len(want) != len(compared.Rows) {
			t.Errorf("%s: %d rows, and %s prints %d", query, len(compared.Rows), compared.Command, len(want))
		}
		for i := range min(len(want), len(compared.Rows)) {
			for k, column := range compared.Columns {
				if !reflect.DeepEqual(compared.Rows[i][k], want[i][column]) {
					t.Errorf("%s: row %d, %s: %v, want %v", query, i, column, compared.Rows[i][k], want[i][column])
				}
			}
		}
	}
	for _, query := range []string{"diff=new", "diff=old", "diff=new&metric=inclusive_allocations&module=Shop*", "diff=new&up=1"} {
		s.printsDifferences(query)
	}
	if f := s.flame("diff=new&fold-recursion=1"); f == nil || f.Command != "" {
		t.Error("no view compares trees in which recursion is folded, but there is a command")
	}
}

// ordered puts rows in the order in which a command prints them.
func ordered(rows []row, printed []map[string]any) []row {
	at := func(r row) int {
		return slices.IndexFunc(printed, func(p map[string]any) bool { return p["name"] == r.Values[0] })
	}
	out := slices.Clone(rows)
	slices.SortStableFunc(out, func(a, b row) int { return at(a) - at(b) })
	return out
}

// printsDifferences compares the frames of a graph of differences with what its command prints.
func (s *served) printsDifferences(query string) {
	s.t.Helper()
	f := s.flame(query)
	if f == nil || f.Command == "" {
		s.t.Errorf("%s: no graph, or no command", query)
		return
	}
	var got, want []float64
	for i, d := range f.Depth {
		by := f.Value[i] - f.Other[i]
		if strings.Contains(query, "diff=old") {
			by = -by
		}
		if by != 0 && d > 0 && (d == 1 || !strings.Contains(query, "up=1")) {
			got = append(got, by)
		}
	}
	gone := 0
	for _, row := range s.typedRows(f.Command) {
		side := map[bool]string{true: "comparison", false: "baseline"}[!strings.Contains(query, "diff=old")]
		if row[side] == nil { // the other session alone has it
			gone++
			continue
		}
		want = append(want, row["delta"].(float64))
	}
	slices.Sort(got)
	slices.Sort(want)
	if len(got) == 0 || !reflect.DeepEqual(got, want) {
		s.t.Errorf("%s: differences %v, and %s prints %v, and %d that are gone", query, got, f.Command, want, gone)
	}
}

// TestQueryBytes: an answer to a query has 16 MiB of rows at most, and says that there are more.
func TestQueryBytes(t *testing.T) {
	s := serve(t, sessiontest.Shop())
	ask := func(rows int) (out struct {
		Rows [][]string
		Cut  bool
	}, length int) {
		r, body := s.ask(http.MethodPost, "/api/sql", func(r *http.Request) {
			r.Body = io.NopCloser(strings.NewReader(fmt.Sprintf(`{"query":"with recursive n(i) as (select 1 union all `+
				`select i+1 from n where i < %d) select hex(zeroblob(%d)) from n"}`, rows, 1<<19)))
		})
		if err := json.Unmarshal([]byte(body), &out); err != nil || r.StatusCode != http.StatusOK {
			t.Fatalf("%s: %.300s: %v", r.Status, body, err)
		}
		return out, len(body)
	}
	if got, _ := ask(15); len(got.Rows) != 15 || got.Cut { // of 1 MiB each
		t.Errorf("%d rows of 15, cut: %v", len(got.Rows), got.Cut)
	}
	if got, n := ask(3000); len(got.Rows) != 15 || !got.Cut || n > 17<<20 { // the sixteenth is over it by what a value takes
		t.Errorf("%d rows of 3000 in %d bytes, cut: %v", len(got.Rows), n, got.Cut)
	}
}
