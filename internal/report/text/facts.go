package text

import (
	"fmt"
	"strings"

	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/report"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/usercode"
)

// origins say in words why modules are the user's.
var origins = map[usercode.Origin]string{
	usercode.Pattern: "by --mine",
	usercode.Project: "a project of the program's deps.json",
	usercode.Beside:  "beside the main assembly, and in no package",
	usercode.Memory:  "made in memory",
	usercode.Folder:  "in the main assembly's folder, because nothing else is your code",
}

// userCode names the modules that are user code.
func (s summary) userCode() string {
	var out []string
	for _, of := range s.UserCode {
		list := strings.Join(of.Modules, ", ")
		if of.More > 0 {
			list += ", " + counted(of.More, "other")
		}
		out = append(out, fmt.Sprintf("%s (%s)", list, origins[of.Origin]))
	}
	return strings.Join(out, "; ")
}

// timeFacts prints the lines about times at the head of a summary.
func (s summary) timeFacts(fact func(key, format string, args ...any)) {
	t := s.Timing
	if t == nil {
		return
	}
	all := t.Total.Inclusive
	elapsed := t.Elapsed()
	over := ""
	if n := t.Threads; n > 1 {
		over = fmt.Sprintf(", added up over %s threads", n)
	}
	fact("time", "%s elapsed%s: %s CPU (%s), %s ready, %s blocked", elapsed, over, all.CPU,
		q.PercentOf(all.CPU, elapsed), all.Ready, all.Blocked)
	busy := pick(t.Busy(), "; the machine was busy, so they are fewer than alone", "")
	fact(factApp, "%s (%s): intervals without a thread switch%s", all.Application,
		q.PercentOf(all.Application, elapsed), busy)
	calls := t.Total.Calls.String()
	if t.PerSecond > 0 {
		calls += fmt.Sprintf(", %s per second", t.PerSecond)
	}
	if t.Total.Running > 0 {
		calls += fmt.Sprintf("; %s had not ended", t.Total.Running)
	}
	fact("calls", "%s", calls)
	if t.GCPauses > 0 && s.Lifetime == nil {
		fact("gcs", "%s, %s in all, the longest %s", counted(t.GCPauses, "pause"), t.GCPaused, t.GCLongest)
	}
	uncertain := ""
	if t.Uncertain > 0 && !t.Raw {
		uncertain = fmt.Sprintf(" ± %s", t.Uncertain)
	}
	fact(factProbes, "%sthey cost %s%s (%s of what was measured), which is %s", probesText(t), all.Overhead, uncertain,
		t.Overhead(), pick(t.Raw, "not subtracted", "subtracted"))
}

// probesText says how calls were seen, if the session knows.
func probesText(t *report.Timing) string {
	ways := map[string]bool{}
	for _, p := range t.Processes {
		ways[p.Probes] = true
	}
	switch {
	case ways[session.ProbesIL] && ways[session.ProbesHooks]:
		return "in IL, in some processes hooks; "
	case ways[session.ProbesIL]:
		return "in IL; "
	case ways[session.ProbesHooks]:
		return "hooks; "
	}
	return ""
}

// lifetimeFacts prints the lines about lifetimes at the head of a summary.
func (s summary) lifetimeFacts(fact func(key, format string, args ...any)) {
	l := s.Lifetime
	if l == nil {
		return
	}
	agent := ""
	if l.Agent > 0 {
		agent = fmt.Sprintf("; clrprof's part, %s, is not in them", l.Agent)
	}
	fact("gcs", "%s (%s gen 0, %s gen 1, %s gen 2), pauses %s, the longest %s%s", l.All(), l.Collections[0],
		l.Collections[1], l.Collections[2], l.Pause, l.Longest, agent)
	s.diedFact(fact)
	if !l.Waste().IsZero() {
		fact("waste", "%s survived generations 0 and 1 and died in 2", bytesExactly(l.Waste().Bytes))
	}
	if !l.LeftOut.IsZero() {
		fact(factLeftOut, "%s, %s: made for clrprof, or after the last GC",
			counted(l.LeftOut.Allocations, "object"), l.LeftOut.Bytes)
	}
}

// diedFact prints what became of all objects. Within a span of time others die than are born, so shares are of those
// that died, and the living only change.
func (s summary) diedFact(fact func(key, format string, args ...any)) {
	lifetime := &s.Lifetime.Lifetime
	whole := lifetime.Born.Bytes
	if s.Lifetime.Span {
		whole = lifetime.Collected().Bytes
	}
	var parts []string
	for i, end := range lifetime.Dead {
		if i < session.GenerationLarge || !end.IsZero() {
			parts = append(parts, fmt.Sprintf("%s %s", session.GenerationName(int64(i)), q.PercentOf(end.Bytes, whole)))
		}
	}
	if !s.Lifetime.Span {
		fact("died", "%s, alive %s of bytes", strings.Join(parts, ", "), q.PercentOf(lifetime.Alive().Bytes, whole))
		return
	}
	fact("died", "%s: %s of bytes", lifetime.Collected().Bytes, strings.Join(parts, ", "))
	more := lifetime.Alive().Bytes
	fact("alive", "%s %s than before", max(more, -more), pick(more < 0, "less", "more"))
}
