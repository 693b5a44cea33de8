package e2e

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/clrprof/clrprof/internal/cli"
	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
)

// awaitedTruth is a row of what TimeAwaits knows of an async method.
type awaitedTruth struct {
	Truth       string `json:"truth"`
	Name        string `json:"name"`
	Suspensions int64  `json:"suspensions"`
	Least       int64  `json:"least"`
	Most        int64  `json:"most"`
}

// clockDrift is the part by which the clock of times and the program's own can go apart: the rate of the first is
// measured at the start, that of the second is adjusted all the time.
const clockDrift = 1e-4

// TestTimeAwaits: how often async methods wait is what they know themselves, and for how long is between what they read
// within and around their waits: whether they go on in the pool or within the call that ends what they wait for, many
// at once, or not at all.
func TestTimeAwaits(t *testing.T) {
	t.Parallel()
	in := dotnettest.Need(t)
	for i, w := range []way{timeTiered, timeOptimized, timeDebug} {
		for _, runtime := range in.InTurn(i) {
			t.Run(w.name+"/"+runtime.Name, func(t *testing.T) {
				t.Parallel()
				cmd := runtime.Command(dotnettest.Target(t, "TimeAwaits", w.options), "10")
				cmd.Env = append(cmd.Env, w.env...)
				compareAwaits(t, mustRecordTime(t, cmd, timeOnly...))
			})
		}
	}
}

// TestTimeAwaitsHooks: the same where the runtime's hooks see the calls.
func TestTimeAwaitsHooks(t *testing.T) {
	t.Parallel()
	for _, runtime := range dotnettest.Need(t).InTurn(1) {
		t.Run(runtime.Name, func(t *testing.T) {
			t.Parallel()
			compareAwaits(t, mustRecordTime(t, runtime.Command(dotnettest.Target(t, "TimeAwaits", dotnettest.Options{}),
				"10"), "--time", "--probes", "hooks"))
		})
	}
}

func compareAwaits(t *testing.T, r result) {
	t.Helper()
	type row struct{ Suspensions, Resumptions, Awaited, Known int64 }
	have := map[string]*row{}
	for _, f := range query[struct {
		Name, Type                               string
		Suspensions, Resumptions, Awaited, Known int64
	}](t, r.session,
		`SELECT f.raw_name AS name, f.raw_type AS type, a.suspensions, a.resumptions, a.awaited_ns AS awaited, a.awaited_known AS known
		FROM function_await a JOIN function f ON f.id = a.function_id`) {
		_, name, ok := strings.Cut(f.Type, "Methods/<Wait")
		if name, _, _ = strings.Cut(name, ">"); !ok {
			continue
		}
		if have[name] == nil { // of a generic method there are several
			have[name] = &row{Known: 1}
		}
		h := have[name]
		h.Suspensions, h.Resumptions, h.Awaited, h.Known = h.Suspensions+f.Suspensions, h.Resumptions+
			f.Resumptions, h.Awaited+f.Awaited, min(h.Known, f.Known)
	}
	waits := 0
	for _, line := range strings.Split(r.stdout, "\n") {
		var want awaitedTruth
		if json.Unmarshal([]byte(line), &want) != nil || want.Truth != "awaited" {
			continue
		}
		h := have[want.Name]
		delete(have, want.Name)
		if h == nil {
			h = &row{}
		}
		waits += int(want.Suspensions)
		resumed := want.Suspensions
		if want.Name == "Forever" {
			resumed = 0
		}
		if h.Suspensions != want.Suspensions || h.Resumptions != resumed {
			t.Errorf("%s: %d suspensions, %d resumptions, want %d, %d", want.Name, h.Suspensions, h.Resumptions,
				want.Suspensions, resumed)
		}
		drift := int64(clockDrift * float64(want.Most))
		if want.Suspensions > 0 && (h.Known == 0 || h.Awaited < want.Least-drift || h.Awaited > want.Most+drift) {
			t.Errorf("%s: awaited %d ns (known: %d), want %d to %d", want.Name, h.Awaited, h.Known, want.Least,
				want.Most)
		}
	}
	if len(have) > 0 || waits == 0 {
		t.Errorf("%d waits are known; besides there are those of %v", waits, have)
	}
	compareAwaitViews(t, r)
}

// compareAwaitViews: views say of a method what the session has of its state machine.
func compareAwaitViews(t *testing.T, r result) {
	t.Helper()
	type row struct {
		Name        string `json:"name"`
		Suspensions int64  `json:"suspensions"`
		Awaited     int64  `json:"awaited"`
	}
	find := func(name string, args ...string) (found row) {
		for _, f := range view[row](t, r.session, args...) {
			if f.Name == name {
				found = f
			}
		}
		return found
	}
	const method = "TimeAwaits.Methods.WaitDelays(int)"
	want := find(method+" [async]", "functions")
	if want.Suspensions == 0 || want.Awaited == 0 { // how many: see compareAwaits
		t.Errorf("functions: %+v", want)
	}
	for name, have := range map[string]row{"function": find(want.Name, "function", want.Name),
		"calltree": find(method, "calltree")} {
		have.Name = want.Name
		if have != want {
			t.Errorf("%s: %+v, want %+v", name, have, want)
		}
	}
	for said, args := range map[string][]string{"belongs to no thread": {"threads"},
		"are left out": {"functions", "--thread", "*"}} { // rows have none, and a sentence why
		var stdout, stderr bytes.Buffer
		if exit := cli.Main(append([]string{"report", r.session}, args...), strings.NewReader(""), &stdout,
			&stderr); exit != 0 || !strings.Contains(stdout.String(), "Awaited time") ||
			!strings.Contains(stdout.String(), said) {
			t.Errorf("%v: exit code %d, want %q\n%s%s", args, exit, said, &stdout, &stderr)
		}
	}
	if other := find(method, "calltree", "--async", "physical"); other.Suspensions != 0 {
		t.Errorf("as stacks were: %+v", other)
	}
}
