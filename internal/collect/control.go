package collect

import (
	"errors"
	"fmt"
	"slices"

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

// controls is what is recorded at the moment, as far as the recorder knows: what the program itself changes it learns from the
// log, at the next sync.
type controls struct {
	file   *arena.Control // nil: nobody is told
	global level
	pauses []session.Pause // that ended and are not written
	marks  []session.Mark  // that are not written
	next   struct {
		pause session.PauseID
		mark  session.MarkID
	}
	markAt  []instrument.MarkAt
	met     []bool // of these: there was a mark
	limited bool   // the time or the condition was met for which recording was to go on
}

// level is one level, and since when it is off, if it is.
type level struct {
	steer.Level
	since session.Pause // ID 0: it is on
	off   spans
}

// spans are the times at which something was off, in their order.
type spans struct {
	ended []span
	since quantity.Nanoseconds
	off   bool
}

type span struct{ begin, end quantity.Nanoseconds }

// set notes a change at a time; one that is before the last is taken to be at the same time.
func (s *spans) set(off bool, at quantity.Nanoseconds) {
	if off == s.off {
		return
	}
	if n := len(s.ended); n > 0 {
		at = max(at, s.ended[n-1].end)
	}
	if s.off {
		s.ended = append(s.ended, span{s.since, max(at, s.since)})
	}
	s.off, s.since = off, at
}

// within is how much of a span of time it was off.
func (s *spans) within(from, to quantity.Nanoseconds) quantity.Nanoseconds {
	sum := quantity.Nanoseconds(0)
	if s.off {
		sum = max(0, to-max(from, s.since))
	}
	for i := len(s.ended) - 1; i >= 0 && s.ended[i].end > from; i-- {
		sum += max(0, min(to, s.ended[i].end)-max(from, s.ended[i].begin))
	}
	return sum
}

// copy is a spans that goes on by itself.
func (s *spans) copy() spans { return spans{slices.Clone(s.ended), s.since, s.off} }

// apply changes a level. who says which level it is.
func (c *controls) apply(l *level, op steer.Op, at quantity.Nanoseconds, who session.Pause) {
	was := l.On()
	l.Level = l.After(op)
	switch on := l.On(); {
	case was && !on:
		c.next.pause++
		who.ID, who.Begin = c.next.pause, max(0, at)
		l.since = who
	case !was && on:
		l.since.End = max(at, l.since.Begin)
		c.pauses = append(c.pauses, l.since)
		l.since = session.Pause{}
	}
	l.off.set(!l.On(), max(0, at))
}

// change changes a level of all processes or of one, and notes for each process whether anything of it is recorded from then on.
func (r *Recorder) change(l *level, op steer.Op, at quantity.Nanoseconds, who session.Pause) {
	r.control.apply(l, op, at, who)
	for _, name := range r.names {
		p := r.processes[name]
		p.paused.set(!r.control.global.On() || !p.level.On(), max(0, at))
	}
}

// Change changes what is recorded, from now on: of all processes, or of the one with the id pid.
func (r *Recorder) Change(op steer.Op, pid int) error {
	l, who, wireLevel := &r.control.global, session.Pause{Level: session.LevelGlobal}, uint32(wire.LevelGlobal)
	if pid != 0 {
		p := r.running(pid)
		if p == nil {
			return errNoProcess
		}
		l, who, wireLevel = &p.level, session.Pause{Level: session.LevelProcess, Process: p.id}, wire.LevelProcess
	}
	if op == steer.Resume && l.Suspended <= 0 {
		return errNotPaused
	}
	now := Monotonic()
	r.change(l, op, now-r.start, who)
	if r.control.file != nil {
		global := r.control.global
		r.control.file.Append(wire.ControlChange{TimeNS: uint64(now), Level: wireLevel, Op: wireOps[op], PID: uint32(pid)}, global.Stopped, global.Suspended)
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
			r.change(&r.control.global, op, at, session.Pause{Level: session.LevelGlobal})
			if global := r.control.global; r.control.file != nil {
				r.control.file.Append(wire.ControlChange{TimeNS: record.TimeNS, Level: wire.LevelGlobal, Op: record.Op, Origin: uint32(p.pid)}, global.Stopped, global.Suspended)
			}
		case wire.LevelProcess:
			r.change(&p.level, op, at, session.Pause{Level: session.LevelProcess, Process: p.id})
		case wire.LevelThread:
			l := p.threadLevels[record.Thread]
			if l == nil {
				l = &level{}
				p.threadLevels[record.Thread] = l
			}
			r.control.apply(l, op, at, session.Pause{Level: session.LevelThread, Process: p.id, Thread: thread})
		default:
			return fmt.Errorf("%w: control level %d", wire.ErrCorrupt, record.Level)
		}
	case wire.Mark:
		thread, _ := p.threads.id(record.Thread)
		r.addMark(session.Mark{Time: quantity.Nanoseconds(record.TimeNS) - r.start, Number: int64(int32(record.Number)), Name: record.Name, Text: record.Text,
			Process: p.id, Thread: thread, Source: session.MarkAPI})
	case wire.FunctionMark:
		return p.addFunctionMark(r, &record)
	}
	return nil
}

// Mark marks this moment.
func (r *Recorder) Mark(name, text, source string) {
	r.addMark(session.Mark{Time: Monotonic() - r.start, Name: name, Text: text, Source: source})
}

func (r *Recorder) addMark(m session.Mark) {
	r.control.next.mark++
	m.ID = r.control.next.mark
	m.Time = max(0, m.Time)
	r.control.marks = append(r.control.marks, m)
}

// markProcess marks the begin of a process that is new, and the end of one that has ended.
func (p *process) markProcess(r *Recorder, row *session.Process, last bool) {
	if p.failure != "" {
		return
	}
	if !p.marked {
		r.addMark(session.Mark{Time: row.Begin, Name: session.MarkBegin, Text: row.Name, Process: p.id, Source: session.MarkProgram})
	}
	p.marked = true
	if last {
		r.addMark(session.Mark{Time: row.End, Name: session.MarkEnd, Text: row.Name, Process: p.id, Source: session.MarkProgram})
	}
}

// writeControl writes new marks and the pauses that ended, and those that go on as if they ended now.
func (r *Recorder) writeControl(now quantity.Nanoseconds) error {
	c := &r.control
	rows := c.pauses
	open := func(l *level) {
		if l.since.ID != 0 {
			row := l.since
			row.End = max(now, row.Begin)
			rows = append(rows, row)
		}
	}
	open(&c.global)
	for _, name := range r.names {
		p := r.processes[name]
		open(&p.level)
		for _, l := range p.threadLevels {
			open(l)
		}
	}
	if err := r.w.ReplacePauses(rows); err != nil {
		return err
	}
	if err := r.w.ReplaceMarks(c.marks); err != nil {
		return err
	}
	c.pauses, c.marks = nil, nil
	return nil
}

// steer takes the file by which agents are told what is to be recorded; paused: nothing at first.
func (r *Recorder) steer(file *arena.Control, paused bool) {
	r.control.file = file
	if paused {
		r.change(&r.control.global, steer.Suspend, 0, session.Pause{Level: session.LevelGlobal})
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
