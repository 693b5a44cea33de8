// Package callgrind writes a session in the format of valgrind's callgrind, which callgrind_annotate, KCachegrind and
// QCachegrind read: functions with what they did themselves by line, and calls with what was done in them, of all
// values at once.
//
// Problem: the format has sums by function and call, not stacks, and its readers add up the calls of a function to
// learn what it did with all that it called. Where a function calls itself, directly or by way of others, one
// allocation is in several of its calls.
//
// Idea: an allocation counts for the call that put the function on the stack for the first time, and for no call of it
// further down. So the calls of a function add up to its inclusive value, exactly. Those who are first on a stack are
// called by a function that stands for the process, so that each function is called by something.
//
// Calls are counted only in sessions with times. The format has no way to say that a number of calls is unknown, and
// its readers skip a call that happened 0 times: 1 is written then.
//
// The output depends on nothing but the session and what is selected of it.
package callgrind

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/clrprof/clrprof/internal/analysis"
	"github.com/clrprof/clrprof/internal/session"
)

// Root is the function that calls what is first on a stack, in a session of one process. In others it is called after
// the process.
const Root = "(root)"

// noFile is the name that callgrind itself writes where it knows no file, or no object.
const noFile = "???"

// function is what readers know a function by: those with equal file and name are one to them.
type function struct{ file, name string }

// call is a line of a function, and what is called there.
type call struct {
	line   int64
	callee function
}

// sums are those of a function.
type sums struct {
	object string // the module
	self   map[int64][]int64
	calls  map[call]*callSums
}

type callSums struct {
	count  int64
	values []int64
}

// Write writes all values of the part of s that is selected, but for those that can be less than zero. Errors are those
// of reading s, of the selection, and of w.
func Write(w io.Writer, s *session.Session, sel analysis.Selection, version string) error {
	samples, err := analysis.Samples(s, sel)
	if err != nil {
		return err
	}
	p := &profile{samples: samples, functions: map[function]*sums{}}
	if err := p.addUp(); err != nil {
		return fmt.Errorf("session %s: %w", s.Path(), err)
	}
	out := bufio.NewWriter(w)
	p.write(out, version)
	if err := out.Flush(); err != nil {
		return fmt.Errorf("writing a callgrind profile: %w", err)
	}
	return nil
}

// profile is what is written.
type profile struct {
	samples   *analysis.SampleSet
	values    []int // of the samples' values, the one to look at first at the beginning
	counted   int   // of values: calls; -1: they are not known
	total     []int64
	functions map[function]*sums

	own, all []int64            // by node and value: at the end of a stack, and there and below
	process  []*session.Process // by node: nil if nothing was done there or below
}

// addUp sums up the samples, by stack and then by function and call.
func (p *profile) addUp() error {
	p.counted = -1
	for i, v := range p.samples.Values {
		if !v.Difference {
			p.values = append(p.values, i)
		}
	}
	at := slices.Index(p.values, p.samples.Default)
	p.values = slices.Insert(slices.Delete(p.values, at, at+1), 0, p.samples.Default)
	for i, v := range p.values {
		if p.samples.Values[v].Name == "calls" {
			p.counted = i
		}
	}
	n := len(p.values)
	p.total, p.own = make([]int64, n), make([]int64, n*p.samples.Nodes())
	p.process = make([]*session.Process, p.samples.Nodes())
	nowhere := make([]int64, n) // without a stack
	err := p.samples.EachSum(func(x *analysis.Sample) error {
		own := nowhere
		if x.Node >= 0 {
			own, p.process[x.Node] = p.of(p.own, x.Node), x.Process
		}
		for i, v := range p.values {
			own[i] += x.Values[v]
			p.total[i] += x.Values[v]
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, list := range [][]int64{p.own, nowhere, p.total} {
		if slices.ContainsFunc(list, func(v int64) bool { return v < 0 }) {
			return fmt.Errorf("%w: a stack has a value less than zero", session.ErrCorrupt)
		}
	}
	p.all = slices.Clone(p.own)
	for i := int32(p.samples.Nodes()) - 1; i >= 0; i-- { // children come after their parents
		if above := p.samples.Parent(i); above >= 0 {
			add(p.of(p.all, above), p.of(p.all, i))
			p.process[above] = cmp.Or(p.process[above], p.process[i])
		}
	}
	if !isZero(nowhere) {
		p.functionOf(function{noFile, Root}, "").at(0, nowhere)
	}
	p.addFunctions()
	return nil
}

// addFunctions adds up what functions did themselves, and in their calls, node by node in the order of the tree.
func (p *profile) addFunctions() {
	below := make([][]int32, p.samples.Nodes()+1) // children by node, and roots
	for i := range int32(p.samples.Nodes()) {
		above := p.samples.Parent(i) + 1
		below[above] = append(below[above], i)
	}
	on := map[function]int{} // how often functions are on the stack
	type step struct {
		node  int32
		leave bool
	}
	var left []step
	push := func(list []int32) {
		for _, n := range slices.Backward(list) {
			left = append(left, step{node: n})
		}
	}
	for push(below[0]); len(left) > 0; {
		at := left[len(left)-1]
		left = left[:len(left)-1]
		f, frame := p.frame(at.node)
		if at.leave {
			on[f]--
			continue
		}
		if p.process[at.node] == nil { // nothing is selected here or below
			continue
		}
		p.addNode(at.node, f, frame, on[f] == 0)
		on[f]++
		left = append(left, step{at.node, true})
		push(below[at.node+1])
	}
}

// addNode adds what was done at a node itself to its function, and what was done there and below to the call of it, if
// it is the first of its function on the stack.
func (p *profile) addNode(node int32, f function, frame *analysis.SampleFrame, first bool) {
	own := p.of(p.own, node)
	p.functionOf(f, cmp.Or(frame.Module.Path, frame.Module.Name)).at(frame.Line, own)
	caller, line, object := function{noFile, Root}, int64(0), ""
	if above := p.samples.Parent(node); above >= 0 {
		var from *analysis.SampleFrame
		caller, from = p.frame(above)
		line, object = from.Line, cmp.Or(from.Module.Path, from.Module.Name)
	} else if p.samples.Processes > 1 {
		of := p.process[node]
		caller.name = fmt.Sprintf("%s (%d)", of.Name, of.PID)
	}
	calls := int64(0)
	if p.counted >= 0 {
		calls = own[p.counted]
	}
	to := p.functionOf(caller, object).calls
	key := call{line, f}
	if to[key] == nil {
		to[key] = &callSums{values: make([]int64, len(p.values))}
	}
	to[key].count += calls
	if first {
		add(to[key].values, p.of(p.all, node))
	}
}

// of are the values of a node.
func (p *profile) of(list []int64, node int32) []int64 {
	n := len(p.values)
	return list[int(node)*n : int(node)*n+n]
}

// frame is the function of a node, and the place in it.
func (p *profile) frame(node int32) (function, *analysis.SampleFrame) {
	n := p.samples.Frame(node)
	f := &p.samples.Frames()[n]
	return function{cmp.Or(f.File, noFile), f.Function.DisplayName()}, f
}

func (p *profile) functionOf(f function, object string) *sums {
	if p.functions[f] == nil {
		p.functions[f] = &sums{object: object, self: map[int64][]int64{}, calls: map[call]*callSums{}}
	}
	return p.functions[f]
}

// at adds what was done at a line.
func (s *sums) at(line int64, values []int64) {
	if isZero(values) {
		return
	}
	if s.self[line] == nil {
		s.self[line] = make([]int64, len(values))
	}
	add(s.self[line], values)
}

func add(to, values []int64) {
	for i, v := range values {
		to[i] += v
	}
}

func isZero(values []int64) bool {
	return !slices.ContainsFunc(values, func(v int64) bool { return v != 0 })
}

// names numbers names: the format has each in full once.
type names map[string]int

// of is how a name is written; line breaks would end it.
func (n names) of(name string) string {
	name = cmp.Or(strings.NewReplacer("\n", " ", "\r", " ").Replace(name), noFile)
	number, known := n[name]
	if known {
		return fmt.Sprintf("(%d)", number)
	}
	n[name] = len(n) + 1
	return fmt.Sprintf("(%d) %s", n[name], name)
}

// write writes the file; an error of the output comes again when it is flushed.
func (p *profile) write(out *bufio.Writer, version string) {
	line := func(text string) string { return names{}.of(text)[len("(1) "):] }
	fmt.Fprintf(out, "# callgrind format\nversion: 1\ncreator: clrprof %s\n", line(version))
	fmt.Fprintf(out, "cmd: %s\n", line(p.samples.Title()))
	if p.counted < 0 {
		out.WriteString("desc: Calls: they were not counted, and each calls=1 stands for any number of them\n")
	}
	out.WriteString("positions: line\nevents:")
	for _, v := range p.values {
		fmt.Fprintf(out, " %s", p.samples.Values[v].Name)
	}
	out.WriteString("\nsummary:")
	put(out, p.total)
	files, objects, functions := names{}, names{}, names{}
	byName := func(a, b function) int {
		return cmp.Or(strings.Compare(a.file, b.file), strings.Compare(a.name, b.name))
	}
	for _, f := range slices.SortedFunc(maps.Keys(p.functions), byName) {
		s := p.functions[f]
		fmt.Fprintf(out, "\nob=%s\nfl=%s\nfn=%s\n", objects.of(s.object), files.of(f.file), functions.of(f.name))
		for _, at := range slices.Sorted(maps.Keys(s.self)) {
			fmt.Fprintf(out, "%d", at)
			put(out, s.self[at])
		}
		byLine := func(a, b call) int { return cmp.Or(cmp.Compare(a.line, b.line), byName(a.callee, b.callee)) }
		for _, c := range slices.SortedFunc(maps.Keys(s.calls), byLine) {
			of := s.calls[c]
			fmt.Fprintf(out, "cob=%s\ncfl=%s\ncfn=%s\ncalls=%d 0\n%d", objects.of(p.functions[c.callee].object),
				files.of(c.callee.file), functions.of(c.callee.name), max(of.count, 1), c.line)
			put(out, of.values)
		}
	}
}

// put writes values and ends the line.
func put(out *bufio.Writer, values []int64) {
	for _, v := range values {
		fmt.Fprintf(out, " %d", v)
	}
	out.WriteByte('\n')
}
