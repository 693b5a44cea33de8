package report

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clrprof/clrprof/internal/analysis"
	"github.com/clrprof/clrprof/internal/testkit/analysistest"
	"github.com/clrprof/clrprof/internal/testkit/sessiontest"
)

// flameSums returns for each frame the sum of the frames that it called, and fails where frames are not in preorder or
// not in order.
func flameSums(t *testing.T, f *Flame) []int64 {
	t.Helper()
	out := make([]int64, len(f.Name))
	var stack []int
	for i := range f.Name {
		d := int(f.Depth[i])
		if d > len(stack) {
			t.Fatalf("frame %d is at depth %d below one of %d", i, d, len(stack)-1)
		}
		stack = append(stack[:d], i)
		if d > 0 {
			out[stack[d-1]] += f.Value[i]
		}
		if (f.Name[i] == hiddenFrame) != (f.Hidden[i] > 0) || f.Value[i] <= 0 {
			t.Fatalf("frame %d: name %d, stands for %d, value %d", i, f.Name[i], f.Hidden[i], f.Value[i])
		}
	}
	return out
}

// TestFlame: a laid out call tree has the numbers of the call tree, whatever is left out of it.
func TestFlame(t *testing.T) {
	for name, b := range sessiontest.Various(10, 0) {
		t.Run(name, func(t *testing.T) {
			s := analysistest.Open(t, b, filepath.Join(t.TempDir(), "made.clrprof"))
			src, err := analysis.Open(s, analysis.Selection{})
			if err != nil {
				t.Fatal(err)
			}
			r, err := NewReader(src, false)
			if err != nil {
				t.Fatal(err)
			}
			metrics, err := r.FlameMetrics()
			if err != nil || len(metrics) == 0 {
				t.Fatal(metrics, err)
			}
			for _, m := range metrics {
				checkFlame(t, r, m)
			}
			for _, shape := range []FlameShape{{}, {Fold: true}, {Logical: true}, {Root: "Main"},
				{Logical: true, Root: "Main", Fold: true}} {
				compareShapes(t, r, metrics[0].Key, shape)
			}
		})
	}
}

// TestFlameAsync: frames stand for the rows of the logical call tree, also for those that are no function.
func TestFlameAsync(t *testing.T) {
	b := sessiontest.Aging()
	machine := &b.Functions[1]
	machine.RawName, machine.Name = "MoveNext", "Store.Load() [async]"
	r := readerOf(t, b)
	compareShapes(t, r, "inclusive_bytes", FlameShape{Logical: true})
	for _, up := range []bool{false, true} {
		f, err := r.Flame(FlameOptions{Most: 1 << 20, BottomUp: up, FlameShape: FlameShape{Logical: true}})
		if err != nil || !slices.ContainsFunc(f.Notes, func(n Note) bool { return n.Kind == NoteAsync }) {
			t.Error(up, err, f)
		}
	}
	o := FlameOptions{Most: 10, Color: "type"}
	if _, err := r.Flame(o); err != nil {
		t.Error(err)
	}
	for _, o.FlameShape = range []FlameShape{{Logical: true}, {Fold: true}, {Root: "Main"}} {
		if _, err := r.Flame(o); !errors.Is(err, errShapedColors) {
			t.Errorf("%+v: %v", o.FlameShape, err)
		}
	}
}

func readerOf(t *testing.T, b *sessiontest.Builder) *Reader {
	t.Helper()
	src, err := analysis.Open(analysistest.Open(t, b, filepath.Join(t.TempDir(), "made.clrprof")), analysis.Selection{})
	if err != nil {
		t.Fatal(err)
	}
	r, err := NewReader(src, false)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// compareShapes compares frames, by the names from the root on, with the rows of the call tree in that shape.
func compareShapes(t *testing.T, r *Reader, metric string, shape FlameShape) {
	t.Helper()
	view, err := FindView("calltree")
	if err != nil {
		t.Fatal(err)
	}
	table, err := r.Build(view, shape.options(metric))
	f, flameErr := r.Flame(FlameOptions{Metric: metric, Most: 1 << 20, FlameShape: shape})
	if err != nil || flameErr != nil { // as where no function has that name
		if err == nil || flameErr == nil || err.Error() != flameErr.Error() {
			t.Errorf("%+v: %v, the call tree: %v", shape, flameErr, err)
		}
		return
	}
	rows, frames := map[string]int64{}, map[string]int64{}
	var names []string
	under := 0 // in a tree that begins with a function the processes are no rows
	if shape.Root != "" {
		under = 1
	}
	for i := range table.Rows {
		names = append(names[:table.Rows[i].level], table.Cell(i, table.Columns[0]).Text)
		if n := table.Cell(i, table.Columns[1]).Number; n != 0 && table.Rows[i].level+under > 0 {
			rows[strings.Join(names[1-under:], " < ")] += n
		}
	}
	names = nil
	for i, name := range f.Name {
		names = append(names[:f.Depth[i]], f.Names[name].Full)
		if f.Depth[i] > 0 {
			frames[strings.Join(names[1:], " < ")] += f.Value[i]
		}
	}
	if diff := cmp.Diff(rows, frames); diff != "" {
		t.Errorf("%s %+v: frames differ from rows of the call tree:\n%s", metric, shape, diff)
	}
}

func checkFlame(t *testing.T, r *Reader, m FlameMetric) {
	t.Helper()
	view, err := FindView("calltree")
	if err != nil {
		t.Fatal(err)
	}
	table, err := r.Build(view, Options{Physical: true, Columns: []string{"name", "level", m.Key}})
	if err != nil {
		t.Fatal(m.Key, err)
	}
	column := table.Columns[2]
	total, paths := int64(0), 0
	for i := range table.Rows {
		n := table.Cell(i, column).Number
		if table.Rows[i].level == 1 {
			total += n
		}
		if table.Rows[i].level > 0 && n > 0 {
			paths++
		}
	}
	whole, err := r.Flame(FlameOptions{Metric: m.Key, Most: 1 << 20})
	if err != nil {
		t.Fatal(m.Key, err)
	}
	shown := 0
	for i, below := range flameSums(t, whole) {
		if below > whole.Value[i] || whole.Depth[i] == 0 && below != whole.Value[i] {
			t.Errorf("%s: frame %d has %d, and below it are %d", m.Key, i, whole.Value[i], below)
		}
		if whole.Depth[i] > 0 {
			shown++
		}
	}
	if shown != paths {
		t.Errorf("%s: %d frames, the call tree has %d rows", m.Key, shown, paths)
	}
	for _, o := range []FlameOptions{{Metric: m.Key, Most: 1}, {Metric: m.Key, Most: 5},
		{Metric: m.Key, BottomUp: true, Most: 1 << 20}, {Metric: m.Key, BottomUp: true, Most: 3}} {
		f, err := r.Flame(o)
		if err != nil {
			t.Fatal(m.Key, err)
		}
		below, sum := flameSums(t, f), int64(0)
		for i := range f.Name {
			if f.Depth[i] == 0 {
				sum += f.Value[i]
				if f.Name[i] != hiddenFrame && f.Value[i] != below[i] {
					t.Errorf("%s %+v: the root has %d, and on it are %d", m.Key, o, f.Value[i], below[i])
				}
			}
		}
		if sum != total {
			t.Errorf("%s %+v: %d in all, the call tree has %d", m.Key, o, sum, total)
		}
	}
}

// TestFlameBottomUp: at the bottom stands what functions allocated themselves.
func TestFlameBottomUp(t *testing.T) {
	s := analysistest.Open(t, sessiontest.Shop(), filepath.Join(t.TempDir(), "made.clrprof"))
	src, err := analysis.Open(s, analysis.Selection{})
	if err != nil {
		t.Fatal(err)
	}
	r, err := NewReader(src, false)
	if err != nil {
		t.Fatal(err)
	}
	f, err := r.Flame(FlameOptions{Metric: "inclusive_bytes", BottomUp: true, Most: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]int64{}
	for i := range f.Name {
		if f.Depth[i] == 1 {
			got[f.Names[f.Name[i]].Full] += f.Value[i]
		}
	}
	functions, err := r.context.functionRows()
	if err != nil {
		t.Fatal(err)
	}
	for i := range functions {
		name := r.context.functionName(functions[i].function)
		if want := int64(functions[i].values.Exclusive.Bytes); got[name] != want {
			t.Errorf("%s: %d, want %d", name, got[name], want)
		}
	}
}
