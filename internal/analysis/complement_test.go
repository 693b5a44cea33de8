package analysis

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/clrprof/clrprof/internal/pattern"
	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/testkit/differ"
	"github.com/clrprof/clrprof/internal/testkit/sessiontest"
)

// totals are all values of a part that parts of a whole add up to, by what they are of.
type totals struct {
	amounts   map[string]q.Amounts
	times     map[string]session.TimeValue
	lifetimes map[string]Lifetime
}

func newTotals() totals {
	return totals{map[string]q.Amounts{}, map[string]session.TimeValue{}, map[string]Lifetime{}}
}

// compareTotals compares totals of what wants and has; objects that were born and died in other parts are no
// difference.
func compareTotals(t *rapid.T, what string, want, have totals) {
	t.Helper()
	maps.DeleteFunc(want.lifetimes, func(_ string, l Lifetime) bool { return l.IsZero() })
	if diff := differ.Of(want, have, cmp.AllowUnexported(totals{}), cmpopts.EquateEmpty()); diff != "" {
		t.Fatalf("%s (-want +have):\n%s", what, diff)
	}
}

func totalsOf(t interface {
	Helper()
	Fatal(...any)
}, d *Data) totals {
	t.Helper()
	out := newTotals()
	derived, err := d.Derive()
	if err != nil {
		t.Fatal(err)
	}
	add := func(a q.Amounts, what string, ids ...any) { out.amounts[fmt.Sprint(what, ids)] = a }
	one := func(a q.Amount) q.Amounts { return q.Amounts{Exclusive: a} }
	for _, r := range derived.Functions {
		add(r.Amounts, "function", r.Function)
	}
	for _, r := range derived.Modules {
		add(r.Amounts, "module", r.Module)
	}
	for _, r := range derived.Calls {
		add(r.Amounts, "call", r.Caller, r.Callee)
	}
	for _, r := range derived.Types {
		add(one(r.Amount), "type", r.Type)
	}
	for _, r := range derived.Lines {
		add(one(r.Amount), "line", r.Line)
	}
	for _, r := range derived.Instructions {
		add(one(r.Amount), "instruction", r.Instruction)
	}
	for _, r := range derived.Threads {
		add(one(r.Amount), "thread", r.Thread)
	}
	for _, r := range derived.Processes {
		add(one(r.Amount), "process", r.Process)
	}
	for _, r := range derived.ThreadTimes {
		out.times[fmt.Sprint("thread", r.Thread)] = r.TimeValue
	}
	for _, r := range derived.FunctionTimes { // inclusive times of folded calls are known of whole functions alone
		r.Inclusive = q.Time{}
		out.times[fmt.Sprint("function", r.Function)] = r.TimeValue
	}
	if lifetimes, err := d.Lifetimes(); err == nil {
		for id, l := range lifetimes.Types() {
			out.lifetimes[fmt.Sprint("type", id)] = l
		}
		for id, l := range lifetimes.Functions() {
			out.lifetimes[fmt.Sprint("function", id)] = l.Exclusive
		}
	}
	return out
}

func (a totals) add(b totals) totals {
	for k, v := range b.amounts {
		w := a.amounts[k]
		a.amounts[k] = q.Amounts{Inclusive: v.Inclusive.Add(w.Inclusive), Exclusive: v.Exclusive.Add(w.Exclusive)}
	}
	for k, v := range b.times {
		a.times[k] = addTimes(a.times[k], v)
	}
	for k, v := range b.lifetimes {
		if v = a.lifetimes[k].Add(v); v.IsZero() {
			delete(a.lifetimes, k) // born in one part, died in the other
			continue
		}
		a.lifetimes[k] = v
	}
	return a
}

// measuredOnly leaves what spans of time add up to exactly: the overhead of each span is rounded by itself.
func (a totals) measuredOnly() totals {
	for k, v := range a.times {
		e := v.Exclusive
		a.times[k] = session.TimeValue{Calls: v.Calls,
			Times: q.Times{Exclusive: q.Time{Elapsed: e.Elapsed + e.Overhead, Waits: e.Waits}}}
	}
	return a
}

// complement are parts that are together a whole.
type complement struct {
	whole Terms
	parts []Terms
}

// complements are terms of each kind, drawn from what the session has, and what together with them is the whole.
func complements(t *rapid.T, s *session.Session) map[string]complement {
	var d Data
	if err := d.read(s); err != nil {
		t.Fatal(err)
	}
	one := func(what string, names []string) (string, bool) {
		names = slices.DeleteFunc(names, func(n string) bool { return n == "" })
		return rapid.SampledFrom(append(names, "*")).Draw(t, what), len(names) > 0
	}
	names := map[string][]string{}
	for i := range d.Processes {
		names["process"] = append(names["process"], d.Processes[i].Name, fmt.Sprint("#", d.Processes[i].ID))
	}
	threadName := threadNamer(d.Processes)
	for i := range d.Threads {
		names["thread"] = append(names["thread"], threadName(&d.Threads[i]), fmt.Sprint("#", d.Threads[i].ID))
	}
	for i := range d.Modules {
		names["module"] = append(names["module"], d.Modules[i].Name)
	}
	for i := range d.Functions {
		names["function"] = append(names["function"], withoutParameters(d.Functions[i].DisplayName()))
		names["namespace"] = append(names["namespace"], pattern.Namespace(d.Functions[i].RawType))
	}
	for i := range d.Types {
		names["type"] = append(names["type"], d.Types[i].Name)
	}
	out := map[string]complement{}
	set := map[string]func(*Terms) *[]string{
		"process": func(t *Terms) *[]string { return &t.Processes }, "thread": func(t *Terms) *[]string {
			return &t.Threads
		},
		"namespace": func(t *Terms) *[]string { return &t.Namespaces },
		"module":    func(t *Terms) *[]string { return &t.Modules }, "function": func(t *Terms) *[]string {
			return &t.Functions
		},
		"type": func(t *Terms) *[]string { return &t.Types }, "focus": func(t *Terms) *[]string { return &t.Focus },
	}
	for _, kind := range slices.Sorted(maps.Keys(set)) {
		from := names[kind]
		if kind == "focus" {
			from = names["function"]
		}
		if name, ok := one(kind, from); ok {
			in, rest := Terms{}, Terms{}
			*set[kind](&in), *set[kind](&rest) = []string{name}, []string{"!" + name}
			out[kind] = complement{Terms{}, []Terms{in, rest}}
		}
	}
	if n := len(d.Slices); n > 1 {
		at := d.Slices[rapid.IntRange(1, n-1).Draw(t, "slice")].Begin
		out["time"] = complement{Terms{}, []Terms{{To: at}, {From: at}}}
	}
	boundaries, err := readBoundaries(s)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range slices.Sorted(maps.Keys(boundaries)) {
		list := boundaries[p]
		if only := []string{fmt.Sprint("#", p)}; len(list) > 1 {
			at := list[rapid.IntRange(1, len(list)-1).Draw(t, fmt.Sprint("gc of ", p))].number
			out["gc"] = complement{Terms{Processes: only},
				[]Terms{{Processes: only, GCs: GCSpan{To: at}}, {Processes: only, GCs: GCSpan{After: at}}}}
		}
	}
	return out
}

// eachComplement calls fn with the complements of each kind of drawn sessions, and of more until there are enough.
func eachComplement(t *testing.T, enough func() bool,
	fn func(rt *rapid.T, s *session.Session, d *Data, kind string, c complement)) {
	dir := t.TempDir()
	until(t, enough, func(rt *rapid.T) {
		s := open(rt, drawSession(rt), filepath.Join(dir, "a"))
		defer s.Close()
		d, err := Load(s)
		if err != nil {
			rt.Fatal(err)
		}
		all := complements(rt, s)
		for _, kind := range slices.Sorted(maps.Keys(all)) {
			fn(rt, s, d, kind, all[kind])
		}
	})
}

// TestComplement: a selection and its complement add up to the whole, for each kind of terms.
func TestComplement(t *testing.T) {
	tried := map[string]int{}
	kinds := []string{"process", "thread", "module", "namespace", "function", "type", "focus", "time", "gc"}
	enough := func() bool {
		return !slices.ContainsFunc(kinds, func(kind string) bool { return tried[kind] == 0 })
	}
	eachComplement(t, enough, func(rt *rapid.T, s *session.Session, d *Data, kind string, c complement) {
		whole, err := c.whole.Select(s)
		if err != nil {
			rt.Fatal(err)
		}
		want, have := totalsOf(rt, part(rt, d, whole)), newTotals()
		for _, terms := range c.parts {
			sel, err := terms.Select(s)
			// none is left, and that is refused
			if term := (*TermError)(nil); errors.As(err, &term) && (kind == "process" || kind == "thread") {
				continue
			}
			if err != nil {
				rt.Fatalf("%s %+v: %v", kind, terms, err)
			}
			have = have.add(totalsOf(rt, part(rt, d, sel)))
		}
		switch kind {
		case "time":
			want, have = want.measuredOnly(), have.measuredOnly()
		case "type", "gc":
			want.times = nil // there are none by type or collection
		}
		compareTotals(rt, fmt.Sprintf("%s: %+v", kind, c), want, have)
		tried[kind]++
	})
	for _, kind := range kinds {
		if tried[kind] == 0 {
			t.Errorf("no session had a %s", kind)
		}
	}
}

// drawSession draws a session with memory, lifetimes, times or what changed between collections.
func drawSession(t *rapid.T) *sessiontest.Builder {
	seed := rapid.Uint64().Draw(t, "seed")
	switch rapid.IntRange(0, 2).Draw(t, "session") {
	case 0:
		return sessiontest.Random(seed)
	case 1:
		return sessiontest.RandomTimes(seed)
	}
	return sessiontest.Aging()
}

// TestHide: with functions left out of stacks, everything still counts once, and for functions that are shown.
func TestHide(t *testing.T) {
	dir := t.TempDir()
	moved := 0
	until(t, func() bool { return moved > 0 }, func(rt *rapid.T) {
		s := open(rt, drawSession(rt), filepath.Join(dir, "a"))
		defer s.Close()
		d, err := Load(s)
		if err != nil || len(d.Functions) == 0 {
			rt.Skip(err)
		}
		f := rapid.SampledFrom(d.Functions).Draw(rt, "function")
		sel, err := Terms{Hide: []string{withoutParameters(f.DisplayName())}}.Select(s)
		if err != nil {
			rt.Fatal(err)
		}
		want, err := d.Derive()
		if err != nil {
			rt.Fatal(err)
		}
		shown := part(rt, d, sel)
		have, err := shown.Derive()
		if err != nil {
			rt.Fatal(err)
		}
		for id := range sel.hidden {
			if sel.hidden[id] && !onlyOutermost(shown, id) {
				rt.Errorf("function %d is shown, and not only as the outermost one", id)
			}
		}
		for _, diff := range []string{
			differ.Of(want.Types, have.Types), differ.Of(want.Threads, have.Threads),
			differ.Of(want.Processes, have.Processes),
			differ.Of(sumOf(want.Functions, exclusiveOf), sumOf(have.Functions, exclusiveOf)),
			differ.Of(withoutCalls(want.ThreadTimes), withoutCalls(have.ThreadTimes)),
			differ.Of(callsOf(want.FunctionTimes, sel.hidden), callsOf(have.FunctionTimes, sel.hidden)),
		} {
			if diff != "" {
				rt.Errorf("hide %s (-all +shown):\n%s", f.DisplayName(), diff)
			}
		}
		if !cmp.Equal(want.Functions, have.Functions) {
			moved++
		}
	})
	if moved == 0 {
		t.Error("nothing was hidden")
	}
}

func exclusiveOf(r session.FunctionValue) q.Amount { return r.Exclusive }

// withoutCalls leaves the times: calls of hidden functions are calls no more.
func withoutCalls(rows []session.ThreadTime) map[session.ThreadID]q.Times {
	out := map[session.ThreadID]q.Times{}
	for _, r := range rows {
		out[r.Thread] = r.Times
	}
	return out
}

// callsOf are the calls of functions that are shown.
func callsOf(rows []session.FunctionTime, hidden map[session.FunctionID]bool) map[session.FunctionID]q.Count {
	out := map[session.FunctionID]q.Count{}
	for _, r := range rows {
		if !hidden[r.Function] && r.Calls > 0 {
			out[r.Function] = r.Calls
		}
	}
	return out
}

// onlyOutermost reports whether a function has values at roots of stacks alone, or in folded calls, which have no
// stacks.
func onlyOutermost(d *Data, f session.FunctionID) bool {
	stays := make([]bool, len(d.Nodes))
	copy(stays, d.foldedNodes())
	d.inclusives.each(func(_, timing int32, _ *session.TimingInclusive) { stays[d.timingNode[timing]] = true })
	for _, at := range slices.Concat(d.siteNode, d.timingNode) {
		if at >= 0 && d.Nodes[at].Function == f && d.tree.Parent[at] >= 0 && !stays[at] {
			return false
		}
	}
	return true
}
