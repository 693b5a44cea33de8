package export_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clrprof/clrprof/internal/analysis"
	"github.com/clrprof/clrprof/internal/analysis/analysistest"
	"github.com/clrprof/clrprof/internal/export/otlp"
	"github.com/clrprof/clrprof/internal/session/sessiontest"
)

// TestCollectorReads: what the OpenTelemetry Collector reads with reads the profiles, and has the session's sums.
func TestCollectorReads(t *testing.T) {
	tool := filepath.Join(t.TempDir(), "otlpread")
	build := exec.Command("go", "build", "-C", "../../tools/otlpread", "-o", tool, ".")
	if text, err := build.CombinedOutput(); err != nil {
		if !strings.Contains(string(text), "proxy") && !strings.Contains(string(text), "dial") {
			t.Fatalf("building tools/otlpread: %v\n%s", err, text)
		}
		t.Skipf("SKIPPED: the modules of tools/otlpread cannot be had here, so no Collector read OTLP: %v\n%s", err, text)
	}
	for name, b := range map[string]*sessiontest.Builder{"shop": sessiontest.Shop(), "aging": sessiontest.Aging(),
		"timed": sessiontest.Timed()} {
		s := analysistest.Open(t, b, filepath.Join(t.TempDir(), "s.clrprof"))
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
		have := sums{}
		read := map[string]int64{}
		if err := json.Unmarshal(text, &read); err != nil {
			t.Fatal(err)
		}
		for value, sum := range read {
			have.add(value, sum)
		}
		if diff := cmp.Diff(truth(t, s, analysis.Selection{}), have); diff != "" {
			t.Errorf("%s (-session +Collector):\n%s", name, diff)
		}
	}
}
