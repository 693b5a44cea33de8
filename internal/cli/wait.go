package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/clrprof/clrprof/internal/capture/control"
	"github.com/clrprof/clrprof/internal/capture/steer"
	"github.com/clrprof/clrprof/internal/present/report"
	"github.com/clrprof/clrprof/internal/session"
)

// ctlWait is the command of clrprof ctl that waits, and what it can wait for.
const (
	ctlWait       = "wait"
	waitReady     = "ready"
	waitRecording = "recording"
	waitPaused    = "paused"
	waitMark      = "mark"
	waitEnd       = "end"
)

var waitChoices = []string{waitReady, waitRecording, waitPaused, waitMark, waitEnd}

// waitLook is the time between two looks: less than a person notices, and nothing beside what a process start takes.
const waitLook = 20 * time.Millisecond

// Why something that is waited for will not be so.
var (
	errOver   = errors.New("the recording has ended")
	errCutOff = errors.New("it was cut off: clrprof was killed, or could not write it, before the session was complete")
)

// wait waits until something is so.
func (c *ctlFlags) wait(name string, args []string) error {
	switch {
	case len(args) == 0:
		return usage("clrprof ctl wait needs one of ready, recording, paused, mark NAME, end")
	case !slices.Contains(waitChoices, args[0]):
		return exit(exitUsage, report.Unknown("state", args[0], waitChoices))
	case (args[0] == waitMark) != (len(args) == 2):
		return usage("clrprof ctl wait: want a NAME after mark, and nothing after the other states")
	case c.pid != 0:
		return usage("clrprof ctl wait is about all processes: --process cannot be given")
	}
	tick := time.NewTicker(waitLook)
	defer tick.Stop()
	begun := time.Now()
	peer, err := c.waited(name)
	for isRunning(name, err) && args[0] != waitEnd && (c.timeout == 0 || time.Since(begun) <= c.timeout) {
		<-tick.C
		peer, err = c.waited(name)
	}
	if err != nil {
		return err
	}
	path := peer.Session
	for {
		is, err := c.isSo(peer, args)
		if err != nil {
			return exit(exitUnreadable, fmt.Errorf("wait %s: %s: %w", args[0], path, err))
		}
		if is {
			return nil
		}
		<-tick.C
		if c.timeout > 0 && time.Since(begun) > c.timeout {
			return exit(exitUnreadable, fmt.Errorf("wait %s: %s: not reached within %s", args[0], path, c.timeout))
		}
	}
}

// isRunning reports whether a process that is not recorded can still come to be.
func isRunning(name string, notRecorded error) bool {
	pid, err := strconv.Atoi(name)
	return notRecorded != nil && err == nil && pid > 0 && !errors.Is(unix.Kill(pid, 0), unix.ESRCH)
}

// waited is the session: one that is not there yet, too.
func (c *ctlFlags) waited(name string) (control.Peer, error) {
	if _, err := strconv.Atoi(name); err != nil {
		return control.Of(name), nil
	}
	return findRecording([]string{name})
}

// isSo says whether what is waited for is so. The error says why it never will be.
func (c *ctlFlags) isSo(peer control.Peer, args []string) (bool, error) {
	stage, err := stageIfThere(peer.Session)
	if err != nil {
		return false, err
	}
	over := stage != "" && stage != session.StageRecording
	switch {
	case args[0] == waitMark:
		found, err := isMarked(peer.Session, args[1])
		if found || err != nil || !over {
			return found, err
		}
		return false, ended(stage)
	case args[0] == waitEnd && stage == session.StageCutOff:
		return false, ended(stage)
	case args[0] == waitEnd:
		return stage == session.StageComplete && !peer.IsServed(), nil
	case over:
		return false, ended(stage)
	case !peer.IsServed():
		return false, nil // not yet
	}
	answer, err := askRecorder(peer, steer.Request{Command: steer.Status}, c.timeout)
	if err != nil {
		return false, nil // it ends just now, which the next look finds out
	}
	r := &answer.Report
	switch args[0] {
	case waitReady:
		return len(r.Processes) > 0, nil
	case waitRecording:
		return len(r.Processes) > 0 && r.Recording, nil
	}
	return len(r.Processes) > 0 && !r.Recording, nil
}

// ended says why a session in a stage will not get any further.
func ended(stage session.Stage) error {
	if stage == session.StageCutOff {
		return errCutOff
	}
	return errOver
}

// stageIfThere is the stage of a session; "" if there is none, or it is only being made.
func stageIfThere(path string) (session.Stage, error) {
	if isToCome(path) {
		return "", nil
	}
	stage, err := session.StageOf(context.Background(), path)
	if errors.Is(err, session.ErrNotFound) {
		return "", nil
	}
	return stage, err
}

// isToCome reports whether there is no file yet, or one that is only being made. What is no regular file has no bytes
// either, and never becomes a session.
func isToCome(path string) bool {
	st, err := os.Stat(path)
	return errors.Is(err, fs.ErrNotExist) || err == nil && st.Mode().IsRegular() && st.Size() == 0
}

// openIfThere opens a session; nil if there is none, or it is only being made.
func openIfThere(path string) (*session.Session, error) {
	if isToCome(path) {
		return nil, nil
	}
	s, err := session.Open(path)
	if errors.Is(err, session.ErrNotFound) {
		return nil, nil
	}
	return s, err
}

// isMarked says whether a session has a mark of this name.
func isMarked(path, name string) (bool, error) {
	s, err := openIfThere(path)
	if s == nil || err != nil {
		return false, err
	}
	defer s.Close()
	marks, err := s.Marks()
	return slices.ContainsFunc(marks, func(m session.Mark) bool { return m.Name == name }), err
}
