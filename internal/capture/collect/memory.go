package collect

import (
	"bytes"
	"fmt"
	"os"
	"strconv"

	"github.com/clrprof/clrprof/internal/capture/cgroup"
	"github.com/clrprof/clrprof/internal/wire"
)

// graphFactor is how many times as much memory as a snapshot's file its graph needs at most: an object without
// references takes 40 bytes of the file and 100 of memory.
const graphFactor = 3

// fits says whether the graph of a snapshot of so many bytes fits into memory. The file may be in memory too, and is
// not available.
func fits(bytes int64) bool {
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return true
	}
	available, ok := availableMemory(text)
	available = min(available, cgroup.MemoryLimit(os.DirFS("/")))
	return !ok || bytes <= available/graphFactor
}

// followGroup lowers the limit of the agent's memory where the process is in a control group that has less than that of
// clrprof: it moved there, or whoever made it moved it. If the arena cannot be written the limit stays: nothing else
// depends on it.
func (p *process) followGroup(r *Recorder, h *wire.Header) {
	if r.group == nil || p.over || wire.State(h.State).Over() {
		return
	}
	allowed := r.allowed(p.outer(int(h.PID)))
	if limit := uint64(r.group(allowed)); allowed != cgroup.None && limit < h.MemoryLimit {
		_ = p.arena.LowerMemoryLimit(limit)
	}
}

// followGroups looks at all processes between two slices, also at those that have appeared since the last.
func (r *Recorder) followGroups() error {
	if err := r.findArenas(); err != nil {
		return err
	}
	for _, name := range r.names {
		p := r.processes[name]
		h, err := p.arena.Header()
		if err != nil {
			return fmt.Errorf("record arena %s: %w", name, err)
		}
		p.followGroup(r, h)
	}
	return nil
}

// allowedMemory is how much the control groups of a process let it have.
func allowedMemory(pid int) int64 { return cgroup.MemoryLimitOf(os.DirFS("/"), pid) }

// availableMemory reads how many bytes the machine can give to programs out of /proc/meminfo (proc(5)).
func availableMemory(meminfo []byte) (int64, bool) {
	for line := range bytes.Lines(meminfo) {
		fields := bytes.Fields(line)
		if len(fields) == 3 && string(fields[0]) == "MemAvailable:" && string(fields[2]) == "kB" {
			n, err := strconv.ParseInt(string(fields[1]), 10, 53)
			return n << 10, err == nil && n >= 0
		}
	}
	return 0, false
}
