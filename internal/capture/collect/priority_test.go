package collect

import (
	"errors"
	"os"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// TestYielding: what gives way to the target has a lower priority, and no other thread of this process keeps it.
func TestYielding(t *testing.T) {
	t.Parallel()
	before, err := unix.SchedGetAttr(0, 0)
	if err != nil {
		t.Fatal(err)
	}
	want := *before
	if before.Policy == unix.SCHED_NORMAL {
		want.Policy, want.Nice = unix.SCHED_BATCH, min(before.Nice+lessNice, 19)
	}
	var thread int
	var during *unix.SchedAttr
	failure := errors.New("of the look")
	err = yielding(func() (err error) {
		thread = unix.Gettid()
		if during, err = unix.SchedGetAttr(0, 0); err != nil {
			return err
		}
		return failure
	})
	if !errors.Is(err, failure) {
		t.Fatal(err)
	}
	if during.Policy != want.Policy || during.Nice != want.Nice {
		t.Errorf("policy %d, nice %d; want %d, %d", during.Policy, during.Nice, want.Policy, want.Nice)
	}
	if thread == os.Getpid() {
		return // Go keeps the first thread of a process for nothing, as it cannot end
	}
	for unix.Tgkill(os.Getpid(), thread, 0) == nil {
		runtime.Gosched() // it has returned from the look, and is about to end
	}
}
