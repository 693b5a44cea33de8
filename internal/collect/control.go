package collect

import (
	"errors"
	"fmt"

	"github.com/clrprof/clrprof/internal/arena"
	"github.com/clrprof/clrprof/internal/instrument"
	"github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/steer"
	"github.com/clrprof/clrprof/internal/wire"
)

var wireOps = map[steer.Op]uint32{steer.Start: wire.ControlStart, steer.Stop: wire.ControlStop,
	steer.Suspend: wire.ControlSuspend, steer.Resume: wire.ControlResume}

var controlOps = map[uint32]steer.Op{wire.ControlStart: steer.Start, wire.ControlStop: steer.Stop,
	wire.ControlSuspend: steer.Suspend, wire.ControlResume: steer.Resume}

// controls is by whom the recording is changed, beside the programs themselves, whose changes are in their logs.
type controls struct {
	file    *arena.Control // nil: nobody is told
	markAt  []instrument.MarkAt
	met     []bool // of these: there was a mark
	scopes  []instrument.Scope
	limited bool // the time or the condition was met for which recording was to go on
}

// Change changes what is recorded, from now on: of all processes, or of the one with the id pid.
func (r *Recorder) Change(op steer.Op, pid int) error {
	l, change, wireLevel, inner := r.rec.Level(), r.rec.Change, uint32(wire.LevelGlobal), uint32(0)
	if pid != 0 {
		p := r.running(pid)
		if p == nil {
			return errNoProcess
		}
		l, change, wireLevel, inner = p.rec.Level(), p.rec.Change, wire.LevelProcess, p.inner()
	}
	if op == steer.Resume && l.Suspended <= 0 {
		return errNotPaused
	}
	now := Monotonic()
	change(op, now-r.start)
	if r.control.file != nil {
		global := r.rec.Level()
		r.control.file.Append(wire.ControlChange{TimeNS: uint64(now), Level: wireLevel, Op: wireOps[op],
			PID: inner}, global.Stopped, global.Suspended)
	}
	return nil
}

var (
	errNoProcess = errors.New("no such process is recorded")
	errNotPaused = errors.New("it is not paused")
)

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
			if global := r.rec.Level(); r.control.file != nil {
				r.control.file.Append(wire.ControlChange{TimeNS: record.TimeNS, Level: wire.LevelGlobal, Op: record.Op,
					Origin: p.inner()}, global.Stopped, global.Suspended)
			}
		case wire.LevelProcess:
			p.rec.Change(op, at)
		case wire.LevelThread:
			p.rec.ChangeThread(record.Thread, thread, op, at)
		default:
			return fmt.Errorf("%w: control level %d", wire.ErrCorrupt, record.Level)
		}
	case wire.Mark:
		thread, _ := p.threads.id(record.Thread)
		r.rec.Mark(session.Mark{Time: quantity.Nanoseconds(record.TimeNS) - r.start,
			Number: int64(int32(record.Number)), Name: record.Name, Text: record.Text,
			Process: p.rec.ID(), Thread: thread, Source: session.MarkAPI})
	case wire.FunctionMark:
		return p.addFunctionMark(r, &record)
	}
	return nil
}

// Mark marks this moment.
func (r *Recorder) Mark(name, text, source string) {
	r.rec.Mark(session.Mark{Time: Monotonic() - r.start, Name: name, Text: text, Source: source})
}

// steer takes the file by which agents are told what is to be recorded; paused: nothing at first.
func (r *Recorder) steer(file *arena.Control, paused bool) {
	r.control.file = file
	if paused {
		r.rec.Change(steer.Suspend, 0)
	}
}

// createControl makes the file by which agents are told what is to be recorded; paused: nothing at first.
func createControl(directory string, paused bool) (*arena.Control, error) {
	file, err := arena.CreateControl(directory)
	if err == nil && paused {
		file.Begin(1)
	}
	return file, err
}
