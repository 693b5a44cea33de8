package export_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clrprof/clrprof/internal/analysis"
	"github.com/clrprof/clrprof/internal/export/otlp"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/testkit/analysistest"
	"github.com/clrprof/clrprof/internal/testkit/sessiontest"
)

var withCollector = flag.Bool("collector", false, "build an OpenTelemetry Collector, and send it profiles")

// buildOTLP builds a command of tools/otlp. A test is skipped where its modules cannot be had.
func buildOTLP(t *testing.T, name string) (tool string) {
	t.Helper()
	tool = filepath.Join(t.TempDir(), name)
	build := exec.Command("go", "build", "-C", "../../tools/otlp", "-o", tool, "./"+name)
	if text, err := build.CombinedOutput(); err != nil {
		if !strings.Contains(string(text), "proxy") && !strings.Contains(string(text), "dial") {
			t.Fatalf("building tools/otlp/%s: %v\n%s", name, err, text)
		}
		t.Skipf("SKIPPED: the modules of tools/otlp cannot be had here, so no Collector read OTLP: %v\n%s", err, text)
	}
	return tool
}

// sentSessions are those whose profiles a Collector gets: made-up ones and recorded ones.
func sentSessions(t *testing.T) map[string]*session.Session {
	t.Helper()
	out := map[string]*session.Session{}
	for name, b := range map[string]*sessiontest.Builder{"shop": sessiontest.Shop(), "aging": sessiontest.Aging(),
		"timed": sessiontest.Timed()} {
		out[name] = analysistest.Open(t, b, filepath.Join(t.TempDir(), "s.clrprof"))
	}
	for _, name := range sessiontest.Recorded {
		out[name] = openRecorded(t, name)
	}
	return out
}

// compareCollector compares what a Collector printed with the session.
func compareCollector(t *testing.T, name string, s *session.Session, printed []byte) {
	t.Helper()
	have, read := sums{}, map[string]int64{}
	if err := json.Unmarshal(printed, &read); err != nil {
		t.Fatalf("%s: %q: %v", name, printed, err)
	}
	for value, sum := range read {
		have.add(value, sum)
	}
	if diff := cmp.Diff(truth(t, s, analysis.Selection{}), have); diff != "" {
		t.Errorf("%s (-session +Collector):\n%s", name, diff)
	}
}

// TestCollectorReads: what the OpenTelemetry Collector reads with reads the profiles, and has the session's sums.
func TestCollectorReads(t *testing.T) {
	tool := buildOTLP(t, "read")
	for name, s := range sentSessions(t) {
		path := filepath.Join(t.TempDir(), name+".otlp.pb")
		file, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := otlp.Write(file, s, analysis.Selection{}, "1.2.3"); err != nil {
			t.Fatal(err)
		}
		if err := file.Close(); err != nil {
			t.Fatal(err)
		}
		text, err := exec.Command(tool, path).CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", name, err, text)
		}
		compareCollector(t, name, s, text)
	}
}

// TestCollectorReceives: an OpenTelemetry Collector takes the profiles by HTTP, as docs/cli.md says, and its exporter
// has the session's sums.
func TestCollectorReceives(t *testing.T) {
	if !*withCollector {
		t.Skip("SKIPPED: building a Collector takes minutes; make collector does it")
	}
	c := startCollector(t, buildOTLP(t, "collector"))
	sessions := sentSessions(t)
	for _, name := range slices.Sorted(maps.Keys(sessions)) {
		var profiles bytes.Buffer
		if err := otlp.Write(&profiles, sessions[name], analysis.Selection{}, "1.2.3"); err != nil {
			t.Fatal(err)
		}
		if status, text := c.post(t, profiles.Bytes()); status != http.StatusOK {
			t.Fatalf("%s: %d %q", name, status, text)
		}
		compareCollector(t, name, sessions[name], c.line(t))
	}
	if status, _ := c.post(t, []byte("no profiles")); status != http.StatusBadRequest {
		t.Errorf("what is no profiles has status %d", status)
	}
	if err := c.process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if rest, err := io.ReadAll(c.printed); err != nil || len(rest) > 0 {
		t.Errorf("after the last profiles: %q, %v", rest, err)
	}
	if err := c.wait(); err != nil {
		t.Errorf("%v: %s", err, &c.said)
	}
}

// collector is one that runs.
type collector struct {
	process *os.Process
	wait    func() error
	printed *bufio.Reader
	said    bytes.Buffer // on standard error
	client  http.Client
}

// startCollector returns a Collector that listens.
func startCollector(t *testing.T, tool string) *collector {
	t.Helper()
	folder, err := os.MkdirTemp("", "otlp") // the path of a socket has 107 characters at most
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(folder) })
	socket := filepath.Join(folder, "s")
	c := &collector{}
	c.client.Transport = &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}}
	cmd := exec.CommandContext(t.Context(), tool, socket)
	cmd.Stderr = &c.said
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	c.process, c.wait, c.printed = cmd.Process, cmd.Wait, bufio.NewReader(out)
	if text := c.line(t); string(text) != "ready\n" {
		t.Fatalf("it printed %q", text)
	}
	return c
}

// line is the next line that it prints.
func (c *collector) line(t *testing.T) []byte {
	t.Helper()
	text, err := c.printed.ReadBytes('\n')
	if err != nil {
		t.Fatalf("%v, after %q: %v: %s", err, text, c.wait(), &c.said)
	}
	return text
}

// post sends it profiles.
func (c *collector) post(t *testing.T, profiles []byte) (status int, text []byte) {
	t.Helper()
	response, err := c.client.Post("http://localhost:4318/v1development/profiles", "application/x-protobuf",
		bytes.NewReader(profiles))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if text, err = io.ReadAll(response.Body); err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, text
}
