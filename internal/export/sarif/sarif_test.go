package sarif

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clrprof/clrprof/internal/analysis/rules"
	"github.com/clrprof/clrprof/internal/testkit/analysistest"
	"github.com/clrprof/clrprof/internal/testkit/sessiontest"
)

// written writes a session twice and reads it back, without fields that the format does not have.
func written(t *testing.T, b *sessiontest.Builder, disabled ...string) log {
	t.Helper()
	s := analysistest.Open(t, b, filepath.Join(t.TempDir(), "s"))
	var first, second bytes.Buffer
	for _, out := range []*bytes.Buffer{&first, &second} {
		if err := Write(out, s, Options{Disabled: disabled, Version: "1.2.3", Root: "/src/Till"}); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(first.Bytes(), second.Bytes()) {
		t.Error("two writes differ")
	}
	var out log
	if err := json.Unmarshal(first.Bytes(), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// TestDisabled: a rule that is disabled has no results, the others keep theirs, and the file says which it is.
func TestDisabled(t *testing.T) {
	all, less := written(t, sessiontest.Broken()), written(t, sessiontest.Broken(), "boxing", "linq")
	want := slices.DeleteFunc(all.Runs[0].Results, func(r result) bool {
		return r.RuleID == "boxing" || r.RuleID == "linq"
	})
	if diff := cmp.Diff(want, less.Runs[0].Results); diff != "" || all.Runs[0].Properties != nil {
		t.Error(diff)
	}
	if diff := cmp.Diff(&bag{[]string{"boxing", "linq"}}, less.Runs[0].Properties); diff != "" {
		t.Error(diff)
	}
}

// TestWrite: all rules are described, and each finding is a result of one of them, at its file and line.
func TestWrite(t *testing.T) {
	out := written(t, sessiontest.Broken())
	if out.Version != "2.1.0" || len(out.Runs) != 1 {
		t.Fatalf("%+v", out)
	}
	run := out.Runs[0]
	var ids, found []string
	if run.Tool.Driver.Version != "1.2.3" || run.Bases[sourceBase].Detail == nil {
		t.Errorf("%+v, %+v", run.Tool.Driver, run.Bases)
	}
	for _, r := range run.Tool.Driver.Rules {
		if r.Full.Text == "" || r.Short.Text == "" || r.Help.Text == "" {
			t.Errorf("%s has no description", r.ID)
		}
		ids = append(ids, r.ID)
	}
	if diff := cmp.Diff(rules.IDs(), ids); diff != "" {
		t.Error(diff)
	}
	for _, r := range run.Results {
		if ids[r.RuleIndex] != r.RuleID || !slices.Contains([]string{"warning", "note"}, r.Level) ||
			r.Message.Text == "" {
			t.Errorf("%+v", r)
		}
		at := r.Fingerprints["place/v1"]
		if len(r.Locations) > 0 && r.Locations[0].Physical != nil {
			if at += " " + r.Locations[0].Physical.Artifact.URI; r.Locations[0].Physical.Artifact.Base != sourceBase {
				t.Errorf("%s is below no base", at)
			}
		}
		found = append(found, at)
	}
	if diff := cmp.Diff([]string{
		"boxing Till.Receipt.Build(int):+4 Receipt.cs",
		"boxing-keys Till.Program.Main():+3 Program.cs",
		"equality-allocates Till.Item.GetHashCode():+2 Item.cs",
		"exceptions Till.Program.Main():+4 Program.cs",
		"gc-time Till.Receipt.Build(int):+2 Receipt.cs", "many-gen2-deaths Till.Program.Main():+5 Program.cs",
		"mid-life Till.Program.Main():+5 Program.cs",
		"string-concat Till.Receipt.Build(int):+2 Receipt.cs",
		"just-above-loh Till.Program.Main():+5 Program.cs",
	}, found); diff != "" {
		t.Errorf("(-want +have)\n%s", diff)
	}
	if concat := run.Results[7]; concat.Properties != (properties{Objects: 5000, Bytes: 2_000_000}) ||
		concat.Locations[0].Physical.Region.StartLine != 22 {
		t.Errorf("%+v", concat)
	}
}

// TestWriteNothing: a session without findings has an empty list of results, not none.
func TestWriteNothing(t *testing.T) {
	if out := written(t, sessiontest.Empty()); out.Runs[0].Results == nil || len(out.Runs[0].Results) != 0 {
		t.Errorf("%+v", out.Runs[0].Results)
	}
}

// TestURI: paths as compilers write them, on Linux and on Windows, and those of deterministic builds.
func TestURI(t *testing.T) {
	for path, want := range map[string]string{
		"/src/a b/c#.cs": "file:///src/a%20b/c%23.cs", `C:\src\a.cs`: "file:///C:/src/a.cs",
		"/_/src/a.cs": "file:///_/src/a.cs",
		"src/a.cs":    "src/a.cs", "": "",
	} {
		if have := uri(path); have != want {
			t.Errorf("%q: %q, want %q", path, have, want)
		}
	}
}

var validator = flag.String("validator", "", "the program Sarif.Multitool of @microsoft/sarif-multitool-linux")

// TestValidator: Microsoft's validator has no error and no warning, also by the rules of GitHub's code scanning.
func TestValidator(t *testing.T) {
	if *validator == "" {
		t.Skip("needs -args -validator PATH; see docs/testing.md")
	}
	for name, build := range map[string]func() *sessiontest.Builder{"broken": sessiontest.Broken,
		"empty": sessiontest.Empty, "aging": sessiontest.Aging, "kitchen": sessiontest.Kitchen} {
		s := analysistest.Open(t, build(), filepath.Join(t.TempDir(), "s"))
		file := filepath.Join(t.TempDir(), name+".sarif")
		out, err := os.Create(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := Write(out, s, Options{Version: "1.2.3", Root: "/src/Till"}); err != nil {
			t.Fatal(err)
		}
		if err := out.Close(); err != nil {
			t.Fatal(err)
		}
		said, err := exec.Command(*validator, "validate", file, "--rule-kind", "Sarif;Ghas").CombinedOutput()
		if err != nil || bytes.Contains(said, []byte(": error ")) || bytes.Contains(said, []byte(": warning ")) {
			t.Errorf("%s: %v\n%s", name, err, said)
		}
	}
}
