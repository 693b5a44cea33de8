package report

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clrprof/clrprof/internal/analysis"
	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/testkit/sessiontest"
)

// TestFunctionAgrees: the rows of the view function are those of the views callers and lines, and what is done in its
// own code and in calls is what the function did.
func TestFunctionAgrees(t *testing.T) {
	sessions := sessiontest.Various(5, 5)
	for _, name := range slices.Sorted(mapsKeys(sessions)) {
		b := sessions[name]
		if len(b.Processes) != 1 { // names are then of several functions
			continue
		}
		s := complete(t, b, filepath.Join(t.TempDir(), "s"))
		if len(b.SiteValues) > 0 {
			checkFunctions(t, s, name, "inclusive_bytes", "exclusive_bytes")
		}
		if len(b.ProcessTimes) > 0 {
			checkFunctions(t, s, name, "elapsed_inclusive", "elapsed_exclusive")
		}
	}
}

// checkFunctions compares the view function of each function in two columns.
func checkFunctions(t *testing.T, s *session.Session, name, inclusive, exclusive string) {
	t.Helper()
	columns := []string{"type", "name", "root_function_name", inclusive, exclusive}
	all := viewObjects(t, s, "callers", Options{Argument: AllFunctions}, columns[1:])
	lines := viewObjects(t, s, "lines", Options{}, []string{"function", exclusive})
	for _, f := range viewObjects(t, s, "functions", Options{}, []string{"name", exclusive}) {
		of := f["name"].(string)
		var calls []map[string]any
		parts, onLines, hasLines := map[string]float64{}, 0.0, false
		for _, r := range viewObjects(t, s, "function", Options{Argument: of}, columns) {
			switch kind := r["type"].(string); kind {
			case roleLine:
				onLines, hasLines = onLines+r[exclusive].(float64), true
			case roleBody, roleCalled:
				parts[kind] = r[inclusive].(float64)
			case roleCurrent:
				parts[kind] = r[inclusive].(float64)
				fallthrough
			default:
				calls = append(calls, r)
			}
		}
		if parts[roleBody]+parts[roleCalled] != parts[roleCurrent] || parts[roleBody] != f[exclusive] {
			t.Errorf("%s: %s: %v, want %v itself", name, of, parts, f[exclusive])
		}
		known := slices.ContainsFunc(lines, func(l map[string]any) bool { return l["function"] == of })
		if hasLines != known || hasLines && onLines != f[exclusive] { // with what is on none
			t.Errorf("%s: %s: %v on its lines, want %v", name, of, onLines, f[exclusive])
		}
		want := slices.DeleteFunc(slices.Clone(all), func(r map[string]any) bool {
			return r["root_function_name"] != of
		})
		if diff := cmp.Diff(want, calls, sortObjects); diff != "" {
			t.Errorf("%s: %s (-callers +function):\n%s", name, of, diff)
		}
	}
}

// TestFunctionSource: lines stand beside their text, those without values too, and it is said what is not known of the
// text.
func TestFunctionSource(t *testing.T) {
	path := filepath.Join(t.TempDir(), "Shop.cs")
	began := time.Date(2025, 3, 1, 12, 0, 0, 0, time.UTC)
	const text = "\ufeffclass Shop\n{\n\tvoid Sell()\n    {\n        var a = new A();\n        Count++;\r\n        " +
		"Pay(new B(),\n            1);\n        \x1b]0;\n    }\n}\n"
	for name, tt := range map[string]struct {
		file       string
		changed    time.Time
		want, note []string
	}{
		"there": {path, began.Add(-time.Hour),
			[]string{"8 B  10.00             1  (body)", "24 B  30.00             1       5          var a = new A();",
				"                              6          Count++;",
				"48 B  60.00             1       7          Pay(new B(),",
				"                              8              1);"}, nil},
		"changed": {path, began.Add(time.Hour), []string{"var a = new A();"},
			[]string{path + " was changed after the recording began: its lines may differ now."}},
		"absent": {"/no/such/Shop.cs", time.Time{}, []string{"24 B  30.00             1       5"},
			[]string{"Without the text of /no/such/Shop.cs: no such file or directory."}},
		"no code": {"/etc/passwd", time.Time{}, nil,
			[]string{"Without the text of /etc/passwd: its name does not end as that of source code (.cs, .fs, .vb and the like)."}},
		"folder": {filepath.Dir(path) + "/folder.cs", time.Time{}, nil,
			[]string{"Without the text of " + filepath.Dir(path) + "/folder.cs: it is not a file."}},
	} {
		t.Run(name, func(t *testing.T) {
			if err := os.MkdirAll(filepath.Dir(path)+"/folder.cs", 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Chtimes(path, tt.changed, tt.changed); err != nil {
				t.Fatal(err)
			}
			b := sessiontest.New()
			b.Info[session.KeyCreated] = began.Format(time.RFC3339)
			p := b.Process("Shop", 7)
			m := b.Module(p, "Shop.dll", true)
			f := b.Function(m, "Shop.Sell()", tt.file, 4)
			thread := b.Thread(p, "main")
			for line, size := range map[int64]q.Bytes{0: 8, 5: 24, 7: 48} {
				b.Allocate(1, thread, b.Type(m, fmt.Sprint("T", line)), 1, size,
					sessiontest.Frame{Function: f, Line: line})
			}
			for i := range b.Lines {
				if b.Lines[i].LineBegin == 7 {
					b.Lines[i].LineEnd = 8
				}
			}
			got := functionText(t, b)
			for _, want := range append(tt.want, tt.note...) {
				if !strings.Contains(got, want) {
					t.Errorf("no %q in\n%s", want, got)
				}
			}
			if strings.Contains(got, "\x1b") || strings.Contains(got, "root:") {
				t.Errorf("%q", got)
			}
			if len(tt.note) == 0 && strings.Contains(got, "Without the text") {
				t.Error(got)
			}
		})
	}
}

func functionText(t *testing.T, b *sessiontest.Builder) string {
	t.Helper()
	src, err := analysis.Open(complete(t, b, filepath.Join(t.TempDir(), "s")), analysis.Selection{})
	if err != nil {
		t.Fatal(err)
	}
	view, err := FindView("function")
	if err != nil {
		t.Fatal(err)
	}
	table, err := view.Build(src, Options{Argument: "Shop.Sell()"})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := Writers.Text(&out, table); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// TestFunctionSections: a list of which nothing is left says so, instead of being nowhere, and a limit counts the rows of
// all lists.
func TestFunctionSections(t *testing.T) {
	b := sessiontest.New()
	p := b.Process("Shop", 7)
	m := b.Module(p, "Shop.dll", true)
	sell, pay := b.Function(m, "Shop.Sell()", "/src/Shop.cs", 4), b.Function(m, "Shop.Pay()", "/src/Shop.cs", 9)
	thread, typ := b.Thread(p, "main"), b.Type(m, "Bill")
	b.Allocate(1, thread, typ, 1, 24, sessiontest.Frame{Function: sell, Line: 5}, sessiontest.Frame{Function: pay, Line: 9})
	b.Allocate(1, thread, typ, 1, 24, sessiontest.Frame{Function: sell, Line: 6})
	s := complete(t, b, filepath.Join(t.TempDir(), "s"))
	for _, tt := range []struct {
		function string
		sel      analysis.Selection
		limit    int // -1: none
		want     []string
	}{
		{"Shop.Pay()", analysis.Selection{}, -1, []string{"Called functions\nNone.\n"}},
		{"Shop.Pay()", analysis.Selection{Threads: []session.ThreadID{thread}}, -1,
			[]string{"Called functions\nNone in the part that is shown.\n"}},
		{"Shop.Sell()", analysis.Selection{}, 4,
			[]string{"in calls\n", "Called functions\nLeft out by --limit.\n", "Lines of /src/Shop.cs\nLeft out by --limit.\n"}},
		{"Shop.Sell()", analysis.Selection{}, 5, []string{"Shop.Pay()\n", "Lines of /src/Shop.cs\nLeft out by --limit.\n"}},
	} {
		src, err := analysis.Open(s, tt.sel)
		if err != nil {
			t.Fatal(err)
		}
		table, err := functionView.Build(src, Options{Argument: tt.function})
		if err != nil {
			t.Fatal(err)
		}
		if tt.limit >= 0 {
			table.Limit(tt.limit)
		}
		var out bytes.Buffer
		if err := Writers.Text(&out, table); err != nil {
			t.Fatal(err)
		}
		for _, want := range tt.want {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%s, limit %d: no %q in\n%s", tt.function, tt.limit, want, out.String())
			}
		}
	}
}
