package session

// lossKind is all that is said of a reason of losses, wherever it is said: in notes, in the view losses, and in
// docs/session.md.
type lossKind struct {
	reason  string
	missing bool   // from all values; otherwise what is lost is counted, but not all about it is known
	unit    string // what events are, in the singular; "": event
	why     string // it can follow the number of events and a colon
	touches string // which numbers and views
	advice  string
}

// Sentences that several reasons share.
const (
	moreMemory = "Give the agent more memory (--memory-limit)."
	keptData   = "Look for what wrote over the recording: the program itself can, and so can others of its user. Its " +
		"directory was kept."
	nothingToDo  = "Nothing needs to be done."
	fewerCalls   = "Give the agent more memory (--memory-limit), or record fewer calls (--exclude, --exclude-small)."
	notInAnyView = "all views: processes lists the process, and no view has anything that it did"
	deathViews   = "lifetime, ages, gcs and diff-gcs: too many objects are alive, and too few died"
)

// lossKinds has the reasons in the order in which they are explained: those of all recordings, of lifetimes, of what
// is done to a recording, of times, and of processes of which nothing is recorded.
var lossKinds = []lossKind{
	{reason: LossArenaFull, missing: true,
		why:     "the agent's memory limit (--memory-limit) or the space of /dev/shm was reached",
		touches: "all views of allocations: sites that were new from then on are not counted",
		advice: "Give the agent more memory (--memory-limit), or a file system with more space than /dev/shm " +
			"(CLRPROF_SHM)."},
	{reason: LossNoThreadState, missing: true, why: "there was no memory for a thread's tables",
		touches: "all views: everything that the thread did",
		advice:  "Find the memory limit of the process (ulimit -v, its control group), and raise it."},
	{reason: LossReentered, missing: true, why: "they happened inside the agent's own calls into the runtime",
		touches: "all views of allocations: some objects that the runtime made while the agent asked it for names",
		advice:  "Nothing needs to be done: without the profiler these allocations do not happen."},
	{reason: LossUnreported, missing: true,
		why: "this .NET does not report most boxes, multicast delegates and results of async methods, " +
			"and the agent could not make it",
		touches: "all views of allocations: such objects, in unknown number, so the loss has 0 allocations and bytes",
		advice:  "Record with another version of .NET: versions before 10 report all objects."},
	{reason: LossStackTruncated,
		why: "their stacks are deeper than --max-stack-depth, or there was no memory for more of them; " +
			"their callers are shown as (truncated)",
		touches: "calltree, callers and inclusive values: the callers beyond that are (truncated); types, threads and " +
			"exclusive values are exact",
		advice: "Record deeper stacks (--max-stack-depth); where stacks_lost is reported too, give the agent more memory " +
			"(--memory-limit)."},
	{reason: LossStacks,
		why: "most of the agent's memory limit (--memory-limit) was used up: from then on new stacks are " +
			"shown as (truncated) with the function, or with its module",
		touches: "calltree, callers and inclusive values, and without the function also exclusive ones; their " +
			"allocations count in stack_truncated",
		advice: "Give the agent more memory (--memory-limit), or a file system with more space than /dev/shm " +
			"(CLRPROF_SHM)."},
	{reason: LossTypeUnknown, why: "the runtime did not say their type",
		touches: "types, and everything by type; functions, lines and threads are exact",
		advice:  nothingToDo},
	{reason: LossThreadsFolded, unit: "thread",
		why: "so many threads had begun before them that those with one name share a row in the list of threads",
		touches: "threads, and selections by --thread: one row for all threads of a name; all sums are exact. " +
			"Events are the threads that share rows",
		advice: nothingToDo},
	{reason: LossILMapTruncated, why: "a method is so long that its last lines are not known",
		touches: "lines, ips and function: the last lines of the method; the method as a whole is exact",
		advice:  "Nothing needs to be done, unless these lines matter: then split the method."},
	{reason: LossNameTruncated, why: "a name is so long that it was cut",
		touches: "names in all views; the numbers are exact",
		advice:  nothingToDo},

	{reason: LossUntracked, missing: true,
		why:     "objects there survived a garbage collection, and the agent had not seen them allocated",
		touches: "all views of allocations and of lifetimes: these objects",
		advice:  "This should never happen: please report it as a bug in clrprof, with the view header."},
	{reason: LossLifetimeFull,
		why: "the agent's memory limit (--memory-limit) was reached: when they died is not known and " +
			"they count as alive", touches: deathViews, advice: moreMemory},
	{reason: LossMoves,
		why: "not all survivors of a garbage collection could be stored: what dies from then on counts as alive", touches: deathViews + " " +
			"from that collection on; the agent's data on objects may also have been overwritten", advice: moreMemory},
	{reason: LossAges,
		why: "most of the agent's memory limit (--memory-limit) was used up: how old they became is " +
			"not known",
		touches: "ages: objects of sites that had no ages yet; in which generation they died is exact",
		advice:  moreMemory},
	{reason: LossGCCut,
		why: "the process, or the recording, ended during a garbage collection: some of what it found dead counts, " +
			"some still counts as alive",
		touches: "lifetime, ages and gcs: the last collection of the process",
		advice:  "Let the process end by itself, before the recording ends."},
	{reason: LossChanges,
		why: "there was no room for the changes from one garbage collection to the next: from some collection " +
			"on they are not known",
		touches: "diff-gcs, selections by --gc, and the list of what only grows: the later collections (gc_birth, " +
			"gc_death)",
		advice: moreMemory},
	{reason: LossSurvivors,
		why: "so many garbage collections were examined (--roots) that there was no room for more: why objects survived the later ones is not known",
		touches: "survivors: the later collections, once the data has an eighth of --memory-limit; events are " +
			"these collections",
		advice: "Examine fewer collections (--roots), or give the agent more memory (--memory-limit)."},
	{reason: LossSnapshot,
		why: "the snapshot of the heap (--snapshot) could not be written or read: no space, no memory, " +
			"or the process was killed",
		touches: "snapshot: it has nothing of the process",
		advice: "Let the process end by itself, and give the agent more memory (--memory-limit): the file of a " +
			"snapshot counts against it."},

	{reason: LossControl,
		why: "recording was paused and resumed so often that the process did not see all changes: pauses may be " +
			"longer or shorter than the session says; or recording continued before the probes that the pause had " +
			"removed were back in the code",
		touches: "how long nothing was recorded, and therefore all sums: this can happen after 4,096 changes while " +
			"the process does nothing that is recorded",
		advice: "Pause and resume less often."},
	{reason: LossMarks,
		why: "there were so many marks and pauses, by the program or --mark-at, or cases of tests (--test-cases), that a " +
			"sixteenth of the agent's memory limit (--memory-limit) was used up: later ones are missing, and later " +
			"pauses were refused",
		touches: "marks, and selections between them (--mark); cases of tests, of which the rows of their tests have all; " +
			"what should have been paused is in all views",
		advice: "Mark and pause less often, or give the agent more memory (--memory-limit)."},
	{reason: LossNotLimited,
		why: "no probe could be put into a function of --record-inside, --record-outside, --start-at and so on, or " +
			"the process runs on .NET Core 3.1: the function did not change what is recorded",
		touches: "all views: they have what --record-outside should have left out; from then on, what is outside " +
			"of the functions of --record-inside; and recording was not started, stopped, paused or resumed at " +
			"such a function; events are these functions, or processes",
		advice: "Use .NET 5 or later, and name other functions, such as the callers of these."},
	{reason: LossTrace,
		why: "events of the call trace (--trace) are not in its file: its limit (--trace-limit) was reached, or they " +
			"came faster than they could be stored, or could not be written",
		touches: "the file of the trace, which shows where; no view: calls and times are counted nevertheless",
		advice: "Record fewer functions (--include, --exclude, --exclude-small), pause, or give the trace more room " +
			"(--trace-limit) and the agent more memory (--memory-limit)."},
	{reason: LossInteractions,
		why: "calls to a database or over HTTP have no row: there are 100,000 rows, the agent's memory limit " +
			"(--memory-limit) was reached, or a process runs on .NET Core 3.1, which is one event",
		touches: "report interactions: counts and times of these calls are missing",
		advice: "Give the agent more memory (--memory-limit), or keep values out of the texts: use parameters. " +
			"Interactions need .NET 5 or later."},
	{reason: LossInteractionTexts,
		why: "texts of database commands or requests were cut after 4,096 characters, or there was no room for more " +
			"than 20,000 different ones",
		touches: "report interactions: texts that begin alike, or have no room, are in one row; counts and times " +
			"are exact",
		advice: "Keep values out of the texts: use parameters."},
	{reason: LossCounters,
		why: "the counters that --meter names were not sampled, or not all: the process ended too soon, its " +
			"runtime is too old or did not answer, or, with attach, another tool reads its meters, or there are " +
			"more than its runtime is asked to follow (clrprof counters SESSION --missing)",
		touches: "clrprof counters: the counters of the process; all views are exact",
		advice:  "clrprof counters SESSION --missing lists them, and why; they need .NET 8 or later."},

	{reason: LossMeters,
		why: "measurements of meters (--meter) that are not in a row with their tags: an instrument had more than " +
			"2,000 sets of tags, there are 20,000 rows, the agent's memory limit (--memory-limit) was reached, " +
			"names and tags have more than 1,024 characters, or the value is not a number; with attach also " +
			"values that the runtime published and had no room for",
		touches: "clrprof counters: beyond 2,000 sets, values are added up in a row with the tags (others); other " +
			"values are missing",
		advice: "Keep unbounded values out of tags, or name fewer meters."},
	{reason: LossMeterCallbacks,
		why:     "the program threw an exception when an observable instrument of a meter (--meter) was read",
		touches: "clrprof counters: the instrument has no value at that time",
		advice:  "Look at the instrument's callback."},

	{reason: LossSamples, missing: true,
		why: "samples of small objects came faster than they could be counted, the agent's memory limit " +
			"(--memory-limit) was reached, code was unloaded while they waited, or their event could not be read",
		touches: "all views of allocations: estimates are too small; the loss counts the objects that the samples " +
			"stood for, where that is known",
		advice: "Give the agent more memory (--memory-limit), or attach for a shorter time."},

	{reason: LossFileEvents, missing: true,
		why: "the imported file lacks events, because the runtime had no room for them or the file ends in the middle, " +
			"or they could not be read, or clrprof has no room for so many",
		touches: "all views: estimates are too small, collections are missing or their pauses too short, or functions " +
			"have no name",
		advice: "Record with a larger buffer (dotnet-trace collect --buffersize), and let dotnet-trace end by itself."},

	{reason: LossDamaged, missing: true,
		why: "records of what the process's agent wrote are damaged: clrprof recover left them out, or what in them " +
			"cannot be right",
		touches: "all views: threads and functions that are not described any more are called (damaged), callers " +
			"that are lost are (truncated), types have no name; counters that cannot be are 0. Events are these records",
		advice: keptData},
	{reason: LossDamagedTimes, missing: true,
		why:     "what the process's agent wrote of times is damaged: clrprof recover left it out",
		touches: "all views of times: they have nothing of the process; its allocations are there",
		advice:  keptData},
	{reason: LossDamagedLifetimes, missing: true,
		why:     "what the process's agent wrote of lifetimes is damaged: clrprof recover left it out",
		touches: "lifetime, ages, gcs and diff-gcs: they have nothing of the process; its allocations are there",
		advice:  keptData},

	{reason: LossCallsFolded, unit: "call",
		why: "the agent's memory limit (--memory-limit) was reached: they are not counted, and their " +
			"time counts for their callers",
		touches: "functions, calltree and callers: calls are too few, and the exclusive times of their callers too " +
			"long",
		advice: fewerCalls},
	{reason: LossCallsUnmatched, unit: "call",
		why: "their end was not seen, only that their frame was gone later: part of the time after their end " +
			"counts for them",
		touches: "times of these functions, which are too long, and of their callers, which are too short; calls are " +
			"exact",
		advice: nothingToDo},
	{reason: LossCallsCut, unit: "call",
		why: "they were taken to have ended, but continued: what they called and did after that counts for " +
			"their callers",
		touches: "times of these functions, which are too short, and of their callers; calls are exact",
		advice: "If calls_folded is reported too, follow its advice: calls without memory cannot be unwound. " +
			"Otherwise it should not happen: please report it as a bug in clrprof."},
	{reason: LossCallsJumped, unit: "call",
		why: "they ended by a jump to another function, as the program demands (tail., in F#): its " +
			"time counts for their callers and not for them",
		touches: "inclusive times of these functions, and calltree: what they called is beside them instead of " +
			"below. With probes in IL this concerns only calls for which the stack was too small",
		advice: "Nothing needs to be done; without the prefix tail. (--tailcalls- of the F# compiler) they are ordinary calls."},
	{reason: LossCallsNested, unit: "call",
		why: "the runtime made them while it looked for the handler of an exception, as it does for handlers of " +
			"AppDomain.FirstChanceException, within 16 other such calls: neither they nor what they call is " +
			"counted, and their time counts for their callers",
		touches: "functions, calltree and callers: calls are too few, and the exclusive times of the functions that " +
			"threw too long",
		advice: "Throw less in handlers of exceptions that other handlers have thrown, or see calls by probes in " +
			"IL (--probes il), which have no such limit."},
	{reason: LossWaits, unit: "interval",
		why: "there was no memory to store what the operating system did in them: waiting may count as CPU time, " +
			"and minimum and maximum of calls are bounds",
		touches: "CPU, blocked and ready time, context switches and faults, and the minimum and maximum of a call; " +
			"elapsed times are exact",
		advice: moreMemory},
	{reason: LossCPUCounters, unit: "interval",
		why: "a CPU counter could not be read at their beginning or end, or recording was paused in them: no " +
			"counter counts what happened in them",
		touches: "CPU counters of the functions that ran in them; times and calls are exact",
		advice: "Record with fewer --cpu-counters at once: the processor counts only some, and others may use them. " +
			"After a pause nothing needs to be done."},
	{reason: LossSystemEvents, unit: "interval",
		why:     "the list of system events (--events) had reached its limit (--event-limit), or half of the agent's memory limit (--memory-limit) was used up: the operating system acted in them, and they are not listed",
		touches: "events: later ones are missing; the sums of what is listed are exact in all other views",
		advice: "Raise --event-limit, list fewer kinds (--events), record fewer functions or a part of the run " +
			"(--after, --for), or give the agent more memory (--memory-limit)."},
	{reason: LossClockBackwards, unit: "interval", why: "the clock went back in them: their time counts as 0",
		touches: "times of the functions that ran in them; calls are exact",
		advice:  "Nothing needs to be done if they are few. If they are many, the machine's clock is faulty."},
	{reason: LossNotHooked, unit: "function",
		why: "there was no memory to hook them: their calls are not counted and their time counts for " +
			"their callers",
		touches: "functions, calltree and callers: these functions are not in them, unless they allocated",
		advice:  fewerCalls},
	{reason: LossNotProbed, unit: "function",
		why: "probes could not be put into their IL, or not into all code that has it inlined: such calls are not " +
			"counted, their time counts for their callers, and there are no marks at them",
		touches: "functions, calltree and callers: these calls are not in them; marks of --mark-at",
		advice: "Nothing can be done: there is no way to put probes into such code. `clrprof report SESSION " +
			"losses` lists the functions with the reason. Their callers are recorded."},
	{reason: LossAsyncNotHooked, unit: "function",
		why: "the runtime suspends these async methods itself (runtime-async), and probes would break " +
			"them on this .NET: their calls are not counted and their time counts for their callers",
		touches: "functions, calltree and callers: these methods are not in them, unless they allocated",
		advice:  "Compile the program without runtime-async, a preview in .NET 10."},

	{reason: LossNoSpace, missing: true,
		why: "nothing of the process is recorded: the file system of the shared memory is full; set CLRPROF_SHM to " +
			"a directory on another file system", touches: notInAnyView,
		advice: "Set CLRPROF_SHM to a directory with more space, or record fewer processes at once."},
	{reason: LossNoAddressSpace, missing: true,
		why: "nothing of the process is recorded: a limit of its address space or its files' size " +
			"(ulimit -v, -f) leaves no room for the agent", touches: notInAnyView,
		advice: "Raise these limits, or give the agent less memory (--memory-limit)."},
	{reason: LossNoFile, missing: true,
		why: "nothing of the process is recorded: its agent could not make a file for the shared memory " +
			"(too many open files?)", touches: notInAnyView,
		advice: "Raise the limit of open files (ulimit -n), and make sure that the process may write to the " +
			"directory of CLRPROF_SHM."},
	{reason: LossNoMemory, missing: true,
		why:     "nothing of the process is recorded: there was no memory for the agent's first tables",
		touches: notInAnyView,
		advice:  "Find the memory limit of the process (ulimit -v, its control group), and raise it."},
	{reason: LossOldRuntime, missing: true,
		why: "nothing of the process is recorded: its .NET is older than 2.2", touches: notInAnyView,
		advice: "Run the program on a newer .NET."},
	{reason: LossRefused, missing: true,
		why: "nothing of the process is recorded: its runtime refused the profiler", touches: notInAnyView,
		advice: "Check whether another profiler or a setting of the runtime (DOTNET_…, CORECLR_…) is in the way."},
	{reason: LossForked, missing: true,
		why: "nothing of the process is recorded: it was forked by a .NET process, and went on with its code without " +
			"starting another program", touches: notInAnyView,
		advice: ".NET does not support that: start a program of its own instead. What the parent did is complete."},
	{reason: LossNoVariables, missing: true,
		why: "nothing of the process is recorded: it was started without the variables by which the runtime finds " +
			"the agent, as with sudo, su, env -i, or an environment that its parent cleared", touches: notInAnyView,
		advice: "Let its parent pass on CORECLR_… and CLRPROF_… (sudo --preserve-env), or record it with a clrprof " +
			"run of its own, or with attach."},
	{reason: LossOtherUser, missing: true,
		why: "nothing of the process is recorded: it runs as another user, who may read neither the agent nor the " +
			"folder of the shared memory", touches: notInAnyView,
		advice: "Start clrprof as that user: sudo -u USER clrprof run …, or record the process by itself."},
	{reason: LossNoFolder, missing: true,
		why: "nothing of the process is recorded: it does not see the folder of the shared memory, as in a sandbox " +
			"with its own /dev/shm (bubblewrap, snap)", touches: notInAnyView,
		advice: "Set CLRPROF_SHM to a folder that both see."},
	{reason: LossNotLoaded, missing: true,
		why:     "nothing of the process is recorded: its runtime did not load the agent, or ended before it could",
		touches: notInAnyView,
		advice: "Look for DOTNET_EnableDiagnostics=0 in its environment and its runtimeconfig.json. A process that " +
			"was killed while its runtime started did nothing that could be recorded."},
	{reason: LossUnreadable, missing: true,
		why: "it cannot be known whether the process runs .NET without being recorded: the kernel lets nobody but " +
			"its own user look at it", touches: notInAnyView,
		advice: "Run clrprof as root to know. If it runs .NET, record it with a clrprof run of its own."},
	{reason: LossDamagedProcess, missing: true,
		why:     "nothing of the process is in the session: what its agent wrote is damaged and cannot be read",
		touches: notInAnyView, advice: keptData},
	{reason: LossNotRecorded, missing: true, why: "nothing of the process is recorded: its agent gave up",
		touches: notInAnyView, advice: "The process may have printed the reason on standard error."},
}
