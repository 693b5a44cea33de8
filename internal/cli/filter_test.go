package cli

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clrprof/clrprof/internal/testkit/sessiontest"
)

// TestFilterFiles: views and exports take a filter and say so; files that are none are refused in one line.
func TestFilterFiles(t *testing.T) {
	dir := t.TempDir()
	path, filter := filepath.Join(dir, "s"), filepath.Join(dir, "f")
	if err := writeComplete(sessiontest.Shop(), path); err != nil {
		t.Fatal(err)
	}
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(filter, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	command := func(args ...string) (code int, out, errs string) {
		var stdout, stderr bytes.Buffer
		code = Main(append(args, "--filter", filter), strings.NewReader(""), &stdout, &stderr)
		return code, stdout.String(), stderr.String()
	}
	write("type = string\nor type = Shop.Order")
	for _, args := range [][]string{{"report", path}, {"report", path, "types"}, {"report", path, "calltree"},
		{"report", path, "lines", "--csv"},
		{"diff", path, path, "types"}, {"export", path, "--format", "pprof", "-o", filepath.Join(dir, "p")},
		{"export", path, "--format", "speedscope", "-o", "-"}} {
		code, out, errs := command(args...)
		if said := "type = string or type = Shop.Order"; code != 0 || !strings.Contains(out+errs, said) {
			t.Errorf("%v: exit %d, and it does not say %q\n%.300s%s", args, code, said, out, errs)
		}
	}
	for text, want := range map[string]string{"type": "an operator", "type < A": "no order",
		"type = Nothing": "Nothing", strings.Repeat("#", mostFilter+1): "larger"} {
		write(text)
		if code, _, errs := command("report", path, "types"); code != exitUsage || strings.Count(errs, "\n") != 1 ||
			!strings.Contains(errs, want) {
			t.Errorf("%.30q: exit %d, %s", text, code, errs)
		}
	}
	if !filtersFromPipe(t, path) {
		t.Error("of two sessions only one was filtered by what came from a pipe")
	}
	if err := os.Remove(filter); err != nil {
		t.Fatal(err)
	}
	if code, _, errs := command("report", path, "types"); code != exitUsage || strings.Count(errs, "\n") != 1 {
		t.Errorf("no file: exit %d, %s", code, errs)
	}
}

// filtersFromPipe compares a session with itself under a filter from a pipe, as shells make it of <(…): nothing differs
// if both are filtered.
func filtersFromPipe(t *testing.T, path string) bool {
	t.Helper()
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	if _, err := write.WriteString("type = string"); err != nil {
		t.Fatal(err)
	}
	write.Close()
	var stdout, stderr bytes.Buffer
	code := Main([]string{"diff", path, path, "types", "--json", "--filter", fmt.Sprintf("/proc/self/fd/%d", read.Fd())},
		strings.NewReader(""), &stdout, &stderr)
	return code == 0 && strings.TrimSpace(stdout.String()) == "[]"
}
