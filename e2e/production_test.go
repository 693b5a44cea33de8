package e2e

import (
	"cmp"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
)

// TestProductionPage runs the commands of docs/production.md, one after the other, for a service that was started as ever.
// What ends with & goes on. Recordings of half a minute are of a second.
func TestProductionPage(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../docs/production.md")
	if err != nil {
		t.Fatal(err)
	}
	built, err := os.UserCacheDir() // where Go has built its tools
	if err != nil {
		t.Fatal(err)
	}
	cache := cmp.Or(os.Getenv("GOCACHE"), filepath.Join(built, "go-build"))
	s := newSandbox(t)
	x := s.startUnprepared(s.target(dotnettest.Need(t).Newest(), "Steps")...)
	x.do("keep 100000")
	x.do("load 1")
	var servers []*process
	replaced := strings.NewReplacer("4711", itoa(x.pid), "--for 30s", "--for 1s", "seconds=30", "seconds=1",
		"127.0.0.1:6060", "127.0.0.1:0")
	ran, inside := 0, false
	for line := range strings.Lines(string(page)) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "```") {
			inside = line == "```sh"
			continue
		}
		if !inside {
			continue
		}
		ran++
		command := replaced.Replace(line)
		if server, isServer := strings.CutSuffix(command, " &"); isServer {
			p := s.start(strings.Fields(server)[1:]...)
			if !p.lines.Scan() {
				t.Fatalf("%s: %s", line, p.said())
			}
			if servers = append(servers, p); strings.HasPrefix(p.lines.Text(), "http") {
				host := strings.Split(p.lines.Text(), "/")[2]
				replaced = strings.NewReplacer("4711", itoa(x.pid), "--for 30s", "--for 1s", "seconds=30", "seconds=1",
					"127.0.0.1:6060", host)
			}
			continue
		}
		cmd := exec.Command("sh", "-ec", command)
		cmd.Dir = s.out
		cmd.Env = append(s.env, "PPROF_TMPDIR="+t.TempDir(), "GOCACHE="+cache,
			"PATH="+filepath.Dir(binary)+":"+os.Getenv("PATH"))
		if said, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v: %s", line, err, said)
		}
	}
	if ran < 14 || len(servers) != 2 {
		t.Errorf("%d commands, %d servers", ran, len(servers))
	}
	for _, name := range []string{"threads.pb.gz", "allocs.pb.gz"} {
		text, err := os.ReadFile(filepath.Join(s.out, name))
		if err != nil || http.DetectContentType(text) != "application/x-gzip" {
			t.Errorf("%s: %v: %.100s", name, err, text)
		}
	}
	for _, p := range servers {
		p.signal(unix.SIGINT)
		if r := p.wait(); r.exit != 0 {
			t.Errorf("%v: exit code %d: %s", p.cmd.Args, r.exit, r.stderr)
		}
	}
	x.tell("calm 0")
	var all int64
	if _, err := fmt.Sscan(x.line(), &all); err != nil {
		t.Fatal(err)
	}
	x.expect("done")
	x.finish()
}
