package e2e

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
)

// TestAskedCollections: of each collection that the program asks for it is known who did.
func TestAskedCollections(t *testing.T) {
	t.Parallel()
	for _, runtime := range dotnettest.Need(t).Runtimes() {
		t.Run(runtime.Name, func(t *testing.T) {
			t.Parallel()
			r := mustRecord(t, runtime.Command(dotnettest.Target(t, "Asked", dotnettest.Options{}), "collections"))
			want, have := map[string]int{}, map[string]int{}
			if err := json.Unmarshal([]byte(r.stdout), &want); err != nil {
				t.Fatal(err)
			}
			lines := map[string]bool{}
			for _, gc := range view[struct {
				From string `json:"from"`
				Line int    `json:"line_begin"`
			}](t, r.session, "gcs") {
				if name, at, asked := strings.Cut(gc.From, " "); asked {
					have[name]++
					lines[at] = gc.Line > 0
				}
			}
			if d := cmp.Diff(want, have); d != "" || len(lines) != len(want) {
				t.Errorf("(-truth +gcs) %s, at %v", d, lines)
			}
			type sites struct{ Sites, Objects int }
			made := query[sites](t, r.session, `SELECT count(*) AS sites, (SELECT instances FROM types WHERE name = t.name)
				AS objects FROM site s JOIN type t ON t.id = s.type_id WHERE t.name = 'Asked.Marker'`)
			if d := cmp.Diff([]sites{{1, 7}}, made); d != "" { // a collection does not divide who allocates
				t.Error(d)
			}
			if text := run(t, "report", r.session).stdout; !strings.Contains(text,
				"the program asked for 10 collections") || !strings.Contains(text, "asked for by Cache.Trim Program.cs:") {
				t.Errorf("the first screen does not say it:\n%s", text)
			}
		})
	}
}

// TestCompiled compares the number of compiled methods with the runtime's own (JitInfo), to which the few methods are
// added that are compiled after the program has read that number.
func TestCompiled(t *testing.T) {
	t.Parallel()
	for _, runtime := range dotnettest.Need(t).Runtimes() {
		for _, flags := range [][]string{nil, timeOnly} {
			t.Run(runtime.Name+"/"+strings.Join(flags, " "), func(t *testing.T) {
				t.Parallel()
				cmd := runtime.Command(dotnettest.Target(t, "Asked", dotnettest.Options{}), "compiled")
				r := record(t, cmd, flags...)
				if strings.TrimSpace(r.stdout) == "" {
					t.Skip("this runtime does not say it")
				}
				want, err := strconv.Atoi(strings.TrimSpace(r.stdout))
				if err != nil {
					t.Fatal(err)
				}
				have := query[struct{ Methods, Ns, Missed int }](t, r.session, "SELECT compiled + recompiled AS methods, "+
					"compiled_ns AS ns, compiled_missed AS missed FROM process")
				const atTheEnd = 30 // what the end of the program calls
				if n := have[0].Methods; n < want || n > want+atTheEnd || have[0].Ns <= 0 || have[0].Missed != 0 {
					t.Errorf("the runtime says %d, the session %+v", want, have)
				}
			})
		}
	}
}

// TestIdle: threads that wait for something to do are no finding, and stand apart.
func TestIdle(t *testing.T) {
	t.Parallel()
	for _, runtime := range dotnettest.Need(t).NewestAndOldest() {
		t.Run(runtime.Name, func(t *testing.T) {
			t.Parallel()
			cmd := runtime.Command(dotnettest.Target(t, "Asked", dotnettest.Options{}), "idle")
			r := mustRecordTime(t, cmd, timeOnly...)
			text := run(t, "report", r.session).stdout
			findings, _, _ := strings.Cut(text, "\nsession")
			_, waits, _ := strings.Cut(text, "\nWhere your code waits most")
			waits, _, listed := strings.Cut(waits, "\n\n")
			for idle, how := range map[string]string{"Workers.Consume": "MoveNext", "Workers.Answer": "WaitOne",
				"Workers.Serve": "SemaphoreSlim.Wait"} {
				for line := range strings.Lines(findings) { // what little they compute can be one
					if strings.Contains(line, idle) && strings.Contains(line, " blocked") {
						t.Errorf("who has nothing to do is a finding: %s", line)
					}
				}
				for line := range strings.Lines(waits) {
					if strings.Contains(line, idle) && strings.Contains(line, how) {
						t.Errorf("the list of waits has %s: %s", idle, line)
					}
				}
			}
			if !listed || !strings.Contains(waits, "Workers.Gather") {
				t.Errorf("for whom Main waits is not said to be blocked:\n%s", waits)
			}
			if !strings.Contains(findings, "WaitHandle.WaitOne, called in Workers.WaitOnce") {
				t.Errorf("who waits for an event once is not said to be blocked:\n%s", findings)
			}
			if !strings.Contains(text, "of threads that wait for something to do, most of it in") {
				t.Errorf("idle threads do not stand apart:\n%s", text)
			}
		})
	}
}

// TestSaidPlaces: the first screen names the place of what is neither an allocation nor a time.
func TestSaidPlaces(t *testing.T) {
	t.Parallel()
	for i, p := range []struct {
		problem string
		flags   []string
		says    []string
	}{
		{"pinned", nil, []string{"1,000 pinned handles alone keep", "in 1,000 objects",
			"of type byte[], made by Handles.Run Program.cs:"}},
		{"native", timeOnly, []string{"Native memory is allocated and not freed: 200 calls of Marshal.AllocHGlobal, ",
			"most in Blocks.Make Program.cs:", "0 calls of what frees it"}},
	} {
		for _, runtime := range dotnettest.OneInTurn(dotnettest.Need(t).NewestAndOldest(), i) {
			t.Run(p.problem+"/"+runtime.Name, func(t *testing.T) {
				t.Parallel()
				cmd := runtime.Command(dotnettest.Target(t, "Asked", dotnettest.Options{}), p.problem)
				if text := run(t, "report", record(t, cmd, p.flags...).session).stdout; !containsAll(text, p.says) {
					t.Errorf("want %q:\n%s", p.says, text)
				}
			})
		}
	}
}
