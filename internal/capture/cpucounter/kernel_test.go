package cpucounter

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/clrprof/clrprof/internal/wire"
)

// TestHereCalls: what is missing for the events of the kernel is named, all of it; and where nothing is, the number of
// the tracepoint is what the machine says.
func TestHereCalls(t *testing.T) {
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	status := func(capabilities, seccomp string) *fstest.MapFile {
		return file("Name:\tx\nCapEff:\t" + capabilities + "\nSeccomp:\t" + seccomp + "\n")
	}
	const nobody, perfmon, admin = "0000000000000000", "0000004000000000", "0000000000200000"
	id, debugID := tracingRoots[0]+"/"+idFile, tracingRoots[1]+"/"+idFile
	other := tracingRoots[0] + "/sched/enable"
	for _, tt := range []struct {
		name, counter string
		root          fstest.MapFS
		missing       []string // nil: nothing is
		config        uint64
	}{
		{"nothing", "system-calls", fstest.MapFS{}, []string{"tracefs is not mounted", "no perf events"}, 0},
		{"nothing", "migrations", fstest.MapFS{}, []string{"no perf events"}, 0},
		{"container", "system-calls", fstest.MapFS{paranoidFile: file("4\n"), statusFile: status(nobody, "2")},
			[]string{"tracefs is not mounted", "perf_event_paranoid is 4", "seccomp"}, 0},
		{"other kernel", "system-calls", fstest.MapFS{other: file("0\n"), paranoidFile: file("1\n")},
			[]string{"no tracepoint raw_syscalls"}, 0},
		{"no right", "system-calls", fstest.MapFS{id: file("21\n"), paranoidFile: file("2\n"),
			statusFile: status(nobody, "0")},
			[]string{"perf_event_paranoid is 2: the kernel's own events need 1 or less, or CAP_PERFMON"}, 0},
		{"no right", "migrations", fstest.MapFS{paranoidFile: file("2\n"), statusFile: status(nobody, "0")},
			[]string{"perf_event_paranoid is 2"}, 0},
		{"a right", "system-calls", fstest.MapFS{id: file("21\n"), paranoidFile: file("2\n"),
			statusFile: status(perfmon, "0")}, nil, 21},
		{"root", "system-calls", fstest.MapFS{debugID: file("443\n"), paranoidFile: file("4\n"),
			statusFile: status(admin, "0")}, nil, 443},
		{"everyone", "system-calls", fstest.MapFS{id: file("21\n"), paranoidFile: file("1\n"),
			statusFile: status(nobody, "0")}, nil, 21},
		{"everyone", "migrations", fstest.MapFS{paranoidFile: file("-1\n")}, nil, perfMigrations},
	} {
		c, _ := Find(tt.counter)
		here, err := c.Here(tt.root)
		if err == nil && (tt.missing != nil || here.Config != tt.config) {
			t.Errorf("%s, %s: %+v", tt.counter, tt.name, here)
		}
		if err == nil {
			continue
		}
		if tt.missing == nil || strings.Count(err.Error(), "; ")+1 != len(tt.missing) {
			t.Errorf("%s, %s: %v, want %d reasons", tt.counter, tt.name, err, len(tt.missing))
		}
		for _, part := range tt.missing {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%s, %s: %v, want %s", tt.counter, tt.name, err, part)
			}
		}
	}
}

// TestOfHere: an agent that counts system calls by whatever number is known.
func TestOfHere(t *testing.T) {
	c, ok := Of(&wire.CPUCounter{Kind: wire.CounterCalls, Type: typeTracepoint, Config: 443})
	if !ok || c.Name != "system-calls" {
		t.Errorf("%+v", c)
	}
}
