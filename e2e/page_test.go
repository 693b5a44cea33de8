package e2e

import (
	"bufio"
	"encoding/json"
	"net/http"
	"net/http/cookiejar"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/clrprof/clrprof/internal/capture/live"
	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
)

// pageAddress is what run --live says.
var pageAddress = regexp.MustCompile(`watch it at (http://127\.0\.0\.1:\d+)(/\?token=\w+)\n`)

// watchRun records Echo with a live page, watches it until the program has ended by a signal, and returns what the
// session has of it, which is what was reported; the page shows the session then.
func (s *sandbox) watchRun(runtime dotnettest.Runtime, end unix.Signal) (*process, live.Numbers) {
	t := s.t
	t.Helper()
	p := s.start(append([]string{"run", "--live", "--no-report", "-o", "s.clrprof", "--"},
		s.target(runtime, "Echo", "signal")...)...)
	p.expect("ready")
	found := pageAddress.FindStringSubmatch(p.said())
	if found == nil {
		t.Fatalf("no address: %s", p.said())
	}
	client := enter(t, found[1], found[2])
	sum, total := watchLive(t, client, found[1], func() {
		if err := unix.Kill(s.dotnet(), end); err != nil {
			t.Error(err)
		}
	})
	recorded := query[live.Numbers](t, filepath.Join(s.out, "s.clrprof"),
		"SELECT sum(allocations) AS allocations, sum(bytes) AS bytes FROM site_value")[0]
	if sum != recorded || total != recorded {
		t.Errorf("reported were %+v in sum, in the end %+v; the session has %+v", sum, total, recorded)
	}
	if state := pageState(t, client, found[1]); state != "complete" {
		t.Errorf("the page shows a session that is %s", state)
	}
	return p, recorded
}

// TestRunLive watches a program as a browser does: what is reported adds up to the session, which the page then shows,
// until Ctrl-C.
func TestRunLive(t *testing.T) {
	t.Parallel()
	in := dotnettest.Need(t)
	for _, runtime := range in.NewestAndOldest() {
		t.Run(runtime.Name, func(t *testing.T) {
			t.Parallel()
			s := newSandbox(t)
			p, _ := s.watchRun(runtime, unix.SIGTERM)
			if p.hasEnded() {
				t.Error("it ended though the page is open")
			}
			p.signal(unix.SIGINT)
			if r := p.wait(); r.exit != 11 || !strings.Contains(r.stderr, "Ctrl-C ends") {
				t.Errorf("exit code %d: %s", r.exit, r.stderr)
			}
			checkSession(t, filepath.Join(s.out, "s.clrprof"))
		})
	}
}

// TestRunLiveKilled kills a program that is watched: what was reported up to then is what the session has, which the
// page then shows.
func TestRunLiveKilled(t *testing.T) {
	t.Parallel()
	in := dotnettest.Need(t)
	s := newSandbox(t)
	p, recorded := s.watchRun(in.Newest(), unix.SIGKILL)
	if recorded.Allocations == 0 {
		t.Error("nothing was recorded")
	}
	p.signal(unix.SIGINT)
	if r := p.wait(); r.exit != 128+int(unix.SIGKILL) {
		t.Errorf("exit code %d: %s", r.exit, r.stderr)
	}
}

// TestViewRecording watches the recording of another clrprof, by the id of the process: what is reported adds up to the
// session, which the page then shows.
func TestViewRecording(t *testing.T) {
	t.Parallel()
	in := dotnettest.Need(t)
	s := newSandbox(t)
	p := s.start(append([]string{"run", "--no-report", "-o", "s.clrprof", "--"},
		s.target(in.Newest(), "Echo", "signal")...)...)
	p.expect("ready")
	viewer := s.start("view", itoa(s.dotnet()))
	if !viewer.lines.Scan() {
		t.Fatalf("no address: %s", viewer.said())
	}
	address, token, _ := strings.Cut(viewer.lines.Text(), "/?")
	client := enter(t, address, "/?"+token)
	sum, total := watchLive(t, client, address, func() {
		if err := unix.Kill(s.dotnet(), unix.SIGTERM); err != nil {
			t.Error(err)
		}
	})
	if r := p.wait(); r.exit != 11 {
		t.Errorf("exit code %d: %s", r.exit, r.stderr)
	}
	recorded := query[live.Numbers](t, filepath.Join(s.out, "s.clrprof"),
		"SELECT sum(allocations) AS allocations, sum(bytes) AS bytes FROM site_value")[0]
	if sum != recorded || total != recorded {
		t.Errorf("reported were %+v in sum, in the end %+v; the session has %+v", sum, total, recorded)
	}
	if state := pageState(t, client, address); state != "complete" {
		t.Errorf("the page shows a session that is %s", state)
	}
	viewer.signal(unix.SIGINT)
	if r := viewer.wait(); r.exit != 0 {
		t.Errorf("exit code %d: %s", r.exit, r.stderr)
	}
}

// enter opens the address that was printed, as a browser does.
func enter(t *testing.T, address, token string) *http.Client {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Jar: jar}
	entered, err := client.Get(address + token)
	if err != nil {
		t.Fatal(err)
	}
	entered.Body.Close()
	return client
}

// pageState is the state of the session that a page shows.
func pageState(t *testing.T, client *http.Client, address string) string {
	t.Helper()
	var have struct{ State string }
	got, err := client.Get(address + "/api/session")
	if err == nil {
		err = json.NewDecoder(got.Body).Decode(&have)
		got.Body.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return have.State
}

// watchLive follows what is reported until the session is there. begun is called with the first message.
func watchLive(t *testing.T, client *http.Client, at string, begun func()) (sum, total live.Numbers) {
	t.Helper()
	got, err := client.Get(at + "/api/live")
	if err != nil {
		t.Fatal(err)
	}
	defer got.Body.Close()
	lines, n := bufio.NewScanner(got.Body), 0
	lines.Buffer(nil, 1<<22)
	for lines.Scan() {
		if lines.Text() == "event: finished" {
			return sum, total
		}
		text, isData := strings.CutPrefix(lines.Text(), "data: ")
		if !isData {
			continue
		}
		var m live.Message
		if err := json.Unmarshal([]byte(text), &m); err != nil {
			t.Fatal(err)
		}
		sum.Allocations, sum.Bytes, total = sum.Allocations+m.New.Allocations, sum.Bytes+m.New.Bytes, m.Total
		if n++; n == 1 {
			begun()
		}
	}
	t.Fatalf("the stream ended after %d messages: %v", n, lines.Err())
	return sum, total
}

// TestRunLiveUnseen: a page that nobody opens keeps nobody waiting.
func TestRunLiveUnseen(t *testing.T) {
	t.Parallel()
	in := dotnettest.Need(t)
	s := newSandbox(t)
	r := s.run(append([]string{"run", "--live=127.0.0.1:0", "--no-report", "-o", "s.clrprof", "--"},
		s.target(in.Newest(), "Exits", "return")...)...)
	if r.exit != 7 || !pageAddress.MatchString(r.stderr) {
		t.Errorf("exit code %d: %s", r.exit, r.stderr)
	}
	checkSession(t, filepath.Join(s.out, "s.clrprof"))
	bad := s.run(append([]string{"run", "--live=nowhere", "--"}, s.target(in.Newest(), "Exits", "return")...)...)
	oneLine(t, bad, "--live=nowhere")
	if bad.exit != 120 || bad.stdout != "" {
		t.Errorf("exit code %d: %s", bad.exit, bad.stdout)
	}
}
