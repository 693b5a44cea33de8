package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
)

// TestCounters: samples of a target say what it did, as it knows it itself, and what the kernel tells the test
// meanwhile.
func TestCounters(t *testing.T) {
	t.Parallel()
	in := dotnettest.Need(t)
	s := newSandbox(t)
	x := s.startSteps(in.Newest(), "--memory", "--sample-counters", "20")
	file := filepath.Join(s.root, "opened")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	entries := func(of string) int {
		entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/%s", x.pid, of))
		if err != nil {
			t.Fatal(err)
		}
		return len(entries)
	}
	x.do("burn 100") // until a slice has met the process
	await(t, "a sample", func() bool { return s.sampled(x.session) })
	filesBefore := entries("fd")
	x.do("open 37 " + file)
	x.do("threads 11")
	x.do("burn 1500")
	filesAfter, threadsAfter := entries("fd"), entries("task")
	x.do("burn 100")
	x.finish()
	type row struct{ First, Last, Most, N int64 }
	of := func(name string) row {
		return query[row](t, x.session, "SELECT coalesce(min(value), 0) AS first, coalesce(max(value), 0) AS last, "+
			"coalesce(max(value), 0) AS most, count(*) AS n FROM counters WHERE name = '"+name+"'")[0]
	}
	// The runtime opens other files for moments, so what most samples have is compared.
	opened := query[struct{ Value int }](t, x.session, "SELECT value, count(*) AS n FROM counters "+
		"WHERE name = 'process.open_files' GROUP BY value ORDER BY n DESC, value LIMIT 1")[0].Value
	if filesAfter-filesBefore < 37 || opened < filesBefore+37 || max(opened-filesAfter, filesAfter-opened) > 2 {
		t.Errorf("%d files open, then %d; most samples say %d", filesBefore, filesAfter, opened)
	}
	if n := of("process.threads"); n.Most < int64(threadsAfter) || n.Most > int64(threadsAfter)+8 || n.Most < 11 {
		t.Errorf("%d threads, the samples say %d", threadsAfter, n.Most)
	}
	cpu := of("process.cpu_user")
	if system := of("process.cpu_system"); cpu.Last-cpu.First+system.Last-system.First < 1_400_000_000 {
		t.Errorf("1.5 s of CPU were used, the samples say %d + %d ns", cpu.Last-cpu.First, system.Last-system.First)
	}
	if busy := of("machine.cpu_busy"); busy.Last-busy.First < 1_400_000_000 {
		t.Errorf("1.5 s of CPU were used, of the machine %d ns", busy.Last-busy.First)
	}
	if resident := of("process.resident"); resident.Most < 10<<20 {
		t.Errorf("%d bytes resident", resident.Most)
	}
	// Each counter has values or a reason.
	for _, c := range query[struct {
		Name, Missing string
		N             int
	}](t, x.session,
		"SELECT name, missing, (SELECT count(*) FROM counter_value v WHERE v.counter_id = c.id) AS n FROM counter c") {
		if (c.N == 0) != (c.Missing != "") {
			t.Errorf("%s: %d values, missing: %q", c.Name, c.N, c.Missing)
		}
	}
	off := s.startSteps(in.Newest(), "--memory", "--sample-counters", "0", "-f")
	off.finish()
	if n := countOf(t, off.session, "counter"); n != 0 {
		t.Errorf("%d counters where none are sampled", n)
	}
}

// sampled says whether the session has samples.
func (s *sandbox) sampled(session string) bool {
	rows := query[struct{ N int }](s.t, session, "SELECT count(*) AS n FROM counter_value")
	return rows[0].N > 0
}
