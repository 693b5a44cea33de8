package probes

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/clrprof/clrprof/internal/dotnet/il"
)

// probeCalls is what was to be inserted.
type probeCalls struct {
	Signature, TailSignature                           uint32
	Enter, Leave, Tail, SiteEnter, SiteLeave, SiteJump uint64
	Method                                             uint64
	Site                                               func(offset, opcode int, token uint32) uint64 // nil: none
	// Effect is what call, callvirt, newobj, calli, ldfld and ldsfld with a token do to the stack, if that is known.
	Effect func(op int, token uint32) (Effect, bool)
	// Locals is the signature of variables with so many more, and the number of the first one.
	Locals func(token uint32, more int) (uint32, int)
}

// probe is the call of a function with an argument.
func (p *probeCalls) probe(function, argument uint64) []byte {
	return probe(p.Signature, function, argument)
}

// ending is a return with its probe.
func (p *probeCalls) ending() []byte { return append(p.probe(p.Leave, p.Method), il.OpNop, il.OpRet) }

func probe(signature uint32, function, argument uint64) []byte {
	b := []byte{il.OpLdcI8}
	b = binary.LittleEndian.AppendUint64(b, argument)
	b = append(b, il.OpConvI, il.OpLdcI8)
	b = binary.LittleEndian.AppendUint64(b, function)
	return binary.LittleEndian.AppendUint32(append(b, il.OpConvI, il.OpCalli), signature)
}

// comparer reads an old and a new body side by side.
type comparer struct {
	probes   *probeCalls
	old, now *il.Body
	code     []byte // the rest of the new code
	before   int    // the opcode of the last instruction that is no prefix
	at       []int  // new offsets by old ones, -1: no instruction begins there
	branches []branch
	kept     kept
	first    int // number of the first variable that is added
}

// branch is one whose targets are to be compared when all instructions are known.
type branch struct{ old, now il.Instruction }

// compareBodies says where a new body is another than the old one with its probes, and returns the new offset of each
// old instruction; those of other offsets are -1, and one more is that of the end.
func compareBodies(old, now *il.Body, p *probeCalls) ([]int, error) {
	c := &comparer{probes: p, old: old, now: now, code: now.Code}
	groups, targets, err := c.readGroups()
	if err != nil {
		return nil, err
	}
	c.kept = c.keep(groups, targets)
	locals := old.Locals
	if c.kept.most > 0 {
		locals, c.first = p.Locals(old.Locals, c.kept.most)
	}
	if now.MaxStack != old.MaxStack+probeStack || now.InitLocals != old.InitLocals || now.Locals != locals {
		return nil, fmt.Errorf("maxstack %d, locals %#x (%t), of %d, %#x (%t): %w",
			now.MaxStack, now.Locals, now.InitLocals, old.MaxStack, locals, old.InitLocals, il.ErrInvalid)
	}
	c.at = slices.Repeat([]int{-1}, len(old.Code)+1)
	if err := c.compareCode(groups, targets); err != nil {
		return nil, err
	}
	for _, b := range c.branches {
		for k, t := range b.old.Targets {
			if t < 0 || t >= len(old.Code) || c.at[t] != b.now.Targets[k] {
				return nil, fmt.Errorf("branch at %d to %d: now at %d to %d: %w", b.old.At, t, b.now.At,
					b.now.Targets[k], il.ErrInvalid)
			}
		}
	}
	return c.at, c.compareClauses()
}

func (c *comparer) offset() int { return len(c.now.Code) - len(c.code) }

func (c *comparer) expect(what string, at int, b []byte) error {
	if !bytes.HasPrefix(c.code, b) {
		return fmt.Errorf("%s at %d: have % x, want % x: %w", what, at, c.code[:min(len(b), len(c.code))], b,
			il.ErrInvalid)
	}
	c.code = c.code[len(b):]
	return nil
}

// group is an instruction with the prefixes before it.
type group struct {
	parts []il.Instruction
	tail  bool
	site  uint64
	end   int    // the instruction after which the probe behind a site comes; -1: none
	ended uint64 // the site whose probe comes after this one
}

// isHalf says if the JIT looks at a call together with the instruction before it: then nothing may come between.
func isHalf(before, op int) bool {
	return before == il.OpLdtoken || (before == il.OpLdftn || before == il.OpLdvirtftn) && op == il.OpNewobj
}

func (c *comparer) readGroup(at int) (group, error) {
	var g group
	for at < len(c.old.Code) {
		i, err := il.Read(c.old.Code, at)
		if err != nil {
			return g, err
		}
		g.parts = append(g.parts, i)
		g.tail = g.tail || i.Op == il.OpTail
		if !i.IsPrefix() {
			if i.IsCall() && !isHalf(c.before, i.Op) && c.probes.Site != nil {
				g.site = c.probes.Site(i.At, i.Op, i.Token())
			}
			c.before = i.Op
			return g, nil
		}
		at = i.Next
	}
	return g, fmt.Errorf("a prefix at the end: %w", il.ErrMalformed)
}

// readGroups reads all of the old code, and where something branches to.
func (c *comparer) readGroups() ([]group, map[int]bool, error) {
	targets, err := c.targets()
	if err != nil {
		return nil, nil, err
	}
	var groups []group
	for at := 0; at < len(c.old.Code); {
		g, err := c.readGroup(at)
		if err != nil {
			return nil, nil, err
		}
		g.end = -1
		groups = append(groups, g)
		at = g.parts[len(g.parts)-1].Next
	}
	for k := range groups {
		g := &groups[k]
		if g.site == 0 || g.tail {
			continue
		}
		end := g
		if k+1 < len(groups) && len(groups[k+1].parts) == 1 && takesResult(groups[k+1].parts[0].Op) &&
			!targets[groups[k+1].parts[0].At] {
			end = &groups[k+1] // what the call returns is stored or dropped first
		}
		g.end, end.ended = end.parts[len(end.parts)-1].At, g.site
	}
	return groups, targets, nil
}

func (c *comparer) compareCode(groups []group, targets map[int]bool) error {
	p := c.probes
	if err := c.expect("enter", 0, p.probe(p.Enter, p.Method)); err != nil {
		return err
	}
	afterTail := false
	for _, g := range groups {
		var err error
		last := g.parts[len(g.parts)-1]
		if last.Op == il.OpRet {
			err = c.compareReturn(last.At, afterTail, targets[last.At])
		} else {
			err = c.compareGroup(g)
		}
		if err != nil {
			return err
		}
		afterTail = g.tail
	}
	c.at[len(c.old.Code)] = c.offset()
	return c.expectEnd()
}

// variable is ldloc or stloc of a variable that is added.
func (c *comparer) variable(op, number int) []byte {
	if number += c.first; number < 256 {
		return []byte{byte(op), byte(number)}
	}
	return []byte{0xFE, byte(op - 0x11 + 0x0C), byte(number), byte(number >> 8)}
}

const (
	opLdlocS = 0x11
	opStlocS = 0x13
	opLdnull = 0x14
)

// clears makes variables null before an instruction.
func (c *comparer) clears(at int) []byte {
	var b []byte
	for n := range c.kept.most {
		if c.kept.clears[at]>>n&1 != 0 {
			b = append(append(b, opLdnull), c.variable(opStlocS, n)...)
		}
	}
	return b
}

// store keeps what an instruction has put on the stack.
func (c *comparer) store(at int) []byte {
	n, is := c.kept.stored[at]
	if !is {
		return nil
	}
	return append(c.variable(opStlocS, n), c.variable(opLdlocS, n)...)
}

func (c *comparer) expectEnd() error {
	if len(c.code) != 0 {
		return fmt.Errorf("%d bytes more: %w", len(c.code), il.ErrInvalid)
	}
	return nil
}

// targets are the offsets to which something branches.
func (c *comparer) targets() (map[int]bool, error) {
	m := map[int]bool{}
	for at := 0; at < len(c.old.Code); {
		i, err := il.Read(c.old.Code, at)
		if err != nil {
			return nil, err
		}
		for _, t := range i.Targets {
			m[t] = true
		}
		at = i.Next
	}
	return m, nil
}

// compareReturn: the return of a tail call comes at once, and is there again for those who branch to it.
func (c *comparer) compareReturn(at int, afterTail, target bool) error {
	c.at[at] = c.offset()
	if afterTail {
		if err := c.expect("return of tail call", at, []byte{il.OpRet}); err != nil || !target {
			return err
		}
		c.at[at] = c.offset()
	}
	return c.expect("return", at, c.probes.ending())
}

func (c *comparer) compareGroup(g group) error {
	p := c.probes
	first := g.parts[0].At
	c.at[first] = c.offset()
	if err := c.expect("variables that become null", first, c.clears(first)); err != nil {
		return err
	}
	switch {
	case g.tail:
		if err := c.compareTail(g); err != nil {
			return err
		}
	case g.site != 0:
		if err := c.expect("site", first, p.probe(p.SiteEnter, g.site)); err != nil {
			return err
		}
	}
	for k, old := range g.parts {
		if k > 0 {
			c.at[old.At] = c.offset()
		}
		if len(old.Targets) == 0 {
			code := append(slices.Clone(c.old.Code[old.At:old.Next]), c.store(old.At)...)
			if err := c.expect("instruction", old.At, code); err != nil {
				return err
			}
			continue
		}
		if err := c.compareBranch(old); err != nil {
			return err
		}
	}
	if g.ended != 0 {
		return c.expect("end of site", first, p.probe(p.SiteLeave, g.ended))
	}
	return nil
}

// compareTail: before a call with tail. is a probe that says if it jumps, and the same call without the prefix for when
// it does not, with a return of its own. If it jumps, it is no site that ends.
func (c *comparer) compareTail(g group) error {
	p := c.probes
	var staying []byte
	if g.site != 0 {
		staying = append(staying, p.probe(p.SiteEnter, g.site)...)
	}
	for _, i := range g.parts {
		if i.Op != il.OpTail {
			staying = append(staying, c.old.Code[i.At:i.Next]...)
		}
	}
	if g.site != 0 {
		staying = append(staying, p.probe(p.SiteLeave, g.site)...)
	}
	staying = append(staying, p.ending()...)
	want := append(probe(p.TailSignature, p.Tail, p.Method), il.OpBrtrue)
	want = append(binary.LittleEndian.AppendUint32(want, uint32(len(staying))), staying...)
	if g.site != 0 {
		want = append(want, p.probe(p.SiteJump, g.site)...)
	}
	return c.expect("tail call", g.parts[0].At, want)
}

func (c *comparer) compareBranch(old il.Instruction) error {
	if len(c.code) == 0 {
		return fmt.Errorf("the branch at %d is not there: %w", old.At, il.ErrInvalid)
	}
	now, err := il.Read(c.now.Code, c.offset())
	if err != nil {
		return err
	}
	if now.Long() != old.Long() || len(now.Targets) != len(old.Targets) {
		return fmt.Errorf("at %d: have %#x with %d targets, want %#x with %d: %w",
			old.At, now.Op, len(now.Targets), old.Op, len(old.Targets), il.ErrInvalid)
	}
	c.code = c.code[now.Next-now.At:]
	c.branches = append(c.branches, branch{old, now})
	return nil
}

func (c *comparer) compareClauses() error {
	move := func(at int) int {
		if at < 0 || at >= len(c.at) {
			return -1
		}
		return c.at[at]
	}
	var want []il.Clause
	for _, o := range c.old.Clauses {
		n := il.Clause{Kind: o.Kind, Try: move(o.Try), TryEnd: move(o.TryEnd), Handler: move(o.Handler),
			HandlerEnd: move(o.HandlerEnd), Token: o.Token}
		if o.Kind == il.Filter {
			n.Token = uint32(move(int(o.Token)))
		}
		want = append(want, n)
	}
	if !slices.Equal(want, c.now.Clauses) {
		return fmt.Errorf("clauses %v, want %v: %w", c.now.Clauses, want, il.ErrInvalid)
	}
	return nil
}
