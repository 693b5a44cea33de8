package inherited

import (
	"os/exec"
	"testing"

	"golang.org/x/sys/unix"
)

// TestUnknown: a program that the kernel starts at Go's first instruction, as tests are, knows nothing and starts programs
// all the same. What is known is tested by e2e, with the program itself.
func TestUnknown(t *testing.T) {
	if noted || Ignored(unix.SIGTERM) {
		t.Error("signals are known without the program's own start")
	}
	cmd := exec.Command("sh", "-c", "exit 3")
	if err := Start(cmd); err != nil {
		t.Fatal(err)
	}
	cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != 3 {
		t.Errorf("exit code %d", code)
	}
}

// TestStates: each signal has a digit, of two bits.
func TestStates(t *testing.T) {
	defer func() { ignored, blocked = 0, 0 }()
	ignored, blocked = 1|1<<63, 1|1<<14
	want := "300000000000002" + "000000000000000000000000000000000000000000000000" + "1"
	if have := states(); have != want {
		t.Errorf("%s, want %s", have, want)
	}
	if !Ignored(unix.SIGHUP) || Ignored(unix.SIGTERM) {
		t.Error("the first signal is ignored, and the 15th is not")
	}
}
