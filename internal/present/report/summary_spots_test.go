package report

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/testkit/sessiontest"
)

// spotted is what a summary finds of where bytes are allocated: the facts of the findings, one after the other.
func spotted(t *testing.T, b *sessiontest.Builder) (out []string) {
	t.Helper()
	s, err := made(t, b).Summarize(Options{Top: 5})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range s.Findings {
		out = append(out, fmt.Sprint(f.Kind, " ", fmt.Sprintln(f.Facts...)))
		out[len(out)-1] = out[len(out)-1][:len(out[len(out)-1])-1]
	}
	return out
}

// TestSpots: a finding names the coarsest spot that says where: one type at one line, a line that makes many types, a
// function of many lines, or calls; and only if there is none of these, that there is none.
func TestSpots(t *testing.T) {
	const second = 1000 // added to the number of a line: its second statement
	type made struct {
		function, line int64
		types          int64 // one object of 200,000 bytes of each
	}
	for name, tt := range map[string]struct {
		made []made
		want []string
	}{
		"one type": {[]made{{1, 11, 1}, {1, 12, 1}, {1, 12, 1}, {1, 11, 1}, {1, 11, 1}, {1, 11, 1}, {1, 12, 1}, {1, 12, 1}, {1, 11, 1}, {1, 12, 1}, {1, 11, 1}, {1, 12, 1}}, []string{
			"allocations 50.00 % Thing0 Program.F1 Program.cs:11", "allocations 50.00 % Thing0 Program.F1 Program.cs:12"}},
		"a line of many types": {[]made{{1, 11, 30}, {2, 12, 2}}, []string{
			"spot all bytes 93.75 % 5.72 MiB made at Program.F1 Program.cs:11 Thing0 3.13 %, Thing1 3.13 %, Thing2 3.13 %, … 27 more"}},
		"43 %": {[]made{{1, 11, 43}, {2, 12, 3}, {3, 12, 4}, {4, 12, 5}, {5, 12, 6}, {6, 12, 7}, {7, 12, 8}, {8, 12, 8},
			{9, 12, 8}, {10, 12, 8}}, []string{"spot all bytes 43.00 % 8.20 MiB made at Program.F1 Program.cs:11 " +
			"Thing0 1.00 %, Thing1 1.00 %, Thing2 1.00 %, … 40 more"}},
		"a function of many lines": {[]made{{1, 11, 4}, {1, 12, 4}, {1, 13, 4}, {1, 14, 3}, {2, 20, 1}}, []string{
			"spot all bytes 93.75 % 2.86 MiB made in Program.F1 Program.cs:11 25.00 %, Program.cs:12 25.00 %, " +
				"Program.cs:13 25.00 %, … 1 more"}},
		"a function of which a line has half": {[]made{{1, 11, 8}, {1, 12, 4}, {1, 13, 4}}, []string{
			"spot all bytes 50.00 % 1.53 MiB made at Program.F1 Program.cs:11 Thing0 6.25 %, Thing1 6.25 %, Thing2 6.25 %, … 5 more",
			"spot all bytes 25.00 % 781.25 KiB made at Program.F1 Program.cs:12 Thing0 6.25 %, Thing1 6.25 %, Thing2 6.25 %, … 1 more",
			"spot all bytes 25.00 % 781.25 KiB made at Program.F1 Program.cs:13 Thing0 6.25 %, Thing1 6.25 %, Thing2 6.25 %, … 1 more"}},
		"a line of two statements": {[]made{{1, 11, 1}, {1, 11, 1}, {1, 11, 1}, {1, 11 + second, 1}, {1, 11 + second, 1}},
			[]string{"allocations 100.00 % Thing0 Program.F1 Program.cs:11"}},
		"a function of lines with two statements": {[]made{{1, 11, 2}, {1, 11 + second, 2}, {1, 12, 2}, {1, 12 + second, 2},
			{1, 13, 3}}, []string{"spot all bytes 100.00 % 2.10 MiB made in Program.F1 Program.cs:11 36.36 %, " +
			"Program.cs:12 36.36 %, Program.cs:13 27.27 %"}},
		"nowhere": {func() (out []made) {
			for f := range int64(12) {
				out = append(out, made{f, 11, 1})
			}
			return out
		}(), []string{"most-bytes 195.31 KiB 8.33 % Thing0 at Program.F0 Program.cs:11"}},
		"a function of two lines": {[]made{{0, 11, 3}, {0, 12, 3}, {1, 1, 3}, {2, 1, 3}, {3, 1, 3}, {4, 1, 3}, {5, 1, 3},
			{6, 1, 3}, {7, 1, 3}, {8, 1, 3}, {9, 1, 3}, {10, 1, 3}}, []string{
			"spot all bytes 16.67 % 1.14 MiB made in Program.F0 Program.cs:11 8.33 %, Program.cs:12 8.33 %"}},
	} {
		t.Run(name, func(t *testing.T) {
			b := sessiontest.New()
			p := b.Process("Spots", 700)
			thread, app := b.Thread(p, "main"), b.Module(p, "Spots.dll", true)
			b.Modules[app-1].Origin = "project"
			functions, types := map[int64]session.FunctionID{}, map[int64]session.TypeID{}
			for _, m := range tt.made {
				if functions[m.function] == 0 {
					functions[m.function] = b.Function(app, fmt.Sprintf("Spots.Program.F%d()", m.function), "/src/Program.cs", 10)
				}
				for n := range m.types {
					if types[n] == 0 {
						types[n] = b.Type(app, fmt.Sprintf("Spots.Thing%d", n))
					}
					b.Allocate(1, thread, types[n], 1, 200_000, sessiontest.Frame{Function: functions[m.function], Line: m.line})
				}
			}
			for i := range b.Lines {
				l := &b.Lines[i]
				l.ColumnBegin += l.LineBegin / second
				l.LineBegin, l.LineEnd = l.LineBegin%second, l.LineEnd%second
			}
			if diff := cmp.Diff(tt.want, spotted(t, b)); diff != "" {
				t.Errorf("(-want +have):\n%s", diff)
			}
		})
	}
}

// TestStillAlive: a finding says which part of its objects lived until the end at least, if that is half of them or more:
// all that died may be of them.
func TestStillAlive(t *testing.T) {
	for name, tt := range map[string]struct {
		died       q.Bytes // of 4,000,000 of the spot and 1,000,000 of others
		known, all bool    // what is alive at the end; all deaths
		want       string
		proposes   bool
	}{
		"all":       {0, true, true, "100.00 %", true},
		"most":      {400_000, true, true, "90.00 %", true},
		"half":      {2_000_000, true, true, "50.00 %", true},
		"less":      {2_000_001, true, true, "", false},
		"not known": {0, false, true, "", false},
		"lost":      {0, true, false, "", false},
	} {
		b := sessiontest.New()
		p := b.Process("Alive", 700)
		thread, app := b.Thread(p, "main"), b.Module(p, "Alive.dll", true)
		b.Modules[app-1].Origin = "project"
		b.Followed(p, tt.known)
		f := b.Function(app, "Program.Main()", "/src/Program.cs", 10)
		site := b.Allocate(1, thread, b.Type(app, "Thing"), 40, 4_000_000, sessiontest.Frame{Function: f, Line: 11})
		for n := range int64(20) {
			b.Allocate(1, thread, b.Type(app, fmt.Sprint("Other", n)), 1, 50_000, sessiontest.Frame{Function: f, Line: 20 + n})
		}
		if gc := b.Collect(p, 0, false, 1, 0); tt.died > 0 {
			b.Die(1, site, gc, 0, 1, tt.died)
		}
		if !tt.all {
			b.Losses = []session.Loss{{Process: p, Reason: session.LossArenaFull, Events: 1}}
		}
		s, err := made(t, b).Summarize(Options{Top: 5})
		if err != nil {
			t.Fatal(err)
		}
		have := fmt.Sprint(s.Findings[0].Facts[3:]...)
		proposes := slices.ContainsFunc(s.Next, func(n Next) bool { return n.Kind == NextSnapshot })
		if have != tt.want || proposes != tt.proposes {
			t.Errorf("%s: at least %s, want %s; proposes a snapshot: %v", name, have, tt.want, proposes)
		}
	}
}
