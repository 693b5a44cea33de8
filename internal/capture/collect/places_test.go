package collect_test

import (
	"testing"

	"github.com/clrprof/clrprof/internal/capture/collect"
	"github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/wire"
)

// Functions as code declares them.
const (
	callFunction = iota + 6
	constructor
	boxedFunction
	stringConstructor
)

// TestPlaces: with probes around calls, the site's timing says below which calls objects were allocated, as long as it
// is that of the stack.
func TestPlaces(t *testing.T) {
	const item, text, other = 1, 2, 3
	const place = 0x10
	for _, c := range []struct {
		name  string
		calls []uint32 // the innermost has the site; 0: the root of folded ones, nil: the site has none
		stack []uint32
		typ   uint32
		want  string
	}{
		{"its own", []uint32{mainFunction, workFunction}, []uint32{mainFunction, workFunction}, item, "Main/Work"},
		{"called", []uint32{mainFunction, callFunction}, []uint32{mainFunction, otherFunction}, item, "Main/Call"},
		{"called back", []uint32{mainFunction, callFunction, workFunction},
			[]uint32{mainFunction, otherFunction, workFunction}, item, "Main/Call/Work"},
		{"called from there", []uint32{mainFunction, callFunction, workFunction, callFunction},
			[]uint32{mainFunction, sleepFunction, workFunction, sleepFunction}, item, "Main/Call/Work/Call"},
		{"what the JIT put into the caller", []uint32{mainFunction, callFunction}, []uint32{mainFunction}, item,
			"Main/Call"},
		{"the object of a constructor", []uint32{mainFunction, constructor}, []uint32{mainFunction}, item, "Main"},
		{"another within it", []uint32{mainFunction, constructor}, []uint32{mainFunction}, other, "Main/.ctor"},
		{"the same by what it calls", []uint32{mainFunction, constructor}, []uint32{mainFunction, otherFunction}, item,
			"Main/.ctor"},
		{"a string", []uint32{mainFunction, stringConstructor}, []uint32{mainFunction}, text, "Main/.ctor"},
		{"a literal", []uint32{mainFunction, callFunction}, []uint32{mainFunction}, text | wire.SiteFrozen, "Main"},
		{"the box of a call", []uint32{mainFunction, boxedFunction}, []uint32{mainFunction}, other, "Main"},
		{"called by the runtime", []uint32{mainFunction, workFunction},
			[]uint32{mainFunction, workFunction, otherFunction, sleepFunction, sleepFunction}, item, "Main/Work/Sleep"},
		{"code that is not recorded", []uint32{mainFunction, workFunction},
			[]uint32{mainFunction, workFunction, otherFunction}, item, "Main/Work"},
		{"no call", nil, []uint32{mainFunction, sleepFunction, workFunction}, item, "Main/Sleep/Work"},
		{"none, and nothing that is recorded", nil, []uint32{otherFunction}, item, "(excluded)"},
		{"a call that began in a pause", []uint32{mainFunction}, []uint32{mainFunction, workFunction}, item, "Main/Work"},
		{"a call by one that did", []uint32{mainFunction, backFunction, callFunction},
			[]uint32{mainFunction, workFunction, backFunction, otherFunction}, item, "Main/Work/Back/Call"},
		{"one that is gone", []uint32{mainFunction, workFunction}, []uint32{mainFunction, sleepFunction}, item,
			"Main/Sleep"},
		{"the call by one that is gone", []uint32{mainFunction, workFunction, callFunction},
			[]uint32{mainFunction, otherFunction}, item, "Main"},
		{"one that has jumped", []uint32{mainFunction, workFunction, backFunction, callFunction},
			[]uint32{mainFunction, backFunction, otherFunction}, item, "Main/Work/Back/Call"},
		{"folded", []uint32{0, workFunction, backFunction},
			[]uint32{mainFunction, workFunction, sleepFunction, backFunction}, item, "Main/Work/Sleep/Back"},
		{"called by a folded one", []uint32{0, workFunction, callFunction},
			[]uint32{mainFunction, workFunction, sleepFunction}, item, "Main/Work/Call"},
		{"too deep", []uint32{mainFunction, callFunction}, []uint32{cutStack, mainFunction, otherFunction}, item,
			"(truncated)/Main"},
		{"too deep, in what is called", []uint32{mainFunction, callFunction}, []uint32{cutStack, otherFunction}, item,
			"(truncated)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := timedArena()
			a.Header.Data |= wire.DataMemory
			a.Header.Instrument |= wire.InstrumentIL
			a.Add(wire.Type{ID: item, Kind: wire.TypeClass, Names: []string{"N.Item"}},
				wire.Type{ID: text, Kind: wire.TypeClass, Names: []string{"System.String"}},
				wire.Type{ID: other, Kind: wire.TypeClass, Names: []string{"N.Other"}},
				wire.Callee{ID: callFunction, Module: 1, Token: 0x0A000001, TypeNames: []string{"N.List"}, Name: "Call"},
				wire.Callee{ID: constructor, Module: 1, Token: 0x0A000002, TypeNames: []string{"N.Item"}, Name: ".ctor"},
				wire.Callee{ID: boxedFunction, Module: 1, Token: 0x0A000003, TypeNames: []string{"System.Object"},
					Name: "ToString", Boxes: 1},
				wire.Callee{ID: stringConstructor, Module: 1, Token: 0x0A000004, TypeNames: []string{"System.String"},
					Name: ".ctor"})
			timing := uint32(0)
			for _, f := range c.calls {
				timing = a.Timing(1, timing, f, 0)
			}
			node := uint32(0)
			for _, f := range c.stack {
				ip := uint32(wire.IPTruncated)
				if f != cutStack {
					ip = a.IP(0x1000*uint64(f)+place, f, f)
				}
				node = a.Node(node, ip)
			}
			a.Site(1, node, c.typ, 3, 96)
			a.SiteTimings = []wire.SiteTiming{{Timing: timing}}
			s := record(t, a, collect.Filter{})
			if have := pathsOf(t, s)[get[session.Site](t)(s.Sites())[0].Node]; have != c.want {
				t.Errorf("%s, want %s", have, c.want)
			}
			if have := total(t, s); have != (quantity.Amount{Allocations: 3, Bytes: 96}) {
				t.Errorf("%+v", have)
			}
		})
	}
}

// cutStack stands for frames that are left out.
const cutStack = 1 << 20
