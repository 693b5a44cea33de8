package analysis

import (
	"errors"
	"fmt"
	"reflect"
	"slices"

	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
)

// maxPerRule bounds how many violations of one rule are listed: the first few
// show what is wrong.
const maxPerRule = 5

// Violation is one contradiction in a session.
type Violation struct {
	Rule   string // snake_case, listed in docs/metrics.md
	Detail string
}

// String returns "rule: detail".
func (v Violation) String() string { return v.Rule + ": " + v.Detail }

// checker collects violations.
type checker struct {
	found []Violation
	count map[string]int
	total q.Amount // of all rows of site_value
	waits []int32  // processes, by position, that lost what the operating system did
}

func (c *checker) add(rule, format string, args ...any) {
	c.count[rule]++
	if c.count[rule] <= maxPerRule {
		c.found = append(c.found, Violation{rule, fmt.Sprintf(format, args...)})
	}
}

// Check looks for contradictions in s: broken references, sums that do not agree,
// and derived tables that differ from a recomputation. It returns none for a good
// session. The error is one of reading the file.
func Check(s *session.Session) ([]Violation, error) {
	c := &checker{count: map[string]int{}}
	err := s.AtOnce(func() error { return c.check(s) })
	if errors.Is(err, errNotThere) || errors.Is(err, session.ErrRange) {
		c.add("references", "%v", err)
		err = nil
	}
	if err != nil {
		return nil, err
	}
	return c.found, nil
}

func (c *checker) check(s *session.Session) error {
	state, err := s.State()
	if err != nil {
		return err
	}
	d := &Data{}
	if err := d.read(s); err != nil {
		return err
	}
	if err := d.link(); err != nil {
		c.add("references", "%v", err)
		return nil
	}
	if d, err = d.Select(Selection{}); err != nil {
		return err
	}
	c.owners(d)
	err = c.slices(d)
	if err == nil {
		err = d.eachDeath(everySlice, func(_, _ int32, _ *session.SiteDeath) {})
	}
	if err != nil {
		return err
	}
	if err := c.losses(s, d); err != nil {
		return err
	}
	derived, err := d.Derive()
	if err != nil {
		return err
	}
	c.sums(d, derived)
	c.parents(derived)
	if err := c.times(d, derived); err != nil {
		return err
	}
	if err := c.lifetimes(s, d, derived); err != nil {
		return err
	}
	if err := c.snapshots(s, d); err != nil {
		return err
	}
	if state == session.Complete {
		stored, err := readDerived(s)
		if err != nil {
			return err
		}
		c.stored(derived, stored)
	}
	return nil
}

// owners checks that what refers to each other belongs to the same process.
func (c *checker) owners(d *Data) {
	for i, n := range d.Nodes {
		f := d.Functions[d.nodeFunction[i]]
		if f.Process != n.Process {
			c.add("owners", "node %d is of process %d, its function of process %d", n.ID, n.Process, f.Process)
		}
		if at := d.nodeInstruction[i]; at >= 0 && d.Instructions[at].Function != n.Function {
			c.add("owners", "node %d is of function %d, its instruction of function %d", n.ID, n.Function,
				d.Instructions[at].Function)
		}
		if p := d.tree.Parent[i]; p >= 0 && d.Nodes[p].Process != n.Process {
			c.add("owners", "node %d is of process %d, its parent of process %d", n.ID, n.Process, d.Nodes[p].Process)
		}
	}
	for i, s := range d.Sites {
		node, thread, typ := d.siteNode[i], d.siteThread[i], d.siteType[i]
		if node < 0 || thread < 0 || typ < 0 {
			c.add("references", "site %d has no node, thread or type", s.ID)
			continue
		}
		if p := d.Nodes[node].Process; d.Threads[thread].Process != p || d.Types[typ].Process != p {
			c.add("owners", "site %d joins a node, a thread and a type of different processes", s.ID)
		}
	}
	for i, line := range d.instructionLine {
		if in := d.Instructions[i]; line >= 0 && d.Lines[line].Function != in.Function {
			c.add("owners", "instruction %d is of function %d, its line of function %d", in.ID, in.Function,
				d.Lines[line].Function)
		}
	}
}

// slices checks that spans of time follow each other and that amounts make sense.
func (c *checker) slices(d *Data) error {
	for i, s := range d.Slices {
		if s.End < s.Begin {
			c.add("slices", "slice %d ends before it begins", s.ID)
		}
		if i > 0 && s.Begin != d.Slices[i-1].End {
			c.add("slices", "slice %d begins at %d, the one before ends at %d", s.ID, s.Begin, d.Slices[i-1].End)
		}
	}
	return d.eachValue(everySlice, func(slice, _ int32, v *session.SiteValue) {
		c.total = c.total.Add(v.Amount)
		if slice < 0 {
			c.add("references", "a value of site %d has no slice", v.Site)
		}
		if v.Allocations < 0 || v.Bytes < 0 || (v.Allocations == 0) != (v.Bytes == 0) {
			c.add("amounts", "site %d has %d allocations and %d bytes in slice %d", v.Site, v.Allocations, v.Bytes,
				v.Slice)
		}
	})
}

// losses checks that no loss is less than nothing, that only a process that did not end by itself was cut off within a
// collection, and that no stack was cut below a call that went on.
func (c *checker) losses(s *session.Session, d *Data) error {
	losses, err := s.Losses()
	if err != nil {
		return err
	}
	processes := newIndex(d.Processes, func(r *session.Process) session.ProcessID { return r.ID })
	// processes with calls that have no activation: what unwinds them can end another
	unrecorded := map[session.ProcessID]bool{}
	for _, l := range losses {
		unrecorded[l.Process] = unrecorded[l.Process] || l.Reason == session.LossCallsFolded
		if at, ok := processes.find(l.Process); ok && at >= 0 && l.Reason == session.LossWaits {
			c.waits = append(c.waits, at)
		}
	}
	for _, l := range losses {
		at, ok := processes.find(l.Process)
		if !ok {
			c.add("references", "a loss is of process %d, which does not exist", l.Process)
			continue
		}
		if l.Events < 0 || l.Allocations < 0 || l.Bytes < 0 {
			c.add("losses", "process %d lost %d allocations and %d bytes in %d events for %s", l.Process, l.Allocations,
				l.Bytes, l.Events, l.Reason)
		}
		if l.Reason == session.LossCallsCut && l.Events > 0 && !unrecorded[l.Process] {
			c.add("calls", "process %d: %d calls returned that had been taken for gone", l.Process, l.Events)
		}
		if l.Reason == session.LossGCCut && at >= 0 && d.Processes[at].EndState == session.EndExited {
			c.add("losses", "process %d %s, and is said to have been cut off within a collection", l.Process,
				d.Processes[at].EndState)
		}
	}
	return nil
}

// sums checks that every way to add up gives the same totals.
func (c *checker) sums(d *Data, v *session.Derived) {
	total := c.total
	same := func(what string, got q.Amount) {
		if got != total {
			c.add("sums", "%s add up to %d allocations and %d bytes, the sites to %d and %d",
				what, got.Allocations, got.Bytes, total.Allocations, total.Bytes)
		}
	}
	same("functions (exclusive)", sumOf(v.Functions, func(r session.FunctionValue) q.Amount { return r.Exclusive }))
	same("modules (exclusive)", sumOf(v.Modules, func(r session.ModuleValue) q.Amount { return r.Exclusive }))
	same("paths (exclusive)", sumOf(v.Paths, func(r session.PathValue) q.Amount { return r.Exclusive }))
	same("calls (exclusive)", sumOf(v.Calls, func(r session.CallValue) q.Amount { return r.Exclusive }))
	same("types", sumOf(v.Types, func(r session.TypeValue) q.Amount { return r.Amount }))
	same("threads", sumOf(v.Threads, func(r session.ThreadValue) q.Amount { return r.Amount }))
	same("processes", sumOf(v.Processes, func(r session.ProcessValue) q.Amount { return r.Amount }))
	same("roots (inclusive)", sumOf(v.Paths, func(r session.PathValue) q.Amount {
		if r.Parent == 0 {
			return r.Inclusive
		}
		return q.Amount{}
	}))
}

func sumOf[T any](rows []T, amount func(T) q.Amount) q.Amount {
	var sum q.Amount
	for _, r := range rows {
		sum = sum.Add(amount(r))
	}
	return sum
}

// parents checks parent = self + children.
func (c *checker) parents(v *session.Derived) {
	below := map[session.PathID]q.Amount{}
	for _, r := range v.Paths {
		below[r.Parent] = below[r.Parent].Add(r.Inclusive)
	}
	for _, r := range v.Paths {
		if r.Inclusive != r.Exclusive.Add(below[r.ID]) {
			c.add("parents", "path %d is not the sum of itself and its children", r.ID)
		}
	}
}

// readDerived reads all stored derived tables.
func readDerived(s *session.Session) (*session.Derived, error) {
	d := &session.Derived{}
	for _, read := range []func() error{
		func() error { return into(&d.Paths, s.PathValues) },
		func() error { return into(&d.Calls, s.CallValues) },
		func() error { return into(&d.Functions, s.FunctionValues) },
		func() error { return into(&d.Modules, s.ModuleValues) },
		func() error { return into(&d.Lines, s.LineValues) },
		func() error { return into(&d.Instructions, s.InstructionValues) },
		func() error { return into(&d.Types, s.TypeValues) },
		func() error { return into(&d.Threads, s.ThreadValues) },
		func() error { return into(&d.Processes, s.ProcessValues) },
		func() error { return into(&d.ProcessDeaths, s.ProcessDeaths) },
		func() error { return into(&d.SummarySections, s.SummarySections) },
		func() error { return into(&d.SummarySites, s.SummarySites) },
		func() error { return into(&d.CauseTotals, s.CauseTotals) },
		func() error { return into(&d.Causes, s.Causes) },
		func() error { return into(&d.TypeDeaths, s.TypeDeaths) },
		func() error { return into(&d.TypePaths, s.TypePaths) },
		func() error { return into(&d.TypeLifetimes, s.TypeLifetimes) },
		func() error { return into(&d.FunctionLifetimes, s.FunctionLifetimes) },
		func() error { return into(&d.PathTimes, s.PathTimes) },
		func() error { return into(&d.CallTimes, s.CallTimes) },
		func() error { return into(&d.FunctionTimes, s.FunctionTimes) },
		func() error { return into(&d.Awaits, s.FunctionAwaits) },
		func() error { return into(&d.ModuleTimes, s.ModuleTimes) },
		func() error { return into(&d.LineTimes, s.LineTimes) },
		func() error { return into(&d.InstructionTimes, s.InstructionTimes) },
		func() error { return into(&d.ThreadTimes, s.ThreadTimes) },
		func() error { return into(&d.ProcessTimes, s.ProcessTimeValues) },
		func() error { return into(&d.UserTimes, s.UserTimes) },
	} {
		if err := read(); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// stored compares the stored derived tables with a recomputation.
func (c *checker) stored(want, have *session.Derived) {
	w, h := reflect.ValueOf(*withoutSites(want, have)), reflect.ValueOf(*have)
	for i := range w.NumField() {
		table := w.Type().Field(i).Name
		a, b := w.Field(i), h.Field(i)
		if len(have.CauseTotals) == 0 && slices.Contains(wholeTables, table) ||
			len(have.TypeLifetimes) == 0 && slices.Contains(groupTables, table) ||
			len(have.UserTimes) == 0 && table == "UserTimes" { // an older clrprof completed the session
			continue
		}
		if a.Len() != b.Len() {
			c.add("stored", "derived table %s has %d rows, want %d", table, b.Len(), a.Len())
		}
		for k := range min(a.Len(), b.Len()) {
			if x, y := a.Index(k).Interface(), b.Index(k).Interface(); x != y {
				c.add("stored", "derived table %s: row %d is %+v, want %+v", table, k+1, y, x)
				break
			}
		}
	}
}
