package collect

import (
	"errors"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/clrprof/clrprof/internal/capture/launch"
	"github.com/clrprof/clrprof/internal/wire"
)

// TestWhyLeaving: who waits in vain for the end of a recording learns what it waits for.
func TestWhyLeaving(t *testing.T) {
	for _, tt := range []struct {
		leaving uint32
		stopped bool
		want    string
	}{
		{wire.LeavingCollection, false, "garbage collection"},
		{wire.LeavingThreads, false, "does not stop its threads"},
		{wire.LeavingVisits, false, "in the agent"},
		{wire.LeavingCode, false, "takes back code"},
		{wire.LeavingCode, true, "it is stopped"},
		{0, false, "has not begun"},
	} {
		if have := whyLeaving(tt.leaving, tt.stopped); !strings.Contains(have, tt.want) {
			t.Errorf("%d, stopped %v: %q lacks %q", tt.leaving, tt.stopped, have, tt.want)
		}
	}
}

// TestAttachStopped: a process that is stopped is told from one that has no processor, and so is what to do.
func TestAttachStopped(t *testing.T) {
	cmd := exec.Command("cat")
	in, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	a := attached{Dormant: &launch.Dormant{PID: cmd.Process.Pid}}
	if a.isStopped() {
		t.Error("a process that waits is stopped")
	}
	var status unix.WaitStatus
	if err := unix.Kill(a.PID, unix.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	if _, err := unix.Wait4(a.PID, &status, unix.WUNTRACED, nil); err != nil || !status.Stopped() {
		t.Fatalf("it is not stopped: %v, %v", status, err)
	}
	if !a.isStopped() {
		t.Error("a process that is stopped is not")
	}
	if err := errors.Join(unix.Kill(a.PID, unix.SIGCONT), in.Close(), cmd.Wait()); err != nil {
		t.Error(err)
	}
	for stopped, want := range map[bool]string{true: "kill -CONT 7", false: "within 1m0s"} {
		if err := tooLong(7, stopped); !errors.Is(err, ErrNoAnswer) || !strings.Contains(err.Error(), want) {
			t.Errorf("stopped %v: %v", stopped, err)
		}
	}
}
