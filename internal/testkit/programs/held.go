package programs

import (
	"fmt"
	"math/rand/v2"
)

// Held returns a C# program that prints which of its objects are alive behind each of its statements, which are drawn
// from a seed: calls of the framework and of its own functions, with objects that nothing else refers to as their
// arguments and results. What it prints says how long compiled code holds references that the program has dropped.
func Held(seed uint64, functions, statements int) []byte {
	g := &generator{r: rand.New(rand.NewPCG(seed, 2))}
	g.out.WriteString(heldHead)
	g.indent = 1
	for f := range functions {
		g.line("[MethodImpl(MethodImplOptions.NoInlining)]")
		g.open("static void F%d(int n, %s)", f, "Thing given")
		g.line("Thing v = null; object o = null; int k = 0; bool b = false;")
		for range statements {
			g.heldStatement(0)
			g.line("Check();")
		}
		g.line("Keep(v); Keep(o); Keep(k + (b ? 1 : 0)); Keep(given);")
		g.end()
	}
	g.open("static void Main()")
	for f := range functions {
		g.line("F%d(1, Make());", f)
		g.line("Check();")
	}
	g.end()
	g.out.WriteString("}\n")
	return g.out.Bytes()
}

// heldStatement writes one that leaves nothing in a variable.
func (g *generator) heldStatement(nesting int) {
	e := func() string { return g.held(0) }
	simple := []string{
		"GC.KeepAlive(%s);", "Use(%s, %s);", "k = %s.GetHashCode() & 1;", "b = object.ReferenceEquals(%s, %s);",
		"k = Array.IndexOf(new[] { %s, %s }, %s);", "b = %s.Equals(%s);", "v = %s; v = null;",
		"o = %s; Use(v, v); o = null;", "k = new StringBuilder().Append(%s).Append(%s).Length;",
		"k = string.Concat(%s, %s).Length;", "field = %s; field = null;",
		"Array.Reverse(things = new[] { %s, %s }); things = null;", "if (%s != null) k++;", "b = %s is Thing;",
		"while (k < 0 && %s != null) k++;", "k = new List<Thing> { %s, %s }.Count;",
		"switch (%s.GetHashCode() & 1) { case 0: k++; break; }", "k = %s.CompareTo(%s);", "_ = %s;",
		"k = Math.Max(%s.Number, %s.Number);",
	}
	if nesting < 2 && g.oneIn(4) {
		switch g.below(3) {
		case 0:
			g.open("try")
			g.heldStatement(nesting + 1)
			g.line("if (n > 0) throw new Exception(%s.ToString());", e())
			g.end()
			g.open("catch (Exception)")
			g.line("k++;")
			g.end()
		case 1:
			g.open("for (int i%[1]d = 0; i%[1]d < 2; i%[1]d++)", nesting)
			g.heldStatement(nesting + 1)
			g.line("Check();")
			g.end()
		default:
			g.open("if (n + k != 12345)")
			g.heldStatement(nesting + 1)
			g.end()
		}
		return
	}
	g.line("%s", g.fill(simple[g.below(len(simple))], 0))
}

// held returns an expression that gives an object.
func (g *generator) held(depth int) string {
	leaves := []string{"Make()", "new Thing()", "Make()", "Thing.Of(n)"}
	if depth > 2 || g.oneIn(3) {
		return leaves[g.below(len(leaves))]
	}
	nodes := []string{
		"Same(%s)", "(Thing)(object)%s", "new List<Thing> { %s, %s }[1]", "new[] { %s, %s }[0]",
		"Tuple.Create(%s, %s).Item1", "new StrongBox<Thing>(%s).Value", "Task.FromResult(%s).Result",
		"Enumerable.Repeat(%s, 2).First()", "(%s as Thing)", "Pick(%s, %s)", "new Lazy<Thing>(%s).Value",
		"(Thing)new WeakReference(%s).Target ?? %s", "(n > 0 ? %s : %s)", "%s.Self()",
		"new Queue<Thing>(new[] { %s }).Dequeue()", "Generic<Thing>.Through(%s)",
	}
	return "(" + g.fill(nodes[g.below(len(nodes))], depth+1) + ")"
}

// fill puts expressions into the places of a text.
func (g *generator) fill(text string, depth int) string {
	var b []byte
	for i := 0; i < len(text); i++ {
		if text[i] == '%' {
			b = append(b, g.held(depth)...)
			i++
			continue
		}
		b = append(b, text[i])
	}
	return string(b)
}

var heldHead = fmt.Sprintf(`using System;
using System.Collections.Generic;
using System.Linq;
using System.Runtime.CompilerServices;
using System.Text;
using System.Threading.Tasks;

sealed class Thing : IComparable<Thing>
{
    public int Number = Program.Add(null);
    public Thing() { Program.Add(this); }
    public int CompareTo(Thing other) => 0;
    public override string ToString() => "thing";
    [MethodImpl(MethodImplOptions.NoInlining)] public Thing Self() => this;
    [MethodImpl(MethodImplOptions.NoInlining)] public static Thing Of(int n) => new Thing();
}

static class Generic<T>
{
    [MethodImpl(MethodImplOptions.NoInlining)]
    public static T Through(T t) { var l = new List<T>(); l.Add(t); return l[0]; }
}

static class Program
{
    static Thing field;
    static Thing[] things;
    static readonly WeakReference[] all = new WeakReference[%d];
    static int made, checks;

    public static int Add(Thing t)
    {
        if (t != null)
            all[made++] = new WeakReference(t);
        return made;
    }

    [MethodImpl(MethodImplOptions.NoInlining)] static Thing Make() => new Thing();
    [MethodImpl(MethodImplOptions.NoInlining)] static T Same<T>(T t) => t;
    [MethodImpl(MethodImplOptions.NoInlining)] static Thing Pick(Thing a, Thing b) => b;
    [MethodImpl(MethodImplOptions.NoInlining)] static void Use(Thing a, Thing b) { }
    [MethodImpl(MethodImplOptions.NoInlining)] static void Keep<T>(T t) { }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Check()
    {
        GC.Collect();
        string alive = "";
        for (int i = 0; i < made; i++)
            if (all[i].IsAlive)
                alive += " " + i;
        Console.WriteLine(++checks + ":" + alive);
    }

`, maxHeld)

// maxHeld is more objects than a program makes.
const maxHeld = 100_000
