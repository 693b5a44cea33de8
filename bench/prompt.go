package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
)

// promptWays are the ways to run a program that prompt compares: words before its command, with %s for a file.
var promptWays = []struct{ name, before string }{
	{"none", ""},
	{"dotnet-trace, CPU samples", "dotnet-trace collect --profile dotnet-sampled-thread-time -o %s --"},
	{"dotnet-trace, gc-verbose", "dotnet-trace collect --profile gc-verbose -o %s --"},
	{"run --memory", "clrprof run -f --memory -o %s --"},
	{"run", "clrprof run -f -o %s --"},
	{"run --time", "clrprof run -f --time -o %s --"},
	{"run --time, all of the compiler", "clrprof run -f --time --mine Microsoft.CodeAnalysis* -o %s --"},
}

// prompt measures the time until the prompt returns, for the C# compiler and for a program that writes one line, and
// the processor time of the program and of clrprof apart. dotnet-trace is measured if it is on the PATH.
func (b *bench) prompt() error {
	compile, err := b.compiler()
	if err != nil {
		return err
	}
	dll, err := b.dotnet.Compile([]string{"testdata/targets/Echo"}, "", dotnettest.Options{})
	if err != nil {
		return err
	}
	for _, program := range []struct {
		title   string
		command []string
	}{
		{fmt.Sprintf("The compiler on %d lines", timedLines), compile},
		{"A program that does nothing", b.dotnet.Newest().Command(dll, "cwd").Args},
	} {
		if err := b.promptOf(program.title, program.command); err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) promptOf(title string, command []string) error {
	fmt.Fprintf(b.out, "\n## %s: until the prompt\n\nSeconds. *End*: until the program has ended; *prompt*: from then "+
		"until the prompt, with a report; *program* and *profiler*: of a processor.\n\n"+
		"| | end | prompt | program | profiler |\n| --- | ---: | ---: | ---: | ---: |\n", title)
	for _, way := range promptWays {
		before := strings.Fields(strings.ReplaceAll(way.before, "%s", filepath.Join(b.dir, "prompt.out")))
		if len(before) > 0 && before[0] == "clrprof" {
			before[0] = b.clrprof
		}
		if len(before) > 0 {
			if _, err := exec.LookPath(before[0]); err != nil {
				continue
			}
		}
		var figures [4][]float64
		for range min(b.rounds, 3) { // half a minute each
			one, err := b.promptOnce(before, command)
			if err != nil {
				return fmt.Errorf("%s: %w", way.name, err)
			}
			for i, v := range one {
				figures[i] = append(figures[i], v)
			}
		}
		fmt.Fprintf(b.out, "| %s | %.2f | %.2f | %.2f | %.2f |\n", way.name, median(figures[0]), median(figures[1]),
			median(figures[2]), median(figures[3]))
	}
	return nil
}

// promptOnce runs a command once and returns its end, prompt, program and profiler. A shell around the command says how
// much processor time it took, and when it ended.
func (b *bench) promptOnce(before, command []string) (figures [4]float64, err error) {
	ended := filepath.Join(b.dir, "ended")
	args := append(append([]string{}, before...), "sh", "-c", `"$@" >/dev/null && times >"$0"`, ended)
	args = append(args, command...)
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env = b.dotnet.Env()
	begin := time.Now()
	wall, all, err := timed(cmd)
	if err != nil {
		return figures, err
	}
	st, err := os.Stat(ended)
	if err != nil {
		return figures, err
	}
	text, err := os.ReadFile(ended)
	if err != nil {
		return figures, err
	}
	program := 0.0
	for _, word := range strings.Fields(string(text)) { // user and system time of the shell, then of its children
		d, err := time.ParseDuration(word)
		if err != nil {
			return figures, fmt.Errorf("the shell says %q: %w", text, err)
		}
		program += d.Seconds()
	}
	end := st.ModTime().Sub(begin).Seconds()
	return [4]float64{end, max(0, wall-end), program, max(0, all-program)}, nil
}
