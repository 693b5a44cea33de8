// Command gotest runs "go test" with its own arguments and prints what that prints; then it lists the tests that were
// skipped, with their reasons, which "go test" says only of packages that fail. Its exit code is that of "go test".
//
//	gotest -timeout 40m ./...
package main

import (
	"bufio"
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
	s := summary{output: map[string][]string{}, skipped: map[string][]string{}}
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
}

// line reads a line of go test. What is no event, such as a message of the compiler, is printed.
func (s *summary) line(w io.Writer, line []byte) {
	var e event
	if err := json.Unmarshal(line, &e); err != nil {
		_, _ = w.Write(line) // an error of standard output has nowhere to be told
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
		for _, text := range s.output[key] {
			if !strings.HasPrefix(text, "=== ") {
				fmt.Fprint(w, text)
			}
		}
		delete(s.output, key)
	case "skip":
		if e.Test != "" {
			why := reason(s.output[key])
			s.skipped[why] = append(s.skipped[why], e.Test)
		}
		delete(s.output, key)
	case "pass":
		delete(s.output, key)
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

// print lists the skipped tests.
func (s *summary) print(w io.Writer) {
	for _, why := range slices.Sorted(maps.Keys(s.skipped)) {
		tests := s.skipped[why]
		fmt.Fprintf(w, "skipped: %s\n    %s\n", why, strings.Join(tests, " "))
	}
}
