package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
)

// timedLines is how long the source is that Roslyn compiles under --time: its calls reach the agent's limit of a
// million timings.
const timedLines = 5_000

// The ways to compile it. "no R2R" is the program by itself, but with all code compiled by the JIT, as the runtime
// does it when functions are hooked.
const (
	wayNone  = "none"
	wayJIT   = "none, no R2R"
	wayEmpty = "emptyhooks"
	wayTime  = "time"
	waySmall = "time small"
)

var timedWays = []string{wayNone, wayJIT, wayEmpty, wayTime, waySmall}

// compiler returns the command line that compiles the source for measurements with --time.
func (b *bench) compiler() ([]string, error) {
	source, err := b.dotnet.Large(timedLines)
	if err != nil {
		return nil, err
	}
	return b.dotnet.CompilerCommand(b.dotnet.Newest(), []string{source}, filepath.Join(b.dir, "Timed.dll"),
		dotnettest.Options{Deterministic: true})
}

// timedRoslyn measures what recording every call costs a whole program, and which part of it is the JIT's.
func (b *bench) timedRoslyn() error {
	compile, err := b.compiler()
	if err != nil {
		return err
	}
	wall, cpu := map[string][]float64{}, map[string][]float64{}
	for r := range b.rounds {
		for _, way := range rotated(timedWays, r) {
			cmd := exec.Command(compile[0], compile[1:]...)
			cmd.Env = b.dotnet.Env()
			if way == wayJIT {
				cmd.Env = append(cmd.Env, "DOTNET_ReadyToRun=0")
			} else {
				b.attachHooks(cmd, way)
			}
			w, c, err := timed(cmd)
			if err != nil {
				return fmt.Errorf("%s: %w", way, err)
			}
			wall[way], cpu[way] = append(wall[way], w), append(cpu[way], c)
		}
	}
	fmt.Fprintf(b.out, "\n## Roslyn compiling %d lines, every call recorded\n\nSeconds of the whole process, without the collector.\n\n"+
		"| | wall | ratio | processor | ratio |\n| --- | ---: | ---: | ---: | ---: |\n", timedLines)
	used := map[string]float64{}
	for _, way := range timedWays {
		used[way] = median(cpu[way])
		fmt.Fprintf(b.out, "| %s | %.2f | %.2f | %.2f | %.2f |\n", way, median(wall[way]),
			median(wall[way])/median(wall[wayNone]),
			used[way], used[way]/used[wayNone])
	}
	fmt.Fprintf(b.out, "\nOf the %.2f seconds of processor time that time adds, %.2f are the JIT's for code that is "+
		"precompiled otherwise, "+
		"%.2f the hooks themselves with the inlining that is refused, %.2f what the agent does in them.\n",
		used[wayTime]-used[wayNone], used[wayJIT]-used[wayNone], used[wayEmpty]-used[wayJIT],
		used[wayTime]-used[wayEmpty])
	return nil
}

// timedReport measures how long the collector works after the program's end, how large the session is, and how long a
// person waits for its views.
func (b *bench) timedReport() error {
	compile, err := b.compiler()
	if err != nil {
		return err
	}
	session, ended := filepath.Join(b.dir, "times.clrprof"), filepath.Join(b.dir, "ended")
	var finishing, memory []float64
	for range min(b.rounds, 3) { // half a minute each
		f, m, err := b.finish(session, ended, compile)
		if err != nil {
			return err
		}
		finishing, memory = append(finishing, f), append(memory, m)
	}
	if err := b.describeTimes(session, median(finishing), median(memory)); err != nil {
		return err
	}
	fmt.Fprintf(b.out, "\nSeconds until a view of it is printed:\n\n| view | wall |\n| --- | ---: |\n")
	for _, view := range []string{"summary", "functions", "calltree", "modules", "lines", "threads"} {
		var wall []float64
		for range b.rounds {
			w, _, err := timed(exec.Command(b.clrprof, "report", session, view))
			if err != nil {
				return err
			}
			wall = append(wall, w)
		}
		fmt.Fprintf(b.out, "| %s | %.2f |\n", view, median(wall))
	}
	return nil
}

// finish records a command with --time and returns for how many seconds clrprof worked after the command's end, and
// the most megabytes that it had of its own.
func (b *bench) finish(session, ended string, command []string) (seconds, megabytes float64, err error) {
	remove(ended)
	args := []string{"run", "--time", "--no-report", "-f", "-o", session, "--", "sh", "-c", `"$@" && : >"$0"`, ended}
	cmd := exec.Command(b.clrprof, append(args, command...)...)
	cmd.Env = b.dotnet.Env()
	if err := cmd.Start(); err != nil {
		return 0, 0, err
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	for tick := time.NewTicker(20 * time.Millisecond); ; {
		select {
		case err := <-done:
			tick.Stop()
			now := time.Now()
			if err != nil {
				return 0, 0, fmt.Errorf("clrprof run --time: %w", err)
			}
			st, err := os.Stat(ended)
			if err != nil {
				return 0, 0, err
			}
			return now.Sub(st.ModTime()).Seconds(), megabytes, nil
		case <-tick.C:
			megabytes = max(megabytes, ownMemory(cmd.Process.Pid))
		}
	}
}

// ownMemory returns the megabytes of a process that are no file's and nobody else's, 0 if it is gone.
func ownMemory(pid int) float64 {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(status)) {
		if value, ok := strings.CutPrefix(line, "RssAnon:"); ok {
			kilobytes, err := strconv.ParseFloat(strings.Fields(value)[0], 64)
			if err != nil {
				return 0
			}
			return kilobytes * 1024 / 1e6
		}
	}
	return 0
}

// describeTimes prints what a session with times holds.
func (b *bench) describeTimes(session string, finishing, memory float64) error {
	query :=
		`select (select sum(calls) from timing_value) calls, (select count(*) from timing) timings, (select count(*) from node) nodes,
		(select count(*) from function) functions, (select sum(agent_bytes) from process) agent_bytes,
		(select coalesce(sum(v.calls), 0) from timing_value v join timing t on t.id = v.timing_id join node n on n.id = t.node_id
			join node p on p.id = n.parent_id join function f on f.id = p.function_id
			where f.kind = 'pseudo' and f.raw_name = '(truncated)') folded,
		(select count(*) from loss) losses`
	text, err := exec.Command(b.clrprof, "sql", session, query, "--json").Output()
	if err != nil {
		return err
	}
	var rows []map[string]int64
	if err := json.Unmarshal(text, &rows); err != nil || len(rows) != 1 {
		return errors.Join(fmt.Errorf("answer of clrprof sql: %s", text), err)
	}
	st, err := os.Stat(session)
	if err != nil {
		return err
	}
	r := rows[0]
	fmt.Fprintf(b.out, "\n## The session of that\n\n%d calls, %d timings of %d nodes, %d functions, losses %d. %d "+
		"calls (%.1f %%) are on paths "+
		"that were folded at the limit of a million. %.0f MB on disk; the agent used %.0f MB. After the program's "+
		"end `clrprof run` worked for %.1f seconds; "+
		"it had at most %.0f MB of its own.\n", r["calls"], r["timings"], r["nodes"], r["functions"], r["losses"],
		r["folded"],
		100*float64(r["folded"])/float64(max(r["calls"], 1)), float64(st.Size())/1e6, float64(r["agent_bytes"])/1e6,
		finishing, memory)
	return nil
}
