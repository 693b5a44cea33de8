package programs

import "fmt"

// scope is where a statement is.
type scope struct {
	f       *function
	nesting int
	loop    bool // break and continue are possible
	caught  bool // in a catch block: throw; is possible
	handler bool // in a catch or finally block of an iterator, or a try with a catch: no yield
	finally bool // in a finally block: it is not left but by an exception
	caller  string
}

// maxStatements is about how many a function has: then none of them has others inside any more.
const maxStatements = 14

// inner is a scope within this one.
func (s scope) inner() scope {
	s.nesting++
	return s
}

func (g *generator) writeFunction(f *function) {
	const arguments = "(Context c, int d, uint r"
	s := scope{f: f, caller: f.body}
	g.left, g.yields = maxStatements, false
	if f.kind != dispose {
		g.line("[MethodImpl(MethodImplOptions.NoInlining)]")
	}
	switch f.kind {
	case instance:
		g.open("int %s%s)", f.name, arguments)
	case virtual:
		g.open("public override int %s%s)", f.name, arguments)
	case generic:
		g.open("static int %s<T>%s, T t)", f.name, arguments)
	case async:
		g.open("static async Task<int> %s%s)", f.name, arguments)
	case asyncValue:
		g.open("static async ValueTask<int> %s%s)", f.name, arguments)
	case iterator:
		g.open("static IEnumerable<int> %s%s)", f.name, arguments)
	case filter:
		g.open("static bool %s%s)", f.name, arguments)
	case callback:
		g.open("int %s(int v)", f.name)
		g.line("Context c = this.c; int d = this.d - 1; uint r = this.r + (uint)v;")
	case dispose:
		g.writeDisposable(f)
		return
	default:
		g.open("static int %s%s)", f.name, arguments)
	}
	g.writeBody(s)
	g.end()
	if f.body != f.expr {
		g.unknown = append(g.unknown, fmt.Sprintf("Calls.Machine(%s)", f.expr))
	}
}

// writeDisposable writes a class, since the call of Dispose is the compiler's.
func (g *generator) writeDisposable(f *function) {
	g.open("internal sealed class %s : IDisposable", f.name)
	g.line("Context c; int d; uint r; int n;")
	g.line("public %s(Context c, int d, uint r, int n) { this.c = c; this.d = d; this.r = r; this.n = n; }", f.name)
	g.line("[MethodImpl(MethodImplOptions.NoInlining)]")
	g.open("public void Dispose()")
	g.line("c.N[n]++;")
	g.writeBody(scope{f: f, caller: f.body})
	g.end()
	g.end()
}

// writeBody writes what a function does: nothing, if enough was done.
func (g *generator) writeBody(s scope) {
	g.line("if (d <= 0 || --c.Fuel < 0) %s", g.leave(s, "0"))
	g.line("int x = 1;")
	g.line("r = r * 1664525u + %du;", g.r.Uint32())
	if s.f.kind == async && g.oneIn(2) && !g.still {
		g.line("await Task.Yield();")
	}
	if s.f.kind == iterator {
		g.line("yield return x;")
	}
	if s.f.kind == filter && g.tame {
		g.allocate(s)
	} else {
		g.statements(s, 2+g.below(3))
	}
	if s.f.kind == async || s.f.kind == asyncValue {
		g.line("await Task.CompletedTask;")
	}
	g.line("%s", g.leave(s, "x"))
}

// leave returns the statement that leaves the function with a result.
func (g *generator) leave(s scope, result string) string {
	switch s.f.kind {
	case iterator:
		return "yield break;"
	case filter:
		return fmt.Sprintf("return (%s + (int)(r >> 7) & 1) == 0;", result)
	case dispose:
		return fmt.Sprintf("{ c.Sum += %s; return; }", result)
	}
	return fmt.Sprintf("return %s;", result)
}

// sometimes returns a condition that holds now and then.
func (g *generator) sometimes() string {
	mask := []int{1, 3, 3, 7}[g.below(4)]
	return fmt.Sprintf("(r >> %d & %d) == %d", g.below(28), mask, g.below(mask+1))
}

// block writes some statements in braces.
func (g *generator) block(s scope, format string, args ...any) {
	g.open(format, args...)
	g.line("r = r * 1664525u + %du;", g.r.Uint32())
	n := 1 + g.below(3)
	if g.left < 0 {
		n = 1
	}
	g.statements(s, n)
	g.end()
}

func (g *generator) statements(s scope, n int) {
	for range n {
		g.statement(s)
	}
}

func (g *generator) statement(s scope) {
	what := g.below(20)
	if g.left--; s.nesting >= maxNesting || g.left < 0 {
		what %= 10
	}
	switch {
	case what < 4:
		g.call(s)
	case what < 5:
		g.special(s)
	case what < 6:
		g.throw(s)
	case what < 7:
		g.fault(s)
	case what < 9:
		g.allocate(s)
	case what < 10:
		g.exit(s)
	case what < 17:
		g.try(s)
	case what < 18:
		g.using(s)
	case what < 19:
		i := s.inner()
		i.loop = true
		g.block(i, "for (int i%d = 0; i%d < 2; i%d++)", s.nesting, s.nesting, s.nesting)
	default:
		g.block(s.inner(), "if (%s)", g.sometimes())
	}
}

// call writes a call of another function of the unit.
func (g *generator) call(s scope) {
	awaits := (s.f.kind == async || s.f.kind == asyncValue) && g.oneIn(2)
	ks := []kind{static, static, instance, virtual, generic, iterator}
	if awaits {
		ks = []kind{async, asyncValue}
	}
	f := g.pick(ks[g.below(len(ks))])
	arguments := fmt.Sprintf("(c, d - 1, r + %du", g.r.Uint32()>>8)
	count := g.by(s.caller, f.expr)
	switch f.kind {
	case iterator:
		g.line("%s;", count)
		i := s.inner()
		i.loop, i.handler = true, true
		g.open("foreach (int v%d in %s%s))", s.nesting, f.name, arguments)
		g.line("x += v%d;", s.nesting)
		g.statement(i)
		g.end()
	case async, asyncValue:
		g.line("%s; x += await %s%s);", count, f.name, arguments)
	case instance, virtual:
		g.line("%s; x += %s.%s%s);", count, g.object(s, f.kind), f.name, arguments)
	case generic:
		t := []struct{ name, value string }{{"int", "x"}, {"string", "c.Null"}, {"Pair", "default(Pair)"}}[g.below(3)]
		g.line("%s; x += %s<%s>%s, %s);", count, f.name, t.name, arguments, t.value)
	default:
		g.line("%s; x += %s%s);", count, f.name, arguments)
	}
}

// object writes the counting of a new object of the unit's class, and returns the C# that makes it.
func (g *generator) object(s scope, k kind) string {
	unit := fmt.Sprintf("U%d", g.unit)
	ctor := fmt.Sprintf("Calls.Method(typeof(%s), \".ctor\")", unit)
	g.line("%s; %s;", g.by(s.caller, ctor), g.by(ctor, "Calls.Method(typeof(Base), \".ctor\")"))
	if k == virtual {
		return fmt.Sprintf("((Base)new %s())", unit)
	}
	return fmt.Sprintf("new %s { c = c, d = d, r = r }", unit)
}

// special writes what only some functions can do: wait, yield, and let the framework call back.
func (g *generator) special(s scope) {
	switch {
	case s.f.kind == async && g.oneIn(2) && !g.still:
		g.line("await Task.Yield();")
	case s.f.kind == iterator && !s.handler && g.oneIn(2):
		g.line("yield return x;")
	default:
		f := g.pick(callback)
		count := g.count(counter{callee: f.expr})
		o := g.object(s, callback)
		way := []string{"Array.ConvertAll<int, int>(c.One, (%s).%s)[0]", "c.One.Select((%s).%s).ToList()[0]",
			"c.One.Sum((%s).%s)"}[g.below(3)]
		g.line("%s; x += "+way+";", count, o, f.name)
	}
}

var exceptions = []struct {
	name  string
	bases []string // those whose constructors are called too
}{{"Problem", nil}, {"Sub", []string{"Problem"}}, {"Other", nil}}

// throw writes a statement that now and then throws an exception of the program's.
func (g *generator) throw(s scope) {
	if s.caught && g.oneIn(2) {
		g.line("if (%s) throw;", g.sometimes())
		return
	}
	e := exceptions[g.below(len(exceptions))]
	g.open("if (%s)", g.sometimes())
	g.made(s, fmt.Sprintf("typeof(%s)", e.name), "0", append([]string{e.name}, e.bases...)...)
	g.line("throw new %s();", e.name)
	g.end()
}

// made counts an allocation, and the constructors that it calls, each of which calls the next one.
func (g *generator) made(s scope, made, size string, ctors ...string) {
	g.line("%s;", g.count(counter{caller: s.caller, made: made, size: size}))
	caller := s.caller
	for _, t := range ctors {
		ctor := fmt.Sprintf("Calls.Method(typeof(%s), \".ctor\")", t)
		g.line("%s;", g.by(caller, ctor))
		caller = ctor
	}
}

// fault writes a statement in which the framework or the processor throws.
func (g *generator) fault(s scope) {
	what := []string{`x += int.Parse("x")`, "x /= c.Zero", "x += c.Null.Length", "x += c.One[x & 1]",
		"x += c.Two[x & 3]",
		"c.Sink = (Item)(object)c.Two", "x += Enumerable.Empty<int>().First()", "x += new List<int>(-x).Count",
		`x += (int)Enum.Parse(typeof(DayOfWeek), "x")`}
	g.line("if (%s) %s;", g.sometimes(), what[g.below(len(what))])
}

var allocations = []struct {
	code, made, size string
	ctors            []string
}{
	{"new Small()", "typeof(Small)", "24", []string{"Small"}},
	{"new Item()", "typeof(Item)", "40", []string{"Item"}},
	{"new Leaf()", "typeof(Leaf)", "40", []string{"Leaf", "Item"}},
	{"new Cell<int>()", "typeof(Cell<int>)", "24", []string{"Cell<>"}},
	{"new Cell<Pair>()", "typeof(Cell<Pair>)", "32", []string{"Cell<>"}},
	{"new Cell<string>()", "typeof(Cell<string>)", "24", []string{"Cell<>"}},
	{"new Finalized()", "typeof(Finalized)", "24", []string{"Finalized"}},
	{"new Item[3]", "typeof(Item[])", "48", nil},
	{"new Pair[5]", "typeof(Pair[])", "104", nil},
	{"new Mixed[2]", "typeof(Mixed[])", "56", nil},
	{"new Small[2, 3]", "typeof(Small[,])", "88", nil},
	{"new Cell<long>[7]", "typeof(Cell<long>[])", "80", nil},
	{"new Pair[6000]", "typeof(Pair[])", "96024", nil}, // on the large object heap
	{"(object)new Pair { A = x }", "typeof(Pair)", "32", nil},
	{"(object)new Mixed { B = x }", "typeof(Mixed)", "32", nil},
	{"new Handler(Program.Same)", "typeof(Handler)", "64", nil},
}

func (g *generator) allocate(s scope) {
	a := allocations[g.below(len(allocations))]
	g.made(s, a.made, a.size, a.ctors...)
	g.line("c.Sink = %s;", a.code)
}

// exit writes a statement that now and then leaves the loop or the function.
func (g *generator) exit(s scope) {
	how := g.leave(s, "x")
	switch {
	case s.loop && g.oneIn(2):
		how = []string{"break;", "continue;"}[g.below(2)]
	case s.finally:
		g.call(s)
		return
	}
	g.line("if (%s) %s", g.sometimes(), how)
}

// try writes a protected block with handlers.
func (g *generator) try(s scope) {
	what := 1 + g.below(5) // catch, filter, finally, both of the first with finally
	catches, filters, finally := what == 1 || what == 4, what == 2 || what == 5, what >= 3
	i := s.inner()
	if s.f.kind == iterator && s.nesting == 0 && !g.yields {
		g.yields = true // the compiler numbers the methods of such finally blocks
		g.yieldTry(s)
		return
	}
	i.handler = true
	g.block(i, "try")
	i.caught = true
	if filters {
		f := g.pick(filter)
		g.block(i, "catch (%s) when (%s >= 0 && %s(c, d - 1, r + %du))", []string{"Exception", "Problem"}[g.below(2)],
			g.count(counter{callee: f.expr}), f.name, g.r.Uint32()>>8)
	}
	if catches {
		g.block(i, "catch (%s)", []string{"Exception", "Problem", "Sub", "Other"}[g.below(4)])
	}
	if finally {
		i.caught, i.finally, i.loop = false, true, false
		g.block(i, "finally")
	}
}

// yieldTry writes one in an iterator that yields inside of it: the compiler makes a method of the finally block.
func (g *generator) yieldTry(s scope) {
	i := s.inner()
	g.open("try")
	g.statement(i)
	g.line("yield return x;")
	h := i
	h.handler = true
	g.statement(h)
	g.end()
	i.handler, i.finally = true, true
	i.caller = fmt.Sprintf(`Calls.Method(Calls.Machine(%s), "<>m__Finally1")`, s.f.expr)
	g.block(i, "finally")
}

func (g *generator) using(s scope) {
	f := g.pick(dispose)
	t := fmt.Sprintf("U%d.%s", g.unit, f.name)
	g.made(s, fmt.Sprintf("typeof(%s)", t), "40", t)
	i := s.inner()
	i.handler = true
	g.block(i, "using (new %s(c, d - 1, r, %d))", f.name, g.number(counter{caller: s.caller, callee: f.expr}))
}
