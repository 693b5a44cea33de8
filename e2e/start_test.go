package e2e

import (
	"os/exec"
	"testing"
	"time"
)

// maxStart is how long clrprof may take to start: what is prepared before main is prepared for every command.
const maxStart = 20 * time.Millisecond

// TestStart: the fastest of some starts, since a busy machine makes each longer and none shorter.
func TestStart(t *testing.T) {
	fastest := time.Hour
	for range 30 {
		began := time.Now()
		if out, err := exec.Command(binary, "version").CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		fastest = min(fastest, time.Since(began))
	}
	if fastest > maxStart {
		t.Errorf("clrprof version takes %v, want at most %v: GODEBUG=inittrace=1 says what prepares so much", fastest, maxStart)
	}
	t.Logf("clrprof version takes %v", fastest)
}
