package collect

import (
	"math"

	"github.com/clrprof/clrprof/internal/capture/arena"
	"github.com/clrprof/clrprof/internal/capture/steer"
	"github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/wire"
)

// left are the changes of what is recorded that a killed collector made and that have not been noted. What programs
// changed themselves is in their logs.
type left struct {
	changes []wire.ControlChange
}

// readLeft reads what a killed collector had changed, and what the global level was before that. Of more changes than
// the file holds the earliest are not known, nor when they were.
func (r *Recorder) readLeft() {
	f, err := r.files.Open(wire.ControlFile)
	if err != nil {
		return // there is none, or no collector made it
	}
	defer f.Close() // nothing was written
	file, err := arena.ReadControl(f)
	if err != nil {
		return // a collector of an older version, or a disk that was full: nothing was paused as far as is known
	}
	now := steer.Level{Stopped: file.Header.Stopped != 0, Suspended: int32(file.Header.Suspended)}
	r.left.changes = file.Changes
	at := quantity.Nanoseconds(0)
	if file.Header.Changes > wire.ControlRing {
		at = quantity.Nanoseconds(file.Changes[0].TimeNS) - r.start
	}
	first := levelBefore(file.Changes, now)
	for r.rec.Level().Suspended < first.Suspended {
		r.rec.Change(steer.Suspend, at)
	}
	if first.Stopped {
		r.rec.Change(steer.Stop, at)
	}
}

// levelBefore is what the global level was before some changes, of whomever.
func levelBefore(changes []wire.ControlChange, after steer.Level) steer.Level {
	for i := len(changes) - 1; i >= 0; i-- {
		c := changes[i]
		switch op := controlOps[c.Op]; {
		case c.Level != wire.LevelGlobal:
		case op == steer.Start, op == steer.Stop:
			after.Stopped = op == steer.Start // taken to have changed something
		case op == steer.Suspend:
			after.Suspended--
		case op == steer.Resume:
			after.Suspended++
		}
	}
	return after
}

// applyLeft notes the changes up to a time.
func (r *Recorder) applyLeft(until uint64) {
	for len(r.left.changes) > 0 && r.left.changes[0].TimeNS <= until {
		c := r.left.changes[0]
		r.left.changes = r.left.changes[1:]
		op, known := controlOps[c.Op]
		at := quantity.Nanoseconds(c.TimeNS) - r.start
		switch {
		case !known || c.Origin != 0: // or the log of the process has it
		case c.Level == wire.LevelGlobal:
			r.rec.Change(op, at)
		default:
			p := r.ofPID(int(c.PID))
			switch {
			case p == nil:
			case c.Level == wire.LevelProcess:
				p.rec.Change(op, at)
			default:
				if t, ok := p.threads.withID(int64(c.Thread), at); ok {
					p.rec.ChangeThread(t.number, t.row.ID(), op, at, false)
				}
			}
		}
	}
}

// ofPID is the last process with an id.
func (r *Recorder) ofPID(pid int) *process {
	for i := len(r.names) - 1; i >= 0; i-- {
		p := r.processes[r.names[i]]
		if h, err := p.arena.Header(); err == nil && int(h.PID) == pid {
			return p
		}
	}
	return nil
}

// applyAllLeft notes all changes that are left.
func (r *Recorder) applyAllLeft() { r.applyLeft(math.MaxUint64) }
