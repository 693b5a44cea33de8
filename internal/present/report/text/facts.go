package text

import (
	"fmt"
	"strings"

	"github.com/clrprof/clrprof/internal/dotnet/usercode"
	"github.com/clrprof/clrprof/internal/present/report"
	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
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
		s.wasteFact(fact)
	}
	if !l.LeftOut.IsZero() {
		fact(factLeftOut, "%s%s, %s%s: made for clrprof, or after the last GC", s.about(),
			counted(l.LeftOut.Allocations, "object"), s.about(), l.LeftOut.Bytes)
	}
}

// wasteFact says what survived in vain.
func (s summary) wasteFact(fact func(key, format string, args ...any)) {
	bytes := bytesExactly(s.Lifetime.Waste().Bytes)
	switch {
	case s.Few(s.Lifetime.Waste()):
		bytes = fewSamples
	case s.Estimated:
		bytes = aboutSign + s.Lifetime.Waste().Bytes.String()
	}
	fact("waste", "%s survived generations 0 and 1 and died in 2", bytes)
}

// diedPart is the share of what died in a generation, or lives. On the large object heap nothing is sampled.
func (s summary) diedPart(part q.Amount, whole q.Bytes, generation int) string {
	if s.Few(part) && generation != session.GenerationLarge {
		return fewSamples
	}
	return s.about() + q.PercentOf(part.Bytes, whole).String()
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
			parts = append(parts, session.GenerationName(int64(i))+" "+s.diedPart(end, whole, i))
		}
	}
	if !s.Lifetime.Span {
		fact("died", "%s, alive %s of bytes", strings.Join(parts, ", "),
			s.diedPart(lifetime.Alive(), whole, session.GenerationLarge-1))
		return
	}
	fact("died", "%s%s: %s of bytes", s.about(), lifetime.Collected().Bytes, strings.Join(parts, ", "))
	more := lifetime.Alive().Bytes
	fact("alive", "%s%s %s than before", s.about(), max(more, -more), pick(more < 0, "less", "more"))
}
