package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/clrprof/clrprof/internal/capture/arena"
	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
	"github.com/clrprof/clrprof/internal/testkit/heap"
	"github.com/clrprof/clrprof/internal/wire"
)

// shadow measures what the shadow of the heap costs and saves: the time to follow a recording of a real heap, against
// the reference tracker, which keeps a table of objects; its memory; and what is written of each collection.
func (b *bench) shadow() error {
	dll, err := b.dotnet.Compile([]string{"bench/targets/Pauses"}, "", dotnettest.Options{})
	if err != nil {
		return err
	}
	if err := b.buildReplay(); err != nil {
		return err
	}
	fmt.Fprintf(b.out, "\n## The shadow of the heap\n\nThe program of the pauses. Seconds to follow a recording of "+
		"it, reading included: with a table of objects that is sorted and "+
		"searched (internal/testkit/heap), and by the agent's own code. Counters and bytes: what is reported of each collection.\n\n"+
		"| alive | events | table | shadow | counters | bytes |\n| ---: | ---: | ---: | ---: | ---: | ---: |\n")
	for _, live := range []string{"100000", "1000000"} {
		table, shadow, events, err := b.follow(dll, live)
		if err != nil {
			return fmt.Errorf("%s alive: %w", live, err)
		}
		if _, err := b.resident(dll, live, "lifetime"); err != nil {
			return fmt.Errorf("%s alive: %w", live, err)
		}
		counters, bytes, err := b.toldOfGCs()
		if err != nil {
			return fmt.Errorf("%s alive: %w", live, err)
		}
		fmt.Fprintf(b.out, "| %s | %d | %.2f | %.2f (%.0f × less) | %.1f | %.0f |\n", live, events, table, shadow,
			table/shadow, counters, bytes)
	}
	memory, err := b.memory(dll, "5000000")
	if err != nil {
		return err
	}
	fmt.Fprintf(b.out, "\nMemory of the shadow for each byte of heap, from 1,000 to 5,000,000 objects alive: %.2f (goal: 0.55).\n", memory)
	return nil
}

func (b *bench) replay() string { return filepath.Join(b.dir, "replay") }

// buildReplay compiles the agent with the runtime that replays recordings.
func (b *bench) buildReplay() error {
	sources, err := filepath.Glob("agent/src/*/*.c")
	if err != nil {
		return err
	}
	args := append(strings.Fields("-std=c11 -Iagent/src -O2 -fno-tree-slp-vectorize -fno-omit-frame-pointer -pthread "+
		"-Dclock_gettime=replay_clock_gettime -o "+b.replay()+
		" agent/test/replay.c"), sources...)
	if text, err := exec.Command("gcc", args...).CombinedOutput(); err != nil {
		return fmt.Errorf("compile the replayer: %w: %s", err, text)
	}
	return nil
}

// follow records the program once, and follows the recording both ways. It returns the medians in seconds.
func (b *bench) follow(dll, live string) (table, shadow float64, events int, err error) {
	recording, played := filepath.Join(b.dir, "heap"), filepath.Join(b.dir, "played")
	defer remove(recording)
	cmd := b.dotnet.Newest().Command(dll, live)
	b.attach(cmd, "record")
	cmd.Env = append(cmd.Env, "CLRPROF_LIFETIME=1", "CLRPROF_FINAL_GC=1", "CLRPROF_RECORDING="+recording,
		"CLRPROF_MEMORY=4294967296")
	if text, err := cmd.CombinedOutput(); err != nil {
		return 0, 0, 0, fmt.Errorf("record: %w: %s", err, text)
	}
	var tables, shadows []float64
	for range b.rounds {
		begin := time.Now()
		if events, err = trackEvents(recording); err != nil {
			return 0, 0, 0, err
		}
		tables = append(tables, time.Since(begin).Seconds())
		if err := errors.Join(os.RemoveAll(played), os.Mkdir(played, 0o700)); err != nil {
			return 0, 0, 0, err
		}
		wall, _, err := timed(exec.Command(b.replay(), played, recording))
		if err != nil {
			return 0, 0, 0, err
		}
		shadows = append(shadows, wall)
	}
	return median(tables), median(shadows), events, os.RemoveAll(played)
}

// trackEvents gives a recording to the reference tracker.
func trackEvents(path string) (events int, err error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	tracker := new(heap.Tracker)
	for r := heap.NewReader(f); ; events++ {
		e, err := r.Next()
		if errors.Is(err, io.EOF) {
			return events, nil
		}
		if err == nil {
			err = tracker.Add(e)
		}
		if err != nil {
			return events, err
		}
	}
}

// memory returns by how much more the process grows with lifetimes than with empty callbacks, for each byte by which it
// grows with these, when there is so much more alive.
func (b *bench) memory(dll, live string) (float64, error) {
	var ratios []float64
	for range b.rounds {
		var grown [2]float64
		for i, variant := range []string{"emptygc", "lifetime"} {
			few, err := b.resident(dll, "1000", variant)
			if err != nil {
				return 0, err
			}
			many, err := b.resident(dll, live, variant)
			if err != nil {
				return 0, err
			}
			grown[i] = many - few
		}
		ratios = append(ratios, (grown[1]-grown[0])/grown[0])
	}
	return median(ratios), nil
}

// resident runs the target once and returns the most memory that it had, in bytes.
func (b *bench) resident(dll, live, variant string) (float64, error) {
	cmd := b.dotnet.Newest().Command(dll, live)
	b.attach(cmd, variant)
	cmd.Env = append(cmd.Env, "CLRPROF_ROOTS=off", "CLRPROF_MEMORY=4294967296")
	text, err := cmd.Output()
	if err != nil {
		return 0, err
	}
	var young, kept, full, most float64
	_, err = fmt.Sscan(string(text), &young, &kept, &full, &most)
	return most, err
}

// toldOfGCs returns how many counters, and how many bytes, the last run wrote for each collection.
func (b *bench) toldOfGCs() (counters, bytes float64, err error) {
	paths, err := filepath.Glob(filepath.Join(b.dir, "*.arena"))
	if err != nil || len(paths) != 1 {
		return 0, 0, fmt.Errorf("arenas %q: %w", paths, err)
	}
	a, err := arena.Open(paths[0])
	if err != nil {
		return 0, 0, err
	}
	defer a.Close()
	collections := 0.0
	for log := a.Log(); len(log) > 0; {
		record, rest, err := wire.Next(log)
		if err != nil {
			return 0, 0, err
		}
		switch r := record.(type) {
		case wire.GC:
			collections++
			bytes += float64(len(log) - len(rest))
		case wire.Changes:
			counters += float64(len(r.Changes))
			bytes += float64(len(log) - len(rest))
		}
		log = rest
	}
	return counters / collections, bytes / collections, nil
}
