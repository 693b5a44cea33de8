package collect

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/clrprof/clrprof/internal/capture/arena"
	"github.com/clrprof/clrprof/internal/capture/launch"
	"github.com/clrprof/clrprof/internal/capture/recording"
	"github.com/clrprof/clrprof/internal/capture/steer"
	"github.com/clrprof/clrprof/internal/files/safefs"
	"github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/session/secrets"
	"github.com/clrprof/clrprof/internal/wire"
)

// Monotonic returns the time on the clock that agents use: CLOCK_MONOTONIC of the first time namespace.
func Monotonic() quantity.Nanoseconds { return clockTime(unix.CLOCK_MONOTONIC) - clockOffset() }

// clockOffset is by how much the clock of this process's time namespace is ahead (time_namespaces(7)).
var clockOffset = sync.OnceValue(func() quantity.Nanoseconds {
	text, _ := os.ReadFile("/proc/self/timens_offsets") // a kernel without these has one clock
	return offsetIn(string(text))
})

// offsetIn reads the offset of CLOCK_MONOTONIC.
func offsetIn(text string) quantity.Nanoseconds {
	for line := range strings.Lines(text) {
		var seconds, rest int64
		if n, err := fmt.Sscanf(line, "monotonic %d %d", &seconds, &rest); err == nil && n == 2 {
			return quantity.Nanoseconds(seconds*second + rest)
		}
	}
	return 0
}

func clockTime(clock int32) quantity.Nanoseconds {
	var ts unix.Timespec
	if err := unix.ClockGettime(clock, &ts); err != nil {
		panic(err) // cannot fail on Linux with these clocks
	}
	return quantity.Nanoseconds(ts.Nano())
}

// Recorder writes the arenas of a directory into a session.
type Recorder struct {
	rec       *recording.Recording
	files     *safefs.Dir          // of the arenas
	start     quantity.Nanoseconds // of the session, on the Monotonic clock
	filter    Filter
	arguments secrets.Keep        // see Options
	processes map[string]*process // by arena file name
	names     []string            // their order
	failed    map[string]*failed  // by file name
	failures  []string            // their order
	late      bool                // processes may be dead for longer than since the last Sync
	alive     func(pid int) bool
	outer     func(inner int) int // the id of a process here, of that in its own namespace
	// the name of a thread of which the runtime has reported none: it had it before it was recorded; nil: all are known
	earlierName func(osID uint32) string
	group       func(memory int64) int64 // see Options
	allowed     func(pid int) int64
	onEnd       func(percent int)      // nil while the target runs
	onNamed     func(*session.Session) // see Options; nil: nobody asks
	named       int64                  // what the recording had described when it was called; 0: it was not
	syncing     int                    // of the processes, by number
	watched     watched
	samples     samples
	meters      *meters // nil: nobody asked for them
	control     controls
	cases       quantity.Count // of tests that were told apart
	asked       request
	line        []*steer.Call // who asks for the same, when that is done
	left        left          // by a killed collector
	lookout     *lookout      // for processes that are not recorded; nil: nobody looks
	tracer      *tracer       // nil: no call trace is taken out of the arenas
	damages     *damages      // that are known; nil: one ends the recording
}

// newRecorder records the arenas that appear in a folder, which stays the caller's. Start is the session's time zero.
func newRecorder(w *session.Writer, files *safefs.Dir, start quantity.Nanoseconds, filter Filter) *Recorder {
	return &Recorder{rec: recording.New(w), files: files, start: start, filter: filter,
		processes: map[string]*process{}, failed: map[string]*failed{}, alive: alive, allowed: allowedMemory,
		outer: func(inner int) int { return inner }}
}

// Processes says how many .NET processes have been seen that record.
func (r *Recorder) Processes() int {
	n := 0
	for _, p := range r.processes {
		if p.failure == "" {
			n++
		}
	}
	return n
}

// Mode says which data sets the processes recorded, as the fact session.KeyMode does.
func (r *Recorder) Mode() string {
	data := uint32(0)
	for _, p := range r.processes {
		data |= p.data
	}
	lifetime, memory := data&wire.DataLifetime != 0, data&wire.DataMemory != 0
	switch {
	case data&wire.DataTime == 0 && lifetime:
		return session.ModeLifetime
	case data&wire.DataTime == 0:
		return session.ModeMemory
	case lifetime:
		return session.ModeLifetimeTime
	case memory:
		return session.ModeMemoryTime
	}
	return session.ModeTime
}

// Running says whether one of the processes still has its arena mapped, and may write to it.
func (r *Recorder) Running() bool {
	for name, p := range r.processes {
		maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", p.pid))
		if err == nil && bytes.Contains(maps, []byte("/"+name)) {
			return true
		}
	}
	return false
}

// Sync writes everything new, as of now. After an error the recorder must not be used again: the session holds what
// earlier calls wrote.
func (r *Recorder) Sync(now quantity.Nanoseconds) error { return r.sync(now, false) }

// SyncLast is the last Sync: the calls that processes are in are written as running, with what passed of them.
func (r *Recorder) SyncLast(now quantity.Nanoseconds) error { return r.sync(now, true) }

func (r *Recorder) sync(now quantity.Nanoseconds, last bool) error {
	if err := r.findArenas(); err != nil {
		return err
	}
	if last {
		r.samples.sampler.end()
	}
	end := max(0, now-r.start) // a directory to recover can be older than the machine's last start
	cut := end
	if !last {
		cut = max(0, r.cutAt(now)-r.start)
	}
	return r.batch(func() error {
		var damaged error // the last of those without which another try goes on
		for i, name := range r.names {
			r.syncing = i
			p := r.processes[name]
			err := arena.Guard(func() error { return p.sync(r, end, last) })
			if err == nil {
				continue
			}
			damaged = fmt.Errorf("record arena %s: %w", name, corrupt(err))
			if !r.damages.note(name, p, damaged) {
				return damaged
			}
		}
		if damaged != nil {
			return damaged
		}
		if err := r.addUnseen(last); err != nil {
			return err
		}
		for _, name := range r.failures { // a forked process is named as its parent
			if err := r.failed[name].write(r, end); err != nil {
				return err
			}
		}
		r.takeSamples(now, false, last)
		if err := r.samples.write(r.rec); err != nil {
			return err
		}
		for _, name := range r.names {
			r.takeMeasured(r.processes[name], end, last)
		}
		if r.meters != nil {
			if err := r.meters.write(r, last); err != nil {
				return err
			}
		}
		r.applyAllLeft()
		return r.rec.EndSlice(cut)
	})
}

// isNamed says in the last look, once it has read what the last process has, that all is there which names and lines
// are made from.
func (r *Recorder) isNamed(last bool) {
	if last && r.onNamed != nil && r.syncing == len(r.names)-1 {
		r.onNamed(r.rec.Session())
		r.named, r.onNamed = r.rec.Described(), nil
	}
}

// corrupt says that what cannot be is an arena's fault: only its process writes to it.
func corrupt(err error) error {
	if errors.Is(err, recording.ErrInconsistent) {
		return fmt.Errorf("%w: %w", wire.ErrCorrupt, err)
	}
	return err
}

// The parts of the work with one process that take long, in their order.
const (
	partSites    = iota
	partTimings  // that are new
	partCount    // what all timings counted
	partGrowth   // by how much timings grew
	partExtremes // of timings
	parts
)

// rowsBetween is how many rows are dealt with from one call of Options.OnEnd to the next.
const rowsBetween = 1 << 14

// report says how far the work after the target's end is: at a row of so many of a part.
func (r *Recorder) report(part, row, rows int) {
	if r.onEnd == nil || row%rowsBetween != 0 || rows == 0 {
		return
	}
	done, all := float64(r.syncing*parts+part)+float64(row)/float64(rows), float64(len(r.names)*parts)
	r.onEnd(int(100 * done / all))
}

// OnNamed makes the recorder call fn in its last look: see Options.
func (r *Recorder) OnNamed(fn func(*session.Session)) { r.onNamed = fn }

// batch writes what fn reads of arenas, all or nothing.
func (r *Recorder) batch(fn func() error) error {
	return r.rec.Batch(func() error { return arena.Guard(fn) })
}

// isStillNamed says whether that was called, and nothing came since that names and lines are made from.
func (r *Recorder) isStillNamed() bool { return r.named != 0 && r.named == r.rec.Described() }

// Sums are those of the timings that are written.
func (r *Recorder) Sums() *recording.Sums { return r.rec.Sums() }

// OnEnd makes the recorder call fn when it writes what is left after the target's end, with how much of that is done.
func (r *Recorder) OnEnd(fn func(percent int)) { r.onEnd = fn }

// Close lets go of the arenas.
func (r *Recorder) Close() error {
	var errs []error
	r.lookout.close()
	r.samples.sampler.end()
	if r.meters != nil {
		r.meters.close()
	}
	for _, name := range r.names {
		errs = append(errs, r.processes[name].arena.Close())
	}
	r.names, r.processes = nil, nil
	return errors.Join(errs...)
}

// findArenas opens arenas that have appeared since the last call, in the order of their processes' start.
func (r *Recorder) findArenas() error {
	names, err := r.files.Names()
	if err != nil {
		return fmt.Errorf("look for arenas: %w", err)
	}
	var found []string
	for _, name := range names {
		isNew := r.processes[name] == nil && r.failed[name] == nil
		if isNew && (strings.HasSuffix(name, launch.ArenaSuffix) || strings.HasSuffix(name, launch.FailedSuffix)) {
			found = append(found, name)
		}
	}
	slices.SortFunc(found, compareStarts)
	for _, name := range found {
		if err := r.addProcess(name); err != nil {
			return err
		}
	}
	return nil
}

func (r *Recorder) addProcess(name string) error {
	if strings.HasSuffix(name, launch.FailedSuffix) {
		r.failed[name] = newFailed(r.rec.NewProcess(), name, r.start)
		r.failures = append(r.failures, name)
		return nil
	}
	damage := r.damages.at(name)
	if damage != nil && damage.out {
		r.failed[name] = newDamaged(r.rec.NewProcess(), name, r.start, damage)
		r.failures = append(r.failures, name)
		return nil
	}
	a, err := openArena(r.files, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if r.damages.unopened(name, err) {
		r.failed[name] = newDamaged(r.rec.NewProcess(), name, r.start, r.damages.at(name))
		r.failures = append(r.failures, name)
		return nil
	}
	if errors.Is(err, errNoArena) {
		r.failed[name] = newFailed(r.rec.NewProcess(), name, r.start)
		r.failures = append(r.failures, name)
		return nil
	}
	if err != nil {
		return err
	}
	p := newProcess(r.rec.NewProcess(), a, r)
	p.damage = damage
	r.processes[name] = p
	r.names = append(r.names, name)
	if header, err := a.Header(); err == nil && r.meters != nil {
		r.meters.addProcess(p.rec.ID(), &p.measured, a, r.outer(int(header.PID)))
	}
	return nil
}

// errNoArena means that what has the name of an arena cannot be one: no agent makes it.
var errNoArena = errors.New("no arena")

// openArena opens an arena of a folder. The error wraps errNoArena if it is no regular file, or is another user's.
func openArena(files *safefs.Dir, name string) (*arena.Arena, error) {
	f, err := files.Open(name)
	if err == nil {
		return arena.Map(f)
	}
	if errors.Is(err, safefs.ErrNotRegular) || errors.Is(err, safefs.ErrOwner) || errors.Is(err, unix.ELOOP) ||
		errors.Is(err, unix.EXDEV) {
		err = fmt.Errorf("%w: %w", errNoArena, err)
	}
	return nil, err
}

// compareStarts brings files of arenas into the order of their processes' start.
func compareStarts(a, b string) int {
	return cmp.Or(cmp.Compare(startOf(a), startOf(b)), cmp.Compare(a, b))
}

// startOf reads the start time out of the name of an arena, or of what is there instead; 0 if there is none.
func startOf(name string) uint64 {
	stem, _, _ := strings.Cut(name, ".")
	_, start, _ := strings.Cut(stem, "-")
	n, err := strconv.ParseUint(start, 16, 64)
	if err != nil {
		return 0
	}
	return n
}
