package sessiontest

import (
	"fmt"
	"strings"

	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
)

// Samples are the hand-made sessions of golden tests, by name.
var Samples = map[string]func() *Builder{
	"shop": Shop, "several": Several, "odd": Odd, "deep": Deep, "empty": Empty, "aging": Aging, "heap": Heap,
	"timed": Timed, "kitchen": Kitchen, "broken": Broken, "acted": Acted,
	"tested": Tested,
	"served": Served,
}

// Various are the hand-made sessions and so many random ones of objects, and of times, by name.
func Various(random, times uint64) map[string]*Builder {
	out := map[string]*Builder{}
	for name, b := range Samples {
		out[name] = b()
	}
	for seed := range random {
		out[fmt.Sprint("random ", seed)] = Random(seed)
	}
	for seed := range times {
		out[fmt.Sprint("times ", seed)] = RandomTimes(seed)
	}
	return out
}

// Shop is a small program as people write them: recursion, generics, a lambda, a dynamic
// method, a framework without symbols, two threads.
func Shop() *Builder {
	b := New()
	p := b.Process("Shop", 4242)
	main, worker := b.Thread(p, "main"), b.Thread(p, "")
	b.Threads[worker-1].Begin = 200_000_000
	app, core := b.Module(p, "Shop.dll", true), b.Module(p, "System.Private.CoreLib.dll", false)
	b.Modules[core-1].Path = "/usr/share/dotnet/shared/Microsoft.NETCore.App/9.0.7/System.Private.CoreLib.dll"
	str, list, node := b.Type(core, "string"), b.Type(core, "System.Collections.Generic.List<Shop.Order>"), b.Type(app,
		"Shop.Tree.Node")
	order, array, closure := b.Type(app, "Shop.Order"), b.Type(core, "Shop.Order[]"), b.Type(app,
		"Shop.Program.<>c__DisplayClass0_0")
	b.Types[array-1].Kind, b.Types[array-1].Rank, b.Types[array-1].ElementType = session.TypeArray, 1, order

	entry := b.Function(app, "Shop.Program.Main(string[])", "/src/Shop/Program.cs", 10)
	load := b.Function(app, "Shop.Orders.Load<Shop.Order>(int)", "/src/Shop/Orders.cs", 20)
	insert := b.Function(app, "Shop.Tree.Insert(Shop.Tree.Node, Shop.Order)", "/src/Shop/Tree.cs", 30)
	lambda := b.Function(app, "Shop.Program.Main(string[]).lambda", "/src/Shop/Program.cs", 14)
	add := b.Function(core, "System.Collections.Generic.List<Shop.Order>.Add(Shop.Order)", "", 0)
	resize := b.Function(core, "System.Collections.Generic.List<Shop.Order>.set_Capacity(int)", "", 0)
	format := b.Function(core, "string.Format(string, object)", "", 0)
	start := b.Function(core, "System.Threading.Thread.StartCallback()", "", 0)
	dynamic := b.Function(app, "(dynamic) Compiled", "", 0)
	b.Functions[dynamic-1].Kind, b.Functions[dynamic-1].Module, b.Functions[dynamic-1].Token =
		session.FunctionDynamic, 0, 0

	top := Frame{entry, 12}
	b.Allocate(1, main, closure, 1, 24, Frame{entry, 11})
	b.Allocate(1, main, list, 1, 32, top, Frame{load, 21})
	b.Allocate(1, main, order, 1000, 40_000, top, Frame{load, 22})
	b.Allocate(1, main, array, 9, 16_600, top, Frame{load, 23}, Frame{add, 0}, Frame{resize, 0})
	stack := []Frame{top}
	for depth := range 5 { // Insert calls itself from two places
		stack = append(stack, Frame{insert, int64(33 + depth%2)})
		b.Allocate(1, main, node, q.Count(10<<depth), q.Bytes(48*(10<<depth)), append(stack, Frame{insert, 31})...)
	}
	b.Allocate(1, worker, str, 5000, 320_000, Frame{start, 0}, Frame{lambda, 14}, Frame{format, 0})
	b.Allocate(1, worker, order, 3, 120, Frame{start, 0}, Frame{lambda, 15}, Frame{dynamic, 0})
	return b
}

// Several is a session of two processes that run the same program, with losses and
// three slices of time.
func Several() *Builder {
	b := New()
	b.Slices = []session.Slice{{ID: 1, End: 1e9}, {ID: 2, Begin: 1e9, End: 2e9}, {ID: 3, Begin: 2e9, End: 3e9}}
	b.Marks = []session.Mark{{ID: 1, Name: session.MarkBegin, Text: "Main", Process: 1, Source: session.MarkProgram},
		{ID: 2, Time: 1e9, Name: "load", Text: "12 files", Process: 2, Source: session.MarkAPI},
		{ID: 4, Time: 21e8, Name: "warm", Source: session.MarkCtl},
		{ID: 3, Time: 2e9, Number: 7, Process: 2, Source: session.MarkAPI}}
	b.Info[session.KeyCommand] = `["sh","-c","dotnet Worker.dll & dotnet 'My Worker.dll'"]`
	for i := range 2 {
		p := b.Process("Worker", int64(100+i))
		b.Processes[p-1].EndState = []string{session.EndExited, session.EndDied}[i]
		t := b.Thread(p, "main")
		m := b.Module(p, "Worker.dll", i == 0)
		typ := b.Type(m, "Worker.Job")
		entry, run := b.Function(m, "Worker.Program.Main()", "/src/Worker.cs", 3), b.Function(m, "Worker.Job.Run()",
			"/src/Worker.cs", 9)
		for s := range b.Slices {
			n := int64(10 * (i + 1) * (s + 1))
			b.Allocate(session.SliceID(s+1), t, typ, q.Count(n), q.Bytes(32*n), Frame{entry, 4}, Frame{run, 10})
		}
	}
	b.Losses = []session.Loss{
		{Process: 1, Reason: session.LossArenaFull, Events: 2, Amount: q.Amount{Allocations: 1234, Bytes: 56_789}},
		{Process: 1, Reason: session.LossStackTruncated, Events: 3, Amount: q.Amount{Allocations: 3, Bytes: 72}},
		{Process: 2, Reason: session.LossReentered, Events: 1, Amount: q.Amount{Allocations: 1, Bytes: 24}},
	}
	return b
}

// Odd has names that break layouts: wide and combining characters, escape sequences, line
// ends, quotes, very long names, no names at all.
func Odd() *Builder {
	b := New()
	p := b.Process("Ünï\x1b[31mcode", 7)
	t := b.Thread(p, "スレッド\t1")
	m := b.Module(p, "注文.dll", true)
	long := "Long." + strings.Repeat("Namespace.", 20) + "Type<" +
		strings.Repeat("System.Collections.Generic.Dictionary<string, ", 6) + "int" + strings.Repeat(">", 7)
	types := []session.TypeID{b.Type(m, "注文.明細"), b.Type(m, long), b.Type(m, "Quote\"d,\nType"), b.Type(m, "")}
	b.Types = append(b.Types, session.Type{ID: 5, Process: p, Kind: session.TypeArray, Rank: 2, ElementType: types[0]})
	types = append(types, 5)
	entry := b.Function(m, "注文.主(文字列[])", "/src/注文.cs", 1)
	for i, name := range []string{"É\u0301.Combining()", long + ".Method()", "Quote\"d,\nName\\\t", ""} {
		f := b.Function(m, name, "/src/注文.cs", int64(10+i))
		b.Allocate(1, t, types[i], q.Count(i+1), q.Bytes(1000*(i+1)), Frame{entry, 2}, Frame{f, int64(11 + i)})
	}
	b.Allocate(1, t, types[4], 1, 64, Frame{entry, 3})
	pseudo := b.Function(m, "(truncated)", "", 0)
	b.Functions[pseudo-1].Kind, b.Functions[pseudo-1].Module = session.FunctionPseudo, 0
	b.Allocate(1, t, types[0], 5, 120, Frame{pseudo, 0}, Frame{entry, 2})
	return b
}

// Deep is a recursion of 300 levels in which two functions call each other.
func Deep() *Builder {
	b := New()
	p := b.Process("Deep", 9)
	t, m := b.Thread(p, "main"), b.Module(p, "Deep.dll", true)
	typ := b.Type(m, "Deep.Frame")
	even, odd := b.Function(m, "Deep.Even(int)", "/src/Deep.cs", 5), b.Function(m, "Deep.Odd(int)", "/src/Deep.cs", 15)
	var stack []Frame
	for i := range 300 {
		stack = append(stack, Frame{[]session.FunctionID{even, odd}[i%2], int64(6 + 10*(i%2))})
		if i%50 == 49 {
			b.Allocate(1, t, typ, 1, 24, stack...)
		}
	}
	b.Allocate(1, t, typ, 1000, 24_000, stack...)
	return b
}

// Named is a session of a program with one function, of that name, that allocates so many bytes: its code is the same
// under each name.
func Named(name string, bytes q.Bytes) *Builder {
	b := New()
	p := b.Process("app", 7)
	m, main := b.Module(p, "App.dll", true), b.Thread(p, "main")
	f := b.Function(m, name, "/src/App.cs", 10)
	b.Functions[f-1].ILHash = "40-0123456789abcdef"
	b.Allocate(1, main, b.Type(m, "App.Order"), 1, bytes, Frame{Function: f, Line: 12})
	return b
}

// Empty is a process that allocated nothing.
func Empty() *Builder {
	b := New()
	b.Thread(b.Process("Empty", 1), "main")
	return b
}
