package collect

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/clrprof/clrprof/internal/launch"
	"github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/wire"
)

// ErrNotRecorded means that agents were loaded and none of them could record.
var ErrNotRecorded = errors.New("no .NET process could be recorded")

// Reasons why a process is not recorded: the first three are the agent's own words in the name of the file that it
// leaves instead of an arena, the others follow from its arena.
const (
	reasonNoFile         = "no_file"
	reasonNoSpace        = "no_space"
	reasonNoAddressSpace = "no_address_space"
	reasonOldRuntime     = "old_runtime"
	reasonRefused        = "profiler_refused"
	reasonNoMemory       = "no_memory"
	reasonUnknown        = "not_recorded"
)

var whyNot = map[string]string{
	reasonNoFile:         "its agent could not make a file in the directory of the shared memory (too many open files?)",
	reasonNoSpace:        "the file system of the shared memory is full: set CLRPROF_SHM to a directory on another",
	reasonNoAddressSpace: "a limit of its address space or its files' size (ulimit -v, -f) leaves no room for the agent",
	reasonOldRuntime:     "its .NET is older than 2.2",
	reasonRefused:        "the runtime refused the profiler",
	reasonNoMemory:       "there was no memory for the agent's first tables",
	reasonUnknown:        "its agent gave up",
}

var failureReasons = map[wire.Failure]string{
	wire.FailureOldRuntime:  reasonOldRuntime,
	wire.FailureEventMask:   reasonRefused,
	wire.FailureOutOfMemory: reasonNoMemory,
}

// failed is a process without an arena.
type failed struct {
	row     session.Process
	reason  string
	written bool
}

// newFailed reads the name of the file that the agent left: PID-START.WHY.failed.
func newFailed(id session.ProcessID, name string, start quantity.Nanoseconds) *failed {
	stem, why, _ := strings.Cut(strings.TrimSuffix(name, launch.FailedSuffix), ".")
	if whyNot[why] == "" {
		why = reasonUnknown
	}
	text, _, _ := strings.Cut(stem, "-")
	pid, err := strconv.Atoi(text)
	if err != nil {
		pid = 0
	}
	exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
	if err != nil {
		exe = "" // it has ended
	}
	begin := max(0, quantity.Nanoseconds(startOf(stem))-start)
	return &failed{reason: why, row: session.Process{ID: id, PID: int64(pid), Name: processName(exe, nil), Path: exe,
		Arguments: "[]", Begin: begin, End: begin, EndState: session.EndRunning}}
}

// write writes the process and, once, that everything of it is lost.
func (f *failed) write(r *Recorder, now quantity.Nanoseconds) error {
	if f.row.EndState == session.EndRunning {
		f.row.End = now
		if !alive(int(f.row.PID)) {
			f.row.EndState = session.EndDied
		}
	}
	if err := r.w.ReplaceProcesses([]session.Process{f.row}); err != nil {
		return err
	}
	if f.written {
		return nil
	}
	f.written = true
	return r.w.ReplaceLosses([]session.Loss{{Process: f.row.ID, Reason: f.reason, Events: 1}})
}

// notRecorded says, sorted and once each, why processes were not recorded, or "" if there were none.
func (r *Recorder) notRecorded() string {
	var reasons []string
	for _, f := range r.failed {
		reasons = append(reasons, whyNot[f.reason])
	}
	for _, name := range r.names {
		if reason := r.processes[name].failure; reason != "" {
			reasons = append(reasons, whyNot[reason])
		}
	}
	slices.Sort(reasons)
	return strings.Join(slices.Compact(reasons), "; ")
}
