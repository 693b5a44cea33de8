package cli

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/clrprof/clrprof/internal/testkit/sessiontest"
)

// canceledLater is a context that is done when something is written, but not yet when something is read.
type canceledLater struct{ context.Context }

func (canceledLater) Err() error { return context.Canceled }

// TestExportInterrupted: an export that is interrupted, while it reads or while it writes, leaves no file and ends
// as a shell would say.
func TestExportInterrupted(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "shop.clrprof")
	if err := writeComplete(sessiontest.Shop(), path); err != nil {
		t.Fatal(err)
	}
	reading, cancel := context.WithCancel(context.Background())
	cancel()
	writing := canceledLater{context.Background()}
	for _, c := range []struct {
		format string
		ctx    context.Context
	}{
		{"pprof", reading}, {"speedscope", reading}, {"collapsed", reading}, {"sqlite", reading}, {"parquet", reading},
		{"firefox", reading}, {"chrome", reading}, {"otlp", reading}, {"json", reading}, {"csv", reading},
		{"xml", reading},
		{"pprof", writing}, {"speedscope", writing}, {"collapsed", writing}, // libraries write the others
		{"firefox", writing}, {"chrome", writing}, {"otlp", writing}, {"json", writing}, {"csv", writing},
		{"xml", writing},
	} {
		out := filepath.Join(dir, "out")
		x := exportFlags{format: c.format, output: out, sampleTypes: "clrprof", reports: []string{allReports}}
		err := x.run(c.ctx, &environment{stdout: &bytes.Buffer{}, stderr: &bytes.Buffer{}}, path)
		if !errors.Is(err, context.Canceled) || codeOf(err) != exitInterrupted {
			t.Errorf("%s: %v, code %d", c.format, err, codeOf(err))
		}
		if _, err := os.Stat(out); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: there is a file: %v", c.format, err)
		}
		onlySession(t, dir)
	}
}

// onlySession fails if there is anything beside the session, such as a half-written file.
func onlySession(t *testing.T, dir string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Errorf("%v, %v", entries, err)
	}
}

// TestExportDiskFull: where a file may not become as large as it has to, an export says so, leaves nothing, and leaves
// what was there before.
func TestExportDiskFull(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes")
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "shop.clrprof")
	if err := writeComplete(sessiontest.Generate(sessiontest.Size{Threads: 4, Types: 50, Functions: 300, Nodes: 4000},
		1), path); err != nil {
		t.Fatal(err)
	}
	for _, f := range exportFormats {
		name := f.name
		command := func(args string) *exec.Cmd { // files may have two blocks of 512 bytes
			return exec.Command("sh", "-c", "ulimit -f 2; exec clrprof export "+path+" --format "+name+" "+args)
		}
		out, err := command("-o " + filepath.Join(dir, "out")).CombinedOutput()
		var ended *exec.ExitError
		if !errors.As(err, &ended) || ended.ExitCode() != exitUnwritable || bytes.Count(out, []byte("\n")) != 1 {
			t.Errorf("%s: %v: %s", name, err, out)
		}
		onlySession(t, dir)
		if f.files != nil || f.reports != "" {
			continue
		}
		old := filepath.Join(dir, "old")
		if err := os.WriteFile(old, []byte("old"), 0o666); err != nil {
			t.Fatal(err)
		}
		out, err = command("-f -o " + old).CombinedOutput()
		if kept, _ := os.ReadFile(old); err == nil || string(kept) != "old" {
			t.Errorf("%s: %v, %d bytes instead of the old ones: %s", name, err, len(kept), out)
		}
		os.Remove(old)
		onlySession(t, dir)
	}
}

// TestExportLarge: it is said of a large file of stacks what makes it smaller, and of no other.
func TestExportLarge(t *testing.T) {
	path := filepath.Join(t.TempDir(), "stacks")
	if err := os.WriteFile(path, make([]byte, 2048), 0o600); err != nil {
		t.Fatal(err)
	}
	const large = "The file has 2.00 KiB, because it holds whole stacks: "
	for _, tt := range []struct {
		path   string
		limit  int64
		folded bool
		want   []string
	}{
		{path, 2047, false, []string{large + "--fold-recursion or --min-share makes it smaller."}},
		{path, 2047, true, []string{large + "--min-share makes it smaller."}},
		{path, 2048, false, nil},
		{path + "2", 0, false, nil},
	} {
		x := exportFlags{shape: shapeFlags{fold: tt.folded}}
		if got := x.sizeNotes(tt.path, tt.limit); !slices.Equal(got, tt.want) {
			t.Errorf("%s, limit %d: %q, want %q", tt.path, tt.limit, got, tt.want)
		}
	}
}
