package analysis

import (
	"slices"
	"strings"

	"github.com/clrprof/clrprof/internal/session"
)

// asyncRuntime begins the names of framework functions that start, suspend and resume async methods.
var asyncRuntime = []string{
	"System.Runtime.CompilerServices.Async", "System.Runtime.CompilerServices.PoolingAsync",
	"System.Threading.ExecutionContext.", "System.Threading.Tasks.AwaitTaskContinuation",
	"System.Threading.Tasks.TaskContinuation",
	"System.Threading.Tasks.SynchronizationContextAwaitTaskContinuation",
	"System.Threading.Tasks.Task.RunContinuations",
	"System.Threading.Tasks.Task.FinishContinuations", "System.Threading.Tasks.Task.TrySet",
	"System.Threading.Tasks.Task`1.TrySetResult",
	"System.Threading.Tasks.Sources.ManualResetValueTaskSourceCore",
	"System.Threading.ThreadPoolWorkQueue.Dispatch", "System.Threading.PortableThreadPool/WorkerThread.",
	"System.Threading._ThreadPoolWaitCallback.",
}

// IsAsyncRuntime reports whether a function of the framework starts, suspends or resumes async methods: code that the
// compiler has a method call because it is async, and nobody wrote.
func IsAsyncRuntime(f *session.Function) bool {
	name := f.MetadataName()
	return slices.ContainsFunc(asyncRuntime, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
}

// awaiters begin the names of functions that async methods call to wait. Called by others, they block.
var awaiters = []string{
	"System.Runtime.CompilerServices.TaskAwaiter", "System.Runtime.CompilerServices.ValueTaskAwaiter",
	"System.Runtime.CompilerServices.YieldAwaitable",
	"System.Runtime.CompilerServices.ConfiguredTaskAwaitable",
	"System.Runtime.CompilerServices.ConfiguredValueTaskAwaitable",
	"System.Threading.Tasks.Task.GetAwaiter", "System.Threading.Tasks.Task`1.GetAwaiter",
	"System.Threading.Tasks.ValueTask.GetAwaiter", "System.Threading.Tasks.ValueTask`1.GetAwaiter",
}

// asyncFunctions says what functions are, by position.
type asyncFunctions struct {
	machine   []bool // MoveNext of an async method, or of an async iterator
	iterator  []bool // MoveNext of any iterator: it runs once for each element, whoever called the method
	runtime   []bool
	awaiter   []bool
	start     []bool          // of the runtime: it runs the method up to its first wait
	completes []bool          // of the runtime: it ends the method, or gives an element of an async iterator
	stub      map[int32]int32 // by MoveNext of an async method: the function that starts it
	index     index[session.FunctionID]
	rows      []session.Function
}

func newAsyncFunctions(rows []session.Function) *asyncFunctions {
	f := &asyncFunctions{rows: rows}
	f.index = newIndex(rows, func(r *session.Function) session.FunctionID { return r.ID })
	for _, of := range []*[]bool{&f.machine, &f.iterator, &f.runtime, &f.awaiter, &f.start, &f.completes} {
		*of = make([]bool, len(rows))
	}
	for i := range rows {
		r := &rows[i]
		name := r.MetadataName()
		_, mark := writtenName(r)
		f.iterator[i] = mark == iteratorMark || mark == asyncIteratorMark
		f.machine[i] = IsAsyncMethod(r)
		begins := func(prefix string) bool { return strings.HasPrefix(name, prefix) }
		f.runtime[i], f.awaiter[i] = IsAsyncRuntime(r), slices.ContainsFunc(awaiters, begins)
		f.start[i] = f.runtime[i] && (r.RawName == "Start" || begins(iteratorBuilder+"MoveNext"))
		f.completes[i] = f.runtime[i] && completes(r)
	}
	f.addNext()
	f.addStubs()
	return f
}

// IsAsyncMethod reports whether a function is the body of an async method or of an async iterator: the MoveNext of its
// state machine.
func IsAsyncMethod(f *session.Function) bool {
	_, mark := writtenName(f)
	return mark == asyncMark || mark == asyncIteratorMark || strings.HasPrefix(mark, taskMark)
}

// iteratorBuilder begins the names of framework functions that run async iterators.
const iteratorBuilder = "System.Runtime.CompilerServices.AsyncIteratorMethodBuilder."

// Marks at the ends of the names of state machines, which are otherwise those of their methods.
const (
	asyncMark         = " [async]"
	iteratorMark      = " [iterator]"
	asyncIteratorMark = " [async iterator]"
)

// taskMark begins the mark of the state machine of a task of F#, which ends with its line: " [task @14]".
const taskMark = " [task @"

// WrittenName splits the name of a body that a compiler made of a method into that of the method, which a person wrote,
// and a mark, such as " [async]"; "": it is none.
func WrittenName(name string) (method, mark string) {
	if at := strings.LastIndex(name, " ["); at >= 0 && strings.HasSuffix(name, "]") {
		return name[:at], name[at:]
	}
	return name, ""
}

// writtenName is WrittenName of a state machine, and the name of any other function, whatever it ends with.
func writtenName(f *session.Function) (method, mark string) {
	if f.RawName != "MoveNext" {
		return f.Name, ""
	}
	return WrittenName(f.Name)
}

// addNext takes the functions that ask an async iterator for its next element, or end it, for code of the runtime: the
// compiler makes them for its state machine, and optimized code has them inlined or not.
func (f *asyncFunctions) addNext() {
	type machine struct {
		module session.ModuleID
		name   string
	}
	iterators := map[machine]bool{}
	for i := range f.rows {
		if r := &f.rows[i]; f.machine[i] && f.iterator[i] {
			iterators[machine{r.Module, r.RawType}] = true
		}
	}
	if len(iterators) == 0 {
		return
	}
	for i := range f.rows {
		// The interface's name comes before: "System.Collections.Generic.IAsyncEnumerator<System.Int32>.MoveNextAsync".
		r := &f.rows[i]
		isNext := strings.HasSuffix(r.RawName, "MoveNextAsync") || strings.HasSuffix(r.RawName, "DisposeAsync")
		if isNext && iterators[machine{r.Module, r.RawType}] {
			f.runtime[i], f.start[i] = true, true
		}
	}
}

// addStubs finds the functions that start state machines by their names. Local functions can have the same one.
func (f *asyncFunctions) addStubs() {
	type method struct {
		process session.ProcessID
		module  session.ModuleID
		name    string
	}
	machines := map[method][]int32{}
	for i := range f.rows {
		if r := &f.rows[i]; f.machine[i] && !f.iterator[i] {
			name, _ := writtenName(r)
			key := method{r.Process, r.Module, name}
			machines[key] = append(machines[key], int32(i))
		}
	}
	f.stub = make(map[int32]int32, len(machines))
	if len(machines) == 0 {
		return
	}
	for i := range f.rows {
		r := &f.rows[i]
		of := machines[method{r.Process, r.Module, r.Name}]
		for _, machine := range of {
			if len(of) == 1 || isStubOf(r, &f.rows[machine]) {
				f.stub[machine] = int32(i)
			}
		}
	}
}

// isStub reports whether a function is the one that starts a state machine, by its type or, as in F# and Visual Basic,
// by the name that people read.
func (f *asyncFunctions) isStub(function, machine int32) bool {
	if function < 0 {
		return false
	}
	stub, m := &f.rows[function], &f.rows[machine]
	method, _ := writtenName(m)
	return stub.Module == m.Module && stub.Name == method || isStubOf(stub, m)
}

// isStubOf reports whether a function starts a state machine of C#: Ns.Type.Load is that of Ns.Type/<Load>d__3.
func isStubOf(stub, machine *session.Function) bool {
	outer, last := "", machine.RawType
	if i := strings.LastIndex(last, "/"); i >= 0 {
		outer, last = last[:i], last[i+1:]
	}
	end := strings.LastIndex(last, ">d")
	return end > 0 && stub.Module == machine.Module && stub.RawType == outer &&
		strings.ReplaceAll(stub.RawName, ".", "-") == last[1:end]
}
