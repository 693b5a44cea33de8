package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/sys/unix"

	"github.com/clrprof/clrprof/internal/analysis"
	"github.com/clrprof/clrprof/internal/capture/agentbin"
	"github.com/clrprof/clrprof/internal/capture/cgroup"
	"github.com/clrprof/clrprof/internal/capture/collect"
	"github.com/clrprof/clrprof/internal/capture/cpucounter"
	"github.com/clrprof/clrprof/internal/capture/eventpipe"
	"github.com/clrprof/clrprof/internal/capture/instrument"
	"github.com/clrprof/clrprof/internal/capture/launch"
	"github.com/clrprof/clrprof/internal/capture/live"
	"github.com/clrprof/clrprof/internal/capture/recording"
	"github.com/clrprof/clrprof/internal/capture/steer"
	"github.com/clrprof/clrprof/internal/capture/systemevent"
	"github.com/clrprof/clrprof/internal/pattern"
	"github.com/clrprof/clrprof/internal/present/report"
	"github.com/clrprof/clrprof/internal/present/report/text"
	"github.com/clrprof/clrprof/internal/present/report/words"
	"github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/session/secrets"
)

// defaultOutput is the pattern of a session's path.
const defaultOutput = "%e.%p.%t.clrprof"

// defaultSample and leastSample are milliseconds: a sample takes some hundred microseconds.
const (
	defaultSample = 500
	leastSample   = 10
)

// Frames of a stack: the most that the agent takes, and what it keeps by itself.
const (
	maxStackDepth     = 65536
	defaultStackDepth = 16384
)

// patience is how many times Ctrl-C must be pressed until clrprof stops waiting for a target that does not end.
const patience = 3

// The collections that --roots can choose, or a number.
const (
	defaultRoots  = "gen2"
	maxRootsEvery = 1_000_000_000 // fits the agent's counter
)

// snapshotEnd chooses the last collection for --snapshot; otherwise it is a number like that of --roots.
const snapshotEnd = "end"

var rootChoices = []string{defaultRoots, "every", "induced", "off"}

// runFlags are the flags of the run command.
type runFlags struct {
	arguments              secrets.Keep // that the session holds
	memory, lifetime, time bool
	output                 string
	force, noReport        bool
	fits                   bool // --top is not given: the lists have as many rows as fit a screen
	top, depth             int
	depthGiven             func() bool
	limit                  string
	finalGC                bool
	roots                  string
	snapshot               string
	plan                   planFlags
	probes                 string
	sample                 int // milliseconds
	meters                 []string
	functions              functionFlags
	interactions           bool
	cpuCounters            []string
	counters               []cpucounter.Counter // of these, and those of events
	events                 []string
	eventLimit             int
	eventKinds             []systemevent.Kind // of events
	steer                  steerFlags
	trace                  traceFlags
	live                   string // address of the page, "" for none
	ready                  readyFlag
	names                  *resolving // names and lines of what was recorded; nil: nobody looked for them
	own                    *socket    // of the recording; nil: there is none yet
}

func newRunCommand(e *environment) *cobra.Command {
	r := &runFlags{}
	cmd := &cobra.Command{
		Use:   "run [flags] [--] COMMAND [ARG…]",
		Short: "Run a command and record its .NET processes: allocations, or calls and times",
		Long: "Run a command and record every allocation of the .NET processes that it starts, itself\n" +
			"included, and in which generation each object died. --memory records only allocations,\n" +
			"--time every call and its time; the three can be combined. Input, output, signals and exit\n" +
			"code pass through; clrprof's own failures have codes from 120 on (docs/cli.md).\n" +
			"At the end clrprof prints a summary on standard error.\n\n" +
			"Flags come before the command: the first argument without a dash ends them.",
		Example: "  clrprof run dotnet app.dll --an-option-of-app\n" +
			"  clrprof run -o before.clrprof -f -- ./app\n" +
			"  clrprof run --time -- dotnet app.dll\n" +
			"  clrprof run --time --memory --include 'Shop.*' -- dotnet app.dll\n" +
			"  clrprof run --exclude 'System.*' --exclude 'Microsoft.*' -- dotnet app.dll\n" +
			"  clrprof run --after 2m --for 30s -- ./server\n" +
			"  clrprof run --live -- ./server\n" +
			"  clrprof run --wait-ready=30s -o load.clrprof -- ./server && ./load-test.sh\n" +
			"  clrprof run --mark-at Shop.Orders.Load --mark-at Shop.Orders.Load:after -- ./server\n" +
			"  clrprof run --time --record-inside Shop.Orders.Load -- ./server\n" +
			"  clrprof run --time --interactions -- ./server\n" +
			"  clrprof run --time --cpu-counters page-faults,context-switches -- dotnet app.dll\n" +
			"  clrprof run --time --events sched,page-faults -- dotnet app.dll\n" +
			"  clrprof run --trace orders.json.gz --include 'Shop.Orders.*' -- dotnet app.dll\n" +
			"  clrprof run --meter Shop.Events --meter System.Runtime -- ./server\n" +
			"  clrprof run --no-report -- ./build.sh",
		Args: arguments(1, 1<<20, "a COMMAND"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := r.choose(cmd.Flags().Changed); err != nil {
				return err
			}
			if r.ready.wanted(e) {
				return r.ready.wait(e)
			}
			return r.run(e, args)
		},
	}
	r.add(cmd)
	cmd.SetHelpFunc(groupedHelp(e, commonRunFlags, runFlagGroups))
	return cmd
}

// commonRunFlags say what those flags of run do that most people need.
const commonRunFlags = "  --memory           only allocations, not the ends of objects: a little faster\n" +
	"  --time             calls and their times; with --memory or --lifetime both, in one tree\n" +
	"  -o FILE, -f        the session file; replace it if it exists\n" +
	"  --include PATTERN  record only these functions; --exclude PATTERN: leave these out\n" +
	"  --mine PATTERN     more modules that are your code\n" +
	"  --after 2m         begin recording after this time; --for 30s: record for this long\n" +
	"  --live             watch the recording in a browser"

// runFlagGroups are the flags of run, as its help names them.
var runFlagGroups = []flagGroup{
	{"what", "--lifetime (the default)  --memory  --time  --interactions  --meter NAME"},
	{"output", "-o, --output FILE  -f, --force  --no-report  --top N  --live  --arguments WHICH"},
	{"code", "--mine PATTERN  --include PATTERN  --exclude PATTERN  --exclude-small  --instrument MODE"},
	{"times", "--trace FILE  --trace-limit SIZE  --events KINDS  --event-limit N  --cpu-counters A,B"},
	{"", "--probes WAY"},
	{"objects", "--snapshot WHEN  --roots WHICH  --final-gc  --test-cases"},
	{"when", "--after TIME  --for TIME  --stop-when CONDITION  --record-first N  --paused  --stopped"},
	{"", "--control-signals  --wait-ready"},
	{"calls", "--record-inside PATTERN  --record-outside PATTERN  --mark-at PATTERN  --mark-requests"},
	{"", "--start-at PATTERN  --stop-at PATTERN  --pause-at PATTERN  --resume-at PATTERN"},
	{"limits", "--memory-limit SIZE  --max-stack-depth N  --sample-counters MILLISECONDS"},
}

func (r *runFlags) add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.SetInterspersed(false)
	f.BoolVar(&r.memory, "memory", false, "record allocations; without --lifetime and --time: nothing else")
	f.BoolVar(&r.time, "time", false, "record calls and their times; without --memory and --lifetime: nothing else")
	r.addLifetime(f, "record allocations, and in which generation objects die (the default)")
	r.addOutput(f)
	r.plan.add(cmd)
	f.StringVar(&r.probes, "probes", probesAuto, "with --time, how calls are seen: il (by probes in the code that "+
		"is recorded), hooks (by the runtime's hooks, which turn off precompiled code), or auto (il where possible)")
	r.addWatching(f)
	r.functions.add(f)
	f.BoolVar(&r.interactions, "interactions", false,
		"also record calls to databases (ADO.NET) and over HTTP: clrprof report interactions")
	f.StringSliceVar(&r.cpuCounters, "cpu-counters", nil, "with --time: also read these counters of the processor and "+
		"the kernel where calls begin and end, six at most (clrprof counters --cpu lists them)")
	r.addEvents(f)
	r.trace.add(f)
	r.steer.addFirst(f)
	r.ready.add(f)
}

// addLifetime adds the flags of objects that are followed.
func (r *runFlags) addLifetime(f *pflag.FlagSet, usage string) {
	f.BoolVar(&r.lifetime, "lifetime", false, usage)
	f.BoolVar(&r.finalGC, "final-gc", true,
		"with --lifetime: run a last collection at the end, so that alive means reachable")
	f.StringVar(&r.roots, "roots", defaultRoots,
		"with --lifetime: find out why objects are alive in these collections: gen2, every, N (each Nth), induced, off")
	f.StringVar(&r.snapshot, "snapshot", "", "with --lifetime: take a snapshot of the heap and report what retains "+
		"its memory: end (after the last collection), or N (after the first full collection from the Nth on)")
}

// lifetimeFlags are those that need --lifetime.
var lifetimeFlags = []string{"final-gc", "roots", "snapshot"}

// addOutput adds the flags that say what becomes of what is recorded.
func (r *runFlags) addOutput(f *pflag.FlagSet) {
	f.StringVarP(&r.output, "output", "o", defaultOutput,
		"the session file: %e name of the command, %p its process id, %t time")
	f.BoolVarP(&r.force, "force", "f", false, "overwrite the file")
	addArguments(f, &r.arguments)
	f.BoolVar(&r.noReport, "no-report", false, "print no summary")
	f.IntVar(&r.top, "top", 0, "rows in the lists of the summary; 0: all (default: what fits on a screen)")
}

// addWatching adds those that say how a recording is steered, watched and limited.
func (r *runFlags) addWatching(f *pflag.FlagSet) {
	f.IntVar(&r.sample, "sample-counters", defaultSample,
		"milliseconds between samples of the counters of the operating system (clrprof counters lists them), at "+
			"least 10; 0: no samples")
	f.StringArrayVar(&r.meters, "meter", nil, "also sample what programs count: the meters that match, such as "+
		"'Shop.*', and the event source with exactly this name, such as System.Runtime (this runs code in the "+
		"program, which allocates)")
	r.steer.add(f)
	f.StringVar(&r.live, "live", "", "serve a page that shows the recording while the command runs, and then the "+
		"session; optionally an address to listen on: --live=127.0.0.1:8123")
	f.Lookup("live").NoOptDefVal = anyPort
	f.IntVar(&r.depth, "max-stack-depth", 0, fmt.Sprintf("frames kept of each stack, at most %d (default %d)",
		maxStackDepth, defaultStackDepth))
	r.depthGiven = func() bool { return f.Changed("max-stack-depth") }
	f.StringVar(&r.limit, "memory-limit", "", "memory for the agent's tables in each process, such as 512M "+
		"(default: a quarter of the memory of the machine or the control group, at most 8G)")
}

func (r *runFlags) run(e *environment, command []string) error {
	pipe, err := openPathPipe(e)
	if err != nil {
		return err
	}
	defer pipe.close()
	options, err := r.options(e, command)
	if err != nil {
		return err
	}
	spareMemory(e.getenv)
	notes := newNotes(e.stderr)
	if r.recordsSDK(command) {
		notes.say("dotnet %s runs no code of yours: the calls of the SDK's programs are recorded; --mine PATTERN chooses others",
			command[1])
	}
	defer survive(unix.SIGXFSZ)()
	stop := make(chan struct{})
	options.Stop = stop
	stopWatching := watchKeyboard(notes, stop)
	res, page, err := r.record(e, notes, options, func(o collect.Options) (collect.Result, error) {
		return collect.Run(alsoOpened(o, pipe.send))
	})
	defer page.close()
	defer r.leave(res)
	if res.Running {
		notes.say("stopped waiting: the command continues; what it did so far is recorded")
		res.ExitCode = exitInterrupted
	}
	r.functions.say(notes, res)
	stopWatching() // from now on Ctrl-C ends clrprof at once, which has said the above
	if err != nil {
		return r.failed(notes, res, command, err)
	}
	if err := r.finish(e, notes, res); err != nil {
		return r.targetFirst(notes, res, err)
	}
	if err := page.stay(res.Path); err != nil {
		return r.targetFirst(notes, res, err)
	}
	return statusError(res.ExitCode)
}

// alsoOpened lets a function, too, know the path of the session when there is one.
func alsoOpened(o collect.Options, fn func(path string)) collect.Options {
	opened := o.Opened
	o.Opened = func(path string) {
		opened(path)
		fn(path)
	}
	return o
}

// record records, tells the user how it goes, and lets others watch and change it. The page is to be closed.
func (r *runFlags) record(e *environment, notes *notes, options collect.Options,
	record func(collect.Options) (collect.Result, error)) (collect.Result, *livePage, error) {
	var busy sync.Once
	options.OnBusy = func() {
		busy.Do(func() {
			notes.say("another program is reading the session and has locked it: clrprof will write it when that " +
				"program is done")
		})
	}
	var ended sync.Once
	options.OnEnd = func(percent int) {
		ended.Do(func() {
			notes.clear()
			notes.startWork()
		})
		notes.work("writing the session: %d %%", percent)
	}
	own := &socket{feed: live.NewFeed(), queue: steer.NewQueue()}
	r.own = own
	var released func()
	options.Steer, released = r.steer.steering(notes, own.queue)
	defer released()
	shown := !isTerminal(e.stdout) // otherwise it would stand in the middle of what the command prints
	options.OnSlice = func(p collect.Progress) {
		if shown {
			notes.progress("recording: %s, %s", p.Age, plural(p.Processes, ".NET process", ".NET processes"))
		}
	}
	options.OnNamed = func(s *session.Session) { r.names = startResolving(s) }
	page, err := r.servePage(notes, own.feed)
	if err != nil {
		return collect.Result{}, &livePage{}, err
	}
	options.Live, options.Opened = own.feed, func(path string) {
		if own.open(path); own.err != nil {
			notes.say("%v: the recording continues, but clrprof top and clrprof ctl cannot reach it", own.err)
		}
		page.open(path)
	}
	res, err := record(options)
	if !res.Named && r.names != nil {
		r.names.abandon()
		r.names = nil
	}
	notes.clear()
	ended.Do(notes.startWork)
	return res, page, err
}

// leave tells others that nobody records or writes the session any more. It does nothing the second time.
func (r *runFlags) leave(res collect.Result) {
	if r.own != nil {
		r.own.close()
	}
	if res.Session != nil {
		// Nothing was written by this descriptor, so no data is lost if closing it fails.
		_ = res.Session.ReleaseClaim()
	}
}

// survive makes a signal that would end clrprof do nothing: the call that caused it fails with an error that says
// more. Ignoring it would be passed on to the command.
func survive(s os.Signal) (cancel func()) {
	unread := make(chan os.Signal, 1)
	signal.Notify(unread, s)
	return func() { signal.Stop(unread) }
}

// targetFirst chooses between the target's exit code and clrprof's own: a command that failed has the first word.
func (r *runFlags) targetFirst(n *notes, res collect.Result, err error) error {
	if res.ExitCode == 0 {
		return err
	}
	n.say("%v", err)
	return statusError(res.ExitCode)
}

// failed explains why there is no session.
func (r *runFlags) failed(n *notes, res collect.Result, command []string, err error) error {
	code := exitInternal
	var coded *exitError
	switch {
	case errors.As(err, &coded):
		return err
	case errors.Is(err, collect.ErrNoAgent):
		why := launch.Explain(command, os.Environ())
		if res.Loader != "" {
			why = "it cannot be loaded: " + res.Loader
		}
		err = fmt.Errorf("%w, so there is nothing to report: %s", collect.ErrNoAgent, why)
		code = exitNoRuntime
	case errors.Is(err, collect.ErrNotRecorded):
		code = exitNoRuntime
	case errors.Is(err, collect.ErrWrite):
		code = exitUnwritable
		switch {
		case res.Kept == "" && errors.Is(err, session.ErrExists):
			err = fmt.Errorf("%w: use -f to replace it, or -o for another name", err)
		case res.Kept == "" && errors.Is(err, session.ErrInUse):
			err = fmt.Errorf("%w: name another file with -o", err)
		case res.Kept != "":
			err = fmt.Errorf("%w: the recorded data is kept: clrprof recover %s -o FILE", err, res.Kept)
		}
	case errors.Is(err, launch.ErrStart), errors.Is(err, launch.ErrNested):
		code = exitNoTarget
	case errors.Is(err, launch.ErrOtherProfiler):
		code = exitNoTarget
		err = fmt.Errorf("%w: .NET allows one profiler in each process: unset CORECLR_ENABLE_PROFILING to use "+
			"clrprof instead", err)
	case errors.Is(err, agentbin.ErrMissing):
		code = exitNotSupported
	default:
		code = exitUnwritable
	}
	return r.targetFirst(n, res, exit(code, err))
}

// finish resolves names, derives the sums, writes the call trace and prints the summary.
func (r *runFlags) finish(e *environment, n *notes, res collect.Result) error {
	w := res.Session
	defer w.Close() // all was written before
	err := complete(n, w, made{res.Sums, r.names})
	r.leave(res)
	if err = errors.Join(err, res.Unremoved); err != nil {
		return exit(exitUnwritable, fmt.Errorf("completing the session %s: %w", res.Path, err))
	}
	s, err := w.Reader()
	if err != nil {
		return readError(err)
	}
	if err := r.summarize(e, n, s); err != nil || r.trace.path == "" {
		return err
	}
	return writeTrace(n, s, res.Trace, res.TraceErr, r.force)
}

func (r *runFlags) summarize(e *environment, n *notes, s *session.Session) error {
	if r.noReport {
		n.say("session %s", s.Path())
		if !r.time && len(r.plan.include)+len(r.plan.exclude) == 0 {
			return nil
		}
	}
	src, err := analysis.Open(s, analysis.Selection{})
	if err != nil {
		return readError(err)
	}
	if r.noReport {
		return sayNothing(n, src)
	}
	o := report.Options{Top: r.top, Shown: true}
	if r.fits {
		o.Top = report.FitTop
	}
	summary, err := report.Summarize(src, o)
	if err != nil {
		return readError(err)
	}
	layout, err := (&outputFlags{color: "auto"}).text(&environment{stdin: e.stdin, stdout: e.stderr, stderr: e.stderr,
		getenv: e.getenv})
	if err != nil {
		return err
	}
	if r.fits {
		layout.Lines = text.Screen
	}
	fmt.Fprintln(e.stderr)
	return written(writeSummary(e.stderr, summary, asText, layout))
}

// sayNothing says why a recording of calls has none, or why no object is of a function: without a report the user would
// learn it only on opening the session.
func sayNothing(n *notes, src *analysis.Source) error {
	why, err := report.Nothing(src)
	if err != nil {
		return readError(err)
	}
	if why != nil {
		n.say("%s", words.Note(*why))
	}
	return nil
}

// choose settles what is recorded: without a flag, lifetime; otherwise what is asked for, and memory with lifetime.
func (r *runFlags) choose(changed func(string) bool) error {
	r.fits = !changed("top")
	if err := r.trace.check(changed); err != nil {
		return err
	}
	r.time = r.time || r.trace.path != ""
	if err := r.chooseLifetime(changed); err != nil {
		return err
	}
	for _, name := range []string{"instrument", "exclude-small", "probes"} {
		if changed(name) && !r.time {
			return usage("--%s needs --time", name)
		}
	}
	if err := r.plan.check(); err != nil {
		return err
	}
	if err := r.checkMine(); err != nil {
		return err
	}
	if err := r.checkProbes(); err != nil {
		return err
	}
	if err := r.steer.check(r.lifetime); err != nil {
		return err
	}
	if err := r.ready.check(r.live); err != nil {
		return err
	}
	if err := r.checkMeters(); err != nil {
		return err
	}
	if err := r.functions.check(); err != nil {
		return err
	}
	var err error
	if r.counters, err = chosenCounters(r.cpuCounters, r.time); err != nil {
		return err
	}
	return r.chooseEvents(changed)
}

// checkMine refuses patterns that name no modules, or that the agent cannot get.
func (r *runFlags) checkMine() error {
	if _, err := compileMine(r.plan.mine); err != nil {
		return exit(exitUsage, err)
	}
	if err := r.plan.mineRules().Check(); r.time && err != nil {
		return usage("--mine with --time: %v", err)
	}
	return nil
}

// chooseLifetime settles whether objects are followed, and with that whether allocations are recorded.
func (r *runFlags) chooseLifetime(changed func(string) bool) error {
	if changed("memory") && !r.memory && !r.time && !r.lifetime {
		return usage("--memory=false leaves nothing to record: add --time")
	}
	if !changed("lifetime") {
		r.lifetime = !r.memory && !r.time
	}
	r.memory = r.memory || r.lifetime || !r.time
	for _, name := range lifetimeFlags {
		if changed(name) && !r.lifetime {
			return usage("--%s needs --lifetime", name)
		}
	}
	if n, err := strconv.Atoi(r.roots); !slices.Contains(rootChoices, r.roots) &&
		(err != nil || n < 1 || n > maxRootsEvery) {
		return usage("--roots %q: want gen2, every, induced, off, or a number", r.roots)
	}
	if n, err := strconv.Atoi(r.snapshot); r.snapshot != "" && r.snapshot != snapshotEnd &&
		(err != nil || n < 1 || n > maxRootsEvery) {
		return usage("--snapshot %q: want end or a number", r.snapshot)
	}
	if r.snapshot == snapshotEnd && !r.finalGC {
		return usage("--snapshot end needs --final-gc, because the snapshot is taken after the last collection")
	}
	return nil
}

func (r *runFlags) options(e *environment, command []string) (collect.Options, error) {
	limit, err := r.checkLimits()
	if err != nil {
		return collect.Options{}, err
	}
	arguments, err := json.Marshal(r.arguments.Of(command))
	if err != nil {
		return collect.Options{}, exit(exitInternal, err)
	}
	directory, err := os.Getwd()
	if err != nil {
		return collect.Options{}, exit(exitNoTarget, fmt.Errorf("no working directory: %w", err))
	}
	set, err := json.Marshal(r.set())
	if err != nil {
		return collect.Options{}, exit(exitInternal, err)
	}
	traced, err := r.trace.options(r.force)
	if err != nil {
		return collect.Options{}, err
	}
	now := time.Now()
	facts := sessionFacts(now)
	facts[session.KeyMode] = r.mode()
	tellArguments(facts, r.arguments)
	facts[session.KeyCommand], facts[session.KeyDirectory], facts[session.KeyOptions] = string(
		arguments), directory, string(set)
	// What the agent cannot read of --mine was refused with --time; without, only clrprof itself must understand it.
	rules, mine := r.plan.rules(), r.plan.mineRules().Readable()
	return collect.Options{
		Arguments: r.arguments,
		Launch: launch.Options{Command: command, MemoryLimit: limit, Nodes: mostNodes(memory()), StackDepth: r.depth,
			Environment: os.Environ(),
			Lifetime:    r.lifetime, FinalGC: r.finalGC, Roots: r.roots, Snapshot: r.snapshot,
			Time: r.time, Trace: traced.Path != "", NoMemory: !r.memory,
			Instrument: r.plan.instrument, Probes: r.probesVariable(),
			Small: r.plan.small, Rules: rules.Lines(),
			Mine: mine.Lines(), MineFolder: r.userFolder(command),
			Actions: r.functions.lines, Interactions: r.interactions,
			CPUCounters:  cpucounter.Variable(r.counters),
			SystemEvents: systemevent.Variable(r.eventKinds, r.eventLimit),
			MarkRequests: r.functions.markRequests, TestCases: r.functions.testCases,
			Meters: r.meters, MeterInterval: time.Duration(r.sample) * time.Millisecond,
			Agent: e.getenv("CLRPROF_AGENT"), RecordFirst: uint32(r.steer.first), Kept: r.steer.keptSignals()},
		Output: r.output, Name: recording.ProgramName(command[0], command), Force: r.force, Filter: rules,
		Facts: facts, Begin: now, Group: r.followGroups(), Sample: quantity.Nanoseconds(r.sample) * 1_000_000,
		Meters: r.meters, MarkAt: r.functions.marks, Limits: r.functions.limits, Trace: traced,
	}, nil
}

// checkLimits refuses what is out of its range, and returns the agent's limit of memory in bytes.
func (r *runFlags) checkLimits() (int64, error) {
	limit, err := memoryLimit(r.limit)
	switch {
	case err != nil:
		return 0, err
	case r.depth < 0 || r.depth > maxStackDepth || r.depth == 0 && r.depthGiven():
		return 0, usage("--max-stack-depth %d is not between 1 and %d", r.depth, maxStackDepth)
	case r.sample != 0 && r.sample < leastSample:
		return 0, usage("--sample-counters %d: want 0, or at least %d milliseconds", r.sample, leastSample)
	case r.top < 0:
		return 0, usage("--top cannot be negative")
	}
	return limit, nil
}

// checkMeters refuses what no meter or event source can be called.
func (r *runFlags) checkMeters() error {
	if len(r.meters) > 0 && r.sample == 0 {
		return usage("--meter needs samples: --sample-counters is 0")
	}
	if len(r.meters) > collect.MaxMeterNames {
		return usage("--meter: at most %d can be given", collect.MaxMeterNames)
	}
	for _, name := range r.meters {
		if !eventpipe.ValidName(name) || pattern.IsExpression(name) {
			return usage("--meter %q: want a name, such as System.Runtime, or a pattern of meters with *, such as "+
				"Shop.*", name)
		}
	}
	return nil
}

// How calls are seen: by the runtime's hooks, or by probes in the IL of the functions that are recorded.
const (
	probesAuto  = "auto"
	probesHooks = "hooks"
	probesIL    = "il"
)

func (r *runFlags) checkProbes() error {
	if names := []string{probesAuto, probesHooks, probesIL}; !slices.Contains(names, r.probes) {
		return exit(exitUsage, report.Unknown("--probes", r.probes, names))
	}
	if r.probes == probesIL && r.plan.instrument == string(instrument.All) {
		return usage("--probes il is for the program's own code and the calls that it makes: use --instrument mine " +
			"or boundary")
	}
	if r.probes == probesIL && r.plan.instrument == string(instrument.Boundary) && r.plan.small > 0 {
		return usage("--probes il sees calls into the framework as the code declares them, so it does not work " +
			"with --exclude-small; --instrument mine leaves these calls out")
	}
	return nil
}

// probesVariable is what the agent gets, which takes hooks if it gets nothing.
func (r *runFlags) probesVariable() string {
	if r.probes == probesIL || r.probes == probesAuto && r.plan.instrument != string(instrument.All) {
		return probesIL
	}
	return ""
}

// followGroups is how much of what a control group allows is the agent's, unless the user said how much.
func (r *runFlags) followGroups() func(memory int64) int64 {
	if r.limit != "" {
		return nil
	}
	return defaultLimit
}

// mode names the data sets, as sessions record it.
func (r *runFlags) mode() string {
	var sets []string
	for _, set := range []struct {
		name string
		on   bool
	}{{"memory", r.memory}, {"lifetime", r.lifetime}, {"time", r.time}} {
		if set.on {
			sets = append(sets, set.name)
		}
	}
	return strings.Join(sets, ",")
}

// set lists the options that change what is recorded.
func (r *runFlags) set() map[string]any {
	set := map[string]any{}
	if len(r.plan.include) > 0 {
		set["include"] = r.plan.include
	}
	if len(r.plan.exclude) > 0 {
		set["exclude"] = r.plan.exclude
	}
	if len(r.plan.mine) > 0 {
		set[optionMine] = r.plan.mine
	}
	if r.time && r.plan.instrument != string(instrument.Boundary) {
		set["instrument"] = r.plan.instrument
	}
	if r.time && r.probes != probesAuto {
		set["probes"] = r.probes
	}
	if r.time && r.plan.small > 0 {
		set["exclude_small"] = r.plan.small
	}
	if r.sample != defaultSample {
		set["sample_counters"] = r.sample
	}
	r.functions.set(set)
	if r.steer.first > 0 {
		set["record_first"] = r.steer.first
	}
	if len(r.meters) > 0 {
		set["meter"] = r.meters
	}
	if r.interactions {
		set["interactions"] = true
	}
	if len(r.cpuCounters) > 0 {
		set["cpu_counters"] = r.cpuCounters
	}
	if len(r.events) > 0 {
		set["events"] = r.events
	}
	if r.eventLimit != defaultEventLimit {
		set["event_limit"] = r.eventLimit
	}
	if r.trace.path != "" {
		set["trace"] = r.trace.path
	}
	if r.trace.limit != defaultTraceLimit {
		set["trace_limit"] = r.trace.limit
	}
	if r.depth > 0 {
		set["max_stack_depth"] = r.depth
	}
	if r.limit != "" {
		set["memory_limit"] = r.limit
	}
	if r.lifetime && !r.finalGC {
		set["final_gc"] = false
	}
	if r.lifetime && r.roots != defaultRoots {
		set["roots"] = r.roots
	}
	if r.snapshot != "" {
		set["snapshot"] = r.snapshot
	}
	return set
}

// sdkCommands are the commands of the .NET SDK that run no program of the user's, but the SDK's own.
var sdkCommands = []string{"build", "clean", "format", "msbuild", "new", "nuget", "pack", "publish", "restore"}

// isOfSDK reports whether a command runs nothing but the SDK.
func isOfSDK(command []string) bool {
	return len(command) > 1 && filepath.Base(command[0]) == "dotnet" && slices.Contains(sdkCommands, command[1])
}

// recordsSDK reports whether the SDK's programs are what is recorded with times, because nothing else is to be.
func (r *runFlags) recordsSDK(command []string) bool {
	return r.time && isOfSDK(command) && r.plan.mineRules().IsZero() && r.plan.instrument != session.InstrumentAll
}

// userFolder is the folder of which all is the user's because nothing else is; "": there is none.
func (r *runFlags) userFolder(command []string) string {
	if r.recordsSDK(command) {
		return launch.FolderOfMain
	}
	return instrument.UserFolder(targetAssembly(command))
}

// targetAssembly is the path of the main assembly of a session's command, as the runtime will know it; "" if the
// command does not say: dotnet build, or a script.
func targetAssembly(command []string) string {
	path := ""
	if filepath.Base(command[0]) == "dotnet" {
		for _, a := range command[1:] {
			if strings.HasSuffix(a, ".dll") {
				path = a
				break
			}
		}
	} else if host, err := exec.LookPath(command[0]); err == nil {
		if host, err = filepath.EvalSymlinks(host); err == nil {
			path = host + ".dll"
		}
	}
	path, err := filepath.Abs(path)
	if err == nil {
		path, err = filepath.EvalSymlinks(path)
	}
	if info, statErr := os.Stat(path); err != nil || statErr != nil || !info.Mode().IsRegular() {
		return ""
	}
	return path
}

// memoryLimit reads a number of bytes with a unit; "" is the default.
func memoryLimit(text string) (int64, error) {
	const least = 4 << 20 // the agent's own
	if text == "" {
		return defaultLimit(memory()), nil
	}
	number, shift := quantity.CutUnit(text)
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || n > 1<<(62-shift) || n<<shift < least {
		return 0, usage("--memory-limit %q: want a number of bytes, at least 4M, such as 512M or 2G", text)
	}
	return n << shift, nil
}

// memory is how many bytes this machine has, or the control groups that this process is in let it have.
func memory() int64 {
	var info unix.Sysinfo_t
	if err := unix.Sysinfo(&info); err != nil {
		return cgroup.MemoryLimit(os.DirFS("/"))
	}
	return min(int64(info.Totalram)*int64(info.Unit), cgroup.MemoryLimit(os.DirFS("/")))
}

// defaultLimit is the agent's part of so much memory: a quarter, as the collector may need another one, and the rest is
// the program's. With the least a program of the size of a small server still has most of its stacks.
func defaultLimit(memory int64) int64 {
	const least, most = 16 << 20, 8 << 30
	return min(most, max(least, memory/4))
}

// mostNodes is how many places in the trees of stacks of a process the collector can keep in a quarter of so much
// memory. It takes 600 bytes for each at most, measured with 800,000 of them and 260,000 sites, and 15 times what the
// agent takes.
func mostNodes(memory int64) int64 {
	const bytesOfNode, least = 600, 10_000
	return max(least, memory/4/bytesOfNode)
}

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}

// watchKeyboard counts Ctrl-C: the terminal sends it to the target itself, and a target may ignore it.
func watchKeyboard(n *notes, stop chan struct{}) (cancel func()) {
	if signal.Ignored(unix.SIGINT) { // started in the background by a shell: so it stays for the command too
		return func() {}
	}
	interrupts := make(chan os.Signal, patience)
	signal.Notify(interrupts, unix.SIGINT)
	done := make(chan struct{})
	var once sync.Once
	go func() {
		for count := 1; ; count++ {
			select {
			case <-interrupts:
				if count == patience-1 {
					n.say("the command has not ended yet: press Ctrl-C once more to stop waiting for it")
				}
				if count == patience {
					close(stop)
					return
				}
			case <-done:
				return
			}
		}
	}()
	return func() {
		once.Do(func() { close(done) })
		signal.Stop(interrupts)
	}
}
