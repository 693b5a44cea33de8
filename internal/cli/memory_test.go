package cli

import (
	"bytes"
	"os"
	"runtime/debug"
	"strconv"
	"testing"
)

// forgedMemory is what a command, or an answer of a server, may take for a session of at most some megabytes, whatever
// the session says, and forgedGarbage the part of it that may be what another one left: to collect that before each of
// them would take longer than they do.
const (
	forgedMemory  = 256 << 20
	forgedGarbage = 64 << 20
)

// memoryWatch knows how much memory this process had before a test.
type memoryWatch struct {
	t      *testing.T
	before int64
}

func watchMemory(t *testing.T) *memoryWatch {
	t.Helper()
	debug.FreeOSMemory()
	return &memoryWatch{t, ofStatus(t, "VmRSS")}
}

// takes runs what is named, and fails if this process took more than forgedMemory for that at any moment.
func (m *memoryWatch) takes(what string, run func()) {
	m.t.Helper()
	if ofStatus(m.t, "VmRSS")-m.before > forgedGarbage {
		debug.FreeOSMemory()
	}
	if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0); err != nil {
		m.t.Fatalf("the kernel does not forget the most memory that a process had: %v", err)
	}
	run()
	if taken := ofStatus(m.t, "VmHWM") - m.before; taken > forgedMemory {
		m.t.Errorf("%s: took %d MiB, more than %d", what, taken>>20, int64(forgedMemory)>>20)
	}
}

// ofStatus returns a number of bytes that the kernel knows of this process.
func ofStatus(t *testing.T, name string) int64 {
	t.Helper()
	b, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(b) {
		text, found := bytes.CutPrefix(line, []byte(name+":"))
		if fields := bytes.Fields(text); found && len(fields) == 2 {
			if kilobytes, err := strconv.ParseInt(string(fields[0]), 10, 64); err == nil {
				return kilobytes << 10
			}
		}
	}
	t.Fatalf("/proc/self/status has no %s: %s", name, b)
	return 0
}
