package proc

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
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
		{native + "7f4000-7f5000 rw-s 00000000 00:01 44   /memfd:dotnet_ipc_created (deleted)\n", "", true},
		{native + "7f4000-7f5000 r-xp 00000000 08:01 43   /opt/libcoreclrtraceptprovider.so\n", "", false},
	} {
		if path, runtime := Runtime([]byte(tt.maps)); path != tt.path || runtime != tt.runtime {
			t.Errorf("%q: %q, %t", tt.maps, path, runtime)
		}
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
	of, by := Children(os.Getpid()), childrenByParent(os.Getpid())
	if !slices.Contains(of, child.Process.Pid) || !slices.Contains(by, child.Process.Pid) {
		t.Errorf("%d: %v, %v", child.Process.Pid, of, by)
	}
}

// TestStat: a process cannot pretend by its name to be in another state, or another one's child.
func TestStat(t *testing.T) {
	sleep, err := exec.LookPath("sleep")
	if err != nil {
		t.Fatal(err)
	}
	named := filepath.Join(t.TempDir(), "a) Z 1 (b")
	if err := os.Symlink(sleep, named); err != nil {
		t.Fatal(err)
	}
	child := exec.Command(named, "60")
	child.Env = []string{"A=1"}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	defer child.Wait()
	defer child.Process.Kill()
	pid := child.Process.Pid
	fields := Stat(pid)
	if len(fields) <= FieldStart || fields[FieldState] == "Z" || fields[FieldParent] != strconv.Itoa(os.Getpid()) {
		t.Errorf("%q", fields)
	}
	if got := Arguments(pid); !slices.Equal(got, []string{named, "60"}) {
		t.Errorf("%q", got)
	}
	if got, err := Environment(pid); err != nil || len(got) != 2 || got["A"] != "1" { // and "" after the last one
		t.Errorf("%q, %v", got, err)
	}
	if got := Status(pid)["PPid"]; !slices.Equal(got, []string{strconv.Itoa(os.Getpid())}) {
		t.Errorf("%q", got)
	}
}
