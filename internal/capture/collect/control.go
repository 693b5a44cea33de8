package collect

import (
	"errors"
	"fmt"
	"math"

	"github.com/clrprof/clrprof/internal/capture/arena"
	"github.com/clrprof/clrprof/internal/capture/instrument"
	"github.com/clrprof/clrprof/internal/capture/launch"
	"github.com/clrprof/clrprof/internal/capture/steer"
	"github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/wire"
)

var wireOps = map[steer.Op]uint32{steer.Start: wire.ControlStart, steer.Stop: wire.ControlStop,
	steer.Suspend: wire.ControlSuspend, steer.Resume: wire.ControlResume}

var controlOps = map[uint32]steer.Op{wire.ControlStart: steer.Start, wire.ControlStop: steer.Stop,
	wire.ControlSuspend: steer.Suspend, wire.ControlResume: steer.Resume}

// controls is by whom the recording is changed, beside the programs themselves, whose changes are in their logs.
type controls struct {
	file   *arena.Control // nil: nobody reads it
	markAt []instrument.MarkAt
	met    []bool // of these: there was a mark
	limits []instrument.Limit

	requests quantity.Count // that were marked

	cut quantity.Nanoseconds // when the collector itself marked last, on the Monotonic clock

	limited bool // the time or the condition was met for which recording was to go on
}

// Change changes what is recorded, from now on: of all processes, or of the one with the id pid, or of a thread of it,
// or of the only process that has such a thread.
func (r *Recorder) Change(op steer.Op, pid int, thread int64) error {
	l, change, wireLevel, inner := r.rec.Level(), r.rec.Change, uint32(wire.LevelGlobal), uint32(0)
	switch {
	case thread != 0:
		p, t, err := r.runningThread(pid, thread)
		if err != nil {
			return err
		}
		l, wireLevel, inner = p.rec.ThreadLevel(t.number), wire.LevelThread, p.inner()
		change = func(op steer.Op, at quantity.Nanoseconds) {
			p.rec.ChangeThread(t.number, t.row.ID(), op, at, false)
		}
	case pid != 0:
		p := r.running(pid)
		if p == nil {
			return errNoProcess
		}
		l, change, wireLevel, inner = p.rec.Level(), p.rec.Change, wire.LevelProcess, p.inner()
	}
	if op == steer.Resume && l.Suspended <= 0 {
		return errNotPaused
	}
	if wireLevel != wire.LevelThread && goesOn(op) {
		if err := r.findArenas(); err != nil {
			return err
		}
		r.putProbesIn()
	}
	now := Monotonic()
	change(op, now-r.start)
	if r.control.file != nil {
		global := r.rec.Level()
		r.control.file.Append(wire.ControlChange{TimeNS: uint64(now), Level: wireLevel, Op: wireOps[op],
			PID: inner, Thread: uint32(thread)}, global.Stopped, global.Suspended)
	}
	return nil
}

var (
	errNoProcess = errors.New("no such process is recorded")
	errNotPaused = errors.New("it is not paused")
	errNoThread  = errors.New("no such thread is recorded: clrprof ctl status lists those that are")
	errThreads   = errors.New("several processes have such a thread: choose one by --process")
	errShared    = errors.New("the thread shares a row, and its name, with threads that ended before")
)

// runningThread finds a thread that has not ended by its id, in the process with the id pid or, with 0, in the only one
// that has such a thread.
func (r *Recorder) runningThread(pid int, id int64) (*process, numberedThread, error) {
	var process *process
	var found numberedThread
	for _, name := range r.names {
		p := r.processes[name]
		if p.over || p.failure != "" || pid != 0 && p.pid != pid {
			continue
		}
		t, ok := p.threads.withID(id, math.MaxInt64)
		switch {
		case ok && process != nil:
			return nil, t, errThreads
		case ok:
			process, found = p, t
		}
	}
	switch {
	case process != nil:
		return process, found, nil
	case pid != 0 && r.running(pid) == nil:
		return nil, found, errNoProcess
	}
	return nil, found, errNoThread
}

// nameThread gives a thread a name, which it has until it gets another one.
func (r *Recorder) nameThread(pid int, id int64, name string) error {
	_, t, err := r.runningThread(pid, id)
	if err != nil {
		return err
	}
	if t.shared {
		return errShared
	}
	t.row.Rename(name)
	return nil
}

// running is the process with an id that has not ended.
func (r *Recorder) running(pid int) *process {
	for _, name := range r.names {
		if p := r.processes[name]; p.pid == pid && !p.over && p.failure == "" {
			return p
		}
	}
	return nil
}

// inner is the id of the process in its own namespace.
func (p *process) inner() uint32 {
	h, err := p.arena.Header()
	if err != nil {
		return uint32(p.pid)
	}
	return h.PID
}

// addControl takes what the program itself changed or marked.
func (p *process) addControl(r *Recorder, record any) error {
	switch record := record.(type) {
	case wire.Control:
		op, known := controlOps[record.Op]
		if !known {
			return fmt.Errorf("%w: control operation %d", wire.ErrCorrupt, record.Op)
		}
		r.applyLeft(record.TimeNS)
		at := quantity.Nanoseconds(record.TimeNS) - r.start
		thread, _ := p.threads.id(record.Thread)
		switch record.Level {
		case wire.LevelGlobal:
			r.rec.Change(op, at)
			if goesOn(op) {
				r.putProbesIn() // of the other processes
			}
			if global := r.rec.Level(); r.control.file != nil {
				r.control.file.Append(wire.ControlChange{TimeNS: record.TimeNS, Level: wire.LevelGlobal, Op: record.Op,
					Origin: p.inner()}, global.Stopped, global.Suspended)
			}
		case wire.LevelProcess:
			p.rec.Change(op, at)
			if record.First != 0 {
				r.rec.Mark(session.Mark{Time: at, Name: markFirst, Text: fmt.Sprintf("%d collections", record.First),
					Process: p.rec.ID(), Source: session.MarkRun})
			}
		case wire.LevelFunctions:
			p.rec.ChangeByFunctions(op, at)
		case wire.LevelThread:
			p.rec.ChangeThread(record.Thread, thread, op, at, true)
		default:
			return fmt.Errorf("%w: control level %d", wire.ErrCorrupt, record.Level)
		}
	case wire.Mark:
		thread, _ := p.threads.id(record.Thread)
		r.rec.Mark(session.Mark{Time: quantity.Nanoseconds(record.TimeNS) - r.start,
			Number: int64(int32(record.Number)), Name: record.Name, Text: record.Text,
			Process: p.rec.ID(), Thread: thread, Source: session.MarkAPI})
	case wire.RequestMark:
		thread, _ := p.threads.id(record.Thread)
		r.rec.Mark(session.Mark{Time: quantity.Nanoseconds(record.TimeNS) - r.start, Name: record.Name,
			Process: p.rec.ID(), Thread: thread, Source: session.MarkRequest})
		r.control.requests++
	case wire.FunctionMark:
		return p.addFunctionMark(r, &record)
	}
	return nil
}

// Mark marks this moment, at which the slice ends if it ends early.
func (r *Recorder) Mark(name, text, source string) {
	r.control.cut = Monotonic()
	r.rec.Mark(session.Mark{Time: r.control.cut - r.start, Name: name, Text: text, Source: source})
}

// steer takes the file by which agents learn what is to be recorded; first: what the level of all is at first.
func (r *Recorder) steer(file *arena.Control, first steer.Level) {
	r.control.file = file
	if first.Suspended > 0 {
		r.rec.Change(steer.Suspend, 0)
	}
	if first.Stopped {
		r.rec.Change(steer.Stop, 0)
	}
}

// createControl makes the file by which agents learn what is to be recorded; first: what the level of all is at
// first.
func createControl(directory *launch.Directory, first steer.Level) (*arena.Control, error) {
	f, err := directory.Files().Create(wire.ControlFile)
	if err != nil {
		return nil, fmt.Errorf("make the control file: %w", err)
	}
	file, err := arena.CreateControl(f)
	if err == nil {
		file.Begin(first.Stopped, first.Suspended)
	}
	return file, err
}
