package report

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/clrprof/clrprof/internal/analysis"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/testkit/analysistest"
	"github.com/clrprof/clrprof/internal/testkit/sessiontest"
)

// made opens a reader of a made-up session.
func made(t *testing.T, b *sessiontest.Builder) *Reader {
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

// TestFlameColors: a frame has the colour of the type, or of the end, that most of its bytes have: those of the types
// view's trees, and of the call tree's columns.
func TestFlameColors(t *testing.T) {
	checked := map[string]int{}
	for name, b := range sessiontest.Various(10, 3) {
		t.Run(name, func(t *testing.T) {
			r := made(t, b)
			known, err := r.FlameColors()
			if err != nil {
				t.Fatal(err)
			}
			for _, by := range known {
				want := r.typesOfPaths(t)
				if by == colorGeneration {
					want = r.endsOfPaths(t)
				}
				checked[by] += r.checkColors(t, by, want)
			}
		})
	}
	if checked[colorType] < 100 || checked[colorGeneration] < 50 {
		t.Errorf("too few frames were checked: %v", checked)
	}
}

// chain names a path by its functions from the root.
func chain(above string, f session.FunctionID) string { return fmt.Sprintf("%s %d", above, f) }

// chains are the paths of the call tree by name.
func (r *Reader) chains(t *testing.T) map[session.PathID]string {
	t.Helper()
	out := map[session.PathID]string{}
	if err := r.context.eachPath(func(row *Row, above session.PathID) error {
		out[row.path] = chain(out[above], row.function)
		return nil
	}, func(int) {}); err != nil {
		t.Fatal(err)
	}
	return out
}

// typesOfPaths returns the bytes on each path by the name of their type, from the trees of the types.
func (r *Reader) typesOfPaths(t *testing.T) map[string]map[string]int64 {
	t.Helper()
	out := map[string]map[string]int64{}
	types, err := r.context.source.Types()
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range types {
		paths, err := r.context.source.TypePaths(v.Type)
		if err != nil {
			t.Fatal(err)
		}
		names := map[session.PathID]string{}
		for _, p := range paths {
			at := chain(names[p.Parent], p.Function)
			names[p.ID] = at
			if out[at] == nil {
				out[at] = map[string]int64{}
			}
			out[at][r.context.typeName(v.Type)] += int64(p.Inclusive.Bytes)
		}
	}
	return out
}

// endsOfPaths returns the bytes on each path by how their objects ended, from the columns of the call tree.
func (r *Reader) endsOfPaths(t *testing.T) map[string]map[string]int64 {
	t.Helper()
	view, err := FindView("calltree")
	if err != nil {
		t.Fatal(err)
	}
	columns := []string{"name"}
	for _, end := range endKeys {
		columns = append(columns, "inclusive_"+end+"_bytes")
	}
	table, err := r.Build(view, Options{Columns: columns})
	if err != nil {
		t.Fatal(err)
	}
	out, names := map[string]map[string]int64{}, r.chains(t)
	for i := range table.Rows {
		at := names[table.Rows[i].path]
		out[at] = map[string]int64{}
		for end, key := range endKeys {
			out[at][key] = table.Cell(i, table.Columns[end+1]).Number
		}
	}
	return out
}

// checkColors compares the colours of all frames, and returns how many have one.
func (r *Reader) checkColors(t *testing.T, by string, want map[string]map[string]int64) int {
	t.Helper()
	metrics, err := r.FlameMetrics()
	if err != nil {
		t.Fatal(err)
	}
	tree, _, err := r.flameTree(metrics[0], FlameShape{})
	if err == nil {
		tree, err = r.coloredTree(tree, by)
	}
	if err != nil {
		t.Fatal(by, err)
	}
	best, names, found := tree.colors.ofTrees(tree.parent), r.chains(t), 0
	for i, path := range tree.at.ids {
		at := tree.at.nodes[i]
		var most, all int64
		for _, n := range want[names[path]] {
			most, all = max(most, n), all+n
		}
		got := best[at]
		if got.bytes != most || got.all != all || most > 0 && want[names[path]][tree.colors.names[got.color]] != most {
			t.Fatalf("%s: path %d has %+v, want %d of %d: %v", by, path, got, most, all, want[names[path]])
		}
		if most > 0 {
			found++
		}
	}
	for _, up := range []bool{false, true} {
		f, err := r.Flame(FlameOptions{BottomUp: up, Most: 1 << 20, Color: by})
		if err != nil {
			t.Fatal(by, err)
		}
		if len(f.Color) != len(f.Name) || len(f.Share) != len(f.Name) {
			t.Fatalf("%s: %d colours and %d shares of %d frames", by, len(f.Color), len(f.Share), len(f.Name))
		}
		if len(f.Name) > 0 && len(tree.roots()) == 1 { // upside down or not, the whole is the same
			root := best[tree.roots()[0]]
			if root.bytes > 0 &&
				(f.Colors[f.Color[0]] != tree.colors.names[root.color] ||
					int64(f.Share[0]) != 100*root.bytes/root.all) {
				t.Errorf("%s, bottom-up %t: the root is %s with %d %%, want %+v", by, up, f.Colors[f.Color[0]],
					f.Share[0], root)
			}
		}
	}
	return found
}

// TestFlameCompared: of two sessions the own values of the frames of a function sum up to what the comparison of
// functions says, a frame has the value that it has in the other session's own graph, and what is gone is what that has
// besides.
func TestFlameCompared(t *testing.T) {
	pairs := map[string][2]*sessiontest.Builder{
		"same":    {sessiontest.Shop(), sessiontest.Shop()},
		"other":   {sessiontest.Shop(), sessiontest.Aging()},
		"timed":   {sessiontest.Timed(), sessiontest.Kitchen()},
		"several": {sessiontest.Several(), sessiontest.Shop()},
	}
	for seed := range uint64(12) {
		pairs[fmt.Sprint("random ", seed)] = [2]*sessiontest.Builder{sessiontest.Random(seed),
			sessiontest.Random(seed + 1)}
	}
	changed := 0
	for name, pair := range pairs {
		t.Run(name, func(t *testing.T) {
			now, old := made(t, pair[0]), made(t, pair[1])
			from, to := []*analysis.Source{old.context.source}, []*analysis.Source{now.context.source}
			want, err := analysis.Compare(from, to, "functions", "exclusive_bytes")
			if err != nil {
				t.Skip(err) // one of them has no memory
			}
			deltas := map[string]int64{}
			for _, c := range want.All() {
				deltas[c.Name+" "+c.Module] += c.Delta()
			}
			changed += len(want.Changes)
			for _, up := range []bool{false, true} {
				compareFlames(t, now, old, up, deltas)
			}
		})
	}
	if changed < 50 {
		t.Errorf("only %d functions differ", changed)
	}
}

func compareFlames(t *testing.T, now, old *Reader, up bool, deltas map[string]int64) {
	t.Helper()
	o := FlameOptions{Metric: "inclusive_bytes", BottomUp: up, Most: 1 << 20}
	var flames [2]*Flame
	var values, others [2]map[string]int64
	got := map[string]int64{}
	for i, r := range []*Reader{now, old} {
		var err error
		if o.Against = old; i == 1 {
			o.Against = now
		}
		if flames[i], err = r.Flame(o); err != nil {
			t.Fatal(err)
		}
		sign := int64(1 - 2*i)
		values[i], others[i] = flames[i].byName(
			t,
			func(name string, own int64) { got[name] += sign * own },
			up || r.isSingle(t) && o.Against.isSingle(t),
			up,
		)
	}
	for name, delta := range deltas {
		if got[name] != delta {
			t.Errorf("bottom-up %t: %s differs by %d, want %d", up, name, got[name], delta)
		}
	}
	for name, n := range got {
		if n != deltas[name] {
			t.Errorf("bottom-up %t: %s differs by %d, want %d", up, name, n, deltas[name])
		}
	}
	for i := range flames {
		there := int64(0)
		for name, n := range others[i] {
			if values[1-i][name] != n {
				t.Errorf("bottom-up %t: %s has %d in the other session, there %d", up, name, n, values[1-i][name])
			}
		}
		for name, n := range values[1-i] {
			if _, shown := values[i][name]; !shown {
				there++
			} else if others[i][name] != n {
				t.Errorf("bottom-up %t: %s has %d there, %d are said", up, name, n, others[i][name])
			}
		}
		if !up && int64(flames[i].Gone.Frames) != there {
			t.Errorf("%d frames are gone, want %d", flames[i].Gone.Frames, there)
		}
	}
}

// isSingle reports whether a session has one process with bytes.
func (r *Reader) isSingle(t *testing.T) bool {
	t.Helper()
	f, err := r.Flame(FlameOptions{Metric: "inclusive_bytes", Most: 1})
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for i, d := range f.Depth {
		if d == 0 && f.Name[i] != hiddenFrame {
			n++
		}
	}
	return n == 1
}

// byName sums frames up by the names from the root, and tells what functions had themselves.
func (f *Flame) byName(
	t *testing.T,
	own func(name string, own int64),
	single, up bool,
) (values, others map[string]int64) {
	t.Helper()
	values, others = map[string]int64{}, map[string]int64{}
	var path []string
	for i, below := range flameSums(t, f) {
		n := f.Names[f.Name[i]]
		name := n.Full + " " + f.Modules[n.Module]
		path = append(path[:f.Depth[i]], name)
		if f.Depth[i] > 0 && (!up || f.Depth[i] == 1) {
			if up {
				below = 0
			}
			own(name, f.Value[i]-below)
		}
		if f.Depth[i] == 0 && single {
			path[0] = "process"
		}
		key := fmt.Sprint(path)
		values[key] += f.Value[i]
		if f.Other[i] > 0 {
			others[key] += f.Other[i]
		}
	}
	return values, others
}
