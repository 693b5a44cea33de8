package report

import (
	"fmt"
	"slices"
	"testing"

	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/testkit/sessiontest"
)

// TestCompiled: a summary says how long methods were compiled, and how long the processes ran that compiled them. Several
// threads can compile for longer than their process runs: that is all of the run, not more.
func TestCompiled(t *testing.T) {
	for name, tt := range map[string]struct {
		took []q.Nanoseconds // by process, of those that run for a second
		want string          // how long, methods, how long they ran, processes; "": nothing
		part float64
	}{
		"one process":      {[]q.Nanoseconds{500e6}, "500.00 ms 7 methods 1.00 s 1 process", 50},
		"several":          {[]q.Nanoseconds{500e6, 100e6}, "600.00 ms 14 methods 2.00 s 2 processes", 30},
		"threads together": {[]q.Nanoseconds{1500e6}, "1.50 s 7 methods 1.00 s 1 process", 100},
		"a small part":     {[]q.Nanoseconds{90e6, 90e6, 90e6}, "", 0},
		"short":            {[]q.Nanoseconds{150e6}, "", 0},
	} {
		b := sessiontest.New()
		for i, took := range tt.took {
			p := b.Process("Compiles", int64(700+i))
			thread, app := b.Thread(p, "main"), b.Module(p, "Compiles.dll", true)
			b.Modules[app-1].Origin = "project"
			b.Allocate(1, thread, b.Type(app, "Thing"), 1, 100, sessiontest.Frame{
				Function: b.Function(app, "Program.Main()", "/src/Program.cs", 10), Line: 11})
			at := &b.Processes[p-1]
			at.Begin, at.End, at.Compiled, at.CompiledTime = 0, 1e9, 7, took
		}
		s, err := made(t, b).Summarize(Options{Top: 5})
		if err != nil {
			t.Fatal(err)
		}
		have, part := "", 0.0
		if i := slices.IndexFunc(s.Findings, func(n Note) bool { return n.Kind == FindingCompiled }); i >= 0 {
			f := s.Findings[i].Facts
			have, part = fmt.Sprint(f[0], " ", f[1].(Things), " ", f[2], " ", f[3].(Things)), s.Explained[i].Share.Float()
		}
		if have != tt.want || part != tt.part {
			t.Errorf("%s: %q, a part of %v %%; want %q, %v %%", name, have, part, tt.want, tt.part)
		}
	}
	var none *Compiled
	if none.IsSaid() || (&Compiled{Took: 1e6, Ran: 1e9}).IsSaid() || !(&Compiled{Took: 20e6, Ran: 1e9}).IsSaid() {
		t.Error("from 1 % of the run on it is worth a line of the facts, not before")
	}
}
