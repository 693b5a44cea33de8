package systemevent

import (
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/clrprof/clrprof/internal/capture/cpucounter"
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
			if c, ok := cpucounter.Find(name); !ok || c.Kind >= wire.CounterTaskClock && c.Kind <= wire.CounterPerf {
				t.Errorf("%s reads %s, which is neither in getrusage nor an event of the kernel", k.Name, name)
			}
		}
	}
	if bits != wire.EventSched|wire.EventFaults|wire.EventIO|wire.EventCalls|wire.EventMoves {
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

// TestCheck: what is missing is said. The reasons for which a counter cannot be read are tested where that is
// (cpucounter).
func TestCheck(t *testing.T) {
	for _, tt := range []struct {
		name, kind, want string // want "": nothing is missing
		root             fstest.MapFS
	}{
		{"anywhere", "sched", "", fstest.MapFS{}},
		{"anywhere", "page-faults", "", fstest.MapFS{}},
		{"accounting", "io", "", fstest.MapFS{ioFile: {Data: []byte("rchar: 1\n")}}},
		{"no accounting", "io", "CONFIG_TASK_IO_ACCOUNTING", fstest.MapFS{}},
		{"nothing", "syscalls", "tracefs is not mounted at /sys/kernel/tracing; the kernel has no perf events",
			fstest.MapFS{}},
		{"nothing", "migrations", "the kernel has no perf events", fstest.MapFS{}},
	} {
		k, _ := Find(tt.kind)
		err := k.Check(tt.root)
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s, %s: %v", tt.kind, tt.name, err)
		}
	}
}

// TestHere: whatever this machine is, what needs no right can be had.
func TestHere(t *testing.T) {
	for _, k := range All() {
		err := k.Check(os.DirFS("/"))
		if k.Bit == wire.EventSched && err != nil || k.Bit == wire.EventFaults && err != nil {
			t.Errorf("%s: %v", k.Name, err)
		}
		t.Log(k.Name, err)
	}
}
