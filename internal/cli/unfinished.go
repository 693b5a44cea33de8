package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/clrprof/clrprof/internal/analysis"
	"github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
)

// stagePoll is the time between two looks at a session that is still being written: less than a person notices.
const stagePoll = 50 * time.Millisecond

// unfinishedFlags say what a command does with a session that is still being written. By default it waits: numbers of
// half a recording are not those that were asked for, and a check of them passes.
type unfinishedFlags struct{ noWait, soFar bool }

func (u *unfinishedFlags) add(cmd *cobra.Command) {
	u.addNoWait(cmd)
	cmd.Flags().BoolVar(&u.soFar, "so-far", false, "if the session is still being written, use what it has so far "+
		"(clrprof ctl SESSION flush writes what was recorded up to now)")
}

// addNoWait adds the flag of commands for which half a recording is of no use.
func (u *unfinishedFlags) addNoWait(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&u.noWait, "no-wait", false, fmt.Sprintf("if the session is still being written, end with "+
		"code %d instead of waiting until it is complete", exitUnfinished))
}

// open opens a session that nobody writes any more, or as the flags say.
func (u *unfinishedFlags) open(ctx context.Context, e *environment, path string) (*session.Session, error) {
	if u.noWait && u.soFar {
		return nil, usage("--no-wait and --so-far exclude each other")
	}
	if err := u.wait(ctx, e, path); err != nil {
		return nil, err
	}
	return session.OpenUntil(ctx, path)
}

// openComplete does so. A session that was cut off, or has only what there is so far, is completed in memory, so that
// its views have rows.
func (u *unfinishedFlags) openComplete(ctx context.Context, e *environment, path string) (*session.Session, error) {
	s, err := u.open(ctx, e, path)
	if err != nil {
		return nil, err
	}
	stage, err := s.Stage()
	if err != nil || stage == session.StageComplete {
		return s, err
	}
	defer s.Close()
	tell(e, []string{fmt.Sprintf("the session is not complete (%s): sums are computed in memory", stage)})
	w, err := s.InMemory()
	if err != nil {
		return nil, err
	}
	if err := analysis.Complete(w); err != nil {
		w.Close()
		return nil, err
	}
	return w.Session, nil
}

// wait waits until nobody writes the session any more.
func (u *unfinishedFlags) wait(ctx context.Context, e *environment, path string) error {
	stage, err := session.StageOf(ctx, path)
	switch {
	case err != nil || !stage.IsWritten() || u.soFar:
		return err
	case u.noWait:
		return exit(exitUnfinished, fmt.Errorf("session %s is not complete yet (%s): try again when the recording has "+
			"ended, or leave out --no-wait", path, stage))
	}
	n := newNotes(e.stderr)
	defer n.clear()
	if !n.terminal {
		n.say("%s is still being written (%s): waiting until it is complete", path, stage)
	}
	tick := time.NewTicker(stagePoll)
	defer tick.Stop()
	for begun := time.Now(); stage.IsWritten(); {
		n.progress("waiting for %s, which is still being written (%s): %s", path, stage,
			quantity.Nanoseconds(time.Since(begun).Truncate(time.Second)))
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
		if stage, err = session.StageOf(ctx, path); err != nil {
			return err
		}
	}
	return nil
}
