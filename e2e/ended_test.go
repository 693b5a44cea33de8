package e2e

import (
	"fmt"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/clrprof/clrprof/internal/testkit/sessiontest"
)

// pipeBytes is what a pipe takes before its writer waits (pipe(7)).
const pipeBytes = 64 << 10

// TestEndedBySignal: a signal ends a command that reads a session and waits for the next request of a client, for a
// browser, or for its output to be read.
func TestEndedBySignal(t *testing.T) {
	t.Parallel()
	for _, signal := range []syscall.Signal{unix.SIGINT, unix.SIGTERM} {
		for _, tt := range []struct {
			what    string
			args    []string
			waiting func(p *process)
			code    int
		}{
			{"mcp", []string{"mcp", "s.clrprof"}, answersPing, 0},
			{"view", []string{"view", "s.clrprof"}, saysAddress, 0},
			{"export", []string{"export", "s.clrprof", "--format", "json", "-o", "-"}, fillsPipe, 128 + int(signal)},
			{"report", []string{"report", "s.clrprof", "calltree", "--depth", "1000", "--json"}, fillsPipe,
				128 + int(signal)},
		} {
			t.Run(tt.what+"/"+unix.SignalName(signal), func(t *testing.T) {
				t.Parallel()
				s := newSandbox(t)
				if err := sessiontest.WriteRecorded("..", "net10-time", filepath.Join(s.out, "s.clrprof")); err != nil {
					t.Fatal(err)
				}
				p := s.start(tt.args...)
				tt.waiting(p)
				p.signal(signal)
				<-p.ended // the output is read after that, if at all
				if code := exitCode(p.cmd.ProcessState); code != tt.code {
					t.Errorf("exit code %d, want %d: %s", code, tt.code, p.said())
				}
			})
		}
	}
}

func answersPing(p *process) {
	p.t.Helper()
	if _, err := fmt.Fprintln(p.in, `{"jsonrpc": "2.0", "id": 1, "method": "ping"}`); err != nil {
		p.t.Fatal(err)
	}
	if !p.lines.Scan() {
		p.t.Fatal("no answer: ", p.said())
	}
}

func saysAddress(p *process) {
	p.t.Helper()
	if !p.lines.Scan() {
		p.t.Fatal("no address: ", p.said())
	}
}

// fillsPipe waits until the pipe of the output is full. The test reads nothing of it.
func fillsPipe(p *process) {
	p.t.Helper()
	await(p.t, "the output fills its pipe", func() bool {
		n, err := unix.IoctlGetInt(int(p.unread.Fd()), unix.TIOCINQ)
		if err != nil {
			p.t.Fatal(err)
		}
		return n == pipeBytes
	})
}
