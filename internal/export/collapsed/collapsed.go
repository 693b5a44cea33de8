// Package collapsed writes a session as collapsed stacks, one line for each: the functions of the stack, the root
// first, with semicolons between them, and one value. flamegraph.pl, inferno, speedscope, Pyroscope and the Firefox
// Profiler read it.
//
// Calls of one function at several places are one line. The sum of all lines is that of the session; what has none
// of the value has no line. In a session of several processes the first of each stack is the process.
//
// The output depends on nothing but the session and what is selected of it.
package collapsed

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/clrprof/clrprof/internal/analysis"
	"github.com/clrprof/clrprof/internal/session"
)

// Write writes a value of the part of s that is selected ("": bytes, or elapsed time where there is time). Errors
// are those of reading s, of the selection, of SampleSet.Find, and of w.
func Write(w io.Writer, s *session.Session, sel analysis.Selection, value string) error {
	samples, err := analysis.Samples(s, sel)
	if err != nil {
		return err
	}
	at, err := samples.Find(value)
	if err != nil {
		return err
	}
	sums := make([]int64, samples.Paths())
	err = samples.Each(func(x *analysis.Sample) error {
		if path := samples.PathOf(x.Node); path >= 0 {
			sums[path] += x.Values[at]
		}
		return nil
	})
	if err != nil {
		return err
	}
	out := bufio.NewWriter(w)
	for path, sum := range sums {
		switch {
		case sum < 0:
			return fmt.Errorf("session %s: %w: a stack has %d of the value %s",
				s.Path(), session.ErrCorrupt, sum, samples.Values[at].Name)
		case sum > 0:
			fmt.Fprintf(out, "%s %d\n", line(samples.Path(int32(path)), samples.Processes > 1), sum)
		}
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("writing collapsed stacks: %w", err)
	}
	return nil
}

// names makes names fit for a line: what separates frames and lines is replaced.
var names = strings.NewReplacer(";", ":", "\n", " ", "\r", " ")

func line(path analysis.SamplePath, withProcess bool) string {
	var frames []string
	if withProcess {
		frames = append(frames, fmt.Sprintf("%s (%d)", names.Replace(path.Process.Name), path.Process.PID))
	}
	for _, f := range path.Functions {
		frames = append(frames, names.Replace(f.DisplayName()))
	}
	return strings.Join(frames, ";")
}
