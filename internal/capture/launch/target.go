package launch

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/clrprof/clrprof/internal/capture/agentbin"
	"github.com/clrprof/clrprof/internal/capture/inherited"
)

// ProfilerID is the class id by which the runtime asks for the agent; any would do.
const ProfilerID = "{8B2F1E5A-6C3D-4E9B-9A57-C1B0F2D34E61}"

// ErrOtherProfiler means that the environment already names a profiler; a process can have only one.
var ErrOtherProfiler = errors.New("another profiler is set in the environment")

// ErrNested means that clrprof was started by a command that another clrprof records. Both cannot have its processes.
var ErrNested = errors.New("another clrprof is already recording this command")

// ErrStart means that the command could not be started.
var ErrStart = errors.New("cannot start the command")

// EnvArenas is the variable that names the directory of arenas to the agent of a process that clrprof run started.
const EnvArenas = "CLRPROF_ARENAS"

// What else the agent reads from the environment of its process.
const (
	envMemory   = "CLRPROF_MEMORY"       // bytes
	envNodes    = "CLRPROF_NODES"        // of the trees of stacks
	envDepth    = "CLRPROF_STACK_DEPTH"  // frames
	envLifetime = "CLRPROF_LIFETIME"     // 1: follow objects to their end
	envFinalGC  = "CLRPROF_FINAL_GC"     // 1: collect at the end
	envRoots    = "CLRPROF_ROOTS"        // gen2, every, induced, off, or N: each Nth collection
	envFirst    = "CLRPROF_RECORD_FIRST" // nothing is recorded after so many collections
	envSnapshot = "CLRPROF_SNAPSHOT"     // end, or N: of the heap after the first full collection from the Nth on

	envTime       = "CLRPROF_TIME"       // 1: record calls and their times
	envNoMemory   = "CLRPROF_NO_MEMORY"  // 1: no allocations
	envInstrument = "CLRPROF_INSTRUMENT" // boundary, mine or all
	envTrace      = "CLRPROF_TRACE"      // 1: and tell of each event of them
	envProbes     = "CLRPROF_PROBES"     // il: probes in the code of what is instrumented, not the runtime's hooks
	envSmall      = "CLRPROF_SMALL"      // bytes of IL: smaller functions are not instrumented
	// 1: whoever reads the arenas locks their directory, so without a lock nobody does
	envCollector = "CLRPROF_COLLECTOR"
	envMine      = "CLRPROF_MINE"        // patterns of modules that are the user's, one in a line, with the sign +
	envFolder    = "CLRPROF_MINE_FOLDER" // path of a folder of which all modules are the user's, or FolderOfMain
	// patterns that choose functions, one in a line, with their signs: +include, -exclude
	envRules = "CLRPROF_RULES"
	// patterns of functions at which something is done, one in a line, with the number of what and the sign +
	envActions      = "CLRPROF_ACTIONS"
	envInteractions = "CLRPROF_INTERACTIONS" // 1: calls to databases and over HTTP are recorded
	envRequests     = "CLRPROF_REQUESTS"     // 1: requests are marked
	envTestCases    = "CLRPROF_TEST_CASES"   // 1: cases of tests are counted one by one
	// counters of the processor and the kernel that are read where calls begin and end (cpucounter.Variable)
	envCounters = "CLRPROF_COUNTERS"
	envMeters   = "CLRPROF_METERS" // patterns of meters that are sampled, one in a line
	// path of the assembly that listens to them, and how often it reads observable instruments, in milliseconds
	envMeterHook     = "CLRPROF_METER_HOOK"
	envMeterInterval = "CLRPROF_METER_INTERVAL"
	envEvents        = "CLRPROF_EVENTS" // what of the operating system is listed (systemevent.Variable)
)

// agentVariables are all that are meant for the agent.
var agentVariables = []string{EnvArenas, envMemory, envNodes, envDepth, envLifetime, envFinalGC, envRoots, envFirst,
	envSnapshot, envTime, envTrace, envNoMemory, envCollector, EnvDormant, envInstrument, envProbes, envSmall,
	envMine, envFolder, envRules, envActions, envInteractions, envRequests, envTestCases, envCounters, envEvents,
	envMeters, envMeterHook, envMeterInterval}

// Options tell how to start a target.
type Options struct {
	Command     []string
	Directory   string // for arenas
	MemoryLimit int64  // bytes for each process, 0: the agent's default
	Nodes       int64  // of the trees of stacks of each process, 0: as many as there is memory for
	StackDepth  int    // frames, 0: the agent's default
	Lifetime    bool   // follow objects to their end
	FinalGC     bool   // with Lifetime: collect at the end, to know what is reachable then
	Roots       string // with Lifetime: the collections whose roots are looked at, as in the agent's variable
	// with Lifetime: the collection after which a snapshot of the heap is taken, as in the agent's variable; "": none
	Snapshot string
	// with Lifetime: each process is recorded until so many collections have ended; 0: without this limit
	RecordFirst uint32
	Time        bool // record calls and their times
	Trace       bool // with Time: and tell of each event of them
	// with Time: counters that are read there, as in the agent's variable; "": none
	CPUCounters string
	// with Time: what of the operating system is listed, as in the agent's variable; "": nothing
	SystemEvents string
	NoMemory     bool     // with Time: no allocations
	Sampled      bool     // of a process that was started without the agent: small objects, too
	Instrument   string   // with Time: boundary, mine or all, as in the package instrument
	Probes       string   // with Time: hooks or il; "": hooks
	Small        int      // with Time: functions with less IL, in bytes, are not instrumented
	Mine         []string // patterns of modules that are the user's, as in instrument.Rules.Lines
	MineFolder   string   // all modules of this folder are the user's; "": none; FolderOfMain: see there
	Rules        []string // with Time: patterns with their signs, as in instrument.Rules.Lines
	Actions      []string // patterns of functions at which something is done, as in instrument.ActionLines
	// record calls to databases and over HTTP
	Interactions bool
	MarkRequests bool // mark each request of ASP.NET Core with its endpoint
	TestCases    bool // count what each case of a test allocates
	// patterns of meters that are sampled, and how often observable instruments are read
	Meters        []string
	MeterInterval time.Duration
	hook          string // path of the assembly that listens to them; "": nothing does

	Agent       string // path of the library, "": the embedded one
	Environment []string
	Kept        []os.Signal // of those that are forwarded: they are clrprof's, and not passed on
}

// Target is a started command.
type Target struct {
	cmd     *exec.Cmd
	agent   string
	signals chan os.Signal
	done    chan struct{}
}

// forwarded are the signals that are passed on to the target; others act on clrprof as usual.
var forwarded = []os.Signal{unix.SIGINT, unix.SIGTERM, unix.SIGHUP, unix.SIGQUIT, unix.SIGUSR1, unix.SIGUSR2,
	unix.SIGWINCH}

// Check says whether the command can be started as far as that can be known before: the errors are those of Start.
func Check(o Options) error {
	_, err := o.find()
	return err
}

// find checks the environment and returns the path of the command's executable.
func (o Options) find() (string, error) {
	if err := checkEnvironment(o.Environment); err != nil {
		return "", err
	}
	path, err := exec.LookPath(o.Command[0])
	if err != nil && !errors.Is(err, exec.ErrDot) { // a relative folder in PATH is the user's choice, as in a shell
		return "", o.explain(err)
	}
	return path, nil
}

// Load begins to write what the runtime loads to where it can. The function that it returns waits for that, and returns
// the options for Start, which says what is wrong with them, if something is.
func Load(o Options) (wait func() Options) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		if path, err := o.find(); err == nil {
			o, _ = o.load(path) // Start tries again
		}
	}()
	return func() Options {
		<-done
		return o
	}
}

// load writes what the runtime loads for the executable at path, unless it is written, and returns the options with
// its path.
func (o Options) load(path string) (Options, error) {
	var err error
	if o.Agent == "" {
		library := libraryFor(path, o.Command[1:])
		if o.Agent, err = agentbin.Extract(library, agentDirectories(o.Directory)); err != nil {
			return o, err
		}
	}
	if len(o.Meters) > 0 && o.hook == "" {
		o.hook, err = agentbin.ExtractHook(agentDirectories(o.Directory))
	}
	return o, err
}

// Start starts the command with clrprof's own standard streams. From now on the forwarded signals go to the target,
// until Release.
func Start(o Options) (*Target, error) {
	path, err := o.find()
	if err != nil {
		return nil, err
	}
	if o, err = o.load(path); err != nil {
		return nil, err
	}
	t := &Target{agent: o.Agent, signals: make(chan os.Signal, len(forwarded)), done: make(chan struct{})}
	for _, s := range forwarded {
		// nohup, and what shells start in the background: the target inherits that
		if !signal.Ignored(s) && !slices.Contains(o.Kept, s) {
			signal.Notify(t.signals, s)
		}
	}
	t.cmd, err = start(path, o.Command, append(withoutAgent(o.Environment), environment(o, o.Agent)...))
	if errors.Is(err, ErrStart) {
		t.Release()
		return nil, err
	}
	if err != nil {
		t.Release()
		return nil, fmt.Errorf("%w: %w", ErrStart, err)
	}
	go t.wait()
	return t, nil
}

// start starts an executable, or a script without #! by the shell, as shells do (POSIX, execvp).
func start(path string, args, env []string) (*exec.Cmd, error) {
	cmd := &exec.Cmd{Path: path, Args: args, Env: env, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr}
	err := inherited.Start(cmd)
	if !errors.Is(err, unix.ENOEXEC) {
		return cmd, err
	}
	if err := checkText(path); err != nil {
		return nil, err
	}
	cmd = &exec.Cmd{Path: "/bin/sh", Args: append([]string{"sh", path}, args[1:]...), Env: env,
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr}
	return cmd, inherited.Start(cmd)
}

// withoutAgent returns the environment without what is meant for another run's agent.
func withoutAgent(env []string) []string {
	return slices.DeleteFunc(slices.Clone(env), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return slices.Contains(agentVariables, name)
	})
}

// AgentDirectories lists where this user's agents can be loaded from, whatever the working directory: a target's
// processes have their own, and HOME and TMPDIR may be relative paths. The cache lasts; a temporary folder may not.
func AgentDirectories() []string {
	var list []string
	add := func(folder string) {
		if absolute, err := filepath.Abs(folder); err == nil {
			list = append(list, absolute)
		}
	}
	if cache, err := os.UserCacheDir(); err == nil {
		add(filepath.Join(cache, "clrprof", "agent"))
	}
	add(filepath.Join(os.TempDir(), "clrprof-agent-"+strconv.Itoa(os.Getuid())))
	return list
}

// agentDirectories lists where the agent may be loaded from.
func agentDirectories(arenas string) []string { return append(AgentDirectories(), arenas) }

func environment(o Options, agent string) []string {
	env := []string{
		"CORECLR_ENABLE_PROFILING=1",
		"CORECLR_PROFILER=" + ProfilerID,
		"CORECLR_PROFILER_PATH=" + agent,
		"CORECLR_PROFILER_PATH_64=" + agent,
		"CLRPROF_ARENAS=" + o.Directory,
		envCollector + "=1",
	}
	if !slices.ContainsFunc(o.Environment, isTestHostVariable) {
		env = append(env, testHostVariable+"="+testHostTimeout)
	}
	if o.MemoryLimit > 0 {
		env = append(env, envMemory+"="+strconv.FormatInt(o.MemoryLimit, 10))
	}
	if o.Nodes > 0 {
		env = append(env, envNodes+"="+strconv.FormatInt(o.Nodes, 10))
	}
	if o.StackDepth > 0 {
		env = append(env, envDepth+"="+strconv.Itoa(o.StackDepth))
	}
	if o.Lifetime {
		env = append(env, envLifetime+"=1")
		if o.FinalGC {
			env = append(env, envFinalGC+"=1")
		}
		if o.Roots != "" {
			env = append(env, envRoots+"="+o.Roots)
		}
		if o.Snapshot != "" {
			env = append(env, envSnapshot+"="+o.Snapshot)
		}
		if o.RecordFirst > 0 {
			env = append(env, envFirst+"="+strconv.FormatUint(uint64(o.RecordFirst), 10))
		}
	}
	if o.Time {
		env = append(env, timeEnvironment(o)...)
	} else {
		env = append(env, originEnvironment(o)...)
	}
	if o.Interactions {
		env = append(env, envInteractions+"=1")
	}
	if o.MarkRequests {
		env = append(env, envRequests+"=1")
	}
	if o.TestCases {
		env = append(env, envTestCases+"=1")
	}
	if o.hook != "" {
		env = append(env, envMeterHook+"="+o.hook, envMeters+"="+strings.Join(o.Meters, "\n"),
			envMeterInterval+"="+strconv.FormatInt(o.MeterInterval.Milliseconds(), 10))
	}
	if len(o.Actions) > 0 {
		env = append(env, envActions+"="+strings.Join(o.Actions, "\n"))
	}
	return env
}

// tailSettings turn off that the JIT makes jumps of last calls, so that who makes them is still there while they run,
// and a loop of a function that calls itself last, which would be no calls then. The names are those of
// jitconfigvalues.h; calls with the prefix tail. are the agent's business.
var tailSettings = []string{"TailCallOpt", "TailCallLoopOpt"}

// testHostVariable says how many milliseconds vstest, which `dotnet test` runs, waits for the end of the process with
// the tests before it kills it (ProxyOperationManager.Close of Microsoft.TestPlatform; 100 without it). The last
// collection takes longer.
const (
	testHostVariable = "VSTEST_TESTHOST_SHUTDOWN_TIMEOUT"
	testHostTimeout  = "60000"
)

func isTestHostVariable(kv string) bool { return strings.HasPrefix(kv, testHostVariable+"=") }

// settingPrefixes are asked for both (clrconfignative): .NET 5 and later prefer the second.
var settingPrefixes = []string{"COMPlus_", "DOTNET_"}

// isSet says whether an environment has the setting already.
func isSet(env []string, setting string) bool {
	return slices.ContainsFunc(env, func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return slices.Contains(settingPrefixes, strings.TrimSuffix(name, setting))
	})
}

func timeEnvironment(o Options) []string {
	env := []string{envTime + "=1"}
	for _, setting := range tailSettings {
		if isSet(o.Environment, setting) {
			continue
		}
		for _, prefix := range settingPrefixes {
			env = append(env, prefix+setting+"=0")
		}
	}
	if o.Trace {
		env = append(env, envTrace+"=1")
	}
	if o.CPUCounters != "" {
		env = append(env, envCounters+"="+o.CPUCounters)
	}
	if o.SystemEvents != "" {
		env = append(env, envEvents+"="+o.SystemEvents)
	}
	if o.NoMemory {
		env = append(env, envNoMemory+"=1")
	}
	if o.Probes != "" {
		env = append(env, envProbes+"="+o.Probes)
	}
	if o.Small > 0 {
		env = append(env, envSmall+"="+strconv.Itoa(o.Small))
	}
	return append(env, planEnvironment(o)...)
}

// planEnvironment says which functions are recorded.
func planEnvironment(o Options) []string {
	var env []string
	if o.Instrument != "" {
		env = append(env, envInstrument+"="+o.Instrument)
	}
	env = append(env, originEnvironment(o)...)
	if len(o.Rules) > 0 {
		env = append(env, envRules+"="+strings.Join(o.Rules, "\n"))
	}
	return env
}

// FolderOfMain stands for the folder of the main assembly of each process, whatever that is: nothing else that they run
// is the user's.
const FolderOfMain = "*"

// originEnvironment says which modules are the user's, beside those that the agent finds itself.
func originEnvironment(o Options) []string {
	var env []string
	if len(o.Mine) > 0 {
		env = append(env, envMine+"="+strings.Join(o.Mine, "\n"))
	}
	if o.MineFolder != "" {
		env = append(env, envFolder+"="+o.MineFolder)
	}
	return env
}

// IsProfilingOn reports whether a value of CORECLR_ENABLE_PROFILING turns it on: a DWORD in hexadecimal
// (clrconfignames.h, EXTERNAL_CORECLR_ENABLE_PROFILING).
func IsProfilingOn(value string) bool {
	on, err := strconv.ParseUint(strings.TrimPrefix(strings.ToLower(value), "0x"), 16, 32)
	return err == nil && on != 0
}

// checkEnvironment refuses an environment that names another profiler: replacing it would break what it does. The
// agent itself may be left over in the environment of what outlived its clrprof.
func checkEnvironment(env []string) error {
	enabled, id, arenas := "", "", ""
	for _, e := range env {
		name, value, _ := strings.Cut(e, "=")
		switch name {
		case "CORECLR_ENABLE_PROFILING":
			enabled = value
		case "CORECLR_PROFILER":
			id = value
		case EnvArenas:
			arenas = value
		}
	}
	if !IsProfilingOn(enabled) {
		return nil
	}
	if !strings.EqualFold(id, ProfilerID) {
		return fmt.Errorf("%w: CORECLR_PROFILER=%s", ErrOtherProfiler, id)
	}
	if st, err := os.Stat(arenas); err == nil && st.IsDir() {
		return fmt.Errorf("%w, in %s", ErrNested, arenas)
	}
	return nil
}

// Agent is the path from which the runtime loads the agent.
func (t *Target) Agent() string { return t.agent }

// PID is the target's process id.
func (t *Target) PID() int { return t.cmd.Process.Pid }

// Done is closed when the target has ended.
func (t *Target) Done() <-chan struct{} { return t.done }

func (t *Target) wait() {
	ended := make(chan struct{})
	go func() {
		t.cmd.Wait() // the error says what ProcessState does
		close(ended)
	}()
	for {
		select {
		case s := <-t.signals:
			if !fromKeyboard(s) {
				t.cmd.Process.Signal(s) // an error means that the target has ended: the other case follows
			}
		case <-ended:
			close(t.done)
			return
		}
	}
}

// Release lets signals act on clrprof as usual again, or not at all if the caller ignores them. Before the recording is
// finished they must not: whoever ends a group of processes signals clrprof a second time, and what the target counted
// would be lost.
func (t *Target) Release() {
	signal.Stop(t.signals)
	for _, s := range forwarded {
		if inherited.Ignored(s) {
			signal.Ignore(s)
		}
	}
}

// fromKeyboard says whether the terminal has sent the signal to the whole foreground process group already, the
// target included. One that somebody else sent to clrprof alone, while it runs in the foreground of a terminal,
// cannot be known from that; SIGTERM can.
func fromKeyboard(s os.Signal) bool {
	if s != unix.SIGINT && s != unix.SIGQUIT && s != unix.SIGWINCH {
		return false
	}
	tty, err := os.Open("/dev/tty")
	if err != nil {
		return false
	}
	defer tty.Close()
	group, err := unix.IoctlGetInt(int(tty.Fd()), unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}

// ExitCode is the target's exit code after Done.
func (t *Target) ExitCode() int { return ExitCode(t.cmd.ProcessState) }

// ExitCode is the exit code of a process that has ended, or 128 + the number of the signal that ended it, as shells say
// it; 1 if nothing is known of its end.
func ExitCode(state *os.ProcessState) int {
	if state == nil {
		return 1
	}
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal())
	}
	return state.ExitCode()
}
