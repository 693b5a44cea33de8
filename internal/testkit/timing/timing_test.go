package timing_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clrprof/clrprof/internal/testkit/timing"
	"github.com/clrprof/clrprof/internal/wire"
)

// Functions of the programs below. Upper case is the program's own code, f and g are the framework's, x is not hooked,
// and d delivers exceptions.
const functions = "_ABCDfgxd"

func classOf(name byte) timing.Class {
	switch name {
	case 'f', 'g':
		return timing.Boundary
	case 'x':
		return timing.NotHooked
	case 'd':
		return timing.Dispatcher
	}
	return timing.Instrumented
}

// program writes down what happens in a thread: words with an optional time before them.
//
//	A<  A is called        A>  it returns           A^  it tail-calls     A!  it is gone without a word
//	A~  unwind             A/  unwound              A*  it catches        |   the end
//	A?  its filter begins  A.  its filter ends      A{  a finally block begins, A} ends
//
// A time with an o after it is an interval in which the operating system acted. Blocks run on top of the stack.
type program struct {
	stack  []call
	blocks []block
	frames uint32
	clock  uint64
	emit   func(timing.Event)
}

type call struct {
	name  byte
	frame uint32
	sp    uint64 // of its caller
	top   uint64 // bytes of stack that are in use when it calls
}

// block is a filter or finally block, which runs on top of a call.
type block struct {
	in  int
	top uint64 // of the call before
}

const base, frameBytes, blockBytes = 0x7ffc_0000_0000, 0x40, 0x1000

func (p *program) run(t *testing.T, text string) {
	t.Helper()
	for _, word := range strings.Fields(text) {
		var e timing.Event
		var ticks uint64
		if n, err := fmt.Sscanf(word, "%d", &ticks); n == 1 && err == nil {
			word = strings.TrimLeft(word, "0123456789")
			if strings.HasPrefix(word, "o") {
				e.OS.Voluntary, word = 1, word[1:]
			}
		}
		p.clock += ticks
		e.Clock = p.clock
		if word == "|" {
			e.Kind = timing.KindEnd
		} else {
			p.event(t, &e, word[0], word[1])
		}
		if word == "|" || e.Class != timing.NotHooked || !strings.Contains("<>^!", word[1:]) {
			p.emit(e)
		}
	}
}

func (p *program) event(t *testing.T, e *timing.Event, name, what byte) {
	t.Helper()
	e.Function, e.Class = uint32(strings.IndexByte(functions, name)), classOf(name)
	i := len(p.stack) - 1
	for i >= 0 && p.stack[i].name != name {
		i--
	}
	kinds := map[byte]timing.Kind{'<': timing.KindEnter, '>': timing.KindLeave, '^': timing.KindTailcall,
		'!': timing.KindVanished,
		'~': timing.KindUnwind, '/': timing.KindUnwound, '*': timing.KindCatch, '?': timing.KindFilter,
		'.': timing.KindFilterEnd,
		'{': timing.KindFinally, '}': timing.KindFinallyEnd}
	e.Kind = kinds[what]
	if e.Kind == 0 || i < 0 && what != '<' {
		t.Fatalf("program: %c%c", name, what)
	}
	last := len(p.stack) - 1
	switch what {
	case '<':
		p.frames++
		e.CallerSP, e.ReturnAddress = base, uint64(last+2)
		if last >= 0 {
			e.CallerSP = p.stack[last].sp - p.stack[last].top
		}
		p.stack = append(p.stack, call{name, p.frames, e.CallerSP, frameBytes})
		i = last + 1
	case '>', '^', '!':
		e.CallerSP, e.Frame = p.stack[i].sp, p.stack[i].frame
		p.stack = p.stack[:i]
		return
	case '/': // what delivers the exception stays
		e.Frame = p.stack[i].frame
		p.stack = slices.Delete(p.stack, i, i+1)
		return
	case '?', '{':
		p.blocks = append(p.blocks, block{last, p.stack[last].top})
		p.stack[last].top += blockBytes
		e.SP = p.stack[last].sp - p.stack[last].top + 8
	case '.', '}':
		b := p.blocks[len(p.blocks)-1]
		p.blocks = p.blocks[:len(p.blocks)-1]
		p.stack[b.in].top = b.top
		e.SP = p.stack[b.in].sp - b.top - blockBytes + 8
	case '*':
		lowest := p.stack[last].sp - p.stack[last].top - blockBytes
		p.stack = p.stack[:i+1]
		p.stack[i].top = p.stack[i].sp - lowest
		e.SP = p.stack[i].sp
		if n := len(p.blocks); n > 0 && p.blocks[n-1].in == i { // within a finally block of its own
			e.SP -= p.blocks[n-1].top + 2*blockBytes
		}
	}
	e.Frame = p.stack[i].frame
}

// tree prints nodes: calls, those that ended, and the four values, in the order of the table.
func tree(r timing.Result) string {
	var b strings.Builder
	depth := make([]int, len(r.Nodes))
	for i, n := range r.Nodes {
		if n.Parent >= 0 {
			depth[i] = depth[n.Parent] + 1
		}
		v := n.Total
		fmt.Fprintf(&b, "%s%c %d/%d %d %d %d %d", strings.Repeat(". ", depth[i]), functions[n.Function], n.Calls,
			n.Ended, v[0], v[1], v[2], v[3])
		if n.Unmatched != 0 {
			fmt.Fprintf(&b, " unmatched %d", n.Unmatched)
		}
		b.WriteString("\n")
	}
	return b.String()
}

// both lets Naive and Counters count a program, and returns what they agree on.
func both(t *testing.T, text string, limits timing.Limits, overhead wire.Overhead) timing.Result {
	t.Helper()
	naive, counters := timing.NewNaive(limits, overhead), timing.NewCounters(limits, overhead)
	p := &program{emit: func(e timing.Event) {
		counters.Add(e)
		if err := naive.Add(e); err != nil {
			t.Fatal(err)
		}
	}}
	p.run(t, text)
	if diff := cmp.Diff(naive.Result(), counters.Result()); diff != "" {
		t.Errorf("naive (-) and counters (+) differ: %s", diff)
	}
	return naive.Result()
}

var shapes = []struct{ name, program, want string }{
	{"the table", "A< 10B< 20oB> 5C< 7C> 1oA>", `
A 1/1 43 16 22 15
. B 1/1 20 20 0 0
. C 1/1 7 7 7 7`},
	{"recursion", "A< 1A< 2oA< 4A> 8A> 16A>", `
A 1/1 31 17 29 17
. A 1/1 14 10 12 8
. . A 1/1 4 4 4 4`},
	{"tail calls", "A< 1B< 2B^ 4C< 8oC^ 16B< 32B> 64A>", `
A 1/1 127 85 119 85
. B 2/2 34 34 34 34
. C 1/1 8 8 0 0`},
	{"running at the end", "A< 1B< 2B> 4B< 8C< 16|", `
A 1/0 31 5 15 5
. B 2/1 26 10 10 10
. . C 1/0 16 16 0 0`},
	{"nothing between roots", "A< 1A> 100oB< 2B>", `
A 1/1 1 1 1 1
B 1/1 2 2 2 2`},
	{"framework below framework is not recorded", "A< 1f< 2g< 4B< 8B> 16g> 32f> 64A>", `
A 1/1 127 65 127 65
. f 1/1 62 54 62 54
. . B 1/1 8 8 8 8`},
	{"framework next to the root is not recorded", "f< 1g< 2A< 4f< 8f> 16A> 32g> 64f>", `
A 1/1 28 20 28 20
. f 1/1 8 8 8 8`},
	{"code that is not hooked is the caller's", "A< 1f< 2f> 4A>", `
A 1/1 7 5 7 5
. f 1/1 2 2 2 2`},
	{"caught by the caller", "A< 1B< 2B~ 4B/ 8A~ 16A* 32C< 64C> 128A>", `
A 1/1 255 185 255 185
. B 1/1 6 6 6 6
. C 1/1 64 64 64 64`},
	{"thrown in a callee of a callee", "A< 1B< 2C< 4C~ 8C/ 16B~ 32oB/ 64A~ 128A* 256A>", `
A 1/1 511 449 463 449
. B 1/1 62 50 14 2
. . C 1/1 12 12 12 12`},
	{"finally", "A< 1B< 2C< 4C~ 8C/ 16B~ 32B{ 64D< 128D> 256B} 512B/ 1024A~ 2048A* 4096A>", `
A 1/1 8191 7169 8191 7169
. B 1/1 1022 882 1022 882
. . C 1/1 12 12 12 12
. . D 1/1 128 128 128 128`},
	{"filter", "A< 1B< 2A? 4C< 8oC> 16A. 32B~ 64B/ 128A~ 256A* 512A>", `
A 1/1 1023 897 1015 897
. B 1/1 126 118 118 118
. . C 1/1 8 8 0 0`},
	{"filter that throws", "A< 1B< 2A? 4C< 8C~ 16C/ 32A~ 64A. 128B~ 256B/ 512A~ 1024A* 2048A>", `
A 1/1 4095 3585 4095 3585
. B 1/1 510 486 510 486
. . C 1/1 24 24 24 24`},
	{"rethrown", "A< 1B< 2C< 4C~ 8C/ 16B~ 32B* 64D< 128D> 256B~ 512B/ 1024A~ 2048A* 4096A>", `
A 1/1 8191 7169 8191 7169
. B 1/1 1022 882 1022 882
. . C 1/1 12 12 12 12
. . D 1/1 128 128 128 128`},
	{"a finally block throws", "A< 1B< 2B~ 4B{ 8C< 16C~ 32C/ 64B~ 128B/ 256A~ 512A* 1024A>", `
A 1/1 2047 1793 2047 1793
. B 1/1 254 206 254 206
. . C 1/1 48 48 48 48`},
	{"a finally block throws and catches",
		"A< 1B< 2B~ 4B{ 8C< 16C~ 32C/ 64B~ 128B* 256D< 512D> 1024B} 2048B/ 4096A~ 8192A* 16384A>", `
A 1/1 32767 28673 32767 28673
. B 1/1 4094 3534 4094 3534
. . C 1/1 48 48 48 48
. . D 1/1 512 512 512 512`},
	{"nobody catches in the thread's own code", "A< 1B< 2C< 4C~ 8C/ 16B~ 32B/ 64A~ 128A/ 256D< 512D>", `
A 1/1 255 193 255 193
. B 1/1 62 50 62 50
. . C 1/1 12 12 12 12
D 1/1 512 512 512 512`},
	{"through framework code", "A< 1f< 2g< 4B< 8B~ 16B/ 32g~ 64g/ 128f~ 256f/ 512A~ 1024A* 2048C< 4096C> 8192A>", `
A 1/1 16383 11265 16383 11265
. C 1/1 4096 4096 4096 4096
. f 1/1 1022 998 1022 998
. . B 1/1 24 24 24 24`},
	{"framework code catches", "A< 1f< 2g< 4B< 8B~ 16B/ 32g~ 64g* 128g> 256f> 512A>", `
A 1/1 1023 513 1023 513
. f 1/1 510 486 510 486
. . B 1/1 24 24 24 24`},
	{"managed code delivers", "A< 1B< 2d< 4f< 8f> 16A? 32C< 64C> 128A. 256f< 512f> 1024B~ 2048B/ 4096f< 8192f> " +
		"16384A~ 32768A* 65536C< 131072C> 262144A>", `
A 1/1 524287 389121 524287 389121
. B 1/1 4094 4030 4094 4030
. . C 1/1 64 64 64 64
. C 1/1 131072 131072 131072 131072`},
	{"gone without a word", "A< 1B< 2C< 4C! B! 8D< 16D> 32A>", `
A 1/1 63 45 63 45
. B 1/1 2 2 2 2 unmatched 1
. . C 1/1 0 0 0 0 unmatched 1
. D 1/1 16 16 16 16`},
	{"gone, and the caller returns", "A< 1B< 2B! 4oA>", `
A 1/1 7 7 1 1
. B 1/1 0 0 0 0 unmatched 1`},
	{"native code catches", "A< 1x< 2B< 4B~ B! 8C< 16C> x> 32A>", `
A 1/1 63 47 63 47
. B 1/1 0 0 0 0 unmatched 1
. C 1/1 16 16 16 16`},
	{"native code catches and throws", "A< 1x< 2B< 4B~ B! 8x! A~ 16A* 32A>", `
A 1/1 63 51 63 51
. B 1/1 12 12 12 12`},
}

func TestShapes(t *testing.T) {
	for _, s := range shapes {
		t.Run(s.name, func(t *testing.T) {
			got := tree(both(t, s.program, timing.Unlimited, wire.Overhead{}))
			if diff := cmp.Diff(strings.TrimPrefix(s.want, "\n")+"\n", got); diff != "" {
				t.Error(diff, "\n", got)
			}
		})
	}
}

// edges prints functions by their callers: calls, and elapsed times.
func edges(r timing.Result) string {
	var b strings.Builder
	for _, e := range r.Edges {
		fmt.Fprintf(&b, "%c%c %d/%d %d %d\n", functions[e.Caller], functions[e.Function.Function], e.Calls, e.Ended,
			e.Total[0], e.Total[1])
	}
	return b.String()
}

// TestLimits: what has no path of its own is missing in the tree, and nowhere else.
func TestLimits(t *testing.T) {
	few, flat := timing.Unlimited, timing.Unlimited
	few.Timings, flat.Recursive = 2, 0
	for _, x := range []struct {
		name, program string
		limits        timing.Limits
		tree, edges   string
	}{
		{"no room for paths", "A< 1B< 2C< 4D< 8D> 16C> 32B> 64A>", few, `
A 1/1 127 65 127 65
. B 1/1 62 34 62 34`, `
_A 1/1 127 65
AB 1/1 62 34
BC 1/1 28 20
CD 1/1 8 8`},
		{"recursion", "A< 1B< 2A< 4B< 8C< 16C> 32B> 64A> 128B> 256C< 512C> 1024A>", flat, `
A 1/1 2047 1281 2047 1281
. B 1/1 254 130 254 130
. C 1/1 512 512 512 512`, `
_A 1/1 2047 1281
AB 2/2 254 170
AC 1/1 512 512
BA 1/1 124 68
BC 1/1 16 16`},
		{"runs at the end", "A< 1B< 2A< 4B< 8C< 16|", flat, `
A 1/0 31 1 15 1
. B 1/0 30 2 14 2`, `
_A 1/0 31 1
AB 2/0 30 10
BA 1/0 28 4
BC 1/0 16 16`},
	} {
		t.Run(x.name, func(t *testing.T) {
			r := both(t, x.program, x.limits, wire.Overhead{})
			if diff := cmp.Diff(strings.TrimPrefix(x.tree, "\n")+"\n", tree(r)); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(strings.TrimPrefix(x.edges, "\n")+"\n", edges(r)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestOverhead takes out of one call its own pair of probes and those of the calls that it made.
func TestOverhead(t *testing.T) {
	r := both(t, "A< 100B< 50B> 100oB< 30B> 20A>", timing.Unlimited,
		wire.Overhead{Inside: 10 * 1024, Outside: 5 * 1024})
	a, b := r.Nodes[0], r.Nodes[1]
	want := []timing.Values{{260, 200, 160, 100, 260, 200}, {260, 200, 160, 100, 260, 200}, {20, 20, 20, 20, 20, 20},
		{40, 40, 40, 40, 40, 40}, {300, 220, 200, 120, 300, 220}}
	if diff := cmp.Diff(want, []timing.Values{a.Min, a.Max, b.Min, b.Max, a.Total}); diff != "" {
		t.Error(diff)
	}
}
