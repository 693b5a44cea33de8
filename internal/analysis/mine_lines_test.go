package analysis

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/clrprof/clrprof/internal/dotnet/usercode"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/testkit/differ"
	"github.com/clrprof/clrprof/internal/testkit/sessiontest"
)

// sourcePlace is a place in user code by what the source says; of a process, if no user code called what is there.
type sourcePlace struct {
	process      session.ProcessID
	function     session.FunctionID
	line, column int64
}

// naiveUserLines adds up the samples of a session, stack by stack: exclusive by the innermost frame of user code,
// elapsed time also by each place of user code on the stack, once.
func naiveUserLines(t *rapid.T, s *session.Session) (own map[sourcePlace]map[string]int64,
	inclusive map[sourcePlace]int64) {
	samples, err := Samples(s, Selection{})
	if err != nil {
		t.Fatal(err)
	}
	own, inclusive = map[sourcePlace]map[string]int64{}, map[sourcePlace]int64{}
	err = samples.Each(func(sample *Sample) error {
		var on []sourcePlace // innermost first
		for _, number := range sample.Stack {
			if f := samples.Frames()[number]; usercode.Origin(f.Module.Origin).IsUser() {
				p := sourcePlace{0, f.Function.ID, f.Line, f.Column}
				if f.Column == 0 { // on none of its lines: the line is that of the function
					p.line = 0
				}
				on = append(on, p)
			}
		}
		if len(on) == 0 {
			on = []sourcePlace{{process: sample.Process.ID}}
		}
		if own[on[0]] == nil {
			own[on[0]] = map[string]int64{}
		}
		seen := map[sourcePlace]bool{}
		for i, value := range sample.Values {
			name := samples.Values[i].Name
			if own[on[0]][name] += value; name == "elapsed" {
				for _, p := range on {
					if !seen[p] {
						inclusive[p] += value
					}
					seen[p] = true
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return own, inclusive
}

// userSession draws a session of which some modules are user code.
func userSession(t *rapid.T) *sessiontest.Builder {
	b := drawSession(t)
	drawOrigins(t, b)
	return b
}

// checkLineGroups compares lifetimes by line with those of lines of user code: those of other lines are outside of it.
func checkLineGroups(t *rapid.T, lifetimes *Lifetimes, want map[UserPlace]Lifetime) {
	have := map[UserPlace]Lifetime{}
	groups, of, _ := lifetimes.Groups(ByLine)
	for i, g := range groups {
		u := UserPlace{Place: Place{g.Function, g.Line}}
		if _, known := want[u]; !known {
			u = UserPlace{Process: g.Process}
		}
		if have[u] = have[u].Add(of[i]); have[u].IsZero() {
			delete(have, u)
		}
	}
	if diff := differ.Of(want, have); diff != "" {
		t.Errorf("by line (-user lines +groups):\n%s", diff)
	}
}

// TestUserLines: lines of user code have what a walk up each stack gives them, however stacks are shown, and together
// they are the whole.
func TestUserLines(t *testing.T) {
	dir, cases, lines, outside := t.TempDir(), 0, 0, 0
	enough := func() bool { return cases > 0 && lines >= cases && outside > 0 } // on average at least one of each case
	found := until(t, enough, func(rt *rapid.T) {
		b := userSession(rt)
		s := open(rt, b, filepath.Join(dir, "a"))
		defer s.Close()
		levels := &CodeLevels{rapid.IntRange(0, 2).Draw(rt, "callers"), rapid.IntRange(0, 2).Draw(rt, "callees")}
		mine, err := Terms{MyCode: rapid.Bool().Draw(rt, "mine"), CodeLevels: levels}.Select(s)
		if errors.Is(err, ErrNoUserCode) {
			rt.Skip(err)
		}
		cases++
		v, err := Open(s, mine)
		if err != nil {
			rt.Fatal(err)
		}
		rows, err := v.UserLines()
		if err != nil {
			rt.Fatal(err)
		}
		d, err := v.load()
		if err != nil {
			rt.Fatal(err)
		}
		wantOwn, wantInclusive := naiveUserLines(rt, s)
		own, inclusive := map[sourcePlace]map[string]int64{}, map[sourcePlace]int64{}
		lived := map[UserPlace]Lifetime{}
		if lifetimes, err := v.Lifetimes(); err == nil {
			lived = lifetimes.UserLines()
			if mine.OfUserLines() {
				checkLineGroups(rt, lifetimes, lived)
			}
		}
		place := func(u UserPlace) sourcePlace {
			p := sourcePlace{process: u.Process, function: u.Function}
			if u.Line != 0 {
				p.line, p.column = b.Lines[u.Line-1].LineBegin, b.Lines[u.Line-1].ColumnBegin
			}
			return p
		}
		for _, r := range rows {
			p, ends := place(r.UserPlace), lived[r.UserPlace]
			delete(lived, r.UserPlace)
			if own[p] == nil {
				own[p] = map[string]int64{}
			}
			add := own[p]
			add["allocations"] += int64(r.Allocations)
			add["bytes"] += int64(r.Bytes)
			add["elapsed"] += int64(r.Exclusive.Elapsed)
			add["application"] += int64(r.Exclusive.Application)
			add["cpu"] += int64(r.Exclusive.CPU)
			for g, dead := range ends.Dead {
				add[lifetimeValues[g]+"_objects"] += int64(dead.Allocations)
				add[lifetimeValues[g]+"_bytes"] += int64(dead.Bytes)
			}
			alive := ends.Alive()
			add["alive_objects"] += int64(alive.Allocations)
			add["alive_bytes"] += int64(alive.Bytes)
			inclusive[p] += int64(r.Inclusive.Elapsed)
			if lines++; r.Function == 0 {
				outside++
			}
		}
		if d.foldedNodes() == nil && d.inclusives.rows.Len() == 0 { // of folded calls the stacks are not known
			noZero := cmpopts.IgnoreMapEntries(func(_ sourcePlace, n int64) bool { return n == 0 })
			if diff := differ.Of(wantInclusive, inclusive, noZero, cmp.AllowUnexported(sourcePlace{})); diff != "" {
				rt.Errorf("inclusive (-samples +lines):\n%s", diff)
			}
		}
		for _, values := range []map[sourcePlace]map[string]int64{wantOwn, own} {
			for p, of := range values { // calls are of functions, not of lines
				for name, n := range of {
					if n == 0 || name == "calls" {
						delete(of, name)
					}
				}
				if len(of) == 0 {
					delete(values, p)
				}
			}
		}
		if diff := differ.Of(wantOwn, own, cmp.AllowUnexported(sourcePlace{})); diff != "" || len(lived) > 0 {
			rt.Errorf("(-samples +lines):\n%s%v", diff, lived)
		}
	})
	if !found {
		t.Errorf("%d cases, %d lines, %d of them outside of user code", cases, lines, outside)
	}
}

// TestUserLineCalls: the calls of a line of user code are those that it has among all lines, the running ones too.
func TestUserLineCalls(t *testing.T) {
	dir, calls := t.TempDir(), 0
	called := func() bool { return calls > 0 }
	found := until(t, called, func(rt *rapid.T) {
		b := userSession(rt)
		s := open(rt, b, filepath.Join(dir, "a"))
		defer s.Close()
		v, err := Open(s, Selection{})
		if err != nil {
			rt.Fatal(err)
		}
		all, err := v.LineTimes()
		if err != nil {
			rt.Fatal(err)
		}
		rows, err := v.UserLines()
		if err != nil {
			rt.Fatal(err)
		}
		type count struct{ calls, running int64 }
		want, have := map[Place]count{}, map[Place]count{}
		for _, l := range all {
			f := b.Functions[l.Function-1]
			if f.Module != 0 && b.Modules[f.Module-1].Origin == "project" && l.Calls+l.Running > 0 {
				want[Place{l.Function, l.Line}] = count{int64(l.Calls), int64(l.Running)}
			}
		}
		for _, r := range rows {
			if r.Calls+r.Running > 0 {
				have[r.Place] = count{int64(r.Calls), int64(r.Running)}
				calls += int(r.Calls)
			}
		}
		if diff := differ.Of(want, have, cmp.AllowUnexported(count{})); diff != "" {
			rt.Errorf("(-lines +user lines):\n%s", diff)
		}
	})
	if !found {
		t.Error("no line called anything")
	}
}
