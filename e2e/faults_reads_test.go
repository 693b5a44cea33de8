package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
)

// These tests read all memory of a target. Reading a hole of a file in shared memory fills it, so what the agent only
// reserves must not be readable.

// mayGrow is by how much shared memory may grow meanwhile, as the target goes on; its limit is 32 times as much.
const mayGrow = 4 << 20

// read runs the target Read in shared memory until it is ready and returns its process id.
func (s *sandbox) read(runtime dotnettest.Runtime, args ...string) (p *process, pid int) {
	s.t.Helper()
	s.mount(s.shm, 256<<20, 0)
	p = s.start(append([]string{"run", "--no-report", "-o", "s.clrprof", "--memory-limit", "128M", "--"},
		s.target(runtime, "Read", args...)...)...)
	return p, p.ready()
}

// ready reads the target's process id.
func (p *process) ready() int {
	p.t.Helper()
	p.lines.Scan()
	text, ok := strings.CutPrefix(p.lines.Text(), "ready ")
	if p.lines.Text() == "refused" {
		p.t.Skip("no right to lock memory")
	}
	pid, err := strconv.Atoi(text)
	if !ok || err != nil {
		p.t.Fatalf("the target says %q: %s", p.lines.Text(), p.said())
	}
	return pid
}

// finishRead lets the target end and looks at what was recorded.
func (s *sandbox) finishRead(p *process) {
	s.t.Helper()
	if _, err := p.in.Write([]byte("\n")); err != nil {
		s.t.Fatal(err)
	}
	if r := p.wait(); r.exit != 0 {
		s.t.Fatalf("exit code %d: %s", r.exit, r.stderr)
	}
	checkSession(s.t, filepath.Join(s.out, "s.clrprof"))
}

// shared is how many bytes the arenas take.
func (s *sandbox) shared() int64 {
	s.t.Helper()
	var fs unix.Statfs_t
	if err := unix.Statfs(s.shm, &fs); err != nil {
		s.t.Fatal(err)
	}
	return int64(fs.Blocks-fs.Bfree) * fs.Bsize
}

// TestMemoryIsRead: a reader of /proc/PID/mem, as debuggers and scanners are, reads whatever is mapped, also what the
// process itself may not read.
func TestMemoryIsRead(t *testing.T) {
	t.Parallel()
	for _, runtime := range dotnettest.Need(t).NewestAndOldest() {
		t.Run(runtime.Name, func(t *testing.T) {
			t.Parallel()
			s := newSandbox(t)
			p, pid := s.read(runtime)
			before, resident := s.shared(), statusBytes(t, pid, "VmRSS:")
			bytes := readMemory(t, pid)
			if grown := s.shared() - before; grown > mayGrow || bytes < 10<<20 {
				t.Errorf("%d bytes were read, and the arena grew by %d from %d", bytes, grown, before)
			}
			for _, collector := range s.processes() {
				readMemory(t, collector)
			}
			if grown := s.shared() - before; grown > mayGrow {
				t.Errorf("the collector's memory was read, and the arena grew by %d from %d", grown, before)
			}
			t.Logf("read %d bytes; resident %d, then %d", bytes, resident, statusBytes(t, pid, "VmRSS:"))
			s.finishRead(p)
		})
	}
}

// readMemory reads all mappings of a process but the largest, which the runtime reserves for its heap.
func readMemory(t *testing.T, pid int) (read int64) {
	t.Helper()
	mem, err := os.Open(filepath.Join("/proc", itoa(pid), "mem"))
	if err != nil {
		t.Skipf("no right to read the memory of others: %v", err)
	}
	defer mem.Close()
	buffer := make([]byte, 1<<20)
	for line := range strings.Lines(procText(pid, "maps")) {
		var begin, end int64
		if _, err := fmt.Sscanf(line, "%x-%x", &begin, &end); err != nil || end-begin > 1<<30 {
			continue
		}
		for at := begin; at < end; at += int64(len(buffer)) {
			n, _ := mem.ReadAt(buffer[:min(end-at, int64(len(buffer)))], at) // what cannot be read is passed over
			read += int64(n)
		}
	}
	return read
}

// statusBytes is a value of /proc/PID/status, which has it in kB.
func statusBytes(t *testing.T, pid int, name string) int64 {
	t.Helper()
	for line := range strings.Lines(procText(pid, "status")) {
		fields := strings.Fields(line)
		if len(fields) == 3 && fields[0] == name {
			n, err := strconv.ParseInt(fields[1], 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return n << 10
		}
	}
	t.Fatalf("no %s of process %d", name, pid)
	return 0
}

// TestMemoryIsLocked: mlockall gives memory to all that is mapped and may be read or written.
func TestMemoryIsLocked(t *testing.T) {
	t.Parallel()
	for _, runtime := range dotnettest.Need(t).NewestAndOldest() {
		t.Run(runtime.Name, func(t *testing.T) {
			t.Parallel()
			plain := newSandbox(t)
			cmd := plain.command()
			command := plain.target(runtime, "Read", "lock")
			cmd.Path, cmd.Args, cmd.Env = command[0], command, plain.env
			p := plain.startCommand(cmd)
			without := statusBytes(t, p.ready(), "VmRSS:")
			p.in.Close()
			p.wait()

			s := newSandbox(t)
			p, pid := s.read(runtime, "lock")
			with, arena := statusBytes(t, pid, "VmRSS:"), s.shared()
			if arena > 32<<20 || with-without > 96<<20 {
				t.Errorf("the arena has %d bytes; resident are %d, without clrprof %d", arena, with, without)
			}
			s.finishRead(p)
		})
	}
}

// TestMemoryIsDumped: the runtime's createdump, which it runs on a crash if so configured, with all memory and with
// the heap.
func TestMemoryIsDumped(t *testing.T) {
	t.Parallel()
	runtimes := slices.DeleteFunc(dotnettest.Need(t).Runtimes(), func(r dotnettest.Runtime) bool {
		return createdump(r) == ""
	})
	if len(runtimes) == 0 {
		t.Skip("no runtime has its createdump")
	}
	for _, runtime := range runtimes {
		t.Run(runtime.Name, func(t *testing.T) {
			t.Parallel()
			plain := newSandbox(t)
			cmd := plain.command()
			command := plain.target(runtime, "Read")
			cmd.Path, cmd.Args, cmd.Env = command[0], command, plain.env
			p := plain.startCommand(cmd)
			pid := p.ready()
			without := map[string]int64{}
			for _, how := range []string{"--withheap", "--full"} {
				without[how] = plain.dump(runtime, pid, how)
			}
			p.in.Close()
			p.wait()

			s := newSandbox(t)
			p, pid = s.read(runtime)
			before := s.shared()
			for _, how := range []string{"--withheap", "--full"} {
				size := s.dump(runtime, pid, how)
				// What the agent has in use is in a full dump, as is all else.
				if more := size - without[how]; more > before+32<<20 {
					t.Errorf("the dump %s has %d bytes more than without clrprof, %d", how, more, without[how])
				}
				if grown := s.shared() - before; grown > mayGrow {
					t.Errorf("the dump %s made the arena grow by %d from %d", how, grown, before)
				}
			}
			s.finishRead(p)
		})
	}
}

// createdump is the path of a runtime's program for dumps, "" if it has none that can be run.
func createdump(r dotnettest.Runtime) string {
	path, err := exec.LookPath(filepath.Join(r.Root, "shared", "Microsoft.NETCore.App", r.Name, "createdump"))
	if err != nil {
		return ""
	}
	return path
}

// dump lets createdump write a dump and returns what it takes on disk.
func (s *sandbox) dump(r dotnettest.Runtime, pid int, how string) int64 {
	s.t.Helper()
	path := filepath.Join(s.root, "core")
	cmd := exec.Command(createdump(r), how, "-f", path, itoa(pid))
	cmd.Env = s.env
	if out, err := cmd.CombinedOutput(); err != nil {
		s.t.Skipf("createdump: %v: %s", err, out)
	}
	defer os.Remove(path)
	st, err := os.Stat(path)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Logf("dump %s: %d bytes", how, st.Size())
	return st.Size()
}
