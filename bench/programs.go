package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
)

const lines = 50_000 // of the source that Roslyn compiles

// roslyn measures a whole program: the C# compiler on a large file.
func (b *bench) roslyn() error {
	source, err := b.dotnet.Large(lines)
	if err != nil {
		return err
	}
	compile, err := b.dotnet.CompilerCommand(b.dotnet.Newest(), []string{source}, filepath.Join(b.dir, "Large.dll"),
		dotnettest.Options{Deterministic: true})
	if err != nil {
		return err
	}
	session := filepath.Join(b.dir, "roslyn.clrprof")
	wall, cpu := map[string][]float64{}, map[string][]float64{}
	ways := []string{"none", "empty", "memory", "lifetime", "run --memory", "run"}
	for range b.rounds {
		for _, way := range ways {
			argv := compile
			run, isRun := strings.CutPrefix(way, "run")
			if isRun {
				argv = append([]string{b.clrprof, "run", "--no-report", "-f", "-o", session}, strings.Fields(run)...)
				argv = append(append(argv, "--"), compile...)
			}
			cmd := exec.Command(argv[0], argv[1:]...)
			cmd.Env = b.dotnet.Env()
			if !isRun {
				b.attach(cmd, way)
			}
			w, c, err := timed(cmd)
			if err != nil {
				return fmt.Errorf("%s: %w", way, err)
			}
			wall[way], cpu[way] = append(wall[way], w), append(cpu[way], c)
		}
	}
	fmt.Fprintf(b.out, "\n## Roslyn compiling %d lines\n\nSeconds of the whole process; `run` is `clrprof run`, with "+
		"lifetimes, resolving names and adding up.\n\n"+
		"| | wall | ratio | processor | ratio |\n| --- | ---: | ---: | ---: | ---: |\n", lines)
	for _, way := range ways {
		fmt.Fprintf(b.out, "| %s | %.2f | %.2f | %.2f | %.2f |\n", way, median(wall[way]),
			median(wall[way])/median(wall["none"]),
			median(cpu[way]), median(cpu[way])/median(cpu["none"]))
	}
	return b.describe(session)
}

// describe prints what the session of the last run holds.
func (b *bench) describe(session string) error {
	query := `select (select sum(allocations) from process_value) allocations, (select count(*) from node) nodes,
		(select count(*) from site) sites, (select count(*) from function) functions, (select sum(agent_bytes) from process) agent_bytes,
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
	fmt.Fprintf(b.out, "\nThe session: %d allocations, %d nodes, %d sites, %d functions, losses %d; %.0f MB on disk; the agent used %.0f MB.\n", r["allocations"], r["nodes"], r["sites"], r["functions"], r["losses"],
		float64(st.Size())/1e6, float64(r["agent_bytes"])/1e6)
	return nil
}

// report measures how long a person waits for a view of a session with more than a million nodes.
func (b *bench) report() error {
	session := filepath.Join(b.dir, "roslyn.clrprof")
	if _, err := os.Stat(session); err != nil {
		return fmt.Errorf("needs the session of the part roslyn: %w", err)
	}
	fmt.Fprintf(b.out, "\n## Views of that session\n\nSeconds until the command has printed everything.\n\n| view | "+
		"wall |\n| --- | ---: |\n")
	for _, view := range []string{"summary", "functions", "types", "calltree", "modules", "lines", "threads"} {
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

// timed runs a command and returns the seconds that it took, and those of the processor.
func timed(cmd *exec.Cmd) (wall, cpu float64, err error) {
	begin := time.Now()
	if text, err := cmd.CombinedOutput(); err != nil {
		return 0, 0, fmt.Errorf("%w: %s", err, text)
	}
	wall = time.Since(begin).Seconds()
	state := cmd.ProcessState
	return wall, (state.UserTime() + state.SystemTime()).Seconds(), nil
}

// remove deletes a file that the next run would not need; what stays is removed with the directory.
func remove(path string) { _ = os.Remove(path) }
