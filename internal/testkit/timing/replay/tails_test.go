package replay

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/clrprof/clrprof/internal/capture/arena"
	"github.com/clrprof/clrprof/internal/testkit/differ"
	"github.com/clrprof/clrprof/internal/testkit/timing"
	"github.com/clrprof/clrprof/internal/testkit/timing/timingsim"
	"github.com/clrprof/clrprof/internal/wire"
)

// flagTails is FLAG_TAILS of the replay, kindTail its event TAIL: the innermost call is about to call by tail., which
// begins with the next event. CallerSP is that of the new call, as if its caller stayed.
const (
	flagTails = 16
	kindTail  = timing.KindEnd + 1
)

// tailCall is a call that has not ended.
type tailCall struct {
	function, frame uint32
	sp, own         uint64 // of its caller; of what it calls
	last            bool   // it has called by tail.: it returns with that
}

// tailProgram makes up a thread with calls that have the prefix tail., in which every caller stays up to its end: what
// they must count as, whatever the agent lets become of the frames.
type tailProgram struct {
	*rand.Rand
	functions, sites  int
	calls, tails      int // weights of what a function does next; returns have 4
	throws            bool
	stack             []tailCall
	frames            uint32
	clock             uint64
	events            []timing.Event
	jumps, exceptions int
}

func (p *tailProgram) emit(e timing.Event) {
	e.Class, e.Clock = timing.Instrumented, p.clock
	p.events = append(p.events, e)
}

// pass lets time pass, in which the system sometimes acts.
func (p *tailProgram) pass() (os timing.OS) {
	ticks := uint64(p.IntN(50))
	p.clock += ticks
	if p.IntN(6) == 0 {
		os = timing.OS{Voluntary: 1, Blocked: uint64(p.IntN(int(ticks) + 1))}
	}
	return os
}

func (p *tailProgram) call(tail bool) {
	os, sp, site := p.pass(), uint64(timingsim.Base), uint64(0x1000)
	if n := len(p.stack); n > 0 {
		caller := &p.stack[n-1]
		sp, site = caller.own, uint64(caller.function)<<12+uint64(p.IntN(p.sites))
		if tail {
			caller.last = true
			p.jumps++
			p.emit(timing.Event{Kind: kindTail, Function: caller.function, CallerSP: sp, ReturnAddress: site})
		}
	}
	p.frames++
	c := tailCall{function: uint32(1 + p.IntN(p.functions)), frame: p.frames, sp: sp}
	c.own = sp - 16*uint64(1+c.function)
	p.stack = append(p.stack, c)
	p.emit(timing.Event{Kind: timing.KindEnter, Function: c.function, CallerSP: sp, ReturnAddress: site, OS: os,
		Frame: c.frame, SP: c.own})
}

// end ends the innermost call, and with it those that have nothing left to do.
func (p *tailProgram) end() {
	os := p.pass()
	for {
		c := p.stack[len(p.stack)-1]
		p.stack = p.stack[:len(p.stack)-1]
		p.emit(timing.Event{Kind: timing.KindLeave, Function: c.function, CallerSP: c.sp, OS: os, Frame: c.frame})
		if len(p.stack) == 0 || !p.stack[len(p.stack)-1].last {
			return
		}
		os = timing.OS{}
	}
}

// throw throws an exception that a call further out catches, if one can: what calls by tail. is in no try block.
func (p *tailProgram) throw() {
	at := p.IntN(len(p.stack))
	for at >= 0 && p.stack[at].last {
		at--
	}
	if at < 0 {
		return
	}
	os := p.pass()
	p.exceptions++
	for n := len(p.stack) - 1; n > at; n-- {
		c := p.stack[n]
		p.stack = p.stack[:n]
		p.emit(timing.Event{Kind: timing.KindUnwind, Function: c.function, OS: os, Frame: c.frame})
		p.emit(timing.Event{Kind: timing.KindUnwound, Function: c.function, Frame: c.frame})
		os = timing.OS{}
	}
	c := p.stack[at]
	p.emit(timing.Event{Kind: timing.KindUnwind, Function: c.function, OS: os, Frame: c.frame})
	p.emit(timing.Event{Kind: timing.KindCatch, Function: c.function, CallerSP: c.own, Frame: c.frame, SP: c.own})
}

const mostTailCalls = 200 // that have not ended

// tailThread makes up one.
func tailThread(seed uint64) *tailProgram {
	r := rand.New(rand.NewPCG(seed, 3))
	p := &tailProgram{Rand: r, functions: 1 + r.IntN(5), sites: 1 + r.IntN(3), calls: 1 + r.IntN(6), tails: 1 + r.IntN(12),
		throws: r.IntN(2) == 0, clock: 1000}
	for steps := 10 + r.IntN(400); steps > 0; steps-- {
		switch n := r.IntN(p.calls + p.tails + 5); {
		case len(p.stack) == 0 || n < p.calls && len(p.stack) < mostTailCalls:
			p.call(false)
		case n < p.calls+p.tails && len(p.stack) < mostTailCalls:
			p.call(true)
		case n == p.calls+p.tails && p.throws:
			p.throw()
		default:
			p.end()
		}
	}
	for len(p.stack) > 0 {
		p.end()
	}
	p.emit(timing.Event{Kind: timing.KindEnd})
	return p
}

// tailTimes are what must be exact of a function, or of a pair: not of single calls, for those of a chain that are
// repeated end early.
type tailTimes struct {
	Calls, Ended uint64
	Total        timing.Values
}

// tailResult has what must be exact, by caller (0 with all: any) and function.
func tailResult(r timing.Result) map[string]tailTimes {
	out := map[string]tailTimes{}
	for _, f := range r.Functions {
		out[fmt.Sprint("function ", f.Function)] = tailTimes{f.Calls, f.Ended, f.Total}
	}
	for _, e := range r.Edges {
		out[fmt.Sprint(e.Caller, " calls ", e.Function.Function)] = tailTimes{e.Calls, e.Ended, e.Total}
	}
	return out
}

// readResult reads what the agent says of the only thread of a process.
func readResult(dir string) (timing.Result, [wire.LossCount]wire.LossEntry, uint64, error) {
	var losses [wire.LossCount]wire.LossEntry
	paths, err := filepath.Glob(filepath.Join(dir, "*.arena"))
	if err != nil || len(paths) != 1 {
		return timing.Result{}, losses, 0, fmt.Errorf("arenas in %s: %q, %w", dir, paths, err)
	}
	a, err := arena.Open(paths[0])
	if err != nil {
		return timing.Result{}, losses, 0, err
	}
	defer a.Close()
	h, err := a.Header()
	if err != nil {
		return timing.Result{}, losses, 0, err
	}
	c := timing.Counters{Timings: a.Timings(), Waits: a.Waits(), Acted: a.Acted(), Inclusives: a.Inclusives()}
	return c.Result(), h.Losses, a.Clocks()[0].Jumps, nil
}

// TestTails: calls by tail. have their callers, with all that they take, also where the frames of these are gone, paths
// are more than there is room for, and exceptions are thrown.
func TestTails(t *testing.T) {
	for _, b := range []struct {
		name, flags string
		seeds       int
	}{{"plain", "", 1000}, {"sanitized", "-fsanitize=address,undefined -fno-sanitize-recover=all", 200}} {
		t.Run(b.name, func(t *testing.T) {
			dir, arenas := scratch(t), scratch(t)
			programs, recordings := map[string]*tailProgram{}, []string(nil)
			limits := map[string]timing.Limits{}
			for seed := range b.seeds {
				p, name := tailThread(uint64(seed)), fmt.Sprint("seed", seed)
				limit := agentLimits
				if seed%3 == 0 {
					limit.Timings = p.IntN(40)
					limit.Recursive = limit.Timings / recursionPart
				}
				rec := timing.Recording{Limits: limit, Base: timingsim.Base, Flags: flagTails | uint64(p.IntN(8))}
				for _, e := range p.events {
					rec.Events = append(rec.Events, timing.ThreadEvent{Thread: 1, Event: e})
				}
				path := filepath.Join(dir, name)
				if err := os.WriteFile(path, rec.Append(nil), 0o600); err != nil {
					t.Fatal(err)
				}
				programs[name], limits[name], recordings = p, limit, append(recordings, path)
			}
			if err := run(build(t, b.flags), arenas, recordings...); err != nil {
				t.Fatal(err)
			}
			jumps, exceptions := 0, 0
			for _, path := range recordings {
				name := filepath.Base(path)
				p := programs[name]
				jumps, exceptions = jumps+p.jumps, exceptions+p.exceptions
				if err := p.compare(limits[name], filepath.Join(arenas, name)); err != nil {
					t.Fatalf("%s: %v", name, err)
				}
			}
			t.Logf("%d calls by tail., %d exceptions", jumps, exceptions)
		})
	}
}

// compare finds what the agent counted otherwise than the definition.
func (p *tailProgram) compare(limits timing.Limits, dir string) error {
	naive := timing.NewNaive(limits, wire.Overhead{})
	for _, e := range p.events {
		if e.Kind == kindTail {
			continue
		}
		if err := naive.Add(e); err != nil {
			return err
		}
	}
	got, losses, ended, err := readResult(dir)
	if err != nil {
		return err
	}
	if diff := differ.Of(tailResult(naive.Result()), tailResult(got)); diff != "" {
		return fmt.Errorf("the definition (-) and the agent (+) differ: %s", diff)
	}
	if ended != 0 || losses[wire.LossCallsUnmatched].Events != 0 || losses[wire.LossCallsCut].Events != 0 {
		return fmt.Errorf("%d calls ended with a jump, %d unmatched, %d cut", ended,
			losses[wire.LossCallsUnmatched].Events, losses[wire.LossCallsCut].Events)
	}
	return nil
}
