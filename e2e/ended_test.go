package e2e

import (
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// pipeBytes is what a pipe takes before its writer waits (pipe(7)).
const pipeBytes = 64 << 10

// TestEndedBySignal: a signal ends what reads a session and waits: for a client's next request, for a browser, or for
// somebody to read the output.
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
				unpack(t, "../testdata/sessions/net10-time.clrprof.gz", filepath.Join(s.out, "s.clrprof"))
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

// unpack writes a session that was recorded once.
func unpack(t *testing.T, from, to string) {
	t.Helper()
	packed, err := os.Open(from)
	if err != nil {
		t.Fatal(err)
	}
	defer packed.Close()
	r, err := gzip.NewReader(packed)
	if err != nil {
		t.Fatal(err)
	}
	content, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, content, 0o600); err != nil {
		t.Fatal(err)
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

// fillsPipe waits until nothing more fits into the pipe, of which the test reads nothing.
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
