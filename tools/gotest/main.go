// Command gotest runs "go test" with its own arguments and prints what that prints; then it lists the tests that took
// longest, and those that were skipped, with their reasons, which "go test" says only of packages that fail. Its exit
// code is that of "go test".
//
//	gotest -timeout 40m ./...
package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
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
	cmd := exec.Command("go", append([]string{"test", "-json"}, args...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return 1, err
	}
	if err := cmd.Start(); err != nil {
		return 1, fmt.Errorf("starting go test: %w", err)
	}
	s := newSummary()
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
	s.print(w)
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
	output  map[string][]string // of tests that run, by package and test
	skipped map[string][]string // tests by reason
	took    map[string]float64  // seconds of a test, that of its parts which have none
	parts   map[string]bool     // tests that have parts: they wait for them
}

func newSummary() summary {
	return summary{map[string][]string{}, map[string][]string{}, map[string]float64{}, map[string]bool{}}
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
		}
		s.printOutput(w, key)
	case "skip":
		if e.Test != "" {
			why := reason(s.output[key])
			s.skipped[why] = append(s.skipped[why], e.Test)
		}
		delete(s.output, key)
	case "pass":
		delete(s.output, key)
	}
	if e.Test != "" && (e.Action == "pass" || e.Action == "fail") {
		s.add(e)
	}
}

// printUnended prints what tests of a package said that was over before they ended: where they were is in it. Those
// that waited for their turn did nothing.
func (s *summary) printUnended(w io.Writer, pkg string) {
	for _, key := range slices.Sorted(maps.Keys(s.output)) {
		said := s.output[key]
		if test, of := strings.CutPrefix(key, pkg+" "); of && !strings.HasPrefix(said[len(said)-1], "=== PAUSE") {
			fmt.Fprintf(w, "--- not ended: %s\n", test)
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

// print lists the slowest tests and the skipped ones.
func (s *summary) print(w io.Writer) {
	names := slices.SortedFunc(maps.Keys(s.took), func(a, b string) int {
		return cmp.Or(cmp.Compare(s.took[b], s.took[a]), cmp.Compare(a, b))
	})
	for i, name := range names[:min(slowest, len(names))] {
		if s.took[name] < slow {
			break
		}
		if i == 0 {
			fmt.Fprintln(w, "slowest, in seconds, parts that ran at the same time one after the other:")
		}
		fmt.Fprintf(w, "%8.1f %s\n", s.took[name], name)
	}
	for _, why := range slices.Sorted(maps.Keys(s.skipped)) {
		tests := s.skipped[why]
		fmt.Fprintf(w, "skipped: %s\n    %s\n", why, strings.Join(tests, " "))
	}
}
