package e2e

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
)

// interactionTruth is what the target Interactions knows of the calls with one text from one line.
type interactionTruth struct {
	Kind     string `json:"kind"`
	Text     string `json:"text"`
	Function string `json:"function"` // Namespace.Outer/Nested.Method
	Line     int64  `json:"line"`
	Count    int64  `json:"count"`
	Failed   int64  `json:"failed"`
	Least    int64  `json:"least"` // nanoseconds, of all calls
	Most     int64  `json:"most"`
}

// TestInteractions: each call to a database or over HTTP is in the row of its text and of who made it, exactly, in
// whatever way it begins and ends, and for as long as it took.
func TestInteractions(t *testing.T) {
	t.Parallel()
	in := dotnettest.Need(t)
	modes := [][]string{{"--memory"}, {"--time"}, {"--lifetime"}, {"--time", "--memory"}, byProbes, byHooks}
	for i, w := range dotnettest.Some([]way{timeTiered, timeOptimized, timeHurried}) {
		for k, runtime := range in.InTurn(i) {
			if runtime.Major() < 5 {
				continue
			}
			mode := modes[(2*i+k)%len(modes)]
			t.Run(strings.Join(mode, " ")+"/"+w.name+"/"+runtime.Name, func(t *testing.T) {
				t.Parallel()
				cmd := runtime.Command(dotnettest.Target(t, "Interactions", w.options), "40", "3")
				cmd.Env = append(cmd.Env, w.env...)
				r := recordOnce(t, cmd, slices.Concat([]string{"--interactions"}, mode)...)
				if r.exit != 0 {
					t.Fatalf("exit code %d\n%s%s", r.exit, r.stdout, r.stderr)
				}
				if slices.Contains(mode, "--time") {
					soundTime(t, r.session)
				} else {
					sound(t, r.session)
				}
				compareInteractions(t, r)
			})
		}
	}
}

// TestInteractionsOfOldRuntime: .NET Core 3.1 has no probes, and that is a loss.
func TestInteractionsOfOldRuntime(t *testing.T) {
	t.Parallel()
	runtime := dotnettest.Guest(t)
	r := recordOnce(t, runtime.Command(dotnettest.Target(t, "StaticInit", dotnettest.Options{})), "--memory",
		"--interactions")
	if r.exit != 0 {
		t.Fatalf("exit code %d\n%s%s", r.exit, r.stdout, r.stderr)
	}
	type row struct {
		Reason string
		Events int64
	}
	want := []row{{session.LossInteractions, 1}}
	if d := cmp.Diff(want, query[row](t, r.session, "SELECT reason, events FROM loss")); d != "" {
		t.Error(d)
	}
}

func compareInteractions(t *testing.T, r result) {
	t.Helper()
	type row struct {
		interactionTruth
		Ended    int64 `json:"ended"`
		Unwaited int64 `json:"unwaited"`
		Total    int64 `json:"total_ns"`
		Min      int64 `json:"min_ns"`
		Max      int64 `json:"max_ns"`
	}
	have := query[row](t, r.session, `SELECT kind, text, function, line, calls AS count, failed, ended, unwaited,
		total_ns, coalesce(min_ns, 0) AS min_ns, coalesce(max_ns, 0) AS max_ns FROM interactions`)
	type reported struct {
		Kind, Text    string
		Line          int64
		Count, Failed int64
		Ended         bool
	}
	var want, got []reported
	truth := truthRows[interactionTruth](t, r.stdout, "interaction")
	for _, w := range truth {
		want = append(want, reported{w.Kind, w.Text, w.Line, w.Count, w.Failed, true})
	}
	for _, h := range have {
		if h.Text == "never" {
			if h.Count != 1 || h.Ended != 0 {
				t.Errorf("what nobody completes: %+v", h)
			}
			continue
		}
		got = append(got, reported{h.Kind, h.Text, h.Line, h.Count, h.Failed, h.Ended == h.Count})
		for _, w := range truth {
			if w.Kind == h.Kind && w.Text == h.Text && w.Line == h.Line && (h.Total < w.Least || h.Total > w.Most) {
				t.Errorf("%s took %d ns, its caller measured %d, and itself %d", h.Text, h.Total, w.Most, w.Least)
			}
		}
		if h.Min < 0 || h.Min*h.Count > h.Total || h.Max*h.Count < h.Total || h.Unwaited != 0 {
			t.Errorf("%s: least, most and sum do not fit: %+v", h.Text, h)
		}
	}
	sortReported := func(a, b reported) int {
		return strings.Compare(a.Kind+a.Text, b.Kind+b.Text)*1000 + int(a.Line-b.Line)
	}
	slices.SortFunc(want, sortReported)
	slices.SortFunc(got, sortReported)
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("interactions (-truth +session): %s", d)
	}
	for reason, l := range losses(t, r.session) {
		if slices.Contains([]string{session.LossInteractions, session.LossInteractionTexts, session.LossNotProbed}, reason) {
			t.Errorf("lost: %+v", l)
		}
	}
}

// TestInteractionTexts: texts are bounded, in length and in number, and what is beyond is counted; the program does not
// notice.
func TestInteractionTexts(t *testing.T) {
	t.Parallel()
	const texts, room = 30000, 20000
	in := dotnettest.Need(t)
	runtimes := in.InTurn(1)
	runtime := runtimes[slices.IndexFunc(runtimes, func(r dotnettest.Runtime) bool { return r.Major() >= 5 })]
	cmd := runtime.Command(dotnettest.Target(t, "Interactions", timeTiered.options), "1", "1", strconv.Itoa(texts))
	r := recordOnce(t, cmd, "--interactions", "--time", "--include", "Nothing.*")
	if r.exit != 0 {
		t.Fatalf("exit code %d\n%s%s", r.exit, r.stdout, r.stderr)
	}
	type row struct {
		Text string `json:"text"`
		N    int64  `json:"n"`
	}
	have := query[row](t, r.session, `SELECT text, sum(calls) AS n FROM interactions WHERE function LIKE '%Many%' AND
		text NOT LIKE 'SELECT %' GROUP BY text`)
	kept := query[row](t, r.session, `SELECT '' AS text, count(*) AS n FROM interactions WHERE text LIKE 'SELECT % FROM many'`)[0].N
	all := query[row](t, r.session, `SELECT '' AS text, sum(calls) AS n FROM interactions WHERE function LIKE '%Many%'`)[0].N
	other := int64(0)
	for _, h := range have {
		if h.Text == "(other texts)" {
			other = h.N
		}
	}
	if all != texts+2 || kept >= room || other != texts-kept+1 ||
		!slices.Contains(have, row{strings.Repeat("x", 4096), 1}) {
		t.Errorf("%d calls, %d texts, %d without", all, kept, other)
	}
	if l := losses(t, r.session)[session.LossInteractionTexts]; l.Events != other+1 {
		t.Errorf("lost: %+v, want %d", l, other+1)
	}
}
