package probes

import (
	"math"

	"github.com/clrprof/clrprof/internal/dotnet/il"
)

// maxKept is how many references on the stack are kept in variables.
const maxKept = 16

// Effect is what an instruction does to the stack.
type Effect struct {
	Pops, Pushes int
	Reference    bool // what it pushes is an object, or null
}

// kept are the references on the stack that are kept in variables where a probe is called, so that the JIT makes none
// for them that live as long as the frame (agent/src/il/il_keep.c).
type kept struct {
	stored map[int]int    // the number of the variable, from 0 on, by the offset of the instruction that gives it
	clears map[int]uint16 // the variables that become null before an instruction
	most   int            // variables
}

// keeper finds them. It reads the code several times, because a variable that a branch back leaves set becomes null
// where the branch leads to.
type keeper struct {
	kept

	c        *comparer
	targets  map[int]bool
	ends     map[int]bool // instructions after which the probe behind a call comes
	sites    map[int]bool // first prefixes of calls before which a probe comes
	prefixed map[int]bool
	entries  map[int]int // the stack's depth at targets
	left     map[int]uint16

	stack []entry
	known bool // how deep the stack is
	set   uint16
}

// entry is a value on the stack.
type entry struct {
	from   int  // the instruction that a reference comes from, and 1; 0: it is none, or need not be kept
	probed bool // it was there when a probe was called
	calls  bool // the expression has a call
	effect bool // or what a call may change
}

// takesResult reports whether an instruction only stores or drops a value.
func takesResult(op int) bool {
	switch op {
	case 0x0A, 0x0B, 0x0C, 0x0D, 0x13, 0x26, 0xFE0E: // stloc, pop
		return true
	}
	return false
}

// keep is what is kept of the old code, whose groups are all readable.
func (c *comparer) keep(groups []group, targets map[int]bool) kept {
	k := &keeper{c: c, targets: targets, ends: map[int]bool{}, sites: map[int]bool{}, prefixed: map[int]bool{},
		entries: map[int]int{}, left: map[int]uint16{}}
	k.stored, k.clears = map[int]int{}, map[int]uint16{}
	any := false
	for _, g := range groups {
		any = any || g.site != 0
		if g.site != 0 || g.tail {
			k.sites[g.parts[0].At] = true
		}
		if g.end >= 0 {
			k.ends[g.end] = true
		}
		for _, p := range g.parts[1:] {
			k.prefixed[p.At] = true
		}
	}
	if !any || c.probes.Effect == nil {
		return kept{}
	}
	for range 3 {
		k.handlers()
		k.read(groups)
	}
	return k.kept
}

func (k *keeper) handlers() {
	all := uint16(1<<k.most - 1)
	for _, c := range k.c.old.Clauses {
		k.left[c.Handler] |= all
		k.entries[c.Handler] = 0
		if c.Kind == il.Catch || c.Kind == il.Filter {
			k.entries[c.Handler] = 1
		}
		if c.Kind == il.Filter {
			k.left[int(c.Token)] |= all
			k.entries[int(c.Token)] = 1
		}
	}
}

func (k *keeper) read(groups []group) {
	k.stack, k.known, k.set = nil, true, 0
	reached := true
	for _, g := range groups {
		for _, i := range g.parts {
			k.begin(i.At, reached)
			delete(k.clears, i.At)
			if k.known && len(k.stack) == 0 && !k.prefixed[i.At] && i.Op != il.OpRet {
				if k.set != 0 {
					k.clears[i.At] = k.set
				}
				k.set = 0
			}
			if k.sites[i.At] {
				k.probe()
			}
			k.apply(&i)
			if k.ends[i.At] {
				k.probe()
			}
			k.leave(&i)
			reached = !i.Ends() && i.Op != il.OpLeaveS && i.Op != il.OpBrS && i.Op != il.OpJmp
		}
	}
}

// begin is where a block may begin.
func (k *keeper) begin(at int, reached bool) {
	depth, is := k.entries[at]
	if reached && !k.targets[at] && !is {
		return
	}
	switch {
	case is:
		k.stack, k.known = make([]entry, depth), true
	case !reached:
		k.stack, k.known = nil, true
	}
	k.forget()
	if !reached {
		k.set = 0
	}
	k.set |= k.left[at]
}

func (k *keeper) forget() { clear(k.stack) }

// probe is called.
func (k *keeper) probe() {
	for i := range k.stack {
		k.stack[i].probed = true
	}
}

// take pops values. What the JIT keeps in a variable in any case is not kept: arguments beside others that have calls,
// or are before one that has.
func (k *keeper) take(n int, arguments bool) entry {
	first := len(k.stack) - n
	var all entry
	for i := len(k.stack) - 1; i >= first; i-- {
		e := k.stack[i]
		if i >= maxKept {
			continue // nothing is known of it
		}
		anyway := arguments && n > 1 && (e.calls || all.calls && e.effect)
		if e.from > 0 && e.probed && !anyway {
			k.stored[e.from-1] = i
			k.most = max(k.most, i+1)
		}
		all.calls = all.calls || e.calls
		all.effect = all.effect || e.effect
	}
	k.stack = k.stack[:first]
	return all
}

// loads reports whether an instruction loads what is not a variable of the method, or can throw.
func loads(op int) bool {
	return op >= 0x46 && op <= 0x50 || op >= 0x7B && op <= 0x7F || op >= 0x8E && op <= 0x9A || op == 0xA3 ||
		op == 0x71 || op == 0x79 || op == 0xA5
}

func (k *keeper) apply(i *il.Instruction) {
	e := Effect{}
	e.Pops, e.Pushes = i.Effect()
	ok, calls, made := true, i.IsCall(), i.Op == il.OpNewobj
	switch i.Op {
	case 0x25: // dup
		if k.known && len(k.stack) > 0 {
			k.stack[len(k.stack)-1] = entry{}
		}
		if k.known {
			k.stack = append(k.stack, entry{})
		}
		return
	case 0x74, 0x75, il.OpNewarr: // castclass, isinst
		e.Reference, calls = true, true
	case 0x50, 0x9A: // ldind.ref, ldelem.ref
		e.Reference = true
	case 0x8C: // box
		made = true
	case il.OpCall, il.OpCallvirt, il.OpCalli, il.OpNewobj, 0x7B, 0x7E: // ldfld, ldsfld
		e, ok = k.c.probes.Effect(i.Op, i.Token())
	}
	if k.known = k.known && ok && e.Pops <= len(k.stack); !k.known {
		return
	}
	given := k.take(e.Pops, i.IsCall())
	given.calls = given.calls || calls
	given.effect = given.effect || given.calls || e.Reference || loads(i.Op)
	if e.Reference {
		given.from = i.At + 1
	}
	if made {
		given = entry{}
	}
	if e.Pushes == 0 && (e.Pops > 0 || i.IsCall()) || made { // the JIT ends a statement, and keeps what it must
		for n := range min(len(k.stack), maxKept) {
			if k.stack[n].effect {
				k.stack[n] = entry{}
			}
		}
	}
	if e.Pushes > 0 {
		k.stack = append(k.stack, given)
	}
	if n, is := k.stored[i.At]; is {
		k.set |= 1 << n
	}
}

func (k *keeper) leave(i *il.Instruction) {
	if i.Long() == il.OpLeave {
		k.stack, k.known = nil, true
	}
	for _, t := range i.Targets {
		k.left[t] |= k.set
		if _, is := k.entries[t]; !is && k.known && len(k.stack) < math.MaxUint16 {
			k.entries[t] = len(k.stack)
		}
	}
	if len(i.Targets) > 0 {
		k.forget()
	}
}
