package collect

import (
	"os"
	"os/exec"
	"slices"
	"testing"

	"github.com/clrprof/clrprof/internal/launch"
	"github.com/clrprof/clrprof/internal/session"
)

// TestRuntimeInMaps: the runtime's library, or what the runtime of a single file does, tell of .NET.
func TestRuntimeInMaps(t *testing.T) {
	const native = "7f0000-7f1000 r-xp 00000000 08:01 42   /usr/lib/libc.so.6\n7f2000-7f3000 rw-p 00000000 00:00 0 \n"
	for _, tt := range []struct {
		maps, path string
		runtime    bool
	}{
		{"", "", false},
		{native, "", false},
		{native + "7f4000-7f5000 r-xp 00000000 08:01 43   /opt/my net/libcoreclr.so\n", "/opt/my net/libcoreclr.so", true},
		{native + "7f4000-7f5000 rw-s 00000000 00:01 43   /memfd:doublemapper (deleted)\n", "", true},
		{native + "7f4000-7f5000 r-xp 00000000 08:01 43   /opt/libcoreclrtraceptprovider.so\n", "", false},
	} {
		if path, runtime := coreLibraryPath([]byte(tt.maps)); path != tt.path || runtime != tt.runtime {
			t.Errorf("%q: %q, %t", tt.maps, path, runtime)
		}
	}
}

// TestWhyUnseen: what a process has of clrprof's variables, and what it sees of the folder that they name.
func TestWhyUnseen(t *testing.T) {
	profiler := "CORECLR_PROFILER=" + launch.ProfilerID
	for want, environment := range map[string][]string{
		session.LossNoVariables: {"PATH=/bin", ""},
		session.LossNoFolder:    {profiler, "CLRPROF_ARENAS=" + t.TempDir() + "/gone"},
		session.LossNotLoaded:   {profiler, "CLRPROF_ARENAS=" + t.TempDir()},
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

// TestChildren: the kernel's list of a process's children is what the processes say of their parents.
func TestChildren(t *testing.T) {
	child := exec.Command("sleep", "60")
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	defer child.Wait()
	defer child.Process.Kill()
	of, by := childrenOf(os.Getpid()), childrenByParent(os.Getpid())
	if !slices.Contains(of, child.Process.Pid) || !slices.Contains(by, child.Process.Pid) {
		t.Errorf("%d: %v, %v", child.Process.Pid, of, by)
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
