package programs

import (
	"bytes"
	"fmt"
	"math/rand/v2"
)

// Options say which programs are made up.
type Options struct {
	Seed  uint64 // the same seed gives the same programs
	Units int    // how many
	// nothing is thrown while a filter runs: .NET 9.0.7 and 10.0.12 crash now and then if it is, also unprofiled
	Tame  bool
	Still bool // async methods never wait, so that all calls are by the same callers in each run
}

// maxNesting is how deep statements are nested in each other, handlers in handlers among them.
const maxNesting = 6

// What bounds one run of a unit: calls that have not ended, and calls in all. A unit must end, and its paths must not
// become so many that its functions do not differ any more.
const (
	maxDepth = 9
	fuel     = 160
)

// kind is what a function is in C#.
type kind int

const (
	static kind = iota
	instance
	virtual // of a derived class, called through the base class
	generic
	async
	asyncValue // its result is a ValueTask
	iterator
	filter   // called by a filter of an exception
	callback // called by framework code
	dispose  // of an object in a using statement
	kinds
)

// function is one of a unit.
type function struct {
	kind kind
	name string
	expr string // C# that gives its MethodBase
	body string // C# that gives the MethodBase in whose name its body makes calls
}

// counter is one of the program's own.
type counter struct {
	caller, callee string // C# expressions; no caller: it is not known
	made, size     string // or of an allocation: type and bytes, C# expressions
}

type generator struct {
	r        *rand.Rand
	tame     bool
	still    bool
	out      bytes.Buffer
	counters []counter
	numbers  map[counter]int
	unknown  []string // C# types of state machines
	unit     int
	fns      []*function
	indent   int
	left     int  // statements of the function that is written
	yields   bool // it is an iterator that yields in a try block
}

// Source returns the C# program. It runs with one argument, how often each unit is run, and needs the sources that all
// targets share beside it.
func Source(o Options) []byte {
	g := &generator{tame: o.Tame, still: o.Still, r: rand.New(rand.NewPCG(o.Seed, 1)), numbers: map[counter]int{}}
	g.out.WriteString(head)
	for g.unit = range o.Units {
		g.writeUnit()
	}
	g.writeMain(o.Units)
	return g.out.Bytes()
}

// below draws a number from 0 to n-1.
func (g *generator) below(n int) int { return g.r.IntN(n) }

func (g *generator) oneIn(n int) bool { return g.r.IntN(n) == 0 }

// line writes one of C#.
func (g *generator) line(format string, args ...any) {
	for range g.indent {
		g.out.WriteString("    ")
	}
	fmt.Fprintf(&g.out, format+"\n", args...)
}

// open and end write a block's braces.
func (g *generator) open(format string, args ...any) {
	g.line(format, args...)
	g.line("{")
	g.indent++
}

func (g *generator) end() {
	g.indent--
	g.line("}")
}

// number is that of a counter.
func (g *generator) number(c counter) int {
	n, ok := g.numbers[c]
	if !ok {
		n = len(g.counters)
		g.numbers[c] = n
		g.counters = append(g.counters, c)
	}
	return n
}

// count returns the C# that adds one to a counter.
func (g *generator) count(c counter) string { return fmt.Sprintf("c.N[%d]++", g.number(c)) }

// by counts a call.
func (g *generator) by(caller, callee string) string {
	return g.count(counter{caller: caller, callee: callee})
}

func (g *generator) writeUnit() {
	unit := fmt.Sprintf("U%d", g.unit)
	g.fns = nil
	counts := make([]int, kinds)
	for k := range kinds { // some of each kind
		counts[k] = 1 + g.below(2)
	}
	counts[static] += 2
	for k, n := range counts {
		for i := range n {
			g.fns = append(g.fns, newFunction(kind(k), unit, i))
		}
	}
	g.line("")
	g.open("class %s : Base", unit)
	g.line("Context c; int d; uint r;")
	for _, f := range g.fns {
		g.writeFunction(f)
	}
	g.writeRun(unit)
	g.end()
}

var kindNames = [kinds]string{"Static", "Instance", "Virtual", "Generic", "Async", "Value", "Iterator", "Filter",
	"Callback", "Disposable"}

func newFunction(k kind, unit string, n int) *function {
	f := &function{kind: k, name: fmt.Sprintf("%s%d", kindNames[k], n)}
	f.expr = fmt.Sprintf("Calls.Method(typeof(%s), %q)", unit, f.name)
	if k == dispose {
		f.expr = fmt.Sprintf(`Calls.Method(typeof(%s.%s), "Dispose")`, unit, f.name)
	}
	f.body = f.expr
	if k == async || k == asyncValue || k == iterator {
		f.body = fmt.Sprintf(`Calls.Method(Calls.Machine(%s), "MoveNext")`, f.expr)
	}
	return f
}

// of returns the functions of a kind.
func (g *generator) of(ks ...kind) (list []*function) {
	for _, f := range g.fns {
		for _, k := range ks {
			if f.kind == k {
				list = append(list, f)
			}
		}
	}
	return list
}

func (g *generator) pick(ks ...kind) *function {
	list := g.of(ks...)
	return list[g.below(len(list))]
}

// writeRun writes what runs the unit once, and what runs it on a thread.
func (g *generator) writeRun(unit string) {
	run := fmt.Sprintf("Calls.Method(typeof(%s), \"Run\")", unit)
	g.open("public static void Run(Context c, int times)")
	g.line("long x = 0;")
	g.open("for (int i = 0; i < times; i++)")
	for n := range 4 {
		f := g.pick(static, generic, async, asyncValue, iterator)
		g.open("try")
		g.line("c.Fuel = %d;", fuel)
		g.line("uint r = (uint)i * 2654435761u + %du;", g.r.Uint32())
		g.line("int d = %d;", 3+g.below(maxDepth-2))
		g.line("%s;", g.by(run, f.expr))
		switch f.kind {
		case iterator:
			g.line("foreach (int v%d in %s(c, d, r)) x += v%d;", n, f.name, n)
		case async, asyncValue:
			g.line("x += %s(c, d, r).GetAwaiter().GetResult();", f.name)
		case generic:
			g.line("x += %s<int>(c, d, r, 0);", f.name)
		default:
			g.line("x += %s(c, d, r);", f.name)
		}
		g.end()
		g.line("catch (Exception e%d) { c.Last = e%d; }", n, n)
	}
	g.end()
	g.line("c.Sum += x;")
	g.end()
	start := fmt.Sprintf("Calls.Method(typeof(%s), \"Start\")", unit)
	g.open("public static void Start(object o)")
	g.line("var c = (Context)o;")
	g.line("%s;", g.by(start, run))
	g.line("Run(c, c.Times);")
	g.line("c.Sum++;")
	g.end()
}

// writeMain writes the program's entry, and what it says.
func (g *generator) writeMain(units int) {
	g.line("")
	g.open("static partial class Program")
	g.open("static int Main(string[] args)")
	g.line("int times = args.Length > 0 ? int.Parse(args[0]) : 10;")
	g.line("var all = new Context();")
	for n := range units {
		unit := fmt.Sprintf("U%d", n)
		if n%4 == 3 {
			g.line("{ var c = new Context { Times = times }; var t = new Thread(%s.Start); t.Start(c); t.Join(); "+
				"all.Add(c);", unit)
			g.line("  Calls.Root(Calls.Method(typeof(%s), \"Start\"), 1); }", unit)
			continue
		}
		g.line("{ var c = new Context(); %s.Run(c, times); all.Add(c); Calls.By(Calls.Method(typeof(Program), "+
			"\"Main\"), Calls.Method(typeof(%s), \"Run\"), 1); }", unit, unit)
	}
	for i := 0; i < len(g.counters); i += sayAtOnce {
		g.line("Say%d(all.N);", i)
	}
	g.line("Calls.Unknown(Calls.Method(typeof(Finalized), \"Finalize\"));")
	g.line("return Calls.Print();")
	g.end()
	for i := 0; i < len(g.counters); i += sayAtOnce {
		g.writeSay(i, min(i+sayAtOnce, len(g.counters)))
	}
	g.end()
}

// sayAtOnce keeps functions at a size that the JIT likes.
const sayAtOnce = 200

func (g *generator) writeSay(from, to int) {
	g.open("static void Say%d(long[] n)", from)
	if from == 0 {
		for _, t := range g.unknown {
			g.line("SayMachine(%s);", t)
		}
	}
	for i, c := range g.counters[from:to] {
		n := fmt.Sprintf("n[%d]", from+i)
		switch {
		case c.made != "":
			g.line("SayMade(%s, %s, %s, %s);", c.caller, c.made, n, c.size)
		case c.caller == "":
			g.line("if (%s > 0) Calls.Of(%s, %s);", n, c.callee, n)
		default:
			g.line("if (%s > 0) Calls.By(%s, %s, %s);", n, c.caller, c.callee, n)
		}
	}
	g.end()
}
