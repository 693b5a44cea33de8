package recording

import (
	"errors"
	"path/filepath"
	"slices"

	"github.com/clrprof/clrprof/internal/capture/live"
	"github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/session/symbols"
)

// watched is what informs the watchers of a recording.
type watched struct {
	feed      *live.Feed // nil: it cannot be watched
	described bool       // the feed knows the names of what is in the session
}

// Watch lets others watch the recording by a feed.
func (r *Recording) Watch(feed *live.Feed) {
	r.watched.feed = feed
	path, err := filepath.Abs(r.w.Path()) // watchers may be in another folder
	if err != nil {
		path = r.w.Path()
	}
	feed.SetSession(path)
}

// Unwatched says that nobody watches: who comes later needs all names again.
func (r *Recording) Unwatched() { r.watched.described = false }

// NewState is room for the sums of all functions and types, by their ids; 0 stands for what has none.
func (r *Recording) NewState(at quantity.Nanoseconds) *live.State {
	return &live.State{Time: at, Calls: true, Paused: !r.Level().On(), Functions: make([]live.Sums, r.next.function+1),
		Types: make([]live.Sums, r.next.typ+1)}
}

// TellCounters tells watchers of counters that are sampled.
func (r *Recording) TellCounters(rows []session.Counter) {
	if r.watched.feed != nil {
		r.watched.feed.AddCounters(rows)
	}
}

// TellCounterValues tells watchers what counters said, as soon as it is known: it may be written later.
func (r *Recording) TellCounterValues(rows []session.CounterValue) {
	if r.watched.feed != nil {
		r.watched.feed.AddCounterValues(rows)
	}
}

// TellLosses adds the losses of a process to what watchers get, which add them up by reason.
func (p *Process) TellLosses(s *live.State) {
	for _, loss := range p.losses {
		s.Losses = append(s.Losses, loss)
	}
}

// Describe tells watchers what names are made from. The processes have names and paths.
func (r *Recording) Describe(processes []session.Process) error {
	w, in := &r.watched, symbols.Input{Processes: processes}
	if !w.described {
		var errs [5]error
		in.Modules, errs[0] = r.w.Modules()
		in.Types, errs[1] = r.w.Types()
		in.TypeArguments, errs[2] = r.w.TypeArguments()
		in.Functions, errs[3] = r.w.Functions()
		in.FunctionArguments, errs[4] = r.w.FunctionArguments()
		if err := errors.Join(errs[:]...); err != nil {
			return err
		}
	}
	w.feed.Describe(&in)
	w.described = true
	for _, p := range r.processes {
		w.describe(&p.names)
	}
	return nil
}

// describe tells the feed of names that are not written yet.
func (w *watched) describe(n *names) {
	if !w.described {
		return
	}
	w.feed.Describe(&symbols.Input{Modules: n.newModules, Types: slices.Concat(n.newTypes, n.replaceTypes),
		TypeArguments: n.newTypeArgs,
		Functions:     n.newFunctions, FunctionArguments: n.newFuncArgs})
}
