package cli

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/clrprof/clrprof/internal/capture/control"
	"github.com/clrprof/clrprof/internal/capture/launch"
	"github.com/clrprof/clrprof/internal/session"
)

// findRecording returns the recording that the arguments name: by the session's file, or by the id of one of its
// processes; or this user's only one.
func findRecording(args []string) (control.Peer, error) {
	if len(args) == 0 {
		return onlyRecording(launch.Recordings(launch.Bases()))
	}
	pid, err := strconv.Atoi(args[0])
	if _, statErr := os.Stat(args[0]); err != nil || statErr == nil {
		return control.Of(args[0]), nil
	}
	if r, ok := launch.RecordingOf(launch.Bases(), pid); ok {
		return control.OfUser(r.Session, r.Owner), nil
	}
	info, err := os.Stat(fmt.Sprintf("/proc/%d", pid))
	return control.Peer{}, notRecorded(pid, err == nil && os.Geteuid() != 0 && !isOwn(info))
}

// notRecorded says why there is no recording of a process: another user's cannot be seen.
func notRecorded(pid int, anothers bool) error {
	if anothers {
		return exit(exitUnreadable, fmt.Errorf("process %d belongs to another user: whether it is being recorded is for "+
			"that user, and root, to see", pid))
	}
	return exit(exitUnreadable,
		fmt.Errorf("process %d is not being recorded: it must have been started by clrprof run, or attached to "+
			"with clrprof attach", pid))
}

// onlyRecording is the only one of some.
func onlyRecording(running []launch.Recording) (control.Peer, error) {
	switch len(running) {
	case 0:
		return control.Peer{}, exit(exitUnreadable,
			errors.New("this user records nothing now: start a recording with clrprof run, name one of another user "+
				"by its session, or see a finished session with clrprof report"))
	case 1:
		return control.OfUser(running[0].Session, running[0].Owner), nil
	}
	var paths []string
	for _, r := range running {
		paths = append(paths, r.Session)
	}
	return control.Peer{}, usage("%d recordings are running: name one of %s", len(running), strings.Join(paths, ", "))
}

// ask sends a request to a recording.
func ask(peer control.Peer, request string, arguments any) (*control.Client, error) {
	c, err := peer.Ask(request, arguments)
	if err == nil {
		return c, nil
	}
	if errors.Is(err, control.ErrNoRecording) {
		s, openErr := session.Open(peer.Session)
		if openErr != nil {
			return nil, readError(openErr)
		}
		s.Close()
		err = fmt.Errorf("%w: see it with clrprof report %s", err, peer.Session)
	}
	return nil, exit(exitUnreadable, err)
}
