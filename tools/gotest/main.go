// Command gotest runs "go test" and prints what that prints; then it lists the packages and the tests that took
// longest, and the tests that were skipped, with their reasons, which "go test" says only of packages that fail. The
// last lines say how long all took, and for how much of that processors were busy, and count what passed, failed and
// was skipped. Its exit code is that of "go test".
//
//	gotest [-left FILE] [-rest FILE] [-skips FILE] -- -timeout 40m ./...
//
//	-left FILE   write the names of tests that the quick suite left out to FILE
//	-rest FILE   run the tests in such a file, instead of packages
//	-skips FILE  fail if a test is skipped that FILE does not allow: each line is a regular expression of names of
//	             tests, a colon and the reason
package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
)

// event is a line of "go test -json", as "go doc test2json" describes it.
type event struct {
	Action, Package, Test, Output string
	Elapsed                       float64 // seconds, at the end of a test
}

func main() {
	code, err := run(os.Args[1:], os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, "gotest:", err)
	}
	os.Exit(code)
}

func run(args []string, w io.Writer) (int, error) {
	flags := flag.NewFlagSet("gotest", flag.ContinueOnError)
	left := flags.String("left", "", "where to write the tests that the quick suite left out")
	rest := flags.String("rest", "", "the tests to run, as -left wrote them")
	skips := flags.String("skips", "", "the tests that may be skipped")
	if err := flags.Parse(args); err != nil {
		return 2, nil // flag has said it
	}
	args = flags.Args()
	if *rest != "" {
		more, err := theRest(*rest)
		if err != nil {
			return 1, err
		}
		args = append(args, more...)
	}
	var allowed []*regexp.Regexp
	if *skips != "" {
		var err error
		if allowed, err = readSkips(*skips); err != nil {
			return 1, err
		}
	}
	s := newSummary()
	code, err := s.run(args, w)
	if err != nil {
		return 1, err
	}
	s.print(w)
	if *left != "" {
		if err := s.writeLeft(*left); err != nil {
			return 1, fmt.Errorf("writing which tests are left: %w", err)
		}
	}
	if *skips != "" && s.printForbidden(w, allowed) {
		code = max(code, 1)
	}
	s.printFailed(w)
	s.printBusy(w)
	s.printCounts(w)
	return code, nil
}

// run runs "go test" and returns its exit code.
func (s *summary) run(args []string, w io.Writer) (int, error) {
	started := time.Now()
	cmd := exec.Command("go", append([]string{"test", "-json"}, args...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return 1, err
	}
	if err := cmd.Start(); err != nil {
		return 1, fmt.Errorf("starting go test: %w", err)
	}
	r := bufio.NewReader(out)
	for {
		line, err := r.ReadBytes('\n')
		if len(line) > 0 {
			s.line(w, line)
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return 1, fmt.Errorf("reading what go test says: %w", err)
		}
	}
	err = cmd.Wait()
	s.whole = time.Since(started)
	if cmd.ProcessState != nil {
		s.busy = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	}
	var ended *exec.ExitError
	if errors.As(err, &ended) {
		return ended.ExitCode(), nil
	}
	if err != nil {
		return 1, fmt.Errorf("waiting for go test: %w", err)
	}
	return 0, nil
}

// summary collects what tests print until it is known how they end.
type summary struct {
	output   map[string][]string // of tests that run, by package and test
	failed   []failure           // in the order in which they ended
	skipped  map[string][]string // tests by reason
	left     map[string]bool     // packages and tests that the quick suite left out
	took     map[string]float64  // seconds of a test, that of its parts which have none
	parts    map[string]bool     // tests that have parts: they wait for them
	packages map[string]float64  // seconds of a package
	counts   map[string]int      // tests and parts of tests by how they ended
	whole    time.Duration       // that "go test" took
	busy     time.Duration       // of a processor: what it compiled and linked, all tests and what they started
}

func newSummary() summary {
	return summary{output: map[string][]string{}, skipped: map[string][]string{}, left: map[string]bool{},
		took: map[string]float64{}, parts: map[string]bool{}, packages: map[string]float64{}, counts: map[string]int{}}
}

// slow is what a test takes that is listed, in seconds, and slowest how many are.
const slow, slowest = 5, 20

// line reads a line of go test. What is no event, such as a message of the compiler, is printed.
func (s *summary) line(w io.Writer, line []byte) {
	var e event
	if err := json.Unmarshal(line, &e); err != nil {
		_, _ = w.Write(line) // an error of standard output has nowhere to be reported
		return
	}
	key := e.Package + " " + e.Test
	switch e.Action {
	case "output", "build-output":
		if e.Test == "" {
			if e.Output != "PASS\n" && !strings.HasPrefix(e.Output, "?") {
				fmt.Fprint(w, e.Output)
			}
			return
		}
		s.output[key] = append(s.output[key], e.Output)
	case "fail":
		if e.Test == "" {
			s.printUnended(w, e.Package)
		} else {
			s.failed = append(s.failed, failure{key, s.output[key]})
		}
		s.printOutput(w, key)
	case "skip":
		if e.Test != "" {
			why := reason(s.output[key])
			if strings.HasPrefix(why, dotnettest.LeftToAll) {
				top, _, _ := strings.Cut(e.Test, "/")
				s.left[e.Package+" "+top] = true
			} else {
				s.skipped[why] = append(s.skipped[why], e.Test)
			}
		}
		delete(s.output, key)
	case "pass":
		delete(s.output, key)
	}
	switch e.Action {
	case "pass", "fail", "skip":
		if e.Test == "" {
			s.packages[e.Package] += e.Elapsed
			break
		}
		s.counts[e.Action]++
		if e.Action != "skip" {
			s.add(e)
		}
	}
}

// printUnended prints what tests of a package said that was over before they ended: where they were is in it. Those
// that waited for their turn did nothing.
func (s *summary) printUnended(w io.Writer, pkg string) {
	for _, key := range slices.Sorted(maps.Keys(s.output)) {
		said := s.output[key]
		if test, of := strings.CutPrefix(key, pkg+" "); of && !strings.HasPrefix(said[len(said)-1], "=== PAUSE") {
			fmt.Fprintf(w, "--- not ended: %s\n", test)
			s.failed = append(s.failed, failure{key + " did not end", said})
			s.printOutput(w, key)
		}
	}
}

// printOutput prints what a test said.
func (s *summary) printOutput(w io.Writer, key string) {
	for _, text := range s.output[key] {
		if !strings.HasPrefix(text, "=== ") {
			fmt.Fprint(w, text)
		}
	}
	delete(s.output, key)
}

// add counts the time of a test that has ended. Its parts have ended before it.
func (s *summary) add(e event) {
	for i, c := range e.Test {
		if c == '/' {
			s.parts[e.Package+" "+e.Test[:i]] = true
		}
	}
	if whole, _, _ := strings.Cut(e.Test, "/"); !s.parts[e.Package+" "+e.Test] {
		s.took[e.Package+" "+whole] += e.Elapsed
	}
}

// reason is what a test says when it is skipped: "    x_test.go:12: why".
func reason(output []string) string {
	for _, text := range slices.Backward(output) {
		if strings.HasPrefix(text, "    ") {
			if _, why, found := strings.Cut(strings.TrimSpace(text), ": "); found {
				return why
			}
		}
	}
	return "it says no reason"
}

// print lists the slowest packages and tests, and the skipped ones.
func (s *summary) print(w io.Writer) {
	printSlowest(w, "packages that took longest, in seconds, two or more at a time:", s.packages)
	printSlowest(w, "slowest, in seconds, parts that ran at the same time one after the other:", s.took)
	for _, why := range slices.Sorted(maps.Keys(s.skipped)) {
		tests := s.skipped[why]
		fmt.Fprintf(w, "skipped: %s\n    %s\n", why, strings.Join(tests, " "))
	}
}

// failure is a test that failed, with what it printed.
type failure struct {
	test string
	said []string
}

// Of each of the first failures, the first and last lines are printed again: a reader of a log of continuous
// integration often has nothing but its end.
const failuresAgain, linesAgain = 20, 15

// printFailed prints again what failed tests said, shortened: without parts that passed, and without the middle.
func (s *summary) printFailed(w io.Writer) {
	for i, f := range s.failed {
		if i == failuresAgain {
			fmt.Fprintf(w, "failed: %d more\n", len(s.failed)-i)
			break
		}
		said := slices.DeleteFunc(slices.Clone(f.said), func(line string) bool {
			line = strings.TrimSpace(line)
			return line == "" || strings.HasSuffix(line, ": ok") || strings.HasPrefix(line, "=== ") ||
				strings.HasPrefix(line, "--- ")
		})
		if left := len(said) - 2*linesAgain; left > 0 {
			said = slices.Replace(said, linesAgain, len(said)-linesAgain, fmt.Sprintf("    … %d lines …\n", left))
		}
		if len(said) > 0 { // else only its parts said anything
			fmt.Fprintf(w, "failed: %s\n%s", f.test, strings.Join(said, ""))
		}
	}
}

func printSlowest(w io.Writer, title string, took map[string]float64) {
	names := slices.SortedFunc(maps.Keys(took), func(a, b string) int {
		return cmp.Or(cmp.Compare(took[b], took[a]), cmp.Compare(a, b))
	})
	for i, name := range names[:min(slowest, len(names))] {
		if took[name] < slow {
			break
		}
		if i == 0 {
			fmt.Fprintln(w, title)
		}
		fmt.Fprintf(w, "%8.1f %s\n", took[name], name)
	}
}

// printBusy prints how long all took. Processor time depends less than that on what else a machine does: it is what to
// compare, and where it is far less than all processors have, tests wait.
func (s *summary) printBusy(w io.Writer) {
	if seconds := s.whole.Seconds(); seconds >= slow {
		fmt.Fprintf(w, "all took %.0f s, and %.0f s of processor time: %.1f of %d processors were busy\n", seconds,
			s.busy.Seconds(), s.busy.Seconds()/seconds, runtime.NumCPU())
	}
}

// printCounts prints how many tests ended how, and how to draw the same cases again.
func (s *summary) printCounts(w io.Writer) {
	fmt.Fprintf(w, "%d tests and parts of tests passed, %d failed, %d were skipped; %d packages\n", s.counts["pass"],
		s.counts["fail"], s.counts["skip"], len(s.packages))
	if n := len(s.left); n > 0 {
		fmt.Fprintf(w, "%d tests are left to make test-all, which also runs all cases of those of which one was drawn\n", n)
	}
	if dotnettest.Quick() {
		fmt.Fprintf(w, "drawn by %[1]s: make test SEED=%[1]s draws the same\n", os.Getenv(dotnettest.SeedVariable))
	}
}

// printForbidden prints the skipped tests that are not allowed, and reports whether there are any.
func (s *summary) printForbidden(w io.Writer, allowed []*regexp.Regexp) bool {
	found := false
	for _, why := range slices.Sorted(maps.Keys(s.skipped)) {
		for _, test := range s.skipped[why] {
			if !slices.ContainsFunc(allowed, func(r *regexp.Regexp) bool { return r.MatchString(test) }) {
				fmt.Fprintf(w, "FAIL: %s was skipped, and must not be here: %s\n", test, why)
				found = true
			}
		}
	}
	return found
}

// readSkips reads a list of tests that may be skipped.
func readSkips(path string) ([]*regexp.Regexp, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading which tests may be skipped: %w", err)
	}
	var allowed []*regexp.Regexp
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		name, why, _ := strings.Cut(line, ": ")
		r, err := regexp.Compile("^(" + name + ")$")
		if err != nil || why == "" {
			return nil, fmt.Errorf("%s: %q is not \"TESTS: why\"", path, line)
		}
		allowed = append(allowed, r)
	}
	return allowed, nil
}

// writeLeft writes the tests that the quick suite left out, one on a line after its package.
func (s *summary) writeLeft(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	var b strings.Builder
	for _, test := range slices.Sorted(maps.Keys(s.left)) {
		fmt.Fprintln(&b, test)
	}
	return os.WriteFile(path, []byte(b.String()), 0o644)
}

// theRest returns the arguments with which "go test" runs the tests that writeLeft wrote.
func theRest(path string) ([]string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading which tests are left (\"make test\" writes it): %w", err)
	}
	tests, packages := map[string]bool{}, map[string]bool{}
	for line := range strings.Lines(string(text)) {
		pkg, test, ok := strings.Cut(strings.TrimSpace(line), " ")
		if !ok {
			return nil, fmt.Errorf("%s: %q is no package and test", path, line)
		}
		tests[test], packages[pkg] = true, true
	}
	if len(tests) == 0 {
		return nil, fmt.Errorf("%s names no tests", path)
	}
	run := "^(" + strings.Join(slices.Sorted(maps.Keys(tests)), "|") + ")$"
	return append([]string{"-run", run}, slices.Sorted(maps.Keys(packages))...), nil
}
