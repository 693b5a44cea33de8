package collect

import (
	"errors"
	"fmt"
	"os"

	"github.com/clrprof/clrprof/internal/capture/arena"
	"github.com/clrprof/clrprof/internal/capture/launch"
	"github.com/clrprof/clrprof/internal/capture/recording"
	"github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/wire"
)

// damages is what tries to recover a directory have learned of its damaged arenas. A try that meets a new damage writes
// nothing; the next one reads less of that arena: first without the records that are wrong, then without the part that
// they are in, and in the end not at all. Arenas that are whole are read as in every recording.
type damages struct {
	of    map[string]*damage // by file name
	tries int
	found bool  // in this try
	first error // the first damage of all
}

// damage is how much of one arena is left out.
type damage struct {
	without uint32 // wire.DataTime, wire.DataLifetime
	out     bool
	row     session.Process // what the log said of the process
}

// maxTries bounds how often a directory is read. From then on what is damaged is left out as a whole: each process
// needs up to four.
const maxTries = 12

func newDamages() *damages { return &damages{of: map[string]*damage{}} }

// isDamage reports whether an error is the fault of an arena, and not of the session or the machine.
func isDamage(err error) bool {
	return errors.Is(err, wire.ErrCorrupt) || errors.Is(err, recording.ErrInconsistent) ||
		errors.Is(err, arena.ErrShortened)
}

// at returns the damage of an arena; nil: none is known, or nobody asks.
func (d *damages) at(name string) *damage {
	if d == nil {
		return nil
	}
	return d.of[name]
}

// note takes what went wrong with a process, and reports whether another try can go without it.
func (d *damages) note(name string, p *process, err error) bool {
	if d == nil || !isDamage(err) {
		return false
	}
	d.found = true
	if d.first == nil {
		d.first = err
	}
	known := d.of[name]
	if known == nil {
		known = &damage{}
		d.of[name] = known
		if !errors.Is(err, arena.ErrShortened) {
			return true // next time its wrong records are left out
		}
	}
	known.reduce(p, p.reading, d.tries >= maxTries || errors.Is(err, arena.ErrShortened))
	return true
}

// reduce leaves more of an arena out: a part, or all of it.
func (k *damage) reduce(p *process, part uint32, all bool) {
	k.row = session.Process{PID: int64(p.pid), Name: p.name(), Path: p.exe}
	if all || part == 0 || k.without&part != 0 {
		k.out = true
	}
	k.without |= part
}

// unopened takes an arena that cannot be opened.
func (d *damages) unopened(name string, err error) bool {
	if d == nil || !isDamage(err) {
		return false
	}
	if d.first == nil {
		d.first = err
	}
	d.of[name] = &damage{out: true}
	return true
}

// contradicted takes that the session of a try, in which all arenas were read, contradicts itself. It reports whether
// there is something of the damaged ones left to leave out: lifetimes first, then times, then the rest.
func (d *damages) contradicted(r *Recorder) bool {
	for name, known := range d.of {
		p := r.processes[name]
		if known.out || p == nil {
			continue
		}
		d.found = true
		part := uint32(0)
		for _, data := range []uint32{wire.DataTime, wire.DataLifetime} {
			if p.data&data != 0 {
				part = data
			}
		}
		known.reduce(p, part, d.tries >= maxTries)
	}
	return d.found
}

// newDamaged is a process whose arena is left out.
func newDamaged(rec *recording.Process, name string, start quantity.Nanoseconds, known *damage) *failed {
	f := newFailed(rec, name, start)
	f.reason = session.LossDamagedProcess
	f.row.Name, f.row.Path = "(unknown)", "" // another process may have its id by now
	if known.row.Path != "" {
		f.row.Name, f.row.Path = known.row.Name, known.row.Path
	}
	return f
}

// wanted is what of the arena's data is read.
func (p *process) wanted(data uint32) uint32 {
	if p.damage == nil {
		return data
	}
	if p.damage.without&wire.DataTime != 0 {
		data &^= wire.DataTrace
	}
	p.leftOut = data & p.damage.without
	return data &^ p.damage.without
}

// skips reports whether an error concerns a record or row of a damaged arena that is left out, and counts it.
func (p *process) skips(err error) bool {
	if err == nil || p.damage == nil || !isDamage(err) || errors.Is(err, arena.ErrShortened) {
		return false
	}
	p.damaged++
	return true
}

// addDamage adds what is not in the session because the arena is damaged.
func (p *process) addDamage(add func(reason string, events uint64, amount quantity.Amount)) {
	if p.damage == nil {
		return
	}
	if p.leftOut&wire.DataTime != 0 {
		add(session.LossDamagedTimes, 1, quantity.Amount{})
	}
	if p.leftOut&wire.DataLifetime != 0 {
		add(session.LossDamagedLifetimes, 1, quantity.Amount{})
	}
	if p.damaged != 0 || p.leftOut == 0 {
		add(session.LossDamaged, max(p.damaged, 1), p.lostSites)
	}
}

// recovery is one directory being recovered.
type recovery struct {
	directory *launch.Directory
	output    string
	facts     map[string]string
	check     func(*session.Session) (bool, error)
	damages   *damages
	tracer    *tracer // that all tries have in common; nil: there is no call trace
}

// try reads all arenas into a new session. Again: something is damaged, and another try goes without it; there is
// neither a recorder nor a writer then. The caller closes them, whatever the error is.
func (v *recovery) try(force bool) (r *Recorder, w *session.Writer, again bool, err error) {
	if w, err = session.Create(v.output, force); err != nil {
		return nil, nil, false, err
	}
	files := v.directory.Files()
	r = newRecorder(w, files, firstStart(files), Filter{})
	r.late, r.damages = true, v.damages
	v.damages.found = false
	v.damages.tries++
	r.readLeft()
	r.tracer = v.tracer
	err = w.SetInfo(v.facts)
	if err == nil {
		err = arena.Guard(func() error { return r.SyncLast(Monotonic()) })
	}
	if v.damages.found {
		return nil, nil, true, v.discard(r, w)
	}
	if err == nil && r.Processes() == 0 {
		err = v.nothing()
	}
	if err == nil { // what the run was asked for is not known
		err = w.SetInfo(map[string]string{session.KeyMode: r.Mode()})
	}
	if err == nil {
		err = r.Snapshots()
	}
	if err == nil {
		err = w.SetState(session.Recorded)
	}
	if err != nil || len(v.damages.of) == 0 || v.check == nil {
		return r, w, false, err
	}
	consistent, err := v.check(w.Session)
	if err == nil && !consistent && v.damages.contradicted(r) {
		return nil, nil, true, v.discard(r, w)
	}
	return r, w, false, err
}

// nothing says why there is nothing to recover.
func (v *recovery) nothing() error {
	if v.damages.first != nil {
		return fmt.Errorf("nothing in %s can be read, and it is kept: %w", v.directory.Path, v.damages.first)
	}
	return fmt.Errorf("%s holds no arenas: name the directory that clrprof run printed", v.directory.Path)
}

// discard removes what a try has written.
func (v *recovery) discard(r *Recorder, w *session.Writer) error {
	err := errors.Join(r.Close(), w.Close())
	if err == nil {
		err = os.Remove(v.output)
	}
	return err
}
