package cpucounter

import (
	"errors"
	"strings"
	"testing"
	"testing/fstest"

	"golang.org/x/sys/unix"

	"github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/wire"
)

// TestAll: a counter is found by its name and by what the agent says of it, and only that one.
func TestAll(t *testing.T) {
	names := map[string]bool{}
	for _, c := range All() {
		if names[c.Name] {
			t.Errorf("two counters are called %s", c.Name)
		}
		names[c.Name] = true
		if byName, ok := Find(c.Name); !ok || byName != c {
			t.Errorf("%s finds %+v", c.Name, byName)
		}
		if reported, ok := Of(&wire.CPUCounter{Kind: c.Kind, Type: c.Type, Config: c.Config}); !ok || reported != c {
			t.Errorf("what the agent says of %s is taken for %+v", c.Name, reported)
		}
	}
	if _, ok := Find("heat"); ok {
		t.Error("heat is counted")
	}
	if _, ok := Of(&wire.CPUCounter{Kind: wire.CounterPerf, Type: 99}); ok {
		t.Error("an unknown event is a counter")
	}
}

func TestVariable(t *testing.T) {
	switches, _ := Find("context-switches")
	misses, _ := Find("l1-data-misses")
	if got, want := Variable([]Counter{switches, misses}), "3:0:0,9:3:65536"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestMost: the agent's arena and the sums of times have room for as many counters.
func TestMost(t *testing.T) {
	if wire.MaxCounters != quantity.MaxCounters {
		t.Errorf("%d and %d", wire.MaxCounters, quantity.MaxCounters)
	}
}

// TestKernelCounters: those that are in getrusage(2) and in a clock need no right and no processor.
func TestKernelCounters(t *testing.T) {
	for _, c := range All() {
		if c.Kind == wire.CounterPerf || c.ofKernel() {
			continue
		}
		if err := Check(fstest.MapFS{}, []Counter{c}); err != nil {
			t.Error(err)
		}
	}
}

func TestExplain(t *testing.T) {
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	pmu := "sys/bus/event_source/devices/cpu/type"
	cycles, _ := Find("cycles")
	faults, _ := Find("user-page-faults")
	for _, tt := range []struct {
		name    string
		root    fstest.MapFS
		counter Counter
		err     error
		grouped bool
		want    string
	}{
		{"paranoid", fstest.MapFS{paranoidFile: file("3\n"), pmu: file("4\n")}, cycles, unix.EACCES, false,
			"perf_event_paranoid is 3"},
		{"filtered", fstest.MapFS{paranoidFile: file("2\n"), "proc/self/status": file("Name:\tx\nSeccomp:\t2\n")}, faults,
			unix.EPERM, false, errFiltered.Error()},
		{"not filtered", fstest.MapFS{"proc/self/status": file("Name:\tx\nSeccomp:\t0\n")}, faults, unix.EPERM, false,
			"the kernel refuses it: operation not permitted"},
		{"virtual machine", fstest.MapFS{}, cycles, unix.ENOENT, false, errNoPMU.Error()},
		{"other processor", fstest.MapFS{pmu: file("4\n")}, cycles, unix.ENOENT, false, errNotCounted.Error()},
		{"too many", fstest.MapFS{pmu: file("4\n")}, cycles, unix.EINVAL, true, errTooMany.Error()},
		{"old kernel", fstest.MapFS{}, faults, unix.ENOSYS, false, errNoKernel.Error()},
		{"files", fstest.MapFS{}, faults, unix.EMFILE, false, "too many open files"},
	} {
		if got := explain(tt.root, tt.counter, tt.err, tt.grouped); !strings.Contains(got.Error(), tt.want) {
			t.Errorf("%s: %v, want %s", tt.name, got, tt.want)
		}
	}
	if why := Hardware(fstest.MapFS{}); !strings.HasPrefix(why, errNoPMU.Error()) {
		t.Error(why)
	}
	if why := Hardware(fstest.MapFS{pmu: file("4\n")}); why != "" {
		t.Error(why)
	}
	if err := explain(fstest.MapFS{}, faults, unix.EIO, false); !errors.Is(err, unix.EIO) {
		t.Error(err)
	}
}
