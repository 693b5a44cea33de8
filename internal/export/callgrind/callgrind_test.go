package callgrind

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clrprof/clrprof/internal/analysis"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/testkit/analysistest"
	"github.com/clrprof/clrprof/internal/testkit/sessiontest"
)

// byFunction are the values of functions, by their files and names as callgrind_annotate prints them.
type byFunction map[string][]int64

// naive adds up samples by walking their stacks. exclusive are those at the end of a stack, inclusive those anywhere on
// it, however often.
func naive(t *testing.T, s *session.Session) (exclusive, inclusive byFunction) {
	t.Helper()
	samples, err := analysis.Samples(s, analysis.Selection{})
	if err != nil {
		t.Fatal(err)
	}
	order := []int{samples.Default}
	for i := range samples.Values {
		if i != samples.Default {
			order = append(order, i)
		}
	}
	exclusive, inclusive = byFunction{}, byFunction{}
	addTo := func(of byFunction, name string, x *analysis.Sample) {
		if of[name] == nil {
			of[name] = make([]int64, len(order))
		}
		for i, v := range order {
			of[name][i] += x.Values[v]
		}
	}
	err = samples.Each(func(x *analysis.Sample) error {
		root := Root
		if samples.Processes > 1 && len(x.Stack) > 0 {
			root = fmt.Sprintf("%s (%d)", x.Process.Name, x.Process.PID)
		}
		seen := map[string]bool{}
		for i, n := range x.Stack {
			f := samples.Frames()[n]
			name := f.File + ":" + strings.ReplaceAll(f.Function.DisplayName(), "\n", " ")
			if f.File == "" {
				name = noFile + name
			}
			if i == 0 {
				addTo(exclusive, name, x)
			}
			if !seen[name] {
				addTo(inclusive, name, x)
			}
			seen[name] = true
		}
		addTo(inclusive, noFile+":"+root, x)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return exclusive, inclusive
}

// printed is a line of callgrind_annotate: values with commas or a dot for none, the name, and the module.
var printed = regexp.MustCompile(`^((?:\s*(?:[\d,]+(?:\s\(\s*[\d.]+%\))?|\.)\s)+) ?(\S*?:.*?)(?: \[[^\]]*\])$`)

// annotated is what callgrind_annotate says of a file.
func annotated(t *testing.T, path string, flags ...string) byFunction {
	t.Helper()
	cmd := exec.Command("callgrind_annotate", append(flags, "--threshold=100", "--show-percs=no", "--auto=no", path)...)
	var failed bytes.Buffer
	cmd.Stderr, cmd.Dir = &failed, "/"
	text, err := cmd.Output()
	if err != nil || failed.Len() > 0 {
		t.Fatalf("%v: %s", err, &failed)
	}
	_, rows, found := strings.Cut(string(text), "file:function\n")
	if !found {
		t.Fatalf("%s", text)
	}
	out := byFunction{}
	for line := range strings.Lines(rows) {
		m := printed.FindStringSubmatch(strings.TrimSuffix(line, "\n"))
		if m == nil {
			continue
		}
		var values []int64
		for _, word := range strings.Fields(m[1]) {
			n, err := strconv.ParseInt(strings.ReplaceAll(strings.Replace(word, ".", "0", 1), ",", ""), 10, 64)
			if err != nil {
				t.Fatalf("%q: %v", line, err)
			}
			values = append(values, n)
		}
		out[m[2]] = values
	}
	return out
}

// withoutZero leaves out what has nothing.
func (f byFunction) withoutZero() byFunction {
	for name, values := range f {
		if isZero(values) {
			delete(f, name)
		}
	}
	return f
}

// TestAnnotate: valgrind's callgrind_annotate reads the file, and has the exclusive and the inclusive values of each
// function that the session has, of all kinds, also of functions that call themselves.
func TestAnnotate(t *testing.T) {
	if _, err := exec.LookPath("callgrind_annotate"); errors.Is(err, exec.ErrNotFound) {
		t.Skip("callgrind_annotate is not installed: it is in the package valgrind")
	}
	for name, b := range sessiontest.Various(12, 6) {
		t.Run(name, func(t *testing.T) {
			s := analysistest.Open(t, b, filepath.Join(t.TempDir(), "s.clrprof"))
			path := write(t, s)
			exclusive, inclusive := naive(t, s)
			if diff := cmp.Diff(exclusive.withoutZero(), annotated(t, path).withoutZero()); diff != "" {
				t.Errorf("exclusive (-session +callgrind_annotate):\n%s", diff)
			}
			if diff := cmp.Diff(inclusive.withoutZero(), annotated(t, path, "--inclusive=yes").withoutZero()); diff != "" {
				t.Errorf("inclusive (-session +callgrind_annotate):\n%s", diff)
			}
		})
	}
}

// write writes a session.
func write(t *testing.T, s *session.Session) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "callgrind.out")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(Write(f, s, analysis.Selection{}, "1.2.3"), f.Close()); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestFile: a file says what its values are, whether calls were counted, and where a function called another one.
func TestFile(t *testing.T) {
	for name, want := range map[string][]string{
		"shop":  {"\nevents: bytes allocations\n", "\ndesc: Calls: they were not counted", "\ncalls=1 0\n"},
		"timed": {"\nevents: elapsed ", "\nsummary: ", " Clock.Program.Main()"},
	} {
		s := analysistest.Open(t, sessiontest.Samples[name](), filepath.Join(t.TempDir(), name+".clrprof"))
		text, err := fs.ReadFile(os.DirFS("/"), strings.TrimPrefix(write(t, s), "/"))
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range want {
			if !strings.Contains(string(text), part) {
				t.Errorf("%s: no %q in\n%s", name, part, text)
			}
		}
		if counted := !strings.Contains(string(text), "\ndesc: "); counted != (name == "timed") {
			t.Errorf("%s says of calls:\n%s", name, text)
		}
	}
}
