package e2e

import (
	"bytes"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
)

// compareResults asserts that each function of Clrprof.Control returned what it should.
func compareResults(t *testing.T, stdout string, least int) {
	t.Helper()
	rows := truthRows[struct{ Call, Want, Have string }](t, stdout, "result")
	for _, row := range rows {
		if row.Want != row.Have {
			t.Errorf("%s: %s, want %s", row.Call, row.Have, row.Want)
		}
	}
	if len(rows) < least {
		t.Errorf("%d results:\n%s", len(rows), stdout)
	}
}

// TestControlResults: each function of Clrprof.Control says what came of it, without clrprof, with it, and when the
// recording is over while the program goes on; what it marked and named is in the session.
func TestControlResults(t *testing.T) {
	t.Parallel()
	in := dotnettest.Need(t)
	dll := controlled(t, in, "ControlCodes", "../testdata/targets/ControlCodes")
	for _, runtime := range in.NewestAndOldest() {
		t.Run("alone/"+runtime.Name, func(t *testing.T) {
			out, err := runtime.Command(dll, "alone").Output()
			if err != nil {
				t.Fatal(err)
			}
			compareResults(t, string(out), 13)
		})
		t.Run("recorded/"+runtime.Name, func(t *testing.T) {
			r := mustRecord(t, runtime.Command(dll, "recorded"))
			compareResults(t, r.stdout, 35)
			compareControlSession(t, r.session)
		})
	}
	t.Run("over", func(t *testing.T) {
		compareResults(t, outlive(t, in.Newest().Command(dll, "over")), 11)
	})
}

// compareControlSession compares what ControlCodes marked and named with what the session has.
func compareControlSession(t *testing.T, path string) {
	t.Helper()
	type row struct{ Name, Text string }
	longest := strings.Repeat("x", 1024)
	// In the order of time: the last mark is of a moment before all others.
	want := []row{{"before all", "it was"}, {"plain", ""}, {"commented", "text"}, {"earlier", "text"}, {"", ""},
		{longest, longest}}
	got := query[row](t, path, "SELECT name, text FROM mark WHERE source = 'api' ORDER BY time_ns, id")
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	type named struct{ Process, Thread string }
	if d := cmp.Diff([]named{{"codes", "named"}}, query[named](t, path,
		"SELECT DISTINCT p.name AS process, h.name AS thread FROM mark m JOIN process p ON p.id = m.process_id JOIN thread h ON h.id = m.thread_id WHERE m.source = 'api'")); d != "" {
		t.Error(d)
	}
	if out := run(t, "report", path, "processes").stdout; !strings.Contains(out, "codes") {
		t.Errorf("processes do not have the name that the program gave:\n%s", out)
	}
}

// outlive records a target, kills clrprof when the target says a line, and returns what that says until it has ended.
func outlive(t *testing.T, target *exec.Cmd) string {
	t.Helper()
	_, in, args := recordArgs(t, target, nil)
	cmd := exec.Command(binary, args...)
	cmd.Env, cmd.Dir = in.env, in.dir
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	if _, err := io.CopyN(&said, stdout, int64(len("working\n"))); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(&said, stdout); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	return said.String()
}

// TestControlSamples: the samples in F# and VB say the same, and of each the session has what was recorded alone, and
// its marks and names.
func TestControlSamples(t *testing.T) {
	t.Parallel()
	in, _ := dotnettest.NeedSDK(t)
	for name, source := range map[string]string{"fsharp": "sample-fsharp/Program.fs", "vb": "sample-vb/Program.vb"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dll := controlled(t, in, "Sample", filepath.Join("../integrations/control", source))
			if out, err := in.Newest().Command(dll).Output(); err != nil || string(out) != "1000 10 false\n" {
				t.Errorf("without clrprof it says %q, %v", out, err)
			}
			r := mustRecord(t, in.Newest().Command(dll))
			if r.stdout != "1000 10 true\n" {
				t.Errorf("it says %q", r.stdout)
			}
			type made struct{ Instances, Bytes int64 }
			if d := cmp.Diff([]made{{10, 240}}, query[made](t, r.session,
				"SELECT instances, bytes FROM types WHERE name LIKE 'Sample.%Order'")); d != "" {
				t.Error(d)
			}
			type mark struct{ Name, Text, Process, Thread string }
			want := []mark{{"large order", "10 lines", "orders", "loader"}, {"load", "", "orders", "loader"},
				{"load end", "", "orders", "loader"}}
			got := query[mark](t, r.session, `SELECT m.name, m.text, p.name AS process, h.name AS thread FROM mark m
				JOIN process p ON p.id = m.process_id JOIN thread h ON h.id = m.thread_id WHERE m.source = 'api' ORDER BY m.time_ns`)
			if d := cmp.Diff(want, got); d != "" {
				t.Error(d)
			}
		})
	}
}
