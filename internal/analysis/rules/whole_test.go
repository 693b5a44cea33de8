package rules_test

import (
	"slices"
	"strings"
	"testing"

	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/testkit/sessiontest"
)

// collected is a process of one second with two allocations: of bytes that die in the collections of a test.
type collected struct {
	*sessiontest.Builder
	process session.ProcessID
	site    session.SiteID
	at      q.Nanoseconds
}

func newCollected(ended bool) *collected {
	c := &collected{Builder: sessiontest.New()}
	c.process = c.Process("Collect", 1)
	main := c.Thread(c.process, "main")
	app, core := c.Module(c.process, "Collect.dll", true), c.Module(c.process, "System.Private.CoreLib.dll", false)
	of := c.Function(app, "Collect.Main()", "/src/Collect.cs", 1)
	c.Followed(c.process, ended)
	c.site = c.Allocate(1, main, c.Type(core, "System.Byte[]"), 100_000, 100_000_000, sessiontest.Frame{Function: of, Line: 2})
	return c
}

// collect adds n collections.
func (c *collected) collect(n int, generation int64, induced bool, pause q.Nanoseconds) (last session.GCID) {
	for range n {
		c.at += 1_000_000
		last = c.Collect(c.process, generation, induced, c.at, pause)
	}
	return last
}

// die says that megabytes died in a generation, in a collection of generation 2.
func (c *collected) die(generation int64, mb q.Count) {
	c.Die(1, c.site, c.collect(1, 2, false, 0), generation, mb*1_000, q.Bytes(mb)*1_000_000)
}

// pinned adds collections with so many pinned objects each.
func (c *collected) pinned(each ...q.Count) {
	for _, n := range each {
		c.collect(1, 0, false, 0)
		c.GCDetails[len(c.GCDetails)-1].Pinned = n
	}
}

// queued adds collections after which so many objects wait for their finalizers.
func (c *collected) queued(induced bool, each ...q.Count) {
	for _, n := range each {
		c.collect(1, 2, induced, 0)
		c.GCs[len(c.GCs)-1].Finalizable = n
	}
}

// ms are milliseconds.
func ms(n int64) q.Nanoseconds { return q.Nanoseconds(n) * 1_000_000 }

// wholes are programs of which a rule about the whole program has something to say, and others that look alike: said is
// what the finding says of them.
var wholes = []struct {
	rule, what, said string
	ended            bool // clrprof's own last collection is the last one
	of               func(c *collected)
}{
	{"gc-rate", "only old", "10 collections of generation 2 for 0 of generation 1 and 0 of generation 0", false,
		func(c *collected) { c.collect(10, 2, false, 0) }},
	{"gc-rate", "more young than old", "12 collections of generation 2 for 59 of generation 1 and 90 of generation 0", false,
		func(c *collected) { c.collect(90, 0, false, 0); c.collect(59, 1, false, 0); c.collect(12, 2, false, 0) }},
	{"gc-rate", "some asked for", "10 collections of generation 2 for 9 of generation 1 and 0 of generation 0", false,
		func(c *collected) { c.collect(10, 2, false, 0); c.collect(40, 1, true, 0); c.collect(9, 1, false, 0) }},
	{"gc-rate", "healthy", "", false,
		func(c *collected) { c.collect(50, 1, false, 0); c.collect(10, 2, false, 0) }},
	{"gc-rate", "few", "", false, func(c *collected) { c.collect(9, 2, false, 0) }},
	{"gc-rate", "asked for", "", false, func(c *collected) { c.collect(9, 2, false, 0); c.collect(30, 2, true, 0) }},

	// A quarter of a pause is the agent's, and no part of the second that the process lasts.
	{"gc-time", "one long", "15.79 % of the time (150.00 ms, without clrprof's part) is spent in pauses of 1 collection", false,
		func(c *collected) { c.collect(1, 2, false, ms(200)) }},
	{"gc-time", "many short", "15.79 % of the time (150.00 ms, without clrprof's part) is spent in pauses of 100 collections",
		false, func(c *collected) { c.collect(100, 0, false, ms(2)) }},
	{"gc-time", "beside asked for", "12.70 % of the time (120.00 ms, without clrprof's part) is spent in pauses of 16 collections",
		true, func(c *collected) { c.collect(16, 1, false, ms(10)); c.collect(2, 2, true, ms(30)) }},
	{"gc-time", "clrprof's part", "", false, func(c *collected) { c.collect(1, 2, false, ms(120)) }},
	{"gc-time", "asked for", "", false, func(c *collected) { c.collect(20, 2, true, ms(20)) }},
	{"gc-time", "clrprof's last", "", true, func(c *collected) { c.collect(1, 0, false, ms(50)); c.collect(1, 2, true, ms(400)) }},

	{"induced-gcs", "five", "the program asked for 5 collections, which took 37.50 ms", false,
		func(c *collected) { c.collect(5, 2, true, ms(10)) }},
	{"induced-gcs", "young ones", "the program asked for 30 collections, which took 22.50 ms", true,
		func(c *collected) { c.collect(30, 0, true, ms(1)); c.collect(1, 2, true, ms(90)) }},
	{"induced-gcs", "beside others", "the program asked for 6 collections, which took 4.50 ms", false,
		func(c *collected) { c.collect(40, 1, false, ms(1)); c.collect(6, 2, true, ms(1)) }},
	{"induced-gcs", "four and clrprof's last", "", true, func(c *collected) { c.collect(5, 2, true, ms(10)) }},
	{"induced-gcs", "the end that begins", "", true, func(c *collected) {
		c.collect(6, 2, true, ms(10)) // four, and clrprof's two
		c.ProcessEndings = append(c.ProcessEndings, session.ProcessEnding{Process: c.process, Sign: "signal", GCNumber: 5})
	}},
	{"induced-gcs", "the runtime's", "", false, func(c *collected) { c.collect(50, 2, false, ms(10)) }},

	{"many-gen2-deaths", "all", "100.00 % of the bytes that died in generations 0 to 2 (47.68 MiB) died in generation 2", false,
		func(c *collected) { c.die(2, 50) }},
	{"many-gen2-deaths", "a tenth", "10.00 % of the bytes that died in generations 0 to 2 (1.91 MiB) died in generation 2",
		false, func(c *collected) { c.die(0, 17); c.die(1, 1); c.die(2, 2) }},
	{"many-gen2-deaths", "beside large ones", "50.00 % of the bytes that died in generations 0 to 2 (4.77 MiB) died in generation 2",
		false, func(c *collected) { c.die(session.GenerationLarge, 80); c.die(0, 5); c.die(2, 5) }},
	{"many-gen2-deaths", "large ones", "", false, func(c *collected) { c.die(session.GenerationLarge, 80); c.die(0, 5) }},
	{"many-gen2-deaths", "young", "", false, func(c *collected) { c.die(0, 80); c.die(2, 8) }},
	{"many-gen2-deaths", "alive", "", false, func(c *collected) { c.collect(20, 2, false, 0) }},

	{"pinning", "each", "100 objects were pinned in a collection, on average over 3 collections", false,
		func(c *collected) { c.pinned(100, 100, 100) }},
	{"pinning", "on average", "150 objects were pinned in a collection, on average over 2 collections", false,
		func(c *collected) { c.pinned(0, 300) }},
	{"pinning", "one collection", "2,000 objects were pinned in a collection, on average over 1 collection", false,
		func(c *collected) { c.pinned(2_000) }},
	{"pinning", "few", "", false, func(c *collected) { c.pinned(99, 99) }},
	{"pinning", "once", "", false, func(c *collected) { c.pinned(500, 0, 0, 0, 0, 0) }},
	{"pinning", "none", "", false, func(c *collected) { c.collect(30, 2, false, 0) }},

	{"finalizer-queue", "once", "1,000 objects waited for their finalizers after collection 1, the most of all collections",
		false, func(c *collected) { c.queued(false, 1_000) }},
	{"finalizer-queue", "the longest", "3,000 objects waited for their finalizers after collection 2, the most of all collections",
		false, func(c *collected) { c.queued(false, 2_000, 3_000, 500) }},
	{"finalizer-queue", "asked for", "2,000 objects waited for their finalizers after collection 1, the most of all collections",
		true, func(c *collected) { c.queued(true, 2_000, 5_000) }},
	{"finalizer-queue", "never many", "", false, func(c *collected) { c.queued(false, 900, 900, 900, 900) }},
	{"finalizer-queue", "clrprof's last", "", true, func(c *collected) { c.queued(true, 10, 5_000) }},
	{"finalizer-queue", "the end that begins", "", true, func(c *collected) {
		c.queued(true, 5_000, 10)
		c.ProcessEndings = append(c.ProcessEndings, session.ProcessEnding{Process: c.process, Sign: "host", GCNumber: 1})
	}},
}

// TestWholes: rules about the whole program say what they should, with its numbers, and nothing of what looks alike.
func TestWholes(t *testing.T) {
	count := map[string][2]int{}
	for _, tt := range wholes {
		c := newCollected(tt.ended)
		tt.of(c)
		found, _ := judge(t, c.Builder)
		found = slices.DeleteFunc(found, func(f string) bool { return !strings.HasPrefix(f, tt.rule+" ") })
		n := count[tt.rule]
		switch {
		case tt.said == "":
			n[1]++
			if len(found) > 0 {
				t.Errorf("%s, %s: %q", tt.rule, tt.what, found)
			}
		default:
			n[0]++
			if len(found) != 1 || !strings.Contains(found[0], tt.said) {
				t.Errorf("%s, %s: %q, want %q", tt.rule, tt.what, found, tt.said)
			}
		}
		count[tt.rule] = n
	}
	for rule, n := range count {
		if n != [2]int{3, 3} {
			t.Errorf("%s has %d programs that break it and %d that look alike", rule, n[0], n[1])
		}
	}
}
