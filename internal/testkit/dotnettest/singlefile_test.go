package dotnettest

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestSingleFilesNotNeeded: where there is a whole runtime of a major version, nothing is fetched for it.
func TestSingleFilesNotNeeded(t *testing.T) {
	fakeNPM(t, nil, `echo asked for; exit 1`)
	in := &Install{cache: t.TempDir(), runtimes: []Runtime{{Name: "10.0.12"}, {Name: "9.0.7"}, {Name: "8.0.33"}}}
	if got, err := in.SingleFiles(io.Discard); err != nil || len(got) != 0 {
		t.Errorf("%v, %v", got, err)
	}
	in.runtimes = in.runtimes[1:]
	if err := os.MkdirAll(filepath.Join(in.cache, "dotnet"), 0o755); err != nil {
		t.Fatal(err)
	}
	_, err := in.SingleFiles(io.Discard)
	if err == nil || !strings.Contains(err.Error(), "asked for") || !strings.Contains(err.Error(), ".NET 10.0.11") {
		t.Errorf("error %v, want that of npm, for .NET 10", err)
	}
}

// TestSingleFilesRun runs a program where no whole runtime can.
func TestSingleFilesRun(t *testing.T) {
	in := Need(t)
	for _, r := range NeedSingleFiles(t) {
		var o Options
		if r.Trimmed {
			o.Trimmed = r.Name
		}
		want, _, _ := strings.Cut(r.Name, ".")
		wantHello(t, r.Command(writeHello(t, in, o), "x", "y"), "hello "+want+" 2")
	}
}
