// Command bench measures what profiling costs, on real .NET programs, and prints tables in Markdown.
//
// Absolute times of a machine mean little: it may be busy, and another one is faster. So all variants of a program
// run in turn, again and again, and what counts is the median of each and their ratios:
//
//	none      the program by itself
//	empty     the agent with a callback that does nothing: what the runtime asks for telling allocations at all
//	memory    the agent
//	emptygc   empty callbacks with COR_PRF_MONITOR_GC: the measure for lifetime
//	lifetime  the agent, following what becomes of the objects
//	snapshot  a callback that only calls DoStackSnapshot: the documented way to get the same stacks
//
// and for calls:
//
//	emptyhooks  the agent with hooks that do nothing, for the same functions, with the same inlining refused
//	clockhooks  the same, and each hook reads the clock: the measure for time
//	time        the agent
//
// Usage: go run ./bench [-rounds 7] [-o bench/RESULTS.md] [-only
// allocations|pauses|types|filters|paused|trace|control|shadow|roslyn|report|views|calls|starts|timed-roslyn|
// timed-report|prompt]
package main

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
)

func main() {
	rounds := flag.Int("rounds", 7, "runs of each variant; the median counts")
	out := flag.String("o", "", "write the tables to this file too")
	only := flag.String("only", "",
		"allocations, pauses, types, filters, paused, trace, control, shadow, roslyn, report, views, calls, starts, timed-roslyn, "+
			"timed-report or prompt")
	sessions := flag.String("sessions", "", "only make the sessions of views, in this folder")
	flag.Parse()
	if *sessions != "" {
		if err := makeViewSessions(*sessions); err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
			os.Exit(1)
		}
		return
	}
	if err := run(*rounds, *out, *only); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// bench is what the measurements share.
type bench struct {
	dotnet  *dotnettest.Install
	rounds  int
	dir     string // temporary: arenas, sessions, programs
	product string // path of the agent
	oracle  string // path of the agent's test variants
	clrprof string
	out     io.Writer
}

func run(rounds int, out, only string) error {
	in, err := dotnettest.Ensure(os.Stderr)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("/dev/shm", "clrprof-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	var text bytes.Buffer
	b := &bench{dotnet: in, rounds: rounds, dir: dir, oracle: filepath.Join(dir, "oracle.so"),
		out: io.MultiWriter(os.Stdout, &text)}
	for path, to := range map[string]*string{"internal/capture/agentbin/lib/libclrprof-linux-x64.so": &b.product,
		"bin/clrprof": &b.clrprof} {
		if *to, err = filepath.Abs(path); err != nil {
			return err
		}
		if _, err := os.Stat(*to); err != nil {
			return fmt.Errorf("run `make build` first: %w", err)
		}
	}
	if err := b.buildOracle(); err != nil {
		return err
	}
	b.header()
	for _, part := range []struct {
		name string
		fn   func() error
	}{{"allocations", b.allocations}, {"pauses", b.pauses}, {"types", b.types}, {"filters", b.filters},
		{"shadow", b.shadow}, {"roslyn", b.roslyn}, {"report", b.report}, {"views", b.views}, {"paused", b.paused},
		{"control", b.control}, {"trace", b.trace},
		{"calls", b.calls}, {"starts", b.starts}, {"timed-roslyn", b.timedRoslyn}, {"timed-report", b.timedReport},
		{"prompt", b.prompt}} {
		if only != "" && only != part.name {
			continue
		}
		if err := part.fn(); err != nil {
			return fmt.Errorf("%s: %w", part.name, err)
		}
	}
	if out == "" {
		return nil
	}
	return os.WriteFile(out, text.Bytes(), 0o644)
}

// buildOracle compiles the agent's variants for measurements with the flags of the product.
func (b *bench) buildOracle() error {
	sources, err := filepath.Glob("agent/src/*/*.c")
	if err != nil {
		return err
	}
	args := append(
		strings.Fields("-std=c11 -Iagent/src -O2 -g -fno-tree-slp-vectorize -fPIC -fvisibility=hidden -fno-omit-frame-pointer "+
			"-fstack-protector-strong -fcf-protection=none -DCLRPROF_ORACLE -shared -nostdlib -o "+b.oracle+" agent/test/oracle.c"), sources...)
	if text, err := exec.Command("gcc", args...).CombinedOutput(); err != nil {
		return fmt.Errorf("compile the agent's variants: %w: %s", err, text)
	}
	return nil
}

// header says on what the figures were measured.
func (b *bench) header() {
	fmt.Fprintf(b.out, "# What profiling costs\n\nMade by `make bench`: medians of %d runs, all variants of a "+
		"program in turn. %s, .NET %s.\n", b.rounds, processor(), b.dotnet.Newest().Name)
}

// processor names the machine's processor.
func processor() string {
	info, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return "unknown processor"
	}
	for line := range strings.Lines(string(info)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return "unknown processor"
}
