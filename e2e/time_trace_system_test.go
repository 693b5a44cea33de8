package e2e

import (
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
)

// tracedSystem is a line of a call trace about the operating system.
type tracedSystem struct {
	until   int64
	amounts map[string]int64
}

func readTracedSystem(t *testing.T, e tracedEvent) tracedSystem {
	t.Helper()
	why, list, ok := strings.Cut(e.text, ": ")
	i := strings.LastIndex(why, ", until ")
	if !ok || i < 0 {
		t.Fatalf("%+v", e)
	}
	out := tracedSystem{amounts: map[string]int64{}}
	var err error
	if out.until, err = strconv.ParseInt(why[i+len(", until "):], 10, 64); err != nil {
		t.Fatal(err)
	}
	for _, word := range strings.Fields(list) {
		key, value, _ := strings.Cut(word, "=")
		if out.amounts[key], err = strconv.ParseInt(value, 10, 64); err != nil {
			t.Fatalf("%+v: %v", e, err)
		}
	}
	return out
}

// checkSystemTraced: each line of the operating system lies between the two events of its thread that begin and end an
// interval, in the call that its function is; and function by function the trace has what the list has.
func checkSystemTraced(t *testing.T, r result, events []tracedEvent) {
	t.Helper()
	type key struct{ function, thread, what string }
	have, want := map[key]int64{}, map[key]int64{}
	open, until := map[string][]string{}, map[string]int64{}
	for i, e := range events {
		stack := open[e.thread]
		switch e.event {
		case "Enter", "Exit", "System":
			if e.at < until[e.thread] {
				t.Fatalf("line %d: %+v begins before %d, when what came before it has ended", i+2, e, until[e.thread])
			}
		}
		switch e.event {
		case "Enter":
			open[e.thread] = append(stack, e.function)
		case "Exit":
			open[e.thread] = stack[:len(stack)-1]
		case "System":
			if len(stack) == 0 || stack[len(stack)-1] != e.function {
				t.Fatalf("line %d: %+v while these run: %v", i+2, e, stack)
			}
			s := readTracedSystem(t, e)
			until[e.thread] = s.until
			for what, n := range s.amounts {
				have[key{e.function, e.threadName, what}] += n
			}
			have[key{e.function, e.threadName, "times"}]++
		}
	}
	rows := view[systemRow](t, r.session, "events")
	for i := range rows {
		row := &rows[i]
		for what, n := range map[string]int64{"voluntary": row.Voluntary, "preempted": row.Preempted, "minor_faults": row.Minor,
			"major_faults": row.Major, "reads": row.Reads, "writes": row.Writes, "length": row.Length, "times": 1} {
			want[key{row.Name, row.Thread, what}] += n
		}
	}
	if len(rows) == 0 {
		t.Error("nothing is listed")
	}
	for k, n := range want {
		if have[k] != n {
			t.Errorf("%+v: %d in the trace, %d in the list", k, have[k], n)
		}
	}
}

// TestTraceSystem: with --events the trace has what the operating system did to each thread, where it did it, and says
// what its list had no room for.
func TestTraceSystem(t *testing.T) {
	t.Parallel()
	bothWays(t, func(t *testing.T, runtime dotnettest.Runtime, mode []string) {
		file := filepath.Join(t.TempDir(), "t.csv")
		r, _ := recordEvents(t, runtime, append([]string{"--events", "sched,page-faults,io", "--trace", file}, mode...)...)
		events := readTrace(t, file)
		compareTraced(t, r.session, checkNesting(t, events, true))
		checkSystemTraced(t, r, events)
	})
	in := dotnettest.Need(t)
	t.Run("limit", func(t *testing.T) {
		t.Parallel()
		file := filepath.Join(t.TempDir(), "t.json")
		r, rows := recordEvents(t, in.Newest(), "--events", "sched", "--event-limit", "10", "--trace", file)
		trace, lost := readChrome(t, file), losses(t, r.session)[session.LossSystemEvents].Events
		if trace.Other.System != 10 || len(rows) != 10 || lost == 0 || trace.Other.SystemLost != lost {
			t.Errorf("the trace has %d events of the operating system and lacks %d, the session has %d and lacks %d",
				trace.Other.System, trace.Other.SystemLost, len(rows), lost)
		}
	})
	t.Run("ring", func(t *testing.T) {
		t.Parallel()
		file := filepath.Join(t.TempDir(), "t.json")
		_, rows := recordEvents(t, in.Newest(), "--events", "sched", "--trace-limit", "64K:ring", "--trace", file)
		trace := readChrome(t, file)
		before, _ := trace.OtherData["system_events_before"].(float64)
		if trace.Other.System+int64(before) != int64(len(rows)) {
			t.Errorf("the trace has %d events of the operating system and had %v before, the list has %d", trace.Other.System,
				before, len(rows))
		}
	})
}
