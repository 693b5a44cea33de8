// Package words has the sentences of notes and findings, for all who show them: text, pages, and answers to other
// programs.
package words

import (
	"fmt"
	"slices"
	"strings"

	"github.com/clrprof/clrprof/internal/present/report"
	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/shell"
)

// sentences are those of notes whose facts only stand in them.
var sentences = map[report.NoteKind]string{
	report.NoteAsync: "Async methods are below their callers, including what they did after they had waited; " +
		"--async physical shows the stacks as they were.",
	report.NoteAsyncMethods: "Async methods are as they were on the stacks; --async logical shows each as one function, " +
		"and who called it.",
	report.NotePhysical: "The stacks are as they were, also for async methods, because the columns of lifetimes " +
		"are not known for logical ones.",
	report.NoteRaw:     "Elapsed times are raw: they include what the probes added.",
	report.NoteDeeper:  "Hidden: everything deeper than %s; --depth 0 shows it.",
	report.NoteSmaller: "Hidden: everything below %g %% of %s; --min 0 shows it.",
	report.NoteAges: "How many collections objects survived before they died (GCs) or, if they could be reached " +
		"at the end, until then (alive); --columns adds times, for objects that survived one.",
	report.NoteAgesWhole: "Ages are known for the whole run only.",
	report.NoteHotPath:   "Only the hot path by %s (docs/metrics.md).",
	report.NoteHotWaited: "It skips %s for which Main was blocked: what Main waits for is on other paths.",
	report.NoteHotPassed: "It skips %s of the process's %s: code that is not recorded and that no recorded code " +
		"called, which is shown as (excluded).",
	report.NoteBornBetween: "Born after collection %d and before collection %d, and reachable at the end; by the " +
		"generation in which they are.",
	report.NoteDiedBetween: "What was born and died between them: lifetime --gc %d..%d",
	report.NoteNoLastGC: "There was no last collection (--final-gc=false, or the process was killed): it is not " +
		"known when live objects were born.",
	report.NoteRecursion: "The function calls itself: the inclusive values of callers and callees can add up to " +
		"more than its own; exclusive ones do not.",
	report.NoteNoLine: "(body): objects that no line of the function makes, such as closures at its " +
		"beginning.",
	report.NoteBody: "(body): time of a function after its last call, or before calls whose line is not known.",
	report.NoteUserLines: "Each line includes what the framework did for it; (body): what a function did, or had " +
		"done, on none of its lines.",
	report.NoteCallsWithoutLine: "(without a line): %s calls, made by the runtime (when a thread or a finalizer begins, for " +
		"example), or by functions without symbols.",
	report.NoteWithoutLine: "(without a line): %s of the bytes, allocated in functions without symbols, by the runtime itself, " +
		"or in code that it maps to no statement.",
	report.NoteWithoutInstruction: "%s of the time passed in functions after their last call, so it has no " +
		"instruction.",
	report.NoteUnplacedBytes: "%s of the bytes were allocated in functions without a known instruction, such as " +
		"framework functions that your code called.",
	report.NoteNoneRecorded: "This session has no %s; clrprof run %s records them.",
	report.NoteNoneHappened: "Recorded with %s: nothing of the kind was seen.",
	report.NoteThreads:      "Only threads that %s are listed and counted.",
	report.NoteTestCases: "Rows with values between the parentheses are cases: what one call of the test, or the calls " +
		"with equal values, allocated on its thread, up to its return. They are parts of the test's row.",
	report.NoteCasesFiltered: "The cases of tests are known for whole processes only: with this selection they are not " +
		"listed.",
	report.NoteQuietTests: "Tests that allocated nothing, themselves or in what they called, are not listed; a recording " +
		"with --time lists each test that ran.",
	report.NoteNoTests: "No recorded method has the attribute of a test ([Fact], [Theory], [Test], [TestCase], " +
		"[TestMethod], or one that extends them).",
	report.NoteTests: "(outside of tests): the rest of what the processes with tests did: the runner, fixtures, " +
		"and other threads that tests started.",
	report.NoteSeveralTests: "(several tests): what async methods did after they had waited, if several tests call " +
		"them, or code outside of tests does.",
	report.NoteNoEndpoints: "No recorded function is known to answer requests of ASP.NET Core: neither an attribute " +
		"([HttpGet], [Route] …) nor the code (MapGet …) gives one a route.",
	report.NoteEndpoints: "(outside of endpoints): the rest of what the servers did: ASP.NET Core itself, with the " +
		"reading of arguments and the writing of answers, and code beside requests.",
	report.NoteSeveralEndpoints: "(several endpoints): what async methods did after they had waited, if several " +
		"endpoints call them, or code outside of endpoints does.",
	report.NoteGroups: "By %s; the inclusive value of a %[1]s is what was done while one of its functions was " +
		"on the stack, once.",
	report.NoteTreeGroups: "By %s: functions of one %[1]s that call each other are one row; exclusive values are sums, " +
		"inclusive ones count once.",
	report.NoteSums: "By %s: each row sums up the rows below it.",
	report.NoteGCs: "Before, dead and survived: in the generations that were collected; heap before and after: in all " +
		"generations. Pauses include the agent's own work.",
	report.NoteImportedGCs: "Heap size: objects and what is free between them, at the end. Pauses of a collection in the background " +
		"are all of its stops together.",
	report.NoteSpan: "Alive: born minus died in this span; more objects can have died than were born.",
	report.NoteBackground: "Background GC was off during the run: the runtime turns it off when it reports what " +
		"its collections do.",
	report.NoteWholeGCs: "Collections are of whole processes: of all threads, functions and types.",
	report.NoteMore:     "Hidden: %s; --top 0 shows them.",
	report.NotePaused:   "Paused: nothing was recorded for %s of %s; the numbers are of the rest.",
	report.NotePausedAll: "Nothing was recorded: recording was off (--after, --stopped or a pause) for all of the %s " +
		"that the program ran.",
	report.NotePausedProcesses: "Paused: nothing was recorded for %s of the %s that %s took together; the numbers are of the rest.",
	report.NotePausedThreads:   "Paused: for a part of the run, nothing was recorded of %s.",
	report.NoteSampled: "Numbers with ≈ are estimates by samples, since the process was started without clrprof: %s. Objects of " +
		"85,000 bytes and more are counted. Rows with fewer than 10 samples have no number; --format json has the intervals of 95 %%.",
	report.NoteImported: "Imported: all numbers of objects are estimates by samples (≈): %s. What became of objects, calls and times " +
		"are not in the file. Rows with fewer than 10 samples have no number; --format json has the intervals of 95 %%.",
	report.NoteLargeObjects: "Only objects of 85,000 bytes and more are counted: the process was started without clrprof, and .NET " +
		"reports smaller ones only if asked to at the start (clrprof run, clrprof env).",
	report.NoteLateCalls: "Calls from methods that were made at run time before the attach (dynamic methods, compiled expressions) " +
		"are missing where these had inlined a function: the process was started without clrprof.",
	report.NoteNotProbed: "Without probes: %s: %s.",
	report.NoteInside:    "Recorded only inside of %s: %s in it, %s, for %s in total.",
	report.NoteOutside:   "Not recorded inside of %s: %s in it, %s, for %s in total.",
	report.NoteAwaitsNoThread: "Awaited time (%s in total) belongs to no thread: a wait can begin on one and end " +
		"on another. functions shows it by method.",
	report.NoteAwaitsUnknown: "For how long %s awaited is not known, because calls may be missing (docs/metrics.md).",
	report.NoteAwaitsWhole: "Awaited times are left out: they are known only for whole processes, because a wait " +
		"can begin in one part and end in another.",
	report.NoteLessWeight: "Hidden: %s of less weight.",
	report.NoteDisabled:   "Disabled: %s.",
	report.NoteNotJudged:  "Not checked, because they need a recording with %s: %s.",
	report.NoteBottomUp: "The call tree from below: functions by what they did themselves, each with its callers " +
		"below it. The row of a caller has what the function did itself when it was called in this way.",
	report.NoteTrimmed: "Rows with less than %g %% of %s are added up in [left out].",
	report.NoteRooted:  "Only %s and what is below it; percentages are of the whole run.",
	report.NoteRootFolded: "%s of %s calls of %s have no paths, because there were more than the agent keeps: they are " +
		"not in this tree. callers NAME has all of them.",
	report.NoteSelection:     "%s",
	report.NoteNameType:      "snapshot TYPE shows where its objects were allocated, and how a root holds them.",
	report.NoteHeap:          "The heap of process %d after GC %d: %s, %s.",
	report.NoteOnlyFinalizer: "Of these, held only by the finalizer's queue: %s, %s.",
	report.NoteOnlyFrozen:    "Of these, frozen and held by no root: %s, %s.",
	report.NoteNoRoot:        "Of these, held by no known root: %s, %s.",
	report.NoteRetained:      "Retained: the objects, and what only one of them holds; each byte once.",
	report.NoteOfHeap:        "Percentages are of the heap.",
	report.NoteWholeHeap:     "A snapshot is of the whole heap: of all threads, functions and types, at one time.",
	report.NoteHolders: "Below a type: who holds its objects, each object once, by the place that made it. It is the nearest " +
		"static field, handle, stack or dependent handle; after the colon stands what it holds directly. Several together: " +
		"none of them alone keeps the object alive. The last path leads to one object, which retains most.",
	report.NoteHeldBy: "Static fields with bytes: what they hold of the type, by the place that made it; (held otherwise): by " +
		"other fields, stacks or handles, or not at all. The path below them leads to one object, which retains most.",
	report.NoteNoPath: "No path to %s is known: no root holds one, or the type retains too little.",
	report.NoteStaticsLeftOut: "In process %d the static fields of %s are not known: what they hold is below an " +
		"object[] that a handle holds.",
	report.NoteNoRoots:   "For no collection here it is known why objects survived: see run --roots.",
	report.NoteSurvived:  "What survived GC %d (generation %d, at %s), and why; survivors N shows another.",
	report.NoteTypePaths: "↳ the path on which the largest part of a type was created; types NAME, or --depth, shows all paths.",
	report.NoteWaitsForEnd: "%s of the blocked time is waiting for the end of Main, for a stop of the program, " +
		"or once, all along, for what other threads do: the list of waits does not have it.",
	report.NoteIdle: "%s of the blocked time is of threads that wait for something to do, most of it in %s: the list of " +
		"waits does not have it.",
	report.NoteAlive: "Alive are the objects that could still be reached when clrprof collected once more at the end. " +
		"What only finalizers could reach is not among them: none runs then.",
	report.NoteEndingSignal: "The end is when a signal came that the program handles, %s before the process ended; what " +
		"was freed from then on counts as alive: %s in %s.",
	report.NoteEndingHost: "The end is when the program's host was told to stop, %s before the process ended; what was " +
		"freed from then on counts as alive: %s in %s.",
	report.NoteEndingExit: "The end is when Main had returned, or Environment.Exit was called, %s before the process " +
		"ended; what was freed from then on counts as alive: %s in %s.",
	report.NoteEndings: "The end is when a program begins to end, as was seen of %s; what was freed from then on counts " +
		"as alive: %s in %s.",
	report.NoteNotCollected: "Alive: not collected at the end; this includes garbage.",
	report.NoteAliveMostly:  "Alive: reachable at the end; in %s, not collected at the end.",
	report.NoteLeftRunning:  "Left running: %s; what they did after the recording is not in the session.",
	report.NoteCutOff:       "The recording was cut off (clrprof was killed): these are the numbers up to then.",
	report.NoteGoesOn:       "Still recording: the numbers are up to the last update of the session.",
	report.NoteCompleting:   "The session is still being completed: names are as in the metadata.",
	report.NoteUnresolved: "The session was cut off before its symbols were resolved: names are as in the " +
		"metadata.",
	report.NoteSlept: "The machine was suspended for %s during the recording: elapsed times may contain it.",
	report.NoteStolen: "The host of this virtual machine took %s of its processor time (%s of what it wanted) " +
		"during the recording: elapsed, application and CPU times include what was taken while they ran.",
	report.NoteProbes:          "Recorded with times: the program can allocate more than with --memory alone.",
	report.NoteNoTimes:         "Times are left out: they are not known by type of object, nor by collection.",
	report.NoteGCSpan:          "Process %d: %s is the shortest recorded span around the requested one.",
	report.NoteEmbedded:        "The text of %s is from the symbols: %v.",
	report.NoteEmbeddedInstead: "The text of %s is from the symbols: the file is not what was compiled.",
	report.NoteWithoutText:     "Without the text of %s: %v.",
	report.NoteOtherText:       "%s is not what was compiled: its lines may differ.",
	report.NoteChangedText:     "%s was changed after the recording began: its lines may differ now.",
	report.FindingNothing: "No call was recorded: nothing that ran is your code. --mine PATTERN chooses your code, " +
		"--instrument all records all code.",
	report.FindingNothingInside: "No call was recorded: no thread was in a call of %s (--record-inside).",
	report.FindingWork:          "%s of CPU time (%s) is %s.",
	report.FindingUncertain: "How long your code works is not known: the probes of %s calls took %s ± %s, which is more " +
		"uncertain than the %s of CPU time that remain. Calls are exact: %s has %s.",
	report.FindingMeasure: "To measure what makes most of these calls, record nothing else: --include '%s'.",
	report.FindingWait:    "%[1]s blocked (%[4]s of the elapsed time, off the processor %[2]s) in %[3]s.",
	report.FindingCollections: "%s waiting for garbage collections (%s of the elapsed time): they stopped all threads " +
		"%s, for %s in all and %s at most.",
	report.FindingMostBytes: "No single place in your code allocates much: the largest is %s (%s of all bytes), most " +
		"of it of type %s, %s.",
	report.FindingMostWork: "No single place in your code takes much CPU time: the largest is %s (%s), %s.",
	report.FindingFramework: "%s of all bytes (%s) were allocated by framework code that your code did not call; " +
		"--all-code shows it.",
	report.FindingAllTypes: "Of all code: %s of all bytes are of type %s.",
	report.FindingAllCode:  "Of all code: %s of all bytes are of type %s, and %s are allocated by %s.",
	report.FindingInteractions: "Database commands and HTTP requests took %s in all, in a recording of %s (%s calls; the " +
		"view interactions lists them). The largest part is %s: %s, called in %s.",
	report.FindingIdleOrBusy: "The program had %s of CPU time in %s: it waited, or others had the processors. Which, and " +
		"where, is in a recording with --time.",
	report.FindingIdle: "The program mostly waits: it had %s of CPU time in %s. What it waits for, and where, is in a " +
		"recording with --time.",
	report.FindingNative: "Most memory is not on the heap: the process had %s of private memory, and at most %s of " +
		"objects on its heap; clrprof's own %s are in neither. The rest is native memory (libraries, Marshal, stacks " +
		"of threads), or room that the collector keeps. A recording with --time has the calls that allocate it.",
	report.FindingNativeCalls: "Native memory is allocated and not freed: %s of %s, most in %s; %s of what frees it. The " +
		"process had %s of private memory.",
	report.FindingPinned: "%s alone keep %s of the heap after the last collection that looked at roots: %s in %s, %s of it " +
		"of type %s, made by %s. A GCHandle that is not freed keeps its object for ever.",
	report.FindingCompiled: "Compiling %[2]s while the program ran took %[1]s of processor time; %[4]s ran for %[3]s. " +
		"ReadyToRun compiles them beforehand (PublishReadyToRun); what is made at run time (expressions, regular " +
		"expressions, serializers) is best kept.",
	report.FindingFolded: "%s of CPU time (%s) is in calls without paths, where call tree, flame graph and hot path end " +
		"with (truncated). Functions, callers and callees are exact; --include and --exclude record fewer functions.",
	report.FindingHeld: "%s of the heap at its snapshot (%s) is held by the static field %s: %s.",
	report.FindingRule: "%[1]s: %[2]s (%[4]s of %[5]s; rule %[3]s)",
}

// samplers say how objects were sampled, by session.SamplerRandom and so on.
var samplers = map[string]string{
	session.SamplerRandom: "each byte had the same chance, 1 in 102,400 (AllocationSampled)",
	session.SamplerTicks: "an object about every 100 KB (AllocationTick), with which a program that " +
		"repeats itself can be in step, so that a share is wrong by a third, beyond its interval",
}

// Note is a note in a sentence.
func Note(n report.Note) string {
	if !n.Estimated {
		return sentence(n)
	}
	facts := slices.Clone(n.Facts)
	for i, fact := range facts {
		switch fact.(type) {
		case q.Bytes, q.Count, q.Percent, report.Things:
			facts[i] = estimate{fact}
		}
	}
	return sentence(report.Note{Kind: n.Kind, Facts: facts})
}

// estimate is a quantity that is an estimate.
type estimate struct{ of any }

// String prints the quantity with the sign of estimates.
func (e estimate) String() string { return q.EstimateSign + fmt.Sprint(e.of) }

// sentence is a note whose quantities are as they are to be said.
func sentence(n report.Note) string {
	switch n.Kind {
	case report.NoteLoss:
		return lossText(n.Facts[0].(session.Loss), n.Facts[1], n.Facts[2])
	case report.NoteFolded:
		return foldedText(n.Facts[0].(q.Count), n.Facts[1])
	case report.NoteRecorded:
		return recordedText(n.Facts[0].(string), n.Facts[1].(bool))
	case report.NoteWaits:
		return waitsText(n.Facts[0].(string), n.Facts[1], n.Facts[2].(bool))
	case report.NoteUnrecorded:
		return unrecordedText(n.Facts[0].(q.Count), n.Facts[1].(report.List))
	case report.NoteInProcesses:
		processes := n.Facts[0].(report.List)
		return fmt.Sprintf("In %s %s: %s", pick(len(processes) == 1, "process", "processes"), processes,
			Note(n.Facts[1].(report.Note)))
	case report.FindingNothingChosen:
		return fmt.Sprintf("No call was recorded: nothing that ran is selected by %s; clrprof list-functions shows what "+
			"there is.", flags(n.Facts[0].(*report.Chosen)))
	case report.FindingNothingMade:
		return fmt.Sprintf("No object counts for a function: none that made one is selected by %s, so all count for %s; "+
			"clrprof list-functions shows what there is.", flags(n.Facts[0].(*report.Chosen)), session.NameExcluded)
	case report.FindingParts:
		parts := n.Facts[1].(report.List)
		return fmt.Sprintf("The largest %s of the %s %s in calls of %s.", pick(len(parts) == 1, "part", "parts"),
			n.Facts[0], pick(len(parts) == 1, "is", "are"), parts)
	case report.FindingSpot:
		return fmt.Sprintf("%s of %s (%s) %s %s %s: %s%s.", n.Facts[1], n.Facts[0], n.Facts[2],
			pick(n.Facts[0] == "CPU time", "is", "are"), n.Facts[3], n.Facts[4], n.Facts[5], stillAlive(n.Facts[6:]))
	case report.FindingHeldOtherwise:
		through, begin := n.Facts[3].(string), n.Facts[5].(string)
		return fmt.Sprintf("%s of the heap at its snapshot (%s) is held by %s%s: %s%s.", n.Facts[0], n.Facts[1], n.Facts[2],
			pick(through == "", "", ", through "+through), n.Facts[4],
			pick(begin == "", "", "; one way to that begins at "+begin))
	case report.FindingFragmented:
		return fmt.Sprintf("The heap is fragmented: %s of its %s were free between objects after GC %d, %s of this in %s%s. "+
			"The view gcs has it for each collection.", n.Facts[0], n.Facts[1], n.Facts[2], n.Facts[3], n.Facts[4],
			diedThere(n.Facts[5:]))
	case report.FindingAllocations:
		return fmt.Sprintf("%s of all bytes are of type %s, made by %s%s.", n.Facts[0], n.Facts[1], n.Facts[2],
			stillAlive(n.Facts[3:]))
	case report.NoteSampled, report.NoteImported:
		return fmt.Sprintf(sentences[n.Kind], samplers[n.Facts[0].(string)])
	case report.NoteChosen:
		return "Chosen by " + flags(n.Facts[0].(*report.Chosen)) + ": what is not recorded counts for its callers."
	}
	return fmt.Sprintf(sentences[n.Kind], n.Facts...)
}

// stillAlive says how much of what a finding is about was alive at the end, if that is known.
func stillAlive(least []any) string {
	if len(least) == 0 {
		return ""
	}
	return fmt.Sprintf("; at least %s of them were alive at the end", least...)
}

// diedThere says where most of what died in a generation was made, if that is known.
func diedThere(facts []any) string {
	if len(facts) == 0 {
		return ""
	}
	return fmt.Sprintf(", where %s made by %s died", facts...)
}

// Notes are notes in sentences.
func Notes(list []report.Note) []string {
	out := make([]string, len(list))
	for i, n := range list {
		out[i] = Note(n)
	}
	return out
}

// LossAmount says how much is missing from the numbers, or inexact.
func LossAmount(l session.Loss) string {
	what := counted(l.Events, l.Unit())
	switch {
	case l.IsUncounted():
		what = "an unknown number of allocations"
	case l.Allocations == 0 && l.Bytes != 0: // how many objects they are is not known
		what = fmt.Sprintf("%s at %s", l.Bytes, counted(l.Events, "place"))
	case !l.Amount.IsZero():
		what = fmt.Sprintf("%s, %s in %s", counted(l.Allocations, "allocation"), l.Bytes, what)
	}
	return what
}

// lossText says what is missing from the numbers, or inexact.
func lossText(l session.Loss, pid, process any) string {
	what := LossAmount(l)
	format := "Inexact: %s: %s (%s, process %d %s)."
	if l.IsMissing() {
		format = "Lost: %s: %s (%s, process %d %s); the numbers above are too low by that."
	}
	return fmt.Sprintf(format, what, l.Meaning(), l.Reason, pid, process)
}

// unrecordedText says how many processes have no data in the session, and names the first ones.
func unrecordedText(all q.Count, named report.List) string {
	more := ""
	if n := all - q.Count(len(named)); n > 0 {
		more = fmt.Sprintf(" and %s more", n)
	}
	return fmt.Sprintf("%s of .NET %s not recorded, and nothing that %s did is shown here: %s%s. The reason is at "+
		"the end.", counted(all, "process"), pick(all == 1, "was", "were"), pick(all == 1, "it", "they"), named, more)
}

// foldedText says how many calls have no paths, since there were more than the agent keeps.
func foldedText(calls q.Count, share any) string {
	return fmt.Sprintf("Folded: %s (%s of all) %s, because there were more paths than the agent keeps: the call "+
		"tree shows %s as %s below the last caller that has a path. Functions, callers and callees are "+
		"nevertheless exact; modules and ranges have at least the inclusive time that is shown.",
		counted(calls, "call"), share, pick(calls == 1, "has no path of its own", "have no paths of their own"),
		pick(calls == 1, "it", "them"), session.NameTruncated)
}

// lostProcessor says when a wait is counted where each loss of a processor is seen.
const lostProcessor = "A wait is counted when a thread lost its processor. System calls and page faults in which it kept " +
	"it count as the program's own work."

// lostProcessorOrCalled is the same where system calls were counted.
const lostProcessorOrCalled = "A wait is counted when a thread lost its processor, or was in a system call. Page faults " +
	"in which it kept its processor count as the program's own work."

// mechanisms say when a wait is counted, by how the operating system's acts were noticed.
var mechanisms = map[string]string{
	session.MechanismRseq: lostProcessor,
	session.MechanismPerf: lostProcessor,
	session.MechanismGap: "A wait is counted when a thread was off its processor in an interval longer than %s: the kernel " +
		"allows nothing better here (see perf_event_paranoid). Shorter waits count as the program's own work.",
	session.MechanismNone: "No wait is counted, because getrusage is refused here: CPU and application time are elapsed time.",
}

// mechanismsWithCalls say it where system calls were counted.
var mechanismsWithCalls = map[string]string{
	session.MechanismRseq: lostProcessorOrCalled,
	session.MechanismPerf: lostProcessorOrCalled,
	session.MechanismGap: "A wait is counted when a thread was in a system call, or off its processor in an interval longer " +
		"than %s. Shorter ones without a system call, and page faults, count as the program's own work.",
	session.MechanismNone: "A wait is counted when a thread was in a system call. Other waits are not seen here.",
}

// waitsText says how waiting was seen; longer than least, if by intervals; with system calls, if these were counted.
func waitsText(mechanism string, least any, calls bool) string {
	mechanisms := mechanisms
	if calls {
		mechanisms = mechanismsWithCalls
	}
	how, known := mechanisms[mechanism]
	switch {
	case !known:
		return "What counts as waiting: " + mechanism + "."
	case mechanism == session.MechanismGap:
		return fmt.Sprintf(how, least)
	}
	return how
}

// recordedText says which calls a mode of instrumentation records; declared: calls into the framework are those that
// the code names.
func recordedText(mode string, declared bool) string {
	switch mode {
	case session.InstrumentMine:
		return "Recorded: calls of your code; the framework's time counts for its callers (--instrument mine)."
	case session.InstrumentAll:
		return "Recorded: all calls, including those within the framework (--instrument all)."
	}
	if declared {
		return "Recorded (--instrument boundary): all calls of your functions, and the calls of the framework in your " +
			"code, under the names that your code has. Framework code behind delegate types and interfaces of your own " +
			"counts for its caller."
	}
	return "Recorded (--instrument boundary): all calls of your functions, and the calls of the framework in your code."
}

// flags are the flags that chose functions.
func flags(of *report.Chosen) string {
	var out []string
	for _, p := range of.Include {
		out = append(out, "--include "+shell.Quote(p))
	}
	for _, p := range of.Exclude {
		out = append(out, "--exclude "+shell.Quote(p))
	}
	if of.Small > 0 {
		out = append(out, fmt.Sprintf("--exclude-small=%d", of.Small))
	}
	return strings.Join(out, " ")
}

// counted prints a number of things: "1 event", "1,234 events", "2 processes".
func counted[T ~int | ~int64](n T, thing string) string { return q.Count(n).Of(thing) }

func pick(condition bool, yes, no string) string {
	if condition {
		return yes
	}
	return no
}
