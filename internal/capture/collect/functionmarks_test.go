package collect_test

import (
	"testing"

	"github.com/clrprof/clrprof/internal/capture/collect"
	"github.com/clrprof/clrprof/internal/capture/probes"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/wire"
)

// TestFunctionMarks: a mark at a function has its name as patterns know it, and that of a return says so.
func TestFunctionMarks(t *testing.T) {
	a := small()
	a.Add(wire.Function{ID: 2, Module: 1, Token: 0x06000009, Flags: wire.FunctionMarked,
		TypeNames: []string{"N.Outer`1", "Inner"}, Name: "Run"},
		wire.FunctionMark{TimeNS: 2000, Thread: 1, Function: 2},
		wire.FunctionMark{TimeNS: 3000, Thread: 0, Function: 2, Point: wire.PointAfter},
		wire.FunctionMark{TimeNS: 4000, Thread: 1, Function: 2, Point: wire.PointTop},
		wire.FunctionMark{TimeNS: 5000, Thread: 1, Function: 2, Point: wire.PointBottom})
	s := record(t, a, collect.Filter{})
	var have []session.Mark
	for _, m := range get[session.Mark](t)(s.Marks()) {
		if m.Source == session.MarkFunction {
			m.ID = 0
			have = append(have, m)
		}
	}
	equal(t, "marks", have, []session.Mark{
		{Time: 2000, Name: "N.Outer`1/Inner.Run", Process: 1, Thread: 1, Source: session.MarkFunction},
		{Time: 3000, Name: "N.Outer`1/Inner.Run end", Process: 1, Source: session.MarkFunction},
		{Time: 4000, Name: "N.Outer`1/Inner.Run top", Process: 1, Thread: 1, Source: session.MarkFunction},
		{Time: 5000, Name: "N.Outer`1/Inner.Run bottom", Process: 1, Thread: 1, Source: session.MarkFunction},
	})
}

// TestProcessName: the name that the program gives its process stands in place of that of its file; the last one holds.
func TestProcessName(t *testing.T) {
	a := small()
	a.Add(wire.ProcessName{Name: "first"}, wire.ProcessName{Name: "orders"})
	s := record(t, a, collect.Filter{})
	var have []string
	for _, p := range get[session.Process](t)(s.Processes()) {
		have = append(have, p.Name)
	}
	equal(t, "names", have, []string{"orders"})
}

// TestNotProbed: functions without probes are listed with their reasons, in words.
func TestNotProbed(t *testing.T) {
	a := small()
	a.Add(wire.Function{ID: 2, Module: 1, Token: 0x06000009, TypeNames: []string{"N.T"}, Name: "Jumps"},
		wire.Function{ID: 3, Module: 1, Token: 0x0600000A, TypeNames: []string{"N.T"}, Name: "Lost"},
		wire.NotProbed{Function: 2, Reason: uint32(probes.Jump)},
		wire.NotProbed{Function: 3, Reason: wire.NotProbedSignature})
	s := record(t, a, collect.Filter{})
	var have []string
	functions := get[session.Function](t)(s.Functions())
	for _, f := range get[session.NotProbed](t)(s.NotProbed()) {
		have = append(have, functions[f.Function-1].RawName+": "+f.Reason)
	}
	equal(t, "reasons", have, []string{"Jumps: " + probes.Jump.String(), "Lost: " + probes.NoSignature.String()})
}
