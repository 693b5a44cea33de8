package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clrprof/clrprof/internal/analysis"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/testkit/sessiontest"
)

// TestRedactNumbers: all views of a redacted session have the numbers of the session, and it contradicts itself nowhere
// where the session does not.
func TestRedactNumbers(t *testing.T) {
	for _, name := range append(slices.Clone(sessiontest.Recorded), "shop", "several", "odd", "kitchen", "served", "heap") {
		dir := t.TempDir()
		path, out := filepath.Join(dir, "a.clrprof"), filepath.Join(dir, "b.clrprof")
		if b := sessiontest.Samples[name]; b == nil {
			if err := sessiontest.WriteRecorded("../..", name, path); err != nil {
				t.Fatal(err)
			}
		} else if err := writeComplete(b(), path); err != nil {
			t.Fatal(err)
		}
		if code := Main([]string{"redact", path, "-o", out}, nil, io.Discard, io.Discard); code != exitOK {
			t.Fatalf("%s: code %d", name, code)
		}
		if info, err := os.Stat(out); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", name, info, err)
		}
		if diff := cmp.Diff(numbersOfViews(t, path), numbersOfViews(t, out)); diff != "" {
			t.Errorf("%s (-session +redacted):\n%s", name, diff)
		}
		if diff := cmp.Diff(contradictions(t, path), contradictions(t, out)); diff != "" {
			t.Errorf("%s (-session +redacted):\n%s", name, diff)
		}
	}
}

// A text in JSON, and a fact that only a redacted session has.
var (
	quoted       = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)
	redactedFact = regexp.MustCompile(`(?m)^.*"redacted".*\n`)
)

// numbersOfViews returns the lines of all views as JSON, without texts.
func numbersOfViews(t *testing.T, path string) []string {
	t.Helper()
	var stdout, stderr bytes.Buffer
	if code := Main([]string{"export", path, "--format", "json", "-o", "-"}, nil, &stdout, &stderr); code != exitOK {
		t.Fatalf("code %d: %s", code, &stderr)
	}
	text := redactedFact.ReplaceAllString(stdout.String(), "")
	lines := strings.Split(quoted.ReplaceAllString(text, `""`), "\n")
	if len(lines) < 20 {
		t.Fatalf("there are only %d lines", len(lines))
	}
	return lines
}

// contradictions are what check-session says of a session.
func contradictions(t *testing.T, path string) []string {
	t.Helper()
	s, err := session.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	found, err := analysis.Check(s)
	if err := errors.Join(err, s.CheckFile()); err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, v := range found {
		out = append(out, fmt.Sprint(v))
	}
	return out
}

// TestRedactUnfinished: a session that is still being written is not redacted.
func TestRedactUnfinished(t *testing.T) {
	path, _ := beingWritten(t, session.Recorded)
	out := filepath.Join(t.TempDir(), "out.clrprof")
	var stderr bytes.Buffer
	code := Main([]string{"redact", path, "-o", out, "--no-wait"}, nil, io.Discard, &stderr)
	if code != exitUnfinished || strings.Count(stderr.String(), "\n") != 1 {
		t.Errorf("code %d: %s", code, &stderr)
	}
	if _, err := os.Stat(out); err == nil {
		t.Error("there is a file")
	}
}

// TestRedactTrace: redact says of a session with a call trace that the trace stays as it is, by its name alone, and
// leaves it so.
func TestRedactTrace(t *testing.T) {
	t.Chdir(t.TempDir())
	b := sessiontest.Shop()
	b.Info[session.KeyOptions] = `{"time":true,"trace":"/home/jdoe/traces/calls.json"}`
	if err := errors.Join(writeComplete(b, "a.clrprof"), os.WriteFile("calls.json", []byte("{}"), 0o600)); err != nil {
		t.Fatal(err)
	}
	code, output := runMain([]string{"redact", "SESSION", "-o", "b.clrprof"}, "a.clrprof")
	if code != exitOK || !strings.Contains(output, "\nclrprof: The call trace calls.json stays as it is: ") {
		t.Errorf("%d: %s", code, output)
	}
	if text, err := os.ReadFile("calls.json"); string(text) != "{}" || err != nil {
		t.Errorf("%q, %v", text, err)
	}
	b.Info[session.KeyOptions] = `{"time":true}`
	if err := writeComplete(b, "c.clrprof"); err != nil {
		t.Fatal(err)
	}
	if code, output = runMain([]string{"redact", "SESSION", "-o", "d.clrprof"}, "c.clrprof"); code != exitOK ||
		strings.Contains(output, "trace") {
		t.Errorf("without a trace: %d: %s", code, output)
	}
}
