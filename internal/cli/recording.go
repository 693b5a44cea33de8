package cli

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/clrprof/clrprof/internal/control"
	"github.com/clrprof/clrprof/internal/launch"
	"github.com/clrprof/clrprof/internal/session"
)

// findRecording returns the session of the recording that the arguments name: its file, the id of one of its processes,
// or the only one there is.
func findRecording(args []string) (string, error) {
	running := launch.Recordings(launch.Bases())
	if len(args) == 0 {
		switch len(running) {
		case 0:
			return "",
				exit(exitUnreadable,
					errors.New("nothing is being recorded here: start a recording with clrprof run, or see a "+
						"finished session with clrprof report"))
		case 1:
			return running[0].Session, nil
		}
		var paths []string
		for _, r := range running {
			paths = append(paths, r.Session)
		}
		return "", usage("%d recordings are running: name one of %s", len(running), strings.Join(paths, ", "))
	}
	pid, err := strconv.Atoi(args[0])
	if _, statErr := os.Stat(args[0]); err != nil || statErr == nil {
		return args[0], nil
	}
	for _, r := range running {
		if slices.Contains(r.PIDs, pid) {
			return r.Session, nil
		}
	}
	if session, ok := launch.AttachedSession(pid); ok {
		return session, nil
	}
	info, err := os.Stat(fmt.Sprintf("/proc/%d", pid))
	return "", notRecorded(pid, err == nil && os.Geteuid() != 0 && !isOwn(info))
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

// ask sends a request to the recording that is written to a session.
func ask(path, request string, arguments any) (*control.Client, error) {
	c, err := control.Ask(path, request, arguments)
	if err == nil {
		return c, nil
	}
	if errors.Is(err, control.ErrNoRecording) {
		s, openErr := session.Open(path)
		if openErr != nil {
			return nil, readError(openErr)
		}
		s.Close()
		err = fmt.Errorf("%w: see it with clrprof report %s", err, path)
	}
	return nil, exit(exitUnreadable, err)
}
