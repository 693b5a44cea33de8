package collect

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/clrprof/clrprof/internal/capture/launch"
	"github.com/clrprof/clrprof/internal/capture/recording"
	"github.com/clrprof/clrprof/internal/files/safefs"
	"github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/wire"
)

// ErrNotRecorded means that agents were loaded and none of them could record.
var ErrNotRecorded = errors.New("no .NET process could be recorded")

// agentReasons are those that an agent itself says, in the name of the file that it leaves instead of an arena.
var agentReasons = []string{session.LossNoFile, session.LossNoSpace, session.LossNoAddressSpace, session.LossForked}

// failureReason translates what an arena's header says.
func failureReason(f wire.Failure) string {
	switch f {
	case wire.FailureOldRuntime:
		return session.LossOldRuntime
	case wire.FailureEventMask:
		return session.LossRefused
	case wire.FailureOutOfMemory:
		return session.LossNoMemory
	}
	return session.LossNotRecorded
}

// failed is a process without an arena.
type failed struct {
	rec     *recording.Process
	row     session.Process
	reason  string
	note    string // name of the file that the agent left
	parent  int    // of a forked process: its parent's id, where both run; 0: not known yet
	written bool
}

// meaning is what a reason means.
func meaning(reason string) string { return session.Loss{Reason: reason}.Meaning() }

// failedReason reads the reason in the name of the file that the agent left: PID-START.WHY.failed.
func failedReason(name string) string {
	_, why, _ := strings.Cut(strings.TrimSuffix(name, launch.FailedSuffix), ".")
	if !slices.Contains(agentReasons, why) {
		return session.LossNotRecorded
	}
	return why
}

// readParent reads the id of the parent, which the note of a forked process holds.
func readParent(files *safefs.Dir, name string) int {
	f, err := files.Open(name)
	if err != nil {
		return 0
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxNote))
	if err != nil {
		return 0
	}
	pid, err := strconv.Atoi(string(text))
	if err != nil || pid < 0 {
		return 0
	}
	return pid
}

// maxNote bounds what is read of a note: a process's id has at most 10 digits.
const maxNote = 16

// newFailed reads the name of the file that the agent left: PID-START.WHY.failed.
func newFailed(rec *recording.Process, name string, start quantity.Nanoseconds) *failed {
	note := name
	why := failedReason(name)
	stem, _, _ := strings.Cut(name, ".")
	text, _, _ := strings.Cut(stem, "-")
	pid, err := strconv.Atoi(text)
	if err != nil {
		pid = 0
	}
	name = "(unknown)"
	exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
	if err == nil {
		name = recording.ProgramName(exe, nil)
	} else {
		exe = "" // it has ended
	}
	begin := max(0, quantity.Nanoseconds(startOf(stem))-start)
	return &failed{rec: rec, reason: why, note: note, row: session.Process{PID: int64(pid), Name: name, Path: exe,
		Arguments: "[]", Begin: begin, End: begin, EndState: session.EndRunning}}
}

// write writes the process and, once, that everything of it is lost.
func (f *failed) write(r *Recorder, now quantity.Nanoseconds) error {
	if f.reason == session.LossForked && f.parent == 0 {
		f.parent = readParent(r.files, f.note)
	}
	if p := r.ofPID(f.parent); f.parent != 0 && p != nil { // a forked process is what its parent is
		f.row.Name, f.row.Path, f.row.ParentPID = p.name(), p.exe, int64(p.pid)
	}
	if f.row.EndState == session.EndRunning {
		f.row.End = now
		if !r.alive(int(f.row.PID)) {
			f.row.EndState = session.EndDied
		}
	}
	if err := f.rec.Write(f.row); err != nil {
		return err
	}
	if f.written {
		return nil
	}
	f.written = true
	return f.rec.WriteLosses([]session.Loss{{Reason: f.reason, Events: 1}})
}

// notRecorded says, sorted and once each, why processes were not recorded, or "" if there were none.
func (r *Recorder) notRecorded() string {
	var meanings []string
	add := func(reason string) {
		if reason != "" && reason != session.LossNotLoaded { // of which launch.Explain knows more
			meanings = append(meanings, meaning(reason))
		}
	}
	for _, f := range r.failed {
		add(f.reason)
	}
	for _, name := range r.names {
		add(r.processes[name].failure)
	}
	slices.Sort(meanings)
	return strings.Join(slices.Compact(meanings), "; ")
}
