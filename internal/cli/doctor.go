package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/clrprof/clrprof/internal/capture/agentbin"
	"github.com/clrprof/clrprof/internal/capture/cgroup"
	"github.com/clrprof/clrprof/internal/capture/cpucounter"
	"github.com/clrprof/clrprof/internal/capture/launch"
	"github.com/clrprof/clrprof/internal/capture/proc"
	"github.com/clrprof/clrprof/internal/capture/running"
	"github.com/clrprof/clrprof/internal/capture/systemevent"
	"github.com/clrprof/clrprof/internal/present/report"
	"github.com/clrprof/clrprof/internal/quantity"
)

// checked is one thing that recording needs, or that it can be better with.
type checked struct {
	what, result, detail string // result: "yes", "no", or how much of it
}

func newDoctorCommand(e *environment) *cobra.Command {
	var output outputFlags
	cmd := &cobra.Command{
		Use:   "doctor [PID|NAME]",
		Short: "Say what can be recorded on this machine, or of a process, and what is missing",
		Long: "Say what of clrprof works on this machine for this user; with a process id or the name of a\n" +
			"program, what can be recorded of that process. Where something cannot be, it says why, and what to\n" +
			"do. Nothing is changed: to try, a folder is made where recordings are, and removed.\n\n" +
			"Exit codes: 123: there is no such process, or it may not be looked into; 124: it does not run .NET;\n" +
			"otherwise 0, whatever is missing.",
		Example: "  clrprof doctor\n" +
			"  clrprof doctor 4711\n" +
			"  clrprof doctor shop --json",
		Args:              arguments(0, 1),
		ValidArgsFunction: completeProcess,
		RunE: func(_ *cobra.Command, args []string) error {
			format, layout, err := output.choose(e)
			if err != nil {
				return err
			}
			list := checkMachine(e.getenv)
			if len(args) > 0 {
				if list, err = checkProcess(args[0]); err != nil {
					return err
				}
			}
			records := &report.Records{Columns: []string{"what", "works", "detail"}}
			for _, c := range list {
				records.Rows = append(records.Rows, []any{c.what, c.result, c.detail})
			}
			return written(writeRecords(e.stdout, records, format, layout))
		},
	}
	output.add(cmd)
	return cmd
}

// checkProcess says what can be recorded of a process.
func checkProcess(name string) ([]checked, error) {
	pid, err := processOf(name, false)
	if err != nil {
		return nil, err
	}
	p, err := running.Look(pid)
	switch {
	case errors.Is(err, fs.ErrPermission):
		return nil, exit(exitNoTarget, fmt.Errorf("process %d is another user's, or may not be looked into: "+
			"sudo clrprof doctor %[1]d", pid))
	case err != nil && proc.Status(pid) == nil:
		return nil, exit(exitNoTarget, fmt.Errorf("there is no process %d", pid))
	case err != nil:
		return nil, exit(exitNoRuntime, fmt.Errorf("process %d: %w, or one that is compiled by "+
			"NativeAOT, which has no profiling interface", pid, err))
	}
	list := []checked{{"process", "yes", fmt.Sprintf("%d, %s, of user %s, for %s, %s in memory", p.PID, p.Name, p.User,
		p.Age, p.Resident)}}
	runtime := checked{".NET", "yes", strings.TrimSpace(p.Version + " " + p.RID)}
	if p.Version == "" {
		runtime.detail = "its version is not known"
	}
	list = append(list, runtime)
	if p.Apart {
		list = append(list, checked{"container", "yes", fmt.Sprintf("it sees other files or process ids than this "+
			"shell, and itself as process %d", p.Inner)})
	}
	agent := checked{"agent", "no", "it was started without clrprof's agent, which attach loads"}
	switch p.State {
	case running.Prepared:
		agent = checked{"agent", "yes", "clrprof env prepared it: it waits for clrprof attach"}
	case running.Recorded:
		agent = checked{"agent", "yes", fmt.Sprintf("it is being recorded: clrprof ctl %d status", p.PID)}
	}
	list = append(list, agent)
	for _, x := range p.Profilers {
		if x.Name != running.Ours {
			detail := "it is loaded, and .NET allows one profiler"
			if !x.Loaded {
				detail = "the environment names it, but it is not loaded"
			}
			list = append(list, checked{"profiler of " + x.Name, yesOrNo(x.Loaded), detail})
		}
	}
	for i, a := range p.Abilities {
		list = append(list, checked{running.AbilityNames[i], a.Extent.String(), a.Why})
	}
	return list, nil
}

// checkMachine says what of clrprof works here.
func checkMachine(getenv func(string) string) []checked {
	root := os.DirFS("/")
	var list []checked
	for _, l := range agentbin.Libraries() {
		if l.Machine() == agentbin.MachineHere() {
			list = append(list, checkAgent(l))
		}
	}
	list = append(list, checkArenas(), checkDotnet(), checkOtherProfiler(getenv), checkUsers())
	if limit := cgroup.MemoryLimit(root); limit > 0 && limit < unlimited {
		list = append(list, checked{"memory", "yes", fmt.Sprintf("a control group allows %s, and what is "+
			"recorded counts", quantity.Bytes(limit))})
	}
	counters, events := 0, 0
	for _, c := range cpucounter.All() {
		if _, err := countedHere(c.Name); err == nil {
			counters++
		}
	}
	for _, k := range systemevent.All() {
		if k.Check(root) == nil {
			events++
		}
	}
	return append(list, checkedPart("processor's counters", counters, len(cpucounter.All()), "counters --cpu"),
		checkedPart("system's events", events, len(systemevent.All()), "counters --events"))
}

// unlimited is what control groups write for no limit, and more than any machine has.
const unlimited = 1 << 60

// checkedPart says how many of several there are, and where it stands why not all.
func checkedPart(what string, n, of int, command string) checked {
	if n == of {
		return checked{what, "yes", fmt.Sprintf("all %d", of)}
	}
	return checked{what, "no", fmt.Sprintf("%d of %d: clrprof %s says why", n, of, command)}
}

func checkAgent(l agentbin.Library) checked {
	c := checked{"agent for " + string(l), "yes", "it is in this clrprof"}
	if _, err := agentbin.Bytes(l); err != nil {
		c.result, c.detail = "no", "this clrprof was built without it: programs of that kind cannot be recorded"
	}
	return c
}

// checkArenas makes a folder as a recording would, and removes it.
func checkArenas() checked {
	d, err := launch.NewDirectory(launch.Bases())
	if err != nil {
		return checked{"shared memory", "no", err.Error()}
	}
	where := d.Path
	if err := d.Remove(); err != nil {
		return checked{"shared memory", "no", err.Error()}
	}
	return checked{"shared memory", "yes", "recordings are kept in " + filepath.Dir(where)}
}

// checkDotnet lists the runtimes that are installed.
func checkDotnet() checked {
	var found []string
	for _, library := range running.Installed() {
		found = append(found, filepath.Base(filepath.Dir(library)))
	}
	if slices.Sort(found); len(found) > 0 {
		return checked{".NET", "yes", strings.Join(slices.Compact(found), ", ")}
	}
	return checked{".NET", "no", "there is none at the usual places, on the PATH or in DOTNET_ROOT; programs that bring " +
		"their own can be recorded"}
}

// checkOtherProfiler reports whether the environment of this process leaves room for clrprof's agent.
func checkOtherProfiler(getenv func(string) string) checked {
	id := getenv("CORECLR_PROFILER")
	if !launch.IsProfilingOn(getenv("CORECLR_ENABLE_PROFILING")) || id == "" {
		return checked{"environment", "yes", "it asks for no other profiler"}
	}
	if strings.EqualFold(id, launch.ProfilerID) {
		return checked{"environment", "yes", "it asks for clrprof's agent"}
	}
	return checked{"environment", "no", "CORECLR_PROFILER=" + id + " asks for another profiler, and .NET allows one " +
		"for each process: unset CORECLR_ENABLE_PROFILING"}
}

func checkUsers() checked {
	if os.Geteuid() == 0 {
		return checked{"other users' processes", "yes", "this is root"}
	}
	return checked{"other users' processes", "no", fmt.Sprintf("user %d may look into its own alone: sudo clrprof",
		os.Geteuid())}
}
