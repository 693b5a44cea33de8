package e2e

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
)

// results reads what a target says up to "done".
func (x *service) results(step string) string {
	x.t.Helper()
	x.tell(step)
	var said strings.Builder
	for {
		line := x.line()
		if line == "done" {
			return said.String()
		}
		said.WriteString(line + "\n")
	}
}

// TestControlDormant: each function of Clrprof.Control says in a dormant process that nothing is recorded, before it is
// attached to and after; while it is, what it does is in that session, and what it switched off is forgotten with it. A
// name that a thread was given before is in the session as the kernel has it: 15 bytes, and none on .NET Core 3.1.
func TestControlDormant(t *testing.T) {
	t.Parallel()
	in := dotnettest.Need(t)
	dll := controlled(t, in, "ControlCodes", "../testdata/targets/ControlCodes")
	for _, runtime := range in.NewestAndOldest() {
		t.Run(runtime.Name, func(t *testing.T) {
			t.Parallel()
			s := newSandbox(t)
			s.env = append(s.env, "DOTNET_ROOT="+runtime.Root)
			x := s.startServiceOf(runtime.Args(dll, "dormant"), nil)
			compareResults(t, x.results("Off"), 11)
			for _, name := range []string{"first", "second"} {
				a := x.attach(name)
				compareResults(t, x.results("Ok"), 11)
				x.results("early")
				compareResults(t, x.results("suspend"), 1)
				x.detach(a)
				compareResults(t, x.results("Off"), 11)
				name := map[bool]string{true: "early and waiti"}[runtime.Major() >= 5]
				compareDormantSession(t, a.session, name)
			}
			x.finish()
		})
	}
}

// compareDormantSession: what the program said while it was recorded is there once, and a thread that was named before
// has this name.
func compareDormantSession(t *testing.T, path, early string) {
	t.Helper()
	checkTables(t, path)
	type row struct{ Name, Text, Process, Thread string }
	want := []row{{"plain", "", "renamed", "named"}, {"commented", "text", "renamed", "named"},
		{"earlier", "text", "renamed", "named"}}
	got := query[row](t, path, `SELECT m.name, m.text, p.name AS process, h.name AS thread FROM mark m
		JOIN process p ON p.id = m.process_id JOIN thread h ON h.id = m.thread_id
		WHERE m.source = 'api' ORDER BY m.time_ns, m.id`)
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("marks (-want +have): %s", d)
	}
	type made struct {
		Name      string
		Instances int64
	}
	const of = `SELECT h.name, sum(v.allocations) AS instances FROM site_value v JOIN site s ON s.id = v.site_id
		JOIN type y ON y.id = s.type_id JOIN thread h ON h.id = s.thread_id WHERE y.name LIKE '%Early' GROUP BY h.id`
	if d := cmp.Diff([]made{{early, 1}}, query[made](t, path, of)); d != "" {
		t.Errorf("objects of the early thread (-want +have): %s", d)
	}
}
