package recording

import (
	"cmp"
	"math"
	"slices"
	"strconv"

	"github.com/clrprof/clrprof/internal/capture/live"
	"github.com/clrprof/clrprof/internal/capture/steer"
	"github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
)

// control is what is recorded at the moment, as far as the recording knows, and the marks.
type control struct {
	global level
	pauses []session.Pause // that ended and are not written
	marks  []session.Mark  // that are not written
}

// level is one level, and since when it is off, if it is.
type level struct {
	steer.Level
	since   session.Pause // ID 0: it is on
	off     spans
	settled bool // of a thread: what it did until it went off is counted, as it did that itself
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

// after are the spans that end after a time, in no order.
func (s *spans) after(from quantity.Nanoseconds) []span {
	var out []span
	for i := len(s.ended) - 1; i >= 0 && s.ended[i].end > from; i-- {
		out = append(out, s.ended[i])
	}
	if s.off {
		out = append(out, span{s.since, math.MaxInt64})
	}
	return out
}

// eitherWithin is how much of a span of time one of two was off.
func eitherWithin(a, b *spans, from, to quantity.Nanoseconds) quantity.Nanoseconds {
	all := slices.Concat(a.after(from), b.after(from))
	slices.SortFunc(all, func(x, y span) int { return cmp.Compare(x.begin, y.begin) })
	sum, at := quantity.Nanoseconds(0), from
	for _, x := range all {
		sum += max(0, min(to, x.end)-max(at, x.begin))
		at = max(at, x.end)
	}
	return sum
}

// copy is a spans that goes on by itself.
func (s *spans) copy() spans { return spans{slices.Clone(s.ended), s.since, s.off} }

// apply changes a level. who says which level it is.
func (r *Recording) apply(l *level, op steer.Op, at quantity.Nanoseconds, who session.Pause) {
	was := l.On()
	l.Level = l.After(op)
	switch on := l.On(); {
	case was && !on:
		r.next.pause++
		who.ID, who.Begin = r.next.pause, max(0, at)
		l.since = who
		r.tellPause(&l.since, false)
	case !was && on:
		l.since.End = max(at, l.since.Begin)
		r.control.pauses = append(r.control.pauses, l.since)
		r.tellPause(&l.since, true)
		l.since = session.Pause{}
	}
	l.off.set(!l.On(), max(0, at))
}

// tellPause tells watchers of a pause that began or ended.
func (r *Recording) tellPause(p *session.Pause, ended bool) {
	if feed := r.watched.feed; feed != nil && p.Level != session.LevelThread {
		feed.AddPause(live.Pause{ID: int64(p.ID), Level: p.Level, Begin: p.Begin, End: p.End, Ended: ended})
	}
}

// Change changes the level of all processes.
func (r *Recording) Change(op steer.Op, at quantity.Nanoseconds) {
	r.apply(&r.control.global, op, at, session.Pause{Level: session.LevelGlobal})
	r.notePaused(at)
}

// Change changes the level of a process.
func (p *Process) Change(op steer.Op, at quantity.Nanoseconds) {
	p.recording.apply(&p.level, op, at, session.Pause{Level: session.LevelProcess, Process: p.id})
	p.recording.notePaused(at)
}

// ChangeByFunctions suspends or resumes a process by the functions that its threads are in, beside its level.
func (p *Process) ChangeByFunctions(op steer.Op, at quantity.Nanoseconds) {
	p.recording.apply(&p.byFunctions, op, at, session.Pause{Level: session.LevelProcess, Process: p.id})
	p.recording.notePaused(at)
}

// ChangeThread changes the level of a thread, of which the source may not have reported yet: then its id in the session
// is 0. By its own number it is known. itself: the thread does, and what it did up to now is counted.
func (p *Process) ChangeThread(number uint32, id session.ThreadID, op steer.Op, at quantity.Nanoseconds, itself bool) {
	l := p.threadLevels[number]
	if l == nil {
		l = &level{}
		p.threadLevels[number] = l
	}
	if l.On() {
		l.settled = itself
	}
	p.recording.apply(l, op, at, session.Pause{Level: session.LevelThread, Process: p.id, Thread: id})
}

// notePaused notes for each process whether anything of it is recorded from now on.
func (r *Recording) notePaused(at quantity.Nanoseconds) {
	for _, p := range r.processes {
		p.paused.set(!r.control.global.On() || !p.level.On() || !p.byFunctions.On(), max(0, at))
	}
}

// Level is the level of all processes.
func (r *Recording) Level() steer.Level { return r.control.global.Level }

// PausedWithin is how much of a span of time the level of all processes was off.
func (r *Recording) PausedWithin(from, to quantity.Nanoseconds) quantity.Nanoseconds {
	return r.control.global.off.within(from, to)
}

// Pauses is how many pauses have begun.
func (r *Recording) Pauses() int64 { return int64(r.next.pause) }

// Level is the level of the process.
func (p *Process) Level() steer.Level { return p.level.Level }

// Paused says whether nothing of the process is recorded.
func (p *Process) Paused() bool { return p.paused.off }

// EverPaused says whether nothing of the process, or of a thread of it, was recorded at some time.
func (p *Process) EverPaused() bool {
	return p.paused.off || len(p.paused.ended) != 0 || len(p.threadLevels) != 0
}

// PausedWithin is how much of a span of time nothing of the process was recorded.
func (p *Process) PausedWithin(from, to quantity.Nanoseconds) quantity.Nanoseconds {
	return p.paused.within(from, to)
}

// ThreadLevel is the level of a thread.
func (p *Process) ThreadLevel(number uint32) steer.Level {
	if l := p.threadLevels[number]; l != nil {
		return l.Level
	}
	return steer.Level{}
}

// ThreadSettled says whether the level of a thread is off by its own doing, so that all of what it did is counted.
func (p *Process) ThreadSettled(number uint32) bool {
	l := p.threadLevels[number]
	return l != nil && !l.On() && l.settled
}

// ThreadPausedWithin is how much of a span of time nothing of a thread was recorded because of its level or that of the
// process.
func (p *Process) ThreadPausedWithin(number uint32, from, to quantity.Nanoseconds) quantity.Nanoseconds {
	l := p.threadLevels[number]
	if l == nil {
		return p.PausedWithin(from, to)
	}
	return eitherWithin(&p.paused, &l.off, from, to)
}

// Mark adds a mark.
func (r *Recording) Mark(m session.Mark) {
	r.next.mark++
	m.ID = r.next.mark
	m.Time = max(0, m.Time)
	r.control.marks = append(r.control.marks, m)
	if feed := r.watched.feed; feed != nil && m.Source != session.MarkProgram {
		feed.AddMark(live.Mark{At: m.Time, Name: cmp.Or(m.Name, strconv.FormatInt(m.Number, 10)), Text: m.Text,
			Source: m.Source})
	}
}

// Marks is how many marks there are.
func (r *Recording) Marks() int64 { return int64(r.next.mark) }

// MarkRun marks the begin of a process that is new, and the end of one that has ended.
func (p *Process) MarkRun(row *session.Process, last bool) {
	if !p.marked {
		p.recording.Mark(session.Mark{Time: row.Begin, Name: session.MarkBegin, Text: row.Name, Process: p.id,
			Source: session.MarkProgram})
	}
	p.marked = true
	if last {
		p.recording.Mark(session.Mark{Time: row.End, Name: session.MarkEnd, Text: row.Name, Process: p.id,
			Source: session.MarkProgram})
	}
}

// writeMarks writes new marks and the pauses that ended, and those that go on as if they ended now.
func (r *Recording) writeMarks(now quantity.Nanoseconds) error {
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
	for _, p := range r.processes {
		open(&p.level)
		open(&p.byFunctions)
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
