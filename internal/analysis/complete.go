package analysis

import (
	"fmt"

	"github.com/clrprof/clrprof/internal/session"
)

// Complete derives all tables of a session, stores them, and sets its state to Complete.
func Complete(w *session.Writer) error { return CompleteWith(w, Completion{}) }

// Completion says how a session is completed.
type Completion struct {
	Tell func(percent int) // how far it is, whenever some rows were read; may be nil
	// Also adds rows to tables that other packages derive, from Uses of the Source and its session; may be nil.
	Also func(*Source, *session.Derived) error
	// Counted are the sums of the session's timings, of who recorded it; nil: they are added up from the session
	Counted Counted
}

// timesRead is how often adding up reads the packed tables. Values of sites are not kept in memory: they are read for
// the sums, and for the sites that only grow. Deaths likewise, where objects were followed, and for the rules.
var timesRead = map[string]int64{"node": 1, "site": 1, "site_value": 2, "site_death": 3, "timing": 1, "timing_value": 1,
	"timing_inclusive": 1,
	"timing_extreme":   1, "timing_running": 1, "timing_began": 1}

// CompleteWith is Complete in a certain way. What needs the session, which one goroutine reads and writes, and what is
// computed of times run at the same time.
func CompleteWith(w *session.Writer, c Completion) error {
	if c.Tell != nil {
		if err := tellRows(w, &c); err != nil {
			return err
		}
		defer w.OnRows(nil)
	}
	d, err := load(w.Session, c.Counted)
	if err != nil {
		return err
	}
	d.addedUpOnce, d.Timings = true, nil
	if len(d.Sites) == 0 && len(d.Followed) == 0 {
		d.Nodes = nil
	}
	x, err := d.derive(true)
	if err != nil {
		return fmt.Errorf("session %s: %w", w.Path(), err)
	}
	x.toStore = true
	d.dropTimings()
	if c.Counted != nil {
		c.Counted.Release()
	}
	w.ReleaseChunks()
	if err := x.completeNodes(w, &c); err != nil {
		return err
	}
	return w.Batch(func() error {
		if err := x.writeTimes(w); err != nil {
			return err
		}
		if err := d.deriveParts(x); err != nil {
			return fmt.Errorf("session %s: %w", w.Path(), err)
		}
		if err := w.WriteDerivedMemory(x.Derived); err != nil {
			return err
		}
		return w.SetState(session.Complete)
	})
}

// completeNodes makes what is made of the times of nodes, which are let go of then: adding them up again would take as
// long as all the rest.
func (x *derivation) completeNodes(w *session.Writer, c *Completion) error {
	d := x.data
	d.places(d.attribute()) // both need them, and they are kept
	err := atOnce(func() error {
		if c.Also == nil {
			return nil
		}
		return c.Also(&Source{session: w.Session, data: d, derived: x}, x.Derived)
	}, func() error {
		x.need(derivedUserTimes)
		return nil
	})
	d.attributed = nil // eight bytes for each node, of use again where something was allocated
	return err
}

// writeTimes makes the other tables of times and writes all of them, each once it is made.
func (x *derivation) writeTimes(w *session.Writer) error {
	made := map[string]chan struct{}{}
	tables := []string{derivedTimePlaces: session.TableLineTime, derivedTimePaths: session.TablePathTime,
		derivedTimeCalls: session.TableCallTime, derivedTimeFunctions: session.TableFunctionTime,
		derivedTimeModules: session.TableModuleTime}
	for _, table := range tables {
		made[table] = make(chan struct{})
	}
	paths := &session.PathTimeRows{}
	var all together
	defer all.Wait()
	all.Go(func() {
		ended := 0
		defer func() { // after a panic, too: who writes waits for all
			for _, table := range tables[ended:] {
				close(made[table])
			}
		}()
		for part, table := range tables {
			x.need(derivedPart(part))
			if rows := x.pathRows; rows != nil && table == session.TablePathTime {
				*paths = session.PathTimeRows{Rows: len(rows.of), At: rows.at}
			}
			ended++
			close(made[table])
		}
	})
	return w.WriteDerivedTimes(x.Derived, paths, func(table string) { <-made[table] })
}

// tellRows makes the session tell how far reading it is.
func tellRows(w *session.Writer, c *Completion) error {
	tables, err := w.PackedRows()
	if err != nil {
		return err
	}
	var all, done int64
	for name, n := range tables {
		if !isCounted(c.Counted, name) {
			all += n * timesRead[name]
		}
	}
	w.OnRows(func(rows int) {
		done += int64(rows)
		c.Tell(int(100 * min(done, all) / max(all, 1)))
	})
	return nil
}
