package sessiontest

import (
	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
)

// Tested is a run of tests: the command line, and the process that ran them. One test waits, and an async method is
// called by two of them.
func Tested() *Builder {
	b := New()
	b.Info[session.KeyMode] = session.ModeMemoryTime
	b.Info[session.KeyCommand] = `["dotnet","test"]`
	cli, host := b.Process("dotnet", 600), b.Process("testhost", 601)
	b.Timed(cli, 8, 7)
	b.Timed(host, 8, 7)
	main, worker := b.Thread(cli, "main"), b.Thread(host, "worker")
	tool := b.Module(cli, "dotnet.dll", false)
	app, runner := b.Module(host, "Shop.Tests.dll", true), b.Module(host, "xunit.execution.dll", false)
	name, text, order := b.Type(tool, "string"), b.Type(runner, "string"), b.Type(app, "Shop.Order")
	start := b.Function(tool, "Microsoft.DotNet.Cli.Program.Main(string[])", "", 0)
	invoke := b.Function(runner, "Xunit.Sdk.TestInvoker.Invoke()", "", 0)
	test := func(name, attribute string, line int64) session.FunctionID {
		f := b.Function(app, "Shop.Tests.OrderTests."+name, "/src/Shop.Tests/OrderTests.cs", line)
		b.Functions[f-1].Test = attribute
		return f
	}
	parses, saves := test("Parses(string)", "Xunit.TheoryAttribute", 12), test("Saves()", "Xunit.FactAttribute", 20)
	slow := test("Slow()", "Shop.Tests.SlowFactAttribute", 40)
	machine := func(name, raw string, line int64) session.FunctionID {
		f := b.Function(app, name, "/src/Shop.Tests/OrderTests.cs", line)
		b.Functions[f-1].RawType, b.Functions[f-1].RawName = raw, "MoveNext"
		return f
	}
	saving := machine("Shop.Tests.OrderTests.Saves() [async]", "Shop.Tests.OrderTests/<Saves>d__1", 20)
	b.Functions[saving-1].Test = "Xunit.FactAttribute"
	b.Functions[saves-1].RawType, b.Functions[saves-1].RawName = "Shop.Tests.OrderTests", "Saves"
	load := b.Function(app, "Shop.Tests.OrderTests.Load()", "/src/Shop.Tests/OrderTests.cs", 60)
	b.Functions[load-1].RawType, b.Functions[load-1].RawName = "Shop.Tests.OrderTests", "Load"
	loading := machine("Shop.Tests.OrderTests.Load() [async]", "Shop.Tests.OrderTests/<Load>d__9", 60)

	us := func(n q.Nanoseconds) Interval { return Interval{Elapsed: n * 1000} }
	run := b.Run(worker)
	for _, f := range []session.FunctionID{parses, parses, slow} {
		run.Call(0, f, us(5)).End(us(250))
	}
	run.Call(0, saves, us(5)).Call(21, saving, us(10)).End(us(100)).End(us(3))
	run.Call(0, saving, us(0)).Call(23, load, us(40)).Call(60, loading, us(4)).End(us(70)).End(us(2)).
		End(us(60))
	run.Call(0, slow, us(5)).Call(42, load, us(4000)).Call(60, loading, us(6)).End(us(80)).End(us(1)).
		End(us(20_000))
	run.Call(0, loading, us(0)).End(us(500))

	b.Allocate(1, main, name, 100, 6400, Frame{start, 0})
	b.Allocate(1, worker, text, 50, 3200, Frame{invoke, 0})
	b.Allocate(1, worker, order, 3, 120, Frame{invoke, 0}, Frame{parses, 14})
	b.Allocate(1, worker, text, 9, 540, Frame{invoke, 0}, Frame{parses, 15})
	b.Allocate(1, worker, order, 2, 80, Frame{invoke, 0}, Frame{saves, 20}, Frame{saving, 22})
	b.Allocate(1, worker, order, 4, 160, Frame{saving, 23}, Frame{load, 60})
	b.Allocate(1, worker, text, 1000, 90_000, Frame{invoke, 0}, Frame{slow, 41})
	b.Allocate(1, worker, text, 1, 40, Frame{invoke, 0}, Frame{slow, 42}, Frame{load, 60})
	b.Allocate(1, worker, text, 7, 280, Frame{loading, 62})
	return b
}
