package counter

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"golang.org/x/sys/unix"
)

func byID(readings []Reading) map[ID]Reading {
	out := map[ID]Reading{}
	for _, r := range readings {
		out[r.Counter] = r
	}
	return out
}

func TestAll(t *testing.T) {
	here := byID(append(Process(os.DirFS("/"), os.Getpid()), Machine(os.DirFS("/"))...))
	for i, c := range All() {
		if c.ID != ID(i+1) || c.Name == "" || c.Meaning == "" || !strings.Contains("ns bytes count", c.Unit) {
			t.Errorf("%+v", c)
		}
		if _, ok := here[c.ID]; !ok {
			t.Errorf("%s is neither read nor missing", c.Name)
		}
	}
}

func TestFiles(t *testing.T) {
	root := fstest.MapFS{}
	for name, text := range map[string]string{
		"proc/7/stat":   "7 (a) b) S 1 2 3 4 5 6 11 0 13 0 21 22 0 0 20 0 17 0 99 1000 5 6\n",
		"proc/7/status": "Name:\ta\nVmRSS:\t   12 kB\nRssAnon:\t    5 kB\n", "proc/7/fd/0": "", "proc/7/fd/1": "",
		"proc/7/io":                      "rchar: 1\nwchar: 2\nsyscr: 9\nsyscw: 10\nread_bytes: 3\nwrite_bytes: 4\n",
		"proc/7/cgroup":                  "0::/x\n",
		"sys/fs/cgroup/x/memory.current": "100\n", "sys/fs/cgroup/x/memory.max": "max\n",
		"sys/fs/cgroup/x/cgroup.controllers": "cpu\n",
		"sys/fs/cgroup/x/cpu.stat":           "usage_usec 5\nthrottled_usec 6\n",
		"sys/fs/cgroup/x/cpu.pressure":       "some avg10=0.00 avg60=0.00 avg300=0.00 total=8\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=0\n",
		"proc/stat":                          "cpu  1 2 3 40 50 6 7 8 0 0\ncpu0 1 2 3 4\n",
		"proc/meminfo":                       "MemTotal: 9 kB\nMemAvailable: 8 kB\n",
	} {
		root[name] = &fstest.MapFile{Data: []byte(text)}
	}
	have := byID(append(Process(root, 7), Machine(root)...))
	for id, want := range map[ID]int64{CPUUser: 21 * tick, CPUSystem: 22 * tick, MinorFaults: 11, MajorFaults: 13,
		Threads: 17, Resident: 12 << 10, Private: 5 << 10,
		OpenFiles: 2, Read: 1, Written: 2, StorageRead: 3, StorageWritten: 4, ReadCalls: 9, WriteCalls: 10, GroupMemory: 100, GroupThrottled: 6000,
		GroupCPUPressure: 8000,
		MachineBusy:      19 * tick, MachineIdle: 90 * tick, MachineStolen: 8 * tick, MachineAvailable: 8 << 10, MachineMemory: 9 << 10} {
		if r := have[id]; r.Err != nil || r.Value != want {
			t.Errorf("%s: %d, %v; want %d", All()[id-1].Name, r.Value, r.Err, want)
		}
	}
	for id, why := range map[ID]string{GroupLimit: "no limit", GroupIOPressure: "does not tell pressure"} {
		if r := have[id]; r.Err == nil || !strings.Contains(r.Err.Error(), why) {
			t.Errorf("%s: %d, %v", All()[id-1].Name, r.Value, r.Err)
		}
	}
	for id, r := range byID(Process(root, 8)) {
		if r.Err == nil {
			t.Errorf("%s of no process: %d", All()[id-1].Name, r.Value)
		}
	}
}

// TestRubbish: whatever files say, there is a value or a reason for each counter.
func TestRubbish(t *testing.T) {
	for _, text := range []string{"", "\n", "x", "7 (a) S 1", "cpu 1 2 3 4 5 6 7 99999999999999999999",
		"rchar: -1\nVmRSS: x kB", "some total=\n"} {
		root := fstest.MapFS{"sys/fs/cgroup/cgroup.controllers": {}}
		for _, name := range []string{"proc/7/stat", "proc/7/status", "proc/7/io", "proc/stat", "proc/meminfo",
			"sys/fs/cgroup/memory.max", "sys/fs/cgroup/cpu.stat", "sys/fs/cgroup/cpu.pressure"} {
			root[name] = &fstest.MapFile{Data: []byte(text)}
		}
		root["proc/7/cgroup"] = &fstest.MapFile{Data: []byte("0::/\n")}
		for id, r := range byID(append(Process(root, 7), Machine(root)...)) {
			if r.Err == nil {
				t.Errorf("%q: %s is %d", text, All()[id-1].Name, r.Value)
			}
		}
	}
}

// TestSelf compares with what the kernel tells this process by system calls.
func TestSelf(t *testing.T) {
	files := byID(Process(os.DirFS("/"), os.Getpid()))[OpenFiles].Value
	var before, after unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &before); err != nil {
		t.Fatal(err)
	}
	for after.Utime.Nano()-before.Utime.Nano() < 50_000_000 {
		bytes.Repeat([]byte("x"), 1<<16)
		if err := unix.Getrusage(unix.RUSAGE_SELF, &after); err != nil {
			t.Fatal(err)
		}
	}
	for range 5 {
		f, err := os.Open("/proc/self/stat")
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
	}
	have := byID(Process(os.DirFS("/"), os.Getpid()))
	if n := have[OpenFiles].Value - files; n != 5 {
		t.Errorf("%d more files are open", n)
	}
	if err := unix.Getrusage(unix.RUSAGE_SELF, &before); err != nil {
		t.Fatal(err)
	}
	if cpu := have[CPUUser].Value + have[CPUSystem].Value; cpu < after.Utime.Nano()+after.Stime.Nano()-2*tick ||
		cpu > before.Utime.Nano()+before.Stime.Nano()+2*tick {
		t.Errorf("%d ns of CPU, between %d and %d", cpu, after.Utime.Nano()+after.Stime.Nano(), before.Utime.Nano()+
			before.Stime.Nano())
	}
}

// TestReads: calls and bytes are those of the system calls that this process makes.
func TestReads(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "a"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	const calls, size = 100_000, 3
	growth := func(of ID, do func()) int64 {
		before := byID(Process(os.DirFS("/"), os.Getpid()))[of]
		do()
		after := byID(Process(os.DirFS("/"), os.Getpid()))[of]
		if before.Err != nil || after.Err != nil {
			t.Fatal(before.Err, after.Err)
		}
		return after.Value - before.Value
	}
	b := make([]byte, size)
	write := func() {
		for i := range int64(calls) {
			if _, err := file.WriteAt(b, i*size); err != nil {
				t.Fatal(err)
			}
		}
	}
	read := func() {
		for i := range int64(calls) {
			if _, err := file.ReadAt(b, i*size); err != nil {
				t.Fatal(err)
			}
		}
	}
	// Reading the counters, and Go itself, also read and write a little.
	const more = 1000
	for _, c := range []struct {
		id    ID
		do    func()
		least int64
		more  int64
	}{{WriteCalls, write, calls, more}, {ReadCalls, read, calls, more}, {Read, read, calls * size, 1 << 16}} {
		if n := growth(c.id, c.do); n < c.least || n > c.least+c.more {
			t.Errorf("%s: %d, want %d and at most %d more", All()[c.id-1].Name, n, c.least, c.more)
		}
	}
}
