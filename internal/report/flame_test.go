package report

import (
	"path/filepath"
	"testing"

	"github.com/clrprof/clrprof/internal/analysis"
	"github.com/clrprof/clrprof/internal/analysis/analysistest"
	"github.com/clrprof/clrprof/internal/session/sessiontest"
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
		if (f.Name[i] == HiddenFrame) != (f.Hidden[i] > 0) || f.Value[i] <= 0 {
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
		})
	}
}

func checkFlame(t *testing.T, r *Reader, m FlameMetric) {
	t.Helper()
	view, err := FindView("calltree")
	if err != nil {
		t.Fatal(err)
	}
	table, err := r.Build(view, Options{Columns: []string{"name", "level", m.Key}})
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
				if f.Name[i] != HiddenFrame && f.Value[i] != below[i] {
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
