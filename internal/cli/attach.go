package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/clrprof/clrprof/internal/agentbin"
	"github.com/clrprof/clrprof/internal/collect"
	"github.com/clrprof/clrprof/internal/instrument"
	"github.com/clrprof/clrprof/internal/launch"
	"github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
)

// attachFlags are the flags of the attach command: those of run that can be had later.
type attachFlags struct {
	runFlags
	include, exclude []string
	must             bool // --lifetime was asked for, or what needs it
}

func newAttachCommand(e *environment) *cobra.Command {
	a := &attachFlags{}
	cmd := &cobra.Command{
		Use:   "attach [flags] PID",
		Short: "Record the allocations of a running process, then detach from it",
		Long: "Record every allocation of a running .NET process from now on, and in which generation each of\n" +
			"these objects dies, until --for is over, clrprof ctl PID detach or Ctrl-C. Then the process runs\n" +
			"on unrecorded, and can be attached to again. It must have been started with what clrprof env\n" +
			"prints: .NET reports allocations only if it was asked to at the start. Objects are followed if\n" +
			"the process has no collections in the background (clrprof env --lifetime); otherwise only\n" +
			"allocations are recorded, as with --memory.\n\n" +
			"What was allocated before is not in the session. Calls (--time) cannot be recorded in this way.\n" +
			"Exit codes: 123: there is no such process, it may not be looked into, or it is being recorded\n" +
			"already; 124: it has no agent, or one that cannot record; the others as for clrprof run.",
		Example: "  clrprof attach 4711 --for 30s\n" +
			"  clrprof attach 4711 --memory --for 30s\n" +
			"  clrprof attach 4711 -o before.clrprof\n" +
			"  clrprof attach 4711 --after 2m --for 30s --no-report\n" +
			"  clrprof ctl 4711 detach",
		Args: arguments(1, 1, "a PID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			pid, err := strconv.Atoi(args[0])
			if err != nil || pid <= 0 {
				return usage("%q is not a process id", args[0])
			}
			if err := a.check(cmd.Flags().Changed); err != nil {
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
	{"what", "--lifetime (the default)  --memory  --meter NAME"},
	{"output", "-o, --output FILE  -f, --force  --no-report  --top N  --live"},
	{"code", "--include PATTERN  --exclude PATTERN"},
	{"objects", "--snapshot WHEN  --roots WHICH  --final-gc"},
	{"when", "--after TIME  --for TIME  --stop-when CONDITION  --paused  --stopped  --control-signals"},
	{"limits", "--memory-limit SIZE  --max-stack-depth N  --sample-counters MILLISECONDS"},
}

func (a *attachFlags) add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.BoolVar(&a.memory, "memory", false, "record allocations, and nothing else")
	f.BoolVar(&a.time, "time", false, "not possible here: see clrprof run")
	_ = f.MarkHidden("time") // the only error is a flag that does not exist
	a.addLifetime(f, "record allocations, and in which generation objects die (the default, where the process lets it)")
	f.StringSliceVar(&a.include, "include", nil, "record only functions of these modules, namespaces, types, or "+
		"Type.Method, with * for any characters; what others allocate counts for their callers")
	f.StringSliceVar(&a.exclude, "exclude", nil, "leave out functions of these; what they do counts for their callers")
	a.addOutput(f)
	a.addWatching(f)
}

// check refuses what cannot be had from a process that has started.
func (a *attachFlags) check(changed func(string) bool) error {
	if a.time {
		return usage("--time is not for attach: calls are seen only of code that was compiled for that, with clrprof run")
	}
	if changed("memory") && !a.memory && !a.lifetime {
		return usage("--memory=false leaves nothing to record")
	}
	if err := a.chooseLifetime(changed); err != nil {
		return err
	}
	a.must = slices.ContainsFunc(append(lifetimeFlags, "lifetime"), changed)
	a.plan = planFlags{include: a.include, exclude: a.exclude, instrument: string(instrument.Boundary)}
	if err := a.plan.check(); err != nil {
		return err
	}
	if err := a.steer.check(); err != nil {
		return err
	}
	return a.checkMeters()
}

func (a *attachFlags) run(e *environment, pid int) error {
	options, err := a.options(pid)
	if err != nil {
		return err
	}
	process, err := launch.FindDormant(pid)
	if err != nil {
		return attachError(err)
	}
	defer process.Close()
	spareMemory(e.getenv)
	notes := newNotes(e.stderr)
	defer survive(unix.SIGXFSZ)()
	stop, stopWatching := untilSignal()
	options.Stop = stop
	if !a.must {
		options.WithoutLifetime = func() {
			notes.say("process %d collects garbage in the background, where objects cannot be followed: only allocations are "+
				"recorded (clrprof env --lifetime)", pid)
		}
	}
	res, page, err := a.record(e, notes, options, func(o collect.Options) (collect.Result, error) {
		opened := o.Opened
		o.Opened = func(path string) {
			opened(path)
			notes.say("recording process %d (%s) into %s: Ctrl-C, or clrprof ctl %d detach, ends that", pid, process.Name,
				path, pid)
		}
		return collect.Attach(o, process)
	})
	defer page.close()
	stopWatching() // from now on Ctrl-C ends clrprof at once
	if err != nil {
		return a.attachFailed(notes, res, err)
	}
	if res.Running {
		notes.say("detached from process %d, which runs on", pid)
	} else {
		notes.say("process %d has ended", pid)
	}
	if err := a.finish(e, notes, res); err != nil {
		return err
	}
	return page.stay(res.Path)
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
	command := commandOf(pid)
	arguments, err := json.Marshal(command)
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
	if len(command) > 0 {
		facts[session.KeyCommand] = string(arguments)
	} else {
		command = []string{"process"} // it may not be looked into, which is about to be said
	}
	if directory, err := os.Readlink(fmt.Sprintf("/proc/%d/cwd", pid)); err == nil {
		facts[session.KeyDirectory] = directory
	}
	depth := a.depth
	if depth == 0 {
		depth = defaultStackDepth
	}
	return collect.Options{
		Launch: launch.Options{MemoryLimit: limit, Nodes: mostNodes(memory()), StackDepth: depth,
			Lifetime: a.lifetime, FinalGC: a.finalGC, Roots: a.roots, Snapshot: a.snapshot},
		Output: a.output, Name: targetName(command), Force: a.force, Filter: a.plan.rules(), Facts: facts, Begin: now,
		Group: a.followGroups(), Sample: quantity.Nanoseconds(a.sample) * 1_000_000, Meters: a.meters,
	}, nil
}

// commandOf is the command line of a process; nil: it cannot be known.
func commandOf(pid int) []string {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil || len(text) == 0 {
		return nil
	}
	var out []string
	for _, argument := range bytes.Split(bytes.TrimSuffix(text, []byte{0}), []byte{0}) {
		out = append(out, string(argument))
	}
	return out
}
