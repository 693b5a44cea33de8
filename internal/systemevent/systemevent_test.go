package systemevent

import (
	"errors"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/clrprof/clrprof/internal/cpucounter"
	"github.com/clrprof/clrprof/internal/wire"
)

// TestAll: each kind is found by its name, and what is read for it can be read.
func TestAll(t *testing.T) {
	bits := uint32(0)
	for _, k := range All() {
		if found, ok := Find(k.Name); !ok || found.Bit != k.Bit {
			t.Errorf("%s finds %+v", k.Name, found)
		}
		if bits&k.Bit != 0 {
			t.Errorf("%s is another kind, too", k.Name)
		}
		bits |= k.Bit
		for _, name := range k.Counters {
			if c, ok := cpucounter.Find(name); !ok || c.Kind >= wire.CounterTaskClock {
				t.Errorf("%s reads %s, which is not in getrusage", k.Name, name)
			}
		}
	}
	if bits != wire.EventSched|wire.EventFaults|wire.EventIO {
		t.Errorf("bits %b", bits)
	}
	if _, ok := Find("heat"); ok {
		t.Error("heat is listed")
	}
}

func TestVariable(t *testing.T) {
	sched, _ := Find("sched")
	io, _ := Find("io")
	if got := Variable([]Kind{sched, io}, 1000); got != "5:1000" {
		t.Error(got)
	}
	if got := Variable(nil, 1000); got != "" {
		t.Error(got)
	}
}

// TestCheck: what is missing is named, all of it.
func TestCheck(t *testing.T) {
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	status := func(capabilities, seccomp string) *fstest.MapFile {
		return file("Name:\tx\nCapEff:\t" + capabilities + "\nSeccomp:\t" + seccomp + "\n")
	}
	const nobody, perfmon = "0000000000000000", "0000004000000000"
	tracing := tracingRoot + "/sched/enable"
	for _, tt := range []struct {
		name, kind string
		root       fstest.MapFS
		want       []string // nil: nothing is missing
	}{
		{"anywhere", "sched", fstest.MapFS{}, nil},
		{"anywhere", "page-faults", fstest.MapFS{}, nil},
		{"accounting", "io", fstest.MapFS{ioFile: file("rchar: 1\n")}, nil},
		{"no accounting", "io", fstest.MapFS{}, []string{"CONFIG_TASK_IO_ACCOUNTING"}},
		{"nothing", "syscalls", fstest.MapFS{}, []string{"tracefs is not mounted", "no perf events"}},
		{"container", "syscalls", fstest.MapFS{paranoidFile: file("4\n"), statusFile: status(nobody, "2")},
			[]string{"tracefs is not mounted", "perf_event_paranoid is 4", "seccomp"}},
		{"other kernel", "syscalls", fstest.MapFS{tracing: file("0\n"), paranoidFile: file("-1\n")},
			[]string{"no tracepoint raw_syscalls"}},
		{"no right", "syscalls", fstest.MapFS{syscallFile: file("21\n"), paranoidFile: file("2\n"),
			statusFile: status(nobody, "0")}, []string{"perf_event_paranoid is 2: tracepoints need -1, or CAP_PERFMON"}},
		{"a right", "syscalls", fstest.MapFS{syscallFile: file("21\n"), paranoidFile: file("2\n"),
			statusFile: status(perfmon, "0")}, []string{errNotYet.Error()}},
		{"anywhere", "migrations", fstest.MapFS{}, []string{errMigrations.Error()}},
	} {
		k, _ := Find(tt.kind)
		err := k.Check(tt.root)
		if (err == nil) != (tt.want == nil) {
			t.Errorf("%s, %s: %v", tt.kind, tt.name, err)
			continue
		}
		if err != nil && strings.Count(err.Error(), "; ")+1 != len(tt.want) {
			t.Errorf("%s, %s: %v, want %d reasons", tt.kind, tt.name, err, len(tt.want))
		}
		for _, part := range tt.want {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%s, %s: %v, want %s", tt.kind, tt.name, err, part)
			}
		}
	}
}

// TestHere: whatever this machine is, what needs no right can be had, and the rest says why not.
func TestHere(t *testing.T) {
	for _, k := range All() {
		err := k.Check(os.DirFS("/"))
		if k.Bit == wire.EventSched && err != nil || k.Bit == wire.EventFaults && err != nil || k.Bit == 0 && err == nil {
			t.Errorf("%s: %v", k.Name, err)
		}
		if errors.Is(err, errNoIO) {
			t.Log(err)
		}
	}
}
