package collect

import (
	"os"
	"slices"
	"testing"

	"github.com/clrprof/clrprof/internal/capture/launch"
	"github.com/clrprof/clrprof/internal/session"
)

// TestWhyUnseen: what a process has of clrprof's variables, and what it sees of the folder that they name.
func TestWhyUnseen(t *testing.T) {
	for want, environment := range map[string]map[string]string{
		session.LossNoVariables: {"PATH": "/bin"},
		session.LossNoFolder: {"CORECLR_PROFILER": launch.ProfilerID,
			"CLRPROF_ARENAS": t.TempDir() + "/gone"},
		session.LossNotLoaded: {"CORECLR_PROFILER": launch.ProfilerID, "CLRPROF_ARENAS": t.TempDir()},
	} {
		if got := whyUnseen(os.Getpid(), environment); got != want {
			t.Errorf("%q: %s, want %s", environment, got, want)
		}
	}
}

// TestTakeUnseen: a process is told of once, when it is known that no agent will tell of it.
func TestTakeUnseen(t *testing.T) {
	now := Monotonic()
	l := &lookout{found: map[identity]*unseen{}}
	for pid, u := range []*unseen{
		{reason: session.LossNoVariables, met: now},
		{reason: session.LossNotLoaded, met: now},
		{reason: session.LossNotLoaded, met: now - agentPatience},
		{reason: session.LossUnreadable, met: now - agentPatience},
		{reason: session.LossNoVariables, met: now}, // it is recorded after all
	} {
		u.pid = pid
		l.found[identity{pid: pid}] = u
	}
	take := func(last bool) (pids []int) {
		for _, u := range l.take(func(u *unseen) bool { return u.pid == 4 }, last) {
			pids = append(pids, u.pid)
		}
		return pids
	}
	first, again, last, none := take(false), take(false), take(true), take(true)
	if !slices.Equal(first, []int{0, 2}) || len(again) != 0 || !slices.Equal(last, []int{1, 3}) || len(none) != 0 {
		t.Errorf("%v, %v, %v, %v", first, again, last, none)
	}
}

// TestLookAtForked: a process that has what another one has mapped is a fork of it, and nothing by itself.
func TestLookAtForked(t *testing.T) {
	auxv, err := os.ReadFile("/proc/self/auxv")
	if err != nil {
		t.Fatal(err)
	}
	if found, _ := lookAt(os.Getpid(), map[string]int{string(auxv): 1}); found != nil {
		t.Errorf("%+v", found)
	}
}
