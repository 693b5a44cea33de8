package rules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/clrprof/clrprof/internal/analysis"
	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
)

// all are the rules. A rule is added here, with two functions in testdata/targets/Rules: one that breaks it and one
// that does not.
var all = []Rule{
	{ID: "many-gen2-deaths", Severity: Warning, Of: OfBytes, needs: lifetimes,
		find: placed(fmt.Sprintf("%s; %d %% of the bytes that died in generations 0 to 2",
			megabytes(leastBytes), leastGen2Percent), "most of it was allocated at", diedOld, manyGen2Deaths),
		Title: "Many objects die in generation 2",
		Advice: "Objects that live for some seconds are copied twice and then need a full collection. Let them die " +
			"sooner, or keep and reuse them. lifetime --by site --sort gen2_bytes lists them."},
	{ID: "gc-rate", Severity: Warning, Of: OfDuration, needs: lifetimes,
		find: placed(fmt.Sprintf("%d collections of generation 2, and fewer than %d of generation 1 for each",
			leastGen2, gen1PerGen2), "most of what these collections alone free was allocated at", diedOld, gcRate),
		Title: "Collections of generation 2 are frequent",
		Advice: "A healthy program has at least five collections of generation 1 for one of generation 2. Look for " +
			"large objects (loh-churn) and for what dies in generation 2 (mid-life)."},
	{ID: "gc-time", Severity: Warning, Of: OfDuration, needs: lifetimes,
		find: placed(fmt.Sprintf("%d ms; %d %% of the run, without collections that the program asks for",
			int64(leastPaused)/1e6, leastPause), "most bytes are allocated at", allBorn, gcTime),
		Title: "Pauses of collections take much of the time",
		Advice: "Allocate less, and keep less alive while much is allocated. functions and types show where. " +
			"Pauses also contain what the runtime does to report survivors while lifetimes are recorded."},
	{ID: "induced-gcs", Severity: Warning, Of: OfDuration, needs: lifetimes,
		find: asking(fmt.Sprintf("%d collections", leastInduced), "most of the collections are asked for by",
			"System.GC.Collect", inducedGCs),
		Title:  "The program asks for collections",
		Advice: "Let the runtime decide when to collect: GC.Collect promotes short-lived objects."},
	{ID: "pinning", Severity: Information, Of: OfAlive, needs: lifetimes,
		find: program(fmt.Sprintf("%d objects in a collection, on average", leastPinned),
			pinning),
		Title: "Many objects are pinned",
		Advice: "Pin for a short time, or allocate long-lived buffers with GC.AllocateArray(pinned: true). " +
			"survivors shows which roots pin."},
	{ID: "finalizer-queue", Severity: Information, Of: OfBytes, needs: lifetimes,
		find: placed(often.objects.Of("object")+" after one collection", "most objects with finalizers are made at",
			born(finalized), finalizable),
		Title:  "Many objects wait to be finalized",
		Advice: "Dispose of objects with finalizers: an object that is finalized survives one more collection."},
	{ID: "mid-life", Severity: Warning, Of: OfBytes, needs: lifetimes,
		find: about(limits{bytes: leastBytes, share: true}, func(_ *facts, u *analysis.Use) q.Amount {
			return u.Dead[2]
		}, died(2)),
		Title: "Objects live into generation 2 and die there",
		Advice: "Let them die sooner, or keep and reuse them. The worst case is a cache that drops its entries " +
			"after some seconds."},
	{ID: "only-grows", Severity: Warning, Of: OfAlive, needs: lifetimes, AsksWhoHolds: true,
		find:   about(limits{bytes: leastBytes}, growing, alive).growingOnly(),
		Title:  "Objects only accumulate",
		Advice: "Find what holds them (run --snapshot, report snapshot TYPE), and let it drop what is not needed."},
	{ID: "loh-churn", Severity: Warning, Of: OfBytes, needs: lifetimes,
		find: about(limits{objects: 10, bytes: 10 * leastBytes}, func(_ *facts, u *analysis.Use) q.Amount {
			return u.Dead[session.GenerationLarge]
		},
			died(session.GenerationLarge)),
		Title:  "Large objects are thrown away",
		Advice: "Reuse large arrays: ArrayPool<T>.Shared, or RecyclableMemoryStream. Only full collections free them."},
	{ID: "just-above-loh", Severity: Information, Of: OfBytes, needs: memory,
		find:   about(limits{objects: 10}, born(justLarge), average).markedOnly(),
		Title:  "Objects are just large enough for the large object heap",
		Advice: "Keep buffers below 85,000 bytes, header included, so that they die young."},
	{ID: "finalizers", Severity: Information, Of: OfBytes, needs: memory,
		find:  about(often, born(finalized), objects),
		Title: "Many objects have finalizers", Advice: "Such objects take longer to allocate and, unless disposed of, survive one more collection. Reuse them, or hold the resource in a SafeHandle that is created less often."},
	{ID: "boxing", Severity: Warning, Of: OfBytes, needs: memory, find: about(often, born(boxes), objects),
		Title: "Value types are boxed", Advice: "Use generic collections and methods, string interpolation instead " +
			"of format strings with arguments of type object, and typed fields."},
	{ID: "boxing-keys", Severity: Warning, Of: OfBytes, needs: memory, find: about(often, born(boxedKeys), objects),
		Title: "Keys or elements of a collection are boxed when they are compared",
		Advice: "Let the struct implement IEquatable<T> (IComparable<T>) and override GetHashCode, or pass a " +
			"comparer."},
	{ID: "equality-allocates", Severity: Warning, Of: OfBytes, needs: memory,
		find:  about(often, born(equality), objects),
		Title: "GetHashCode, Equals or CompareTo allocate",
		Advice: "These are called for every look-up: compare fields, combine hashes with HashCode.Combine, and box " +
			"nothing."},
	{ID: "string-concat", Severity: Warning, Of: OfBytes, needs: memory,
		find:   about(longStrings, born(concat), objects),
		Title:  "Long strings are concatenated again and again",
		Advice: "Each + copies the whole text: use StringBuilder, string.Create or string.Join."},
	{ID: "string-format", Severity: Information, Of: OfBytes, needs: memory,
		find:  about(often, born(formats), objects),
		Title: "Strings are formatted often", Advice: "Write to a span or a reused StringBuilder, or format only " +
			"what is shown: do not format a log message that is filtered out."},
	{ID: "substrings", Severity: Information, Of: OfBytes, needs: memory,
		find:   about(often, born(substrings), objects),
		Title:  "Many substrings are copied",
		Advice: "Use AsSpan instead of Substring, and enumerate instead of Split."},
	{ID: "closures", Severity: Information, Of: OfBytes, needs: memory, find: about(often, born(closures), objects),
		Title: "Closures and delegates are created often",
		Advice: "Make the lambda static, pass what it needs as an argument (many methods take a state), or keep the " +
			"delegate in a field."},
	{ID: "params", Severity: Information, Of: OfBytes, needs: paramsArrays,
		find:  about(often, born(params), objects),
		Title: "Arrays or collections are made for params",
		Advice: "Add overloads for few arguments, or take params ReadOnlySpan<T> (C# 13). Of a log call that is " +
			"mostly filtered out, ask first whether it is."},
	{ID: "state-machines", Severity: Information, Of: OfBytes, needs: memory,
		find:  about(often, born(stateMachines), objects),
		Title: "State machines of async methods and iterators are created often",
		Advice: "Return ValueTask if a method usually ends without waiting, do not await in inner loops, and write " +
			"hot iterators as loops."},
	{ID: "enumerators", Severity: Information, Of: OfBytes, needs: memory,
		find:   about(often, born(enumerators), objects),
		Title:  "Enumerators are allocated on the heap",
		Advice: "Use foreach over the collection's own type, not over IEnumerable<T>, or a for loop."},
	{ID: "linq", Severity: Information, Of: OfBytes, needs: memory, find: about(often, born(linq), objects),
		Title:  "LINQ in a hot path",
		Advice: "Write hot queries as loops: each operator allocates an enumerator and delegates."},
	{ID: "collection-growth", Severity: Information, Of: OfBytes, needs: memory,
		find:   about(limits{objects: 100, bytes: leastBytes, share: true}, born(grows), objects),
		Title:  "Collections grow step by step",
		Advice: "Give the capacity when the collection is created: each step copies all elements to an array of twice the size."},
	{ID: "exceptions", Severity: Warning, Of: OfDuration, Each: 10_000, needs: memory,
		find:   about(limits{objects: leastThrown}, born(isException), thrown).markedOnly().thrownOnly(),
		Title:  "Exceptions are thrown often",
		Advice: "Use TryParse, TryGetValue and the like: an exception costs about 10 µs, and its stack trace."},
	{ID: "regex-in-loop", Severity: Warning, Of: OfBytes, needs: memory,
		find: about(limits{objects: 10}, discarded(func(f *facts, u *analysis.Use) bool {
			return f.typeName(u.Type) == regexType
		}), objects).markedOnly(),
		Title:  "Regular expressions are constructed again and again",
		Advice: "Construct the Regex once, in a static field, or use [GeneratedRegex]."},
	{ID: "expression-compile", Severity: Warning, Of: OfBytes, needs: memory,
		find:  about(limits{objects: 10}, discarded(compiles), compiledExpressions).markedOnly(),
		Title: "Expressions are compiled again and again",
		Advice: "Compile an expression once, and keep the delegate: compiling takes some 100 µs, and code that stays " +
			"for as long as the delegate."},
	{ID: "reflection", Severity: Information, Of: OfBytes, needs: memory,
		find:   about(often, born(reflects), objects),
		Title:  "Reflection in a hot path",
		Advice: "Cache what reflection finds, and turn a method that is called often into a delegate."},
	{ID: "lock-contention", Severity: Warning, Waiting: true, Of: OfElapsed, needs: times,
		find:   timed(prefixed(lockWaits...), blocks, waited).heldOnly(),
		Title:  "Threads wait for a lock",
		Advice: "Hold the lock for a shorter time, without I/O or waiting, or split what it protects."},
	{ID: "sync-over-async", Severity: Warning, Waiting: true, Of: OfElapsed, needs: times,
		find:   timed(isAsyncWait, blocksOften, waited),
		Title:  "A thread waits for asynchronous work",
		Advice: "Await the task: Task.Wait and Task.Result block a pool thread while the work needs another thread."},
	{ID: "byte-by-byte", Severity: Information, Of: OfDuration, needs: times,
		find: timed(isOfOneByte, manyCalls,
			func(x *Finding, n Names) string {
				return fmt.Sprintf("%s of %s", x.Calls.Of("call"), n.Function(x.Function))
			}),
		Title: "A stream is read or written byte by byte", Advice: "Read and write spans of some kilobytes."},
	{ID: "small-reads", Severity: Information, Of: OfDuration, needs: readCalls, find: smallPieces(reading),
		Title: "Files or pipes are read in small pieces",
		Advice: "Read some kilobytes at once, or through a buffer (BufferedStream). A recording with --time shows " +
			"lines that call Read often, and --events syscalls the system calls of each function."},
	{ID: "small-writes", Severity: Information, Of: OfDuration, needs: writeCalls, find: smallPieces(writing),
		Title: "Files, pipes or terminals are written in small pieces",
		Advice: "Write some kilobytes at once, or through a buffer (BufferedStream, or a StreamWriter around " +
			"Console.OpenStandardOutput), and flush seldom. A recording with --time shows lines that call Write " +
			"often, and --events syscalls the system calls of each function."},
}

const regexType = "System.Text.RegularExpressions.Regex"

// finalized reports whether objects have finalizers.
func finalized(f *facts, u *analysis.Use) bool { return f.trait(u.Type) == session.TraitFinalizer }

// allBorn takes all objects.
func allBorn(_ *facts, u *analysis.Use) q.Amount { return u.Born }

// diedOld takes what died where only collections of generation 2 look.
func diedOld(_ *facts, u *analysis.Use) q.Amount {
	return u.Dead[2].Add(u.Dead[session.GenerationLarge])
}

func growing(f *facts, u *analysis.Use) q.Amount {
	if !u.Growing {
		return q.Amount{}
	}
	return u.Alive()
}

func alive(x *Finding, n Names) string {
	text := fmt.Sprintf("%s (%s) are alive, and their number fell in no slice of time%s", x.Amount.InBytes(),
		x.Amount.Of("object"), ofType(x, n))
	if field, bytes := n.Holder(x.From, x.Type); field != "" {
		text += fmt.Sprintf("; in the snapshot of the heap, the static field %s retains %s%s of these", field,
			x.Amount.Sign(), bytes)
	}
	return text
}

// The large object heap begins at 85,000 bytes; what is less than a tenth above could be below.
const (
	largeFrom  = 85_000
	barelyMore = largeFrom + largeFrom/10
)

// justLarge reports whether objects are just large. Their sizes are known only together: if some died young, as none
// does on the heap of large objects, they are small ones and larger ones.
func justLarge(_ *facts, u *analysis.Use) bool {
	n := u.Born.Allocations
	if u.Dead[0].Allocations+u.Dead[1].Allocations > 0 {
		return false
	}
	return n > 0 && u.Born.Bytes >= q.Bytes(n)*largeFrom && u.Born.Bytes < q.Bytes(n)*barelyMore
}

func average(x *Finding, n Names) string {
	return fmt.Sprintf("%s, %s%s each on average%s", x.Amount.Of("object"), x.Amount.Sign(),
		(x.Amount.Bytes / q.Bytes(max(1, x.Amount.Allocations))).Exact(), ofType(x, n))
}

// isEquality reports whether a method compares objects.
func isEquality(method string) bool {
	return slices.Contains([]string{"GetHashCode", "Equals", "CompareTo", "Compare"}, method)
}

func boxes(f *facts, u *analysis.Use) bool {
	return f.trait(u.Type) == session.TraitValue && len(u.Chain) == 0 && !equality(f, u) &&
		!isEnumerator(f, u)
}

// equality reports whether it is in a method that compares or hashes objects, by its name and its parameters: one of
// the same name that takes pointers is called by no collection.
func equality(f *facts, u *analysis.Use) bool {
	method := f.method(u.From.Function)
	return isEquality(method) && comparesObjects(method, f.parameters.get(u.From.Function))
}

// mostCompared is how many objects the methods that collections call are given, at most.
var mostCompared = map[string]int{"GetHashCode": 1, "Equals": 2, "CompareTo": 1, "Compare": 2}

// comparesObjects reports whether a method with these parameters, as in its name, can be called by collections.
func comparesObjects(method, parameters string) bool {
	n := 0
	if parameters != "" {
		n = strings.Count(parameters, ", ") + 1
	}
	return n <= mostCompared[method] && !strings.Contains(parameters, "*")
}

// longStrings is for texts that are so long that copying them costs.
var longStrings = limits{objects: 1000, each: 256, share: true}

// concat reports whether user code concatenates strings: not the framework for it.
func concat(f *facts, u *analysis.Use) bool {
	return len(u.Chain) > 0 && f.function(u.Chain[0]) == "System.String.Concat"
}

func isException(f *facts, u *analysis.Use) bool { return f.trait(u.Type) == session.TraitException }

// compiledType is the type of which an expression that is compiled makes one object.
const compiledType = "System.Reflection.Emit.DynamicMethod"

// compiledExpressions is the evidence of the rule about them.
func compiledExpressions(x *Finding, n Names) string {
	return x.Amount.Of("expression") + " compiled by " + n.Function(x.Function)
}

// compiles reports whether an expression is compiled, one for each object that counts.
func compiles(f *facts, u *analysis.Use) bool {
	return f.typeName(u.Type) == compiledType && f.calls(u, prefixed("System.Linq.Expressions."))
}

func closures(f *facts, u *analysis.Use) bool {
	return len(u.Chain) == 0 && (strings.Contains(f.typeName(u.Type), "<>c__DisplayClass") ||
		f.trait(u.Type) == session.TraitDelegate)
}

// params are arrays and collections that the compiler made for the last parameter of what is called. They are
// distinguished from others by line and type (session.ParamsArray); a list makes its array itself.
func params(f *facts, u *analysis.Use) bool {
	at := session.ParamsArray{Function: u.From.Function, Line: u.From.Line, Type: u.Type}
	if !f.params[at] {
		return false
	}
	return len(u.Chain) == 0 ||
		len(u.Chain) == 1 && f.function(u.Chain[0]) == "System.Collections.Generic.List`1..ctor"
}

// stateMachines are those of the user's async methods, on the heap since they waited, and of iterators:
// Program/<Items>d__3. The user cannot change an async method of the framework, which is called in between.
func stateMachines(f *facts, u *analysis.Use) bool {
	name := f.typeName(u.Type)
	last := name[strings.LastIndexAny(name, "./")+1:]
	if strings.HasPrefix(last, "AsyncStateMachineBox`") || strings.HasPrefix(last, "StateMachineBox`") {
		return !f.calls(u, isNoBuilder)
	}
	return len(u.Chain) == 0 && strings.HasPrefix(last, "<") && strings.Contains(last, ">d__")
}

// isNoBuilder reports whether a function is none of those that run an async method.
func isNoBuilder(name string) bool {
	return !strings.HasPrefix(name, "System.Runtime.CompilerServices.")
}

// lockWaits begin the names of functions in which a thread waits for a lock. Monitor.Wait waits for a pulse.
var lockWaits = []string{"System.Threading.Monitor.Enter", "System.Threading.Monitor.TryEnter",
	"System.Threading.Monitor.ReliableEnter", "System.Threading.Lock.Enter",
	"System.Threading.Lock.TryEnter", "System.Threading.SpinLock.Enter", "System.Threading.ReaderWriterLockSlim.",
	semaphoreWait, handleWait}

// A semaphore is a lock for code that releases it, too: for other code it counts what there is to do. The same function
// waits for a mutex and for an event.
const (
	semaphoreWait = "System.Threading.SemaphoreSlim.Wait"
	handleWait    = "System.Threading.WaitHandle.WaitOne"
)

// releases are the functions that release what other functions wait for.
var releases = map[string][]string{
	semaphoreWait: {"System.Threading.SemaphoreSlim.Release"},
	handleWait:    {"System.Threading.Mutex.ReleaseMutex", "System.Threading.Semaphore.Release"},
}

// heldOnly keeps findings about locks: waits for what is a lock only sometimes, in functions that release one.
func (f finder) heldOnly() finder {
	type release struct {
		by   session.FunctionID
		wait string
	}
	waits, calls := f.search, f.calls
	f.calls = func(name string) bool { return calls(name) || releasedBy(name) != "" }
	f.search = func(f *facts, r *Rule) search {
		found, released := waits(f, r), map[release]bool{}
		add := func(u *analysis.Use) {
			found.add(u)
			if u.Type != 0 || len(u.Chain) != 1 {
				return
			}
			if wait := releasedBy(f.function(u.Chain[0])); wait != "" {
				released[release{u.From.Function, wait}] = true
			}
		}
		return search{add, func() []Finding {
			return slices.DeleteFunc(found.found(), func(x Finding) bool {
				wait := f.function(x.Function)
				return releases[wait] != nil && !released[release{x.From.Function, wait}]
			})
		}}
	}
	return f
}

// releasedBy is the function that waits for what a function releases; "": it releases nothing.
func releasedBy(name string) string {
	for wait, by := range releases {
		if slices.Contains(by, name) {
			return wait
		}
	}
	return ""
}

// isOfOneByte reports whether a function reads or writes one byte. What BinaryWriter writes is not in the name.
func isOfOneByte(name string) bool {
	switch name {
	case "System.IO.BinaryReader.ReadByte", "System.IO.BinaryReader.ReadSByte", "System.IO.BinaryReader.ReadBoolean":
		return true
	}
	return strings.HasPrefix(name, "System.IO.") &&
		(strings.HasSuffix(name, "Stream.ReadByte") || strings.HasSuffix(name, "Stream.WriteByte"))
}

// WaitsForThreads reports whether a function waits for other threads of the program, or for tasks that they run.
func WaitsForThreads(name string) bool {
	return isAsyncWait(name) || prefixed("System.Threading.Thread.Join", "System.Threading.Tasks.Parallel.",
		"System.Threading.CountdownEvent.Wait")(name)
}

// isAsyncWait reports whether a thread waits for a task in a function.
func isAsyncWait(name string) bool {
	return prefixed("System.Threading.Tasks.Task.Wait", "System.Threading.Tasks.Task.InternalWait",
		"System.Threading.Tasks.Task.SpinThenBlockingWait",
		"System.Threading.Tasks.Task.get_Result", "System.Threading.Tasks.Task`1.get_Result")(name) ||
		strings.HasPrefix(name, "System.Runtime.CompilerServices.") && strings.HasSuffix(name, ".GetResult")
}
