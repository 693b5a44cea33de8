package report

import (
	"fmt"

	"github.com/clrprof/clrprof/internal/session"
)

func (c *context) readNotes() ([]string, error) {
	s := c.source.Session()
	state, err := s.State()
	if err != nil {
		return nil, err
	}
	var out []string
	switch state {
	case session.Recording:
		out = append(out, "The recording was cut off (clrprof was killed, or is still at work): these are the numbers up to then.")
	case session.Recorded:
		out = append(out, "The session was cut off before its symbols were resolved: names are those of the metadata.")
	case session.Resolved, session.Complete:
	}
	if left := c.leftRunning(); left != "" && state != session.Recording {
		out = append(out, left)
	}
	pauses, err := c.paused()
	if err != nil {
		return nil, err
	}
	out = append(out, pauses...)
	slept, err := c.suspended()
	if err != nil {
		return nil, err
	}
	if slept > 0 {
		out = append(out, fmt.Sprintf("The machine was suspended for %s during the recording: elapsed times may contain it.", slept))
	}
	if c.hasMemory() && c.hasTime() {
		out = append(out, probesNote)
	}
	selected, err := c.selectionNotes()
	return append(out, selected...), err
}

// selectionNotes say which part of the session is shown, and how.
func (c *context) selectionNotes() ([]string, error) {
	sel := c.source.Selection()
	out, err := sel.Notes(c.source.Session(), "; percentages are of the whole run")
	if err != nil {
		return nil, err
	}
	if len(c.allTimed) > 0 && !c.hasTime() {
		out = append(out, "Times are left out: of them neither types of objects are known, nor when collections ended.")
	}
	spans, err := c.source.GCSpans()
	for _, p := range c.processes.list {
		if span, ok := spans[p.ID]; ok && span != sel.GCs && sel.HasProcess(p.ID) {
			out = append(out, fmt.Sprintf("Process %d: %s: what changed is known of no closer span.", p.PID, span))
		}
	}
	return out, err
}

func (c *context) readLosses() ([]string, error) {
	list, err := c.source.Session().Losses()
	if err != nil {
		return nil, err
	}
	var out []string
	for _, l := range list {
		if !c.source.Selection().HasProcess(l.Process) {
			continue
		}
		p := c.processes.get(l.Process)
		what := counted(l.Events, l.Unit())
		switch {
		case l.IsUncounted():
			what = "an unknown number of allocations"
		case l.Allocations == 0 && l.Bytes != 0: // how many objects they are is not known
			what = fmt.Sprintf("%s at %s", l.Bytes, counted(l.Events, "place"))
		case !l.Amount.IsZero():
			what = fmt.Sprintf("%s, %s in %s", counted(l.Allocations, "allocation"), l.Bytes, what)
		}
		format := "Inexact: %s: %s (%s, process %d %s)."
		if l.IsMissing() {
			format = "Lost: %s: %s (%s, process %d %s); the numbers above are too low by that."
		}
		out = append(out, fmt.Sprintf(format, what, l.Meaning(), l.Reason, p.PID, p.Name))
	}
	folded, err := c.folded()
	return append(out, folded...), err
}

// probesNote is said where memory and times were recorded together.
const probesNote = "Recorded with times: the program can allocate more than with --memory alone."
