package collect

import (
	"slices"

	"github.com/clrprof/clrprof/internal/capture/arena"
	"github.com/clrprof/clrprof/internal/capture/recording"
	"github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/wire"
)

// lostID is the arena's id of the thread, type and function that stand for those that its log does not describe. No
// agent has given so many.
const lostID = wire.SiteFrozen - 1

// mend makes copies of the tables of a damaged arena in which all that rows refer to is there. What they refer to and
// is not there is replaced by something that says so, and what cannot have been counted is left out.
func (p *process) mend(r *Recorder, f *found, h *wire.Header) {
	if p.damage == nil {
		return
	}
	if h.Data&wire.DataTime == 0 {
		f.timings, f.acted, f.calls = nil, nil, nil
	}
	f.ips = p.mendIPs(f.ips)
	p.mendNodes(f)
	f.timings = p.mendTimings(r, f, h)
	p.mendSites(r, f, h)
}

// copyOf copies rows, without those at the end that are empty: their number is wrong.
func copyOf[Row comparable](rows []Row) []Row {
	var empty Row
	n := len(rows)
	for n > 0 && rows[n-1] == empty {
		n--
	}
	return slices.Clone(rows[:n])
}

func (p *process) mendIPs(rows []wire.IP) []wire.IP {
	out := copyOf(rows)
	for len(out) < wire.IPFirst {
		out = append(out, wire.IP{})
	}
	for i := wire.IPFirst; i < len(out); i++ {
		ip := &out[i]
		if ip.Flags&(wire.IPManaged|wire.IPHelper) != wire.IPManaged {
			continue
		}
		_, known := p.names.functions[ip.Function]
		_, described := p.names.bodies[ip.Body]
		switch {
		case !known:
			ip.Function, ip.Body = p.lostFunction(), 0
		case ip.Body != 0 && !described:
			ip.Body = 0
		default:
			continue
		}
		p.damaged++
	}
	return out
}

// mendNodes keeps the callers of a node whose instruction is lost. One whose parent is lost has no callers any more.
func (p *process) mendNodes(f *found) {
	f.nodes = copyOf(f.nodes)
	if len(f.nodes) == 0 {
		f.nodes = append(f.nodes, wire.Node{})
	}
	instructions, lost := len(f.ips), uint32(0)
	for i := 1; i < len(f.nodes); i++ {
		n := &f.nodes[i]
		switch {
		case int64(n.Parent) >= int64(i):
			n.Parent, n.IP = wire.NodeRoot, wire.IPTruncated
		case n.IP == wire.IPNone || int64(n.IP) >= int64(instructions):
			if lost == 0 {
				lost = uint32(len(f.ips))
				f.ips = append(f.ips, wire.IP{Function: p.lostFunction(), Flags: wire.IPManaged})
			}
			n.IP = lost
		default:
			continue
		}
		p.damaged++
	}
}

func (p *process) mendTimings(r *Recorder, f *found, h *wire.Header) []wire.Timing {
	if len(f.timings) == 0 || h.TicksPerSec == 0 {
		return f.timings
	}
	m := timingMender{p: p, clock: clock{h.TicksPerSec, h.BeginTicks, h.BeginNS}, waits: p.arena.Waits(),
		acted: p.arena.Acted(), inclusives: p.arena.Inclusives(), instructions: len(f.ips)}
	out := copyOf(f.timings)
	for i := range out {
		out[i] = arena.Timing(&f.timings[i])
		before := out[i]
		m.refer(r, out, i, h)
		m.count(&out[i])
		if out[i] != before {
			p.damaged++
		}
	}
	return out
}

// timingMender mends the timings of one arena.
type timingMender struct {
	p            *process
	clock        clock
	waits        []wire.Waits
	acted        []wire.Acted
	inclusives   []wire.Inclusive
	instructions int
	sum, calls   uint64 // of all before
}

// refer mends what a timing refers to. One whose caller is lost begins a tree.
func (m *timingMender) refer(r *Recorder, rows []wire.Timing, i int, h *wire.Header) {
	x := &rows[i]
	if _, known := m.p.threads.byID[x.Thread]; !known {
		x.Thread = m.p.lostThread(r, h)
	}
	if _, known := m.p.names.functions[x.Function]; x.Function != 0 && x.Function != wire.FunctionCollection && !known {
		x.Function = m.p.lostFunction()
	}
	if x.Parent != 0 && (int64(x.Parent) > int64(i) || rows[x.Parent-1].Thread != x.Thread) {
		x.Parent = 0
	}
	if x.Parent == 0 {
		x.LeadElapsed, x.LeadWaited, x.LeadWaits, x.IP, x.ReturnAddress = 0, 0, 0, wire.IPNone, 0
	}
	if int64(x.IP) >= int64(m.instructions) {
		x.IP = wire.IPNone
	}
	x.LeadWaits, x.TailWaits = m.waitsOf(x.LeadWaits), m.waitsOf(x.TailWaits)
	if x.Acted != 0 && (int64(x.Acted) > int64(len(m.acted)) || !m.isActed(x.Acted)) {
		x.Acted = 0
	}
	if x.Inclusive != 0 && (int64(x.Inclusive) > int64(len(m.inclusives)) || !m.isInclusive(x.Inclusive)) {
		x.Inclusive = 0
	}
}

func (m *timingMender) waitsOf(number uint32) uint32 {
	if int64(number) > int64(len(m.waits)) {
		return 0
	}
	if number != 0 {
		w := arena.Waits(&m.waits[number-1])
		if bounded(w.Intervals, w.Voluntary, w.Preempted, w.Faults, w.Reads) != nil || !m.isTime(w.Blocked, w.Ready) {
			return 0
		}
	}
	return number
}

func (m *timingMender) isActed(number uint32) bool {
	a := arena.Acted(&m.acted[number-1])
	for i := range a.Min {
		if a.Min[i] <= a.Max[i] && !m.isTime(a.Min[i], a.Max[i]) {
			return false
		}
	}
	return true
}

func (m *timingMender) isInclusive(number uint32) bool {
	v := arena.Inclusive(&m.inclusives[number-1])
	return bounded(v.Times, v.Calls, v.EachCalls) == nil &&
		m.isTime(v.Elapsed, v.Waited, v.EachElapsed, v.EachWaited, v.EachOff)
}

// isTime reports whether lengths of time are some that a session can have.
func (m *timingMender) isTime(ticks ...uint64) bool {
	for _, n := range ticks {
		if _, err := m.clock.nanoseconds(n); err != nil || bounded(n) != nil {
			return false
		}
	}
	return true
}

// count empties the counters of a timing if they cannot be.
func (m *timingMender) count(x *wire.Timing) {
	ok := bounded(x.Calls, x.Ended, x.Folded, x.Unmatched) == nil &&
		m.isTime(x.LeadElapsed, x.TailElapsed, x.LeadWaited, x.TailWaited)
	for i := range x.Min {
		ok = ok && (x.Min[i] > x.Max[i] || m.isTime(x.Min[i], x.Max[i]))
	}
	if ok { // each of them is bounded, and so is what they are added to: their sum is no accident
		sum, calls := m.sum+x.LeadElapsed+x.TailElapsed, m.calls+x.Calls+x.Folded
		if ok = m.isTime(sum) && bounded(calls) == nil; ok {
			m.sum, m.calls = sum, calls
			return
		}
	}
	*x = wire.Timing{Parent: x.Parent, Function: x.Function, ReturnAddress: x.ReturnAddress, Thread: x.Thread, IP: x.IP}
	for i := range x.Min {
		x.Min[i] = ^uint64(0)
	}
}

func (p *process) mendSites(r *Recorder, f *found, h *wire.Header) {
	f.sites, f.called = copyOf(f.sites), slices.Clone(f.called)
	nodes, lost := len(f.nodes), uint32(0)
	var sum quantity.Amount
	for i := range f.sites {
		s := &f.sites[i]
		before := *s
		if _, known := p.threads.byID[s.Thread]; !known {
			s.Thread = p.lostThread(r, h)
		}
		if s.Node == wire.NodeRoot || int64(s.Node) >= int64(nodes) {
			if lost == 0 {
				lost = uint32(len(f.nodes))
				f.nodes = append(f.nodes, wire.Node{Parent: wire.NodeRoot, IP: wire.IPTruncated})
			}
			s.Node = lost
		}
		if _, known := p.names.types[s.Type&^wire.SiteFrozen]; !known {
			p.lostType()
			s.Type = lostID | s.Type&wire.SiteFrozen
		}
		objects, bytes := arena.Count(&f.sites[i])
		more := sum.Add(quantity.Amount{Allocations: quantity.Count(min(objects, recording.MaxCounter)),
			Bytes: quantity.Bytes(min(bytes, recording.MaxCounter))})
		switch {
		case max(objects, bytes) > recording.MaxCounter || max(uint64(more.Allocations), uint64(more.Bytes)) >
			recording.MaxCounter: // how many objects these were nobody knows
			s.Objects, s.Bytes = 0, 0
		case (objects == 0) != (bytes == 0):
			p.lostSites = p.lostSites.Add(quantity.Amount{Allocations: quantity.Count(objects),
				Bytes: quantity.Bytes(bytes)})
			s.Objects, s.Bytes = 0, 0
		default:
			sum = more
		}
		if *s != before {
			p.damaged++
		}
		if i < len(f.called) && int64(f.called[i].Timing) > int64(len(f.timings)) {
			f.called[i].Timing = 0
		}
	}
}

// lostThread, lostType and lostFunction return the arena's id of what stands for what is not described.
func (p *process) lostThread(r *Recorder, h *wire.Header) uint32 {
	if p.threads.byID[lostID] == nil {
		p.threads.byID[lostID] = p.rec.AddThread(session.Thread{Name: session.NameDamaged,
			Begin: max(0, quantity.Nanoseconds(h.StartNS)-r.start)})
	}
	return lostID
}

func (p *process) lostFunction() uint32 {
	if _, known := p.names.functions[lostID]; !known {
		p.names.functions[lostID] = function{id: p.rec.Pseudo(session.NameDamaged), keep: true,
			class: wire.FunctionInstrumented}
	}
	return lostID
}

func (p *process) lostType() session.TypeID {
	t, known := p.names.types[lostID]
	if !known {
		t = typ{id: p.rec.Type(session.Type{Kind: session.TypeUnknown}, nil), unknown: true}
		p.names.types[lostID] = t
	}
	return t.id
}
