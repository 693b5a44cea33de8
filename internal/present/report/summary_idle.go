package report

import (
	"slices"

	"github.com/clrprof/clrprof/internal/analysis"
	"github.com/clrprof/clrprof/internal/analysis/rules"
	"github.com/clrprof/clrprof/internal/session"
)

// A thread that waits for something to do is idle, not blocked: nothing would be faster if it did not wait. It is told
// by three things together. It waits in a function with which threads begin: no function of the user calls that one but
// such with which threads begin, and not more often than they begin; and none of these is an entry point. What it calls
// there waits for a signal or an item, and not for a lock, a task, a thread, or a time. And it waits again and again:
// more often than threads begin with the function, by idlePerBegin at least and by half as often as they do, so that it
// is a loop. Where a callback of a pool waits once, a thread of the pool is blocked.
const (
	idlePerBegin = 2
	idleHalf     = 2
)

// waitsForItems are functions of the framework in which a thread waits until there is something to do, by type.
var waitsForItems = map[string][]string{
	"System.Threading.Monitor":                           {"Wait"},
	"System.Threading.WaitHandle":                        {"WaitOne", "WaitAny"},
	"System.Threading.SemaphoreSlim":                     {"Wait"},
	"System.Threading.ManualResetEventSlim":              {"Wait"},
	"System.Collections.Concurrent.BlockingCollection`1": {"Take", "TryTake", "TakeFromAny", "TryTakeFromAny"},
	"System.Net.Sockets.Socket":                          {"Accept"},
	"System.Net.Sockets.TcpListener":                     {"AcceptTcpClient", "AcceptSocket"},
	"System.Net.HttpListener":                            {"GetContext"},
	"System.IO.Pipes.NamedPipeServerStream":              {"WaitForConnection"},
}

// nextItem is how a foreach waits for items where a function consumes those of a BlockingCollection.
const nextItem, consuming = "MoveNext", "GetConsumingEnumerable"

// isIdle reports whether what a thread waits for at a place is something to do. What is released there is a lock.
func (s *Summary) isIdle(t *analysis.UserTime) bool {
	f := s.context.functions.get(t.Function)
	waits := slices.Contains(waitsForItems[f.RawType], f.RawName) ||
		f.RawName == nextItem && s.callsIn(t.From.Function, consumes)
	if t.Blocked == 0 || !waits || s.callsIn(t.From.Function, isRelease) {
		return false
	}
	begun := s.calls[t.From.Function]
	return t.Voluntary >= begun+max(idlePerBegin, begun/idleHalf) && s.beginsThreads(t.From.Function, mostBegins)
}

// mostOfRun: a wait for others all along is one part in so many of what its process ran, and they worked for as large a
// part of it at least.
const mostOfRun = 2

// waitsForOthers reports whether the program's first thread waits once, for most of the run, for what other threads do
// meanwhile, as the function of a build that waits until it is done: where time goes is on the paths of those. Another
// thread that waits once waits for something that it needs.
func (s *Summary) waitsForOthers(t *analysis.UserTime) bool {
	f := s.context.functions.get(t.Function)
	waits := slices.Contains(waitsForItems[f.RawType], f.RawName) || rules.WaitsForThreads(f.RawType+"."+f.RawName)
	process := s.context.functions.get(t.From.Function).Process
	ran := s.context.span(process)
	if !waits || s.calls[t.From.Function] != 1 || t.Voluntary >= leastWaits || t.Blocked < ran/mostOfRun ||
		s.callsIn(t.From.Function, isRelease) || !s.calledByMain(t.From.Function, mostFromMain) {
		return false
	}
	all, err := s.context.source.ProcessTimes()
	return err == nil && slices.ContainsFunc(all, func(p session.ProcessTimeValue) bool {
		return p.Process == process && p.Inclusive.Elapsed-ran >= t.Blocked/mostOfRun
	})
}

// mostFromMain is how many functions of the user lie at most between the entry point and where the program waits for
// its threads: a large command line has some ten.
const mostFromMain = 40

// calledByMain reports whether a function is an entry point, or is called once, by a function of which that is so.
func (s *Summary) calledByMain(function session.FunctionID, through int) bool {
	if slices.Contains(entryPoints, s.context.functions.get(function).RawName) {
		return true
	}
	calls, err := s.context.callsOf(function)
	if err != nil || s.calls[function] != 1 || through == 0 {
		return false
	}
	return slices.ContainsFunc(calls, func(x call) bool {
		return x.callee == function && x.caller != function && s.context.isUser(x.caller) &&
			s.calledByMain(x.caller, through-1)
	})
}

// mostBegins is how many functions of the user a thread has called at most where it does what it began for: a lambda,
// a method that names the thread, a method that handles exceptions.
const mostBegins = 4

// beginsThreads reports whether threads begin with a function, or with so many functions of which each calls the next
// one once: what a thread is made for is mostly a lambda that calls a method.
func (s *Summary) beginsThreads(function session.FunctionID, through int) bool {
	if slices.Contains(entryPoints, s.context.functions.get(function).RawName) {
		return false
	}
	calls, err := s.context.callsOf(function)
	return err == nil && !slices.ContainsFunc(calls, func(x call) bool {
		if x.callee != function || x.caller == function || !s.context.isUser(x.caller) {
			return false
		}
		once := x.time != nil && x.time.Calls <= s.calls[x.caller]
		return !once || through == 0 || !s.beginsThreads(x.caller, through-1)
	})
}

// callsIn reports whether a function of the user calls one of the framework's for which a condition holds.
func (s *Summary) callsIn(function session.FunctionID, is func(*session.Function) bool) bool {
	return slices.ContainsFunc(s.works, func(t analysis.UserTime) bool {
		return t.From.Function == function && is(s.context.functions.get(t.Function))
	})
}

// consumes reports whether a function gives the items of a collection to a foreach that waits for them.
func consumes(f *session.Function) bool { return f.RawName == consuming }

// isRelease reports whether a function releases a lock for which threads wait in the same functions as for items.
func isRelease(f *session.Function) bool {
	return f.RawType == "System.Threading.SemaphoreSlim" && f.RawName == "Release" ||
		f.RawType == "System.Threading.Semaphore" && f.RawName == "Release" ||
		f.RawType == "System.Threading.Mutex" && f.RawName == "ReleaseMutex"
}

// addIdle notes how long threads waited for something to do, and where most of it was.
func (s *Summary) addIdle() {
	var most *analysis.UserTime
	for i := range s.works {
		t := &s.works[i]
		if t.Blocked < leastBlocked || !s.isIdle(t) {
			continue
		}
		s.idle += t.Blocked
		s.idlers = append(s.idlers, i)
		if most == nil || t.Blocked > most.Blocked {
			most = t
		}
	}
	if most != nil {
		row := Row{kind: rowFunction, time: &rowTime{}}
		s.setWork(&row, most)
		s.idleAt = s.where(&row)
	}
}
