package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/clrprof/clrprof/internal/capture/agentbin"
	"github.com/clrprof/clrprof/internal/capture/collect"
	"github.com/clrprof/clrprof/internal/capture/instrument"
	"github.com/clrprof/clrprof/internal/capture/launch"
	"github.com/clrprof/clrprof/internal/capture/proc"
	"github.com/clrprof/clrprof/internal/capture/recording"
	"github.com/clrprof/clrprof/internal/present/report/text"
	"github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
)

// attachFlags are the flags of the attach command: those of run that can be had later.
type attachFlags struct {
	runFlags
	must    bool // --lifetime was asked for, or what needs it
	newest  bool // of the processes with a name
	sampled bool // small objects, of a process that was started without clrprof
	http    httpFlags
}

func newAttachCommand(e *environment) *cobra.Command {
	a := &attachFlags{}
	cmd := &cobra.Command{
		Use:   "attach [flags] PID|NAME",
		Short: "Record the allocations, or the calls, of a running process, then detach from it",
		Long: "Record every allocation of a running .NET process from now on, and in which generation each of\n" +
			"these objects dies, until --for is over, clrprof ctl PID detach or Ctrl-C. Then the process\n" +
			"continues unrecorded, and can be attached to again. Every allocation is seen if the process was\n" +
			"started with what clrprof env prints; in any other process clrprof has the runtime load its agent,\n" +
			"and .NET reports objects of 85,000 bytes and more. A process that was prepared by clrprof env\n" +
			"without --lifetime, and has background garbage collection, has its objects not followed: only\n" +
			"allocations are recorded, as with --memory.\n\n" +
			"With --time, record every call of your code, every call that it makes, and their times (.NET 5\n" +
			"and later). Your code is compiled again with probes; afterwards the original code runs again.\n\n" +
			"A NAME is that of a program, as clrprof ps prints it; if several processes have it, --newest takes\n" +
			"the one that was started last. The session does not have what was allocated or called before.\n" +
			"Exit codes: 123: there is no such process, access to it is denied, or it is already being\n" +
			"recorded; 124: it has no agent, or one that cannot record; the others as for clrprof run.",
		Example: "  clrprof attach 4711 --for 30s\n" +
			"  clrprof attach shop --newest --for 30s\n" +
			"  clrprof attach 4711 --memory --for 30s\n" +
			"  clrprof attach 4711 --time --for 30s\n" +
			"  clrprof attach 4711 --time --include 'Shop.*' --for 30s\n" +
			"  clrprof attach 4711 -o before.clrprof\n" +
			"  clrprof attach 4711 --after 2m --for 30s --no-report\n" +
			"  clrprof attach 4711 --http 127.0.0.1:6060\n" +
			"  clrprof ctl 4711 detach",
		Args:              arguments(1, 1, "a PID or NAME"),
		ValidArgsFunction: completeProcess,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := a.http.check(cmd.Flags()); err != nil {
				return err
			}
			if err := a.check(cmd.Flags().Changed); err != nil {
				return err
			}
			if a.http.address != "" {
				return a.serveProfiles(cmd.Context(), e, args[0], cmd.Flags().Changed("sampled"))
			}
			pid, err := processOf(args[0], a.newest)
			if err != nil {
				return err
			}
			a.fits = !cmd.Flags().Changed("top")
			return a.run(e, pid)
		},
	}
	a.add(cmd)
	cmd.SetHelpFunc(groupedHelp(e, "", attachFlagGroups))
	return cmd
}

// attachFlagGroups are the flags of attach, as its help names them.
var attachFlagGroups = []flagGroup{
	{"what", "--lifetime (the default)  --memory  --time  --meter NAME"},
	{"process", "--newest"},
	{"server", "--http ADDRESS  --http-token-file FILE"},
	{"output", "-o, --output FILE  -f, --force  --no-report  --top N  --live  --arguments WHICH"},
	{"code", "--include PATTERN  --exclude PATTERN  --mine PATTERN  --instrument MODE"},
	{"objects", "--sampled  --snapshot WHEN  --roots WHICH  --final-gc"},
	{"when", "--after TIME  --for TIME  --stop-when CONDITION  --record-first N  --paused  --stopped"},
	{"", "--control-signals"},
	{"limits", "--memory-limit SIZE  --max-stack-depth N  --sample-counters MILLISECONDS"},
}

func (a *attachFlags) add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.BoolVar(&a.newest, "newest", false, "of several processes with the name, record the one that was started last")
	f.BoolVar(&a.sampled, "sampled", false, "of a process that was started without clrprof, also sample small objects")
	f.BoolVar(&a.memory, "memory", false, "record allocations; without --time: nothing else")
	f.BoolVar(&a.time, "time", false, "record calls and their times; without --memory: nothing else")
	a.addLifetime(f, "record allocations, and in which generation objects die (the default, if the process allows it)")
	a.plan.addRules(f)
	a.plan.addMode(cmd, string(instrument.Boundary)+" (your code, and calls that it makes into the framework), "+
		string(instrument.Mine)+" (only your code)")
	a.addOutput(f)
	a.addWatching(f)
	a.http.add(f)
	a.steer.addFirst(f)
	for _, name := range atStart {
		f.String(name, "", "")
		f.Lookup(name).Hidden = true
	}
	for _, name := range []string{"exclude-small", "interactions", "mark-requests", "test-cases"} { // without a value
		f.Lookup(name).NoOptDefVal = "true"
	}
}

// atStart are flags of run for what a process has to be asked for at its start.
var atStart = []string{"probes", "exclude-small", "cpu-counters", "events", "event-limit", "trace", "trace-limit",
	"interactions", "mark-at", "mark-requests", "test-cases", "record-inside", "record-outside",
	instrument.FlagStartAt, instrument.FlagStopAt, instrument.FlagPauseAt, instrument.FlagResumeAt}

// checkTime refuses what calls of a process that has started cannot be recorded with.
func (a *attachFlags) checkTime(changed func(string) bool) error {
	for _, name := range atStart {
		if changed(name) {
			return usage("--%s is not for attach: a process must be asked for that when it starts, with clrprof run", name)
		}
	}
	switch {
	case !a.time && changed("instrument"):
		return usage("--instrument needs --time")
	case a.time && a.plan.instrument == string(instrument.All):
		return usage("--instrument all is not for attach: only the runtime's hooks see all calls, and they must be " +
			"set when the process starts, with clrprof run")
	case a.time && a.lifetime:
		return usage("attach cannot combine --time with --lifetime: use --time --memory, or clrprof run")
	}
	return a.checkMine()
}

// check refuses what cannot be had from a process that has started.
func (a *attachFlags) check(changed func(string) bool) error {
	if changed("memory") && !a.memory && !a.lifetime && !a.time {
		return usage("--memory=false leaves nothing to record")
	}
	if err := a.chooseLifetime(changed); err != nil {
		return err
	}
	a.must = slices.ContainsFunc(append(lifetimeFlags, "lifetime", "record-first"), changed)
	if err := a.plan.check(); err != nil {
		return err
	}
	if err := a.checkTime(changed); err != nil {
		return err
	}
	if err := a.steer.check(a.lifetime); err != nil {
		return err
	}
	return a.checkMeters()
}

func (a *attachFlags) run(e *environment, pid int) error {
	options, err := a.options(pid)
	if err != nil {
		return err
	}
	notes := newNotes(e.stderr)
	process, err := a.find(notes, pid, &options)
	if err != nil {
		return attachError(err)
	}
	defer process.Close()
	options.Launch.MineFolder = userFolderOf(process)
	spareMemory(e.getenv)
	defer survive(unix.SIGXFSZ)()
	stop, stopWatching := untilSignal()
	options.Stop = stop
	if a.time {
		notes.startWork()
		options.OnPrepared = func(n, of int) {
			notes.work("preparing process %d: %s of %s functions looked at", pid, quantity.Count(n), quantity.Count(of))
		}
		options.OnRestored = func(n, of int) {
			notes.work("detaching from process %d: %s of %s functions have their own code again", pid, quantity.Count(n),
				quantity.Count(of))
		}
	}
	options.OnHidden = func(err error) {
		notes.say("clrprof ctl does not find this recording by the id of the process: name its session (%v)", err)
	}
	if !a.must {
		options.WithoutLifetime = func() {
			notes.say("process %d has background garbage collection, so objects cannot be followed: only "+
				"allocations are recorded (clrprof env --lifetime)", pid)
		}
	}
	res, page, err := a.record(e, notes, options, func(o collect.Options) (collect.Result, error) {
		if len(a.meters) > 0 {
			defer keepReading(notes)()
		}
		return collect.Attach(alsoOpened(o, func(path string) {
			notes.say("recording process %d (%s) into %s: Ctrl-C, or clrprof ctl %d detach, ends the recording", pid,
				text.Printable(process.Name), path, pid)
		}), process)
	})
	defer page.close()
	defer a.leave(res)
	stopWatching() // from now on Ctrl-C ends clrprof at once
	if err != nil {
		return a.attachFailed(notes, res, err)
	}
	if res.Running {
		notes.say("detached from process %d, which continues", pid)
	} else {
		notes.say("process %d has ended", pid)
	}
	if err := a.finish(e, notes, res); err != nil {
		return err
	}
	return page.stay(res.Path)
}

// find finds the agent of a process, or has it loaded.
func (a *attachFlags) find(n *notes, pid int, o *collect.Options) (*launch.Dormant, error) {
	process, err := launch.FindDormant(pid, o.Launch)
	if err != nil || !process.IsLate() {
		return process, err
	}
	if a.memory {
		o.Facts[session.KeyObjects] = session.ObjectsLarge
		sampled := ""
		if a.sampled && !a.time {
			sampled = ", and smaller ones are sampled (.NET 8 and later)"
		}
		n.say("process %d was started without clrprof: only objects of 85,000 bytes and more are counted%s", pid, sampled)
	}
	return process, nil
}

// attachError gives the error of launch.FindDormant its exit code.
func attachError(err error) error {
	switch {
	case errors.Is(err, launch.ErrNoDotnet), errors.Is(err, launch.ErrNoAgent), errors.Is(err, launch.ErrOtherAgent):
		return exit(exitNoRuntime, err)
	case errors.Is(err, agentbin.ErrMissing):
		return exit(exitNotSupported, err)
	}
	return exit(exitNoTarget, err)
}

// attachFailed explains why there is no session.
func (a *attachFlags) attachFailed(n *notes, res collect.Result, err error) error {
	switch {
	case errors.Is(err, collect.ErrNoAnswer), errors.Is(err, launch.ErrDenied):
		return exit(exitNoTarget, err)
	case errors.Is(err, collect.ErrNoAgent): // it did answer, so this cannot be
		return exit(exitNoRuntime, err)
	}
	return a.failed(n, res, nil, err)
}

// keepReading makes Ctrl-Z say why it does nothing: the runtime publishes meters to a socket, and when the program ends
// it waits until all is read there.
func keepReading(n *notes) (cancel func()) {
	pressed, done := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(pressed, unix.SIGTSTP)
	go func() {
		for {
			select {
			case <-pressed:
				n.say("not suspended: the process, whose meters are read, could not end meanwhile")
			case <-done:
				return
			}
		}
	}()
	return func() {
		signal.Stop(pressed)
		close(done)
	}
}

// untilSignal returns a channel that is closed by the first signal that asks clrprof to end.
func untilSignal() (stop <-chan struct{}, cancel func()) {
	signals, stopped, done := make(chan os.Signal, 1), make(chan struct{}), make(chan struct{})
	for _, s := range []os.Signal{unix.SIGINT, unix.SIGTERM, unix.SIGHUP} {
		if !signal.Ignored(s) { // nohup, and what shells start in the background
			signal.Notify(signals, s)
		}
	}
	go func() {
		select {
		case <-signals:
			close(stopped)
		case <-done:
		}
	}()
	var once sync.Once
	return stopped, func() {
		signal.Stop(signals)
		once.Do(func() { close(done) })
	}
}

func (a *attachFlags) options(pid int) (collect.Options, error) {
	limit, err := a.checkLimits()
	if err != nil {
		return collect.Options{}, err
	}
	command := proc.Arguments(pid)
	arguments, err := json.Marshal(a.arguments.Of(command))
	if err != nil {
		return collect.Options{}, exit(exitInternal, err)
	}
	set := a.set()
	set["attach"] = true
	options, err := json.Marshal(set)
	if err != nil {
		return collect.Options{}, exit(exitInternal, err)
	}
	now := time.Now()
	facts := sessionFacts(now)
	facts[session.KeyMode], facts[session.KeyOptions] = a.mode(), string(options)
	tellArguments(facts, a.arguments)
	if len(command) > 0 {
		facts[session.KeyCommand] = string(arguments)
	} else {
		command = []string{"process"} // it may not be looked into, which is about to be said
	}
	directory, err := os.Readlink(fmt.Sprintf("/proc/%d/cwd", pid))
	if err == nil {
		facts[session.KeyDirectory] = directory
	}
	rules := a.plan.rules()
	depth := a.depth
	if depth == 0 {
		depth = defaultStackDepth
	}
	return collect.Options{
		Arguments: a.arguments,
		Launch: launch.Options{MemoryLimit: limit, Nodes: mostNodes(memory()), StackDepth: depth,
			Lifetime: a.lifetime, FinalGC: a.finalGC, Roots: a.roots, Snapshot: a.snapshot,
			RecordFirst: uint32(a.steer.first), Sampled: a.sampled,
			Time: a.time, NoMemory: !a.memory, Instrument: a.plan.instrument, Rules: rules.Lines(),
			Mine: a.plan.mineRules().Lines()},
		Output: a.output, Name: recording.ProgramName(command[0], command), Force: a.force, Filter: rules,
		Facts: facts, Begin: now,
		Group: a.followGroups(), Sample: quantity.Nanoseconds(a.sample) * 1_000_000, Meters: a.meters,
	}, nil
}

// userFolderOf is instrument.UserFolder of a process that runs, as it sees its files and with its rights: the process
// says itself what it runs.
func userFolderOf(process *launch.Dormant) string {
	path, command := "", proc.Arguments(process.PID)
	if i := slices.IndexFunc(command, isAssembly); len(command) > 0 && filepath.Base(command[0]) == "dotnet" && i > 0 {
		path = command[i]
	} else if host, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", process.PID)); err == nil {
		path = host + ".dll"
	}
	if !filepath.IsAbs(path) {
		directory, err := os.Readlink(fmt.Sprintf("/proc/%d/cwd", process.PID))
		if err != nil {
			return ""
		}
		path = filepath.Join(directory, path)
	}
	info, err := fs.Stat(process.Files(), strings.TrimPrefix(path, "/"))
	if err != nil || !info.Mode().IsRegular() {
		return ""
	}
	return instrument.UserFolderOf(process.Files(), path)
}

func isAssembly(argument string) bool { return strings.HasSuffix(argument, ".dll") }
