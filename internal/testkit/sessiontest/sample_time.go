package sessiontest

import (
	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
)

// Kitchen is a program whose calls and allocations were recorded together, in two processes: a waiter takes orders and
// waits for the cook, who calls himself once and breaks off one dish. The helper process was seen by the clock's gaps
// alone, is still at work, and lost something.
func Kitchen() *Builder {
	b := New()
	b.Info[session.KeyMode] = session.ModeMemoryTime
	b.Slices = []session.Slice{{ID: 1, End: 500_000_000}, {ID: 2, Begin: 500_000_000, End: 1_000_000_000}}
	p := b.Process("Kitchen", 500)
	b.Timed(p, 8, 7)
	waiter, cook := b.Thread(p, "waiter"), b.Thread(p, "")
	app, core := b.Module(p, "Kitchen.dll", true), b.Module(p, "System.Private.CoreLib.dll", false)
	dish, text := b.Type(app, "Kitchen.Dish"), b.Type(core, "string")
	serve := b.Function(app, "Kitchen.Waiter.Serve(int)", "/src/Kitchen/Waiter.cs", 10)
	prepare := b.Function(app, "Kitchen.Cook.Prepare(Kitchen.Dish)", "/src/Kitchen/Cook.cs", 20)
	wait := b.Function(core, "System.Threading.Monitor.Wait(object)", "", 0)
	format := b.Function(core, "string.Format(string, object)", "", 0)
	menu := b.Function(app, "Kitchen.Menu..cctor()", "/src/Kitchen/Menu.cs", 3)
	us := func(n q.Nanoseconds) Interval { return Interval{Elapsed: n * 1000} }
	first := b.Run(waiter).Call(0, serve, us(0))
	for table := range session.SliceID(40) {
		first.In(1+table/20).
			Call(12, format, us(50)).End(us(700+10*q.Nanoseconds(table))).
			Call(14, wait, us(20)).End(Interval{Elapsed: 4_000_000 + 1000*q.Nanoseconds(table), Slept: true})
		b.Allocate(1+table/20, waiter, text, 2, 120, Frame{serve, 12}, Frame{format, 0})
	}
	first.End(us(90))
	second := b.Run(cook)
	for order := range session.SliceID(20) {
		second.In(1+order/10).Call(0, prepare, us(0)).
			Call(24, prepare, us(900)).End(Interval{Elapsed: 2_500_000, Waited: order%4 == 0}).
			End(us(400))
		b.Allocate(1+order/10, cook, dish, 1, 64, Frame{prepare, 23})
		b.Allocate(1+order/10, cook, text, 3, 96, Frame{prepare, 24}, Frame{prepare, 22})
	}
	b.Allocate(1, waiter, text, 5, 400, Frame{serve, 11}, Frame{menu, 4}) // calls nothing that is timed
	b.helper()
	return b
}

func (b *Builder) helper() {
	p := b.Process("Helper", 501)
	b.Processes[p-1].EndState = session.EndRunning
	b.Timed(p, 8, 7)
	timed := &b.ProcessTimes[len(b.ProcessTimes)-1]
	timed.Mechanism, timed.Gap, timed.Instrument, timed.Clock, timed.TicksPerSec =
		session.MechanismGap, 20_000, session.InstrumentMine, session.ClockMonotonic, 1_000_000_000
	thread := b.Thread(p, "main")
	app := b.Module(p, "Helper.dll", true)
	main, tidy := b.Function(app, "Helper.Program.Main()", "/src/Helper/Program.cs", 4), b.Function(app,
		"Helper.Program.Tidy()", "/src/Helper/Program.cs", 12)
	b.Run(thread).Call(0, main, Interval{}).Fold(tidy, Interval{Elapsed: 3_000_000}, Interval{Elapsed: 1_000_000}).
		In(2).Stop(Interval{Elapsed: 250_000_000})
	b.Losses = append(b.Losses, session.Loss{Process: p, Reason: session.LossCallsFolded, Events: 123},
		session.Loss{Process: p, Reason: session.LossClockBackwards, Events: 1})
}
