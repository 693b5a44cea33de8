package e2e

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
	"github.com/clrprof/clrprof/internal/wire"
)

// sampledRounds are so many that a type with a twentieth of the bytes has some thousand samples.
const sampledRounds, sampledBytes = 20_000_000, int64(1_500_000_000)

// sampledRow is a row of report types or functions of a session whose small objects were sampled.
type sampledRow struct {
	Name        string
	Module      string
	Bytes       *int64 `json:"bytes"`
	Exclusive   *int64 `json:"exclusive_bytes"`
	Instances   *int64 `json:"instances"`
	Allocations *int64 `json:"exclusive_allocations"`
	Estimated   bool
	Samples     map[string]int64
	Interval    map[string]*[2]int64 `json:"interval_95"`
}

// sampledRows reads a view of a session as JSON.
func (s *sandbox) sampledRows(session, view string) map[string]sampledRow {
	s.t.Helper()
	said := s.run("report", session, view, "--json")
	var rows []sampledRow
	if err := json.Unmarshal([]byte(said.stdout), &rows); err != nil {
		s.t.Fatalf("%v: %s%s", err, said.stdout, said.stderr)
	}
	out := map[string]sampledRow{}
	for _, r := range rows {
		out[r.Name] = r
	}
	return out
}

// within reports whether a value is in an interval of 95 % that is made five standard deviations wide: 1 of 1.7 million
// right estimates is not, and the tests compare some hundred.
func within(value, estimate int64, interval *[2]int64) bool {
	const wider = 5 / 1.96
	return interval != nil && float64(value) >= float64(estimate)-wider*float64(estimate-interval[0]) &&
		float64(value) <= float64(estimate)+wider*float64(interval[1]-estimate)
}

// TestAttachSampled: of a process that was started without clrprof, what the samples say of types and functions, their
// stacks and fates is what a session that counts each object says of the same program. Afterwards the process collects
// in the background, starts other programs, and can be attached to again.
func TestAttachSampled(t *testing.T) {
	t.Parallel()
	for _, r := range dotnettest.NeedRuntimes(t, 8) {
		t.Run(r.Name, func(t *testing.T) {
			t.Parallel()
			if r.Major() < 10 {
				dotnettest.NotQuick(t, "other runtimes do what the newest does, but for the event")
			}
			s := newSandbox(t)
			program := dotnettest.Target(t, "Sampled", dotnettest.Options{})
			exact := mustRecord(t, r.Command(program, "work", fmt.Sprint(sampledRounds)), "--lifetime").session
			x := s.startUnprepared(s.target(r, "Sampled", "listen")...)
			x.heardNothing()
			a := x.attach("sampled", "--lifetime", "--sampled")
			x.do(fmt.Sprint("work ", sampledRounds))
			x.do("gc 2")
			x.detach(a)
			s.agrees(a.session)
			for reason, lost := range losses(t, a.session) { // on a machine that does too much else, some wait for too long
				if all := sampledBytes / wire.SampleBytes; reason != session.LossSamples || lost.Events > all/50 {
					t.Errorf("lost: %v; there are some %d samples", lost, all)
				}
			}
			s.estimatesHold(exact, a.session, r.Major() >= 10)
			sameStacks(t, exact, a.session)
			sameFates(t, exact, a.session)
			s.showsEstimates(exact, a.session)
			x.heardNothing()
			x.do("child 0")
			again := x.attach("again", "--memory", "--sampled")
			x.do("work 1000000")
			x.detach(again)
			s.agrees(again.session)
			if rows := s.sampledRows(again.session, "types"); !rows["Sampled.Dropped"].Estimated {
				t.Errorf("a second attach has no samples: %v", rows)
			}
			x.finish()
		})
	}
}

// heardNothing checks that a listener of the program's own, which wants to hear of exceptions, has heard of nothing.
func (x *service) heardNothing() {
	x.t.Helper()
	x.tell("events 0")
	x.expect("0")
	x.expect("done")
}

// agrees checks that a session does not contradict itself.
func (s *sandbox) agrees(session string) {
	s.t.Helper()
	if said := s.run("check-session", session); said.exit != 0 {
		s.t.Errorf("check-session: exit code %d: %s%s", said.exit, said.stdout, said.stderr)
	}
}

// showsEstimates checks that all that shows sessions shows one of samples, beside a session that counts each object.
func (s *sandbox) showsEstimates(exact, session string) {
	s.t.Helper()
	for _, view := range []string{"summary", "ages", "survivors", "gcs", "rules", "tests"} {
		said := s.run("report", session, view)
		if marks := view != "tests" && view != "rules"; said.exit != 0 || marks && !strings.Contains(said.stdout, "≈") {
			s.t.Errorf("%s: exit code %d: %s%s", view, said.exit, said.stdout, said.stderr)
		}
	}
	for _, format := range []string{"pprof", "collapsed", "speedscope"} {
		said := s.run("export", session, "--format", format, "-o", "-")
		if said.exit != 0 || len(said.stdout) < 1000 || !strings.Contains(said.stderr, "Estimated: small objects were sampled") {
			s.t.Errorf("export --format %s: exit code %d, %d bytes: %s", format, said.exit, len(said.stdout), said.stderr)
		}
	}
	if said := s.run("diff", exact, session, "types"); said.exit != 0 ||
		!strings.Contains(said.stdout, "within the uncertainty") {
		s.t.Errorf("diff: exit code %d: %s%s", said.exit, said.stdout, said.stderr)
	}
	for limit, exit := range map[string]int{"1G": 1, "2G": 0} { // of 1.5 GB, by some 15,000 samples
		file := s.script("budget"+limit, "[[limit]]\nmetric = \"bytes\"\nmax = \""+limit+"\"\n", 0o644)
		if said := s.run("check", session, "--budget", file); said.exit != exit || !strings.Contains(said.stdout, "≈") {
			s.t.Errorf("check of at most %s: exit code %d: %s%s", limit, said.exit, said.stdout, said.stderr)
		}
	}
}

// estimatesHold compares what has a twentieth of all bytes or more. random: any byte is as likely to be sampled as any
// other, else what is known of the error is no interval: there it may be a tenth more.
func (s *sandbox) estimatesHold(exact, sampled string, random bool) {
	s.t.Helper()
	compared := 0
	for _, view := range []string{"types", "functions"} {
		truth, estimates := s.sampledRows(exact, view), s.sampledRows(sampled, view)
		all := int64(0)
		for _, row := range truth {
			all += *row.value("bytes")
		}
		for name, row := range truth {
			if *row.value("bytes")*20 < all {
				continue
			}
			e, ok := estimates[name]
			if large := name == "Sampled.Program.Large()"; large && *e.value("bytes") == *row.value("bytes") && !e.Estimated {
				continue // it is counted
			}
			if row.Estimated || !ok || !e.Estimated {
				s.t.Errorf("%s %s: estimated %t in a session that counts, %t in one of samples", view, name, row.Estimated, e.Estimated)
				continue
			}
			for _, unit := range []string{"bytes", "objects"} {
				value, estimate, key := *row.value(unit), e.value(unit), e.key(unit)
				if estimate == nil || e.Samples[key] < 10 {
					s.t.Errorf("%s %s: no estimate of %d %s", view, name, value, unit)
					continue
				}
				near := within(value, *estimate, e.Interval[key])
				if !random {
					near = near || within(value, *estimate+value/10, e.Interval[key]) || within(value, *estimate-value/10, e.Interval[key])
				}
				if !near {
					s.t.Errorf("%s %s: %d %s, estimated %d in %v", view, name, value, unit, *estimate, e.Interval[key])
				}
				compared++
			}
		}
	}
	if compared < 20 {
		s.t.Errorf("only %d values were compared", compared)
	}
}

// key is the key of what a row is compared by.
func (r *sampledRow) key(unit string) string {
	switch {
	case r.Bytes != nil || r.Exclusive == nil:
		return map[string]string{"bytes": "bytes", "objects": "instances"}[unit]
	case unit == "bytes":
		return "exclusive_bytes"
	}
	return "exclusive_allocations"
}

// value is what it has, nil: no number.
func (r *sampledRow) value(unit string) *int64 {
	zero := int64(0)
	switch r.key(unit) {
	case "bytes":
		return cmp.Or(r.Bytes, &zero)
	case "instances":
		return cmp.Or(r.Instances, &zero)
	case "exclusive_bytes":
		return r.Exclusive
	}
	return r.Allocations
}

// sampledSite is a stack and a type, with the sizes of its objects and what became of them.
type sampledSite struct {
	Stack, Type                string
	Objects, Bytes, Dead0, All int64
}

// ofProgram are the sites of the target's own types and its functions: the functions of their stacks are counted from
// Program.Main or Thread's first on.
const ofProgram = `WITH RECURSIVE up(leaf, node, stack) AS (
	SELECT id, id, '' FROM node WHERE id IN (SELECT node_id FROM site)
	UNION ALL
	SELECT leaf, n.parent_id, f.name || ' < ' || up.stack FROM up JOIN node n ON n.id = up.node
		JOIN function f ON f.id = n.function_id)
SELECT up.stack AS stack, t.name AS type, sum(v.allocations) AS objects, sum(v.bytes) AS bytes,
	coalesce(sum(d.dead0), 0) AS dead0, coalesce(sum(d.dead), 0) AS 'all'
FROM site s JOIN up ON up.leaf = s.node_id AND up.node = 0 JOIN type t ON t.id = s.type_id
JOIN (SELECT site_id, sum(allocations) AS allocations, sum(bytes) AS bytes FROM site_value GROUP BY 1) v ON v.site_id = s.id
LEFT JOIN (SELECT site_id, sum(CASE generation WHEN 0 THEN objects END) AS dead0, sum(objects) AS dead FROM site_death
	GROUP BY 1) d ON d.site_id = s.id
WHERE up.stack LIKE '%Sampled.Program.%' AND (s.weight > 0 OR (SELECT sampler FROM process) = '')
GROUP BY 1, 2`

// sameStacks checks that what was sampled was allocated where it is when each object is counted: each stack with each
// type, and the size of types whose objects are alike.
func sameStacks(t *testing.T, exact, sampled string) {
	t.Helper()
	known, sizes := map[[2]string]bool{}, map[string]int64{}
	for _, row := range query[sampledSite](t, exact, ofProgram) {
		known[[2]string{row.Stack, row.Type}] = true
		sizes[row.Type] = row.Bytes / row.Objects
	}
	rows := query[sampledSite](t, sampled, ofProgram)
	if len(rows) < 30 {
		t.Errorf("only %d stacks with samples", len(rows))
	}
	for _, row := range rows {
		if !known[[2]string{row.Stack, row.Type}] {
			t.Errorf("nothing that is counted has %d objects of %s at %s", row.Objects, row.Type, row.Stack)
		}
		if strings.HasPrefix(row.Type, "Sampled.") && row.Bytes != row.Objects*sizes[row.Type] {
			t.Errorf("%d objects of %s have %d bytes, each %d", row.Objects, row.Type, row.Bytes, sizes[row.Type])
		}
	}
}

// sameFates checks, in both sessions, fates that the program decides: no Kept dies, nearly all Dropped and Pair die in
// generation 0, and most but not all Waiting die.
func sameFates(t *testing.T, exact, sampled string) {
	t.Helper()
	for _, path := range []string{exact, sampled} {
		found := map[string]bool{}
		for _, row := range query[sampledSite](t, path, ofProgram) {
			switch found[row.Type] = true; row.Type {
			case "Sampled.Kept":
				if row.All != 0 {
					t.Errorf("%s: %d of %d objects that are kept are dead", path, row.All, row.Objects)
				}
			case "Sampled.Dropped", "Sampled.Pair":
				if row.Dead0 < row.Objects*98/100 {
					t.Errorf("%s: %d of %d objects of %s died in generation 0", path, row.Dead0, row.Objects, row.Type)
				}
			case "Sampled.Waiting":
				if row.All < row.Objects*9/10 || row.All == row.Objects {
					t.Errorf("%s: %d of %d objects that wait a while are dead", path, row.All, row.Objects)
				}
			}
		}
		for _, name := range []string{"Kept", "Dropped", "Pair", "Waiting"} {
			if !found["Sampled."+name] {
				t.Errorf("%s has no objects of type %s", path, name)
			}
		}
	}
}
