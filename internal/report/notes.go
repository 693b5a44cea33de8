package report

import (
	"github.com/clrprof/clrprof/internal/session"
)

func (c *context) readNotes() ([]Note, error) {
	s := c.source.Session()
	state, err := s.State()
	if err != nil {
		return nil, err
	}
	var out []Note
	stage, err := s.Stage()
	if err != nil {
		return nil, err
	}
	switch written := stage.IsWritten(); {
	case state == session.Recording && written:
		out = append(out, note(NoteGoesOn))
	case state == session.Recording:
		out = append(out, note(NoteCutOff))
	case state == session.Recorded && written:
		out = append(out, note(NoteCompleting))
	case state == session.Recorded:
		out = append(out, note(NoteUnresolved))
	}
	if left, some := c.leftRunning(); some && state != session.Recording {
		out = append(out, left)
	}
	pauses, err := c.paused()
	if err != nil {
		return nil, err
	}
	out = append(out, pauses...)
	scopes, err := c.scopes()
	if err != nil {
		return nil, err
	}
	out = append(out, scopes...)
	slept, err := c.suspended()
	if err != nil {
		return nil, err
	}
	if slept > 0 {
		out = append(out, note(NoteSlept, slept))
	}
	stolen, err := c.stolen()
	if err != nil {
		return nil, err
	}
	out = append(out, stolen...)
	if c.hasMemory() && c.hasTime() {
		out = append(out, note(NoteProbes))
	}
	selected, err := c.selectionNotes()
	return append(out, selected...), err
}

// selectionNotes say which part of the session is shown, and how.
func (c *context) selectionNotes() ([]Note, error) {
	sel := c.source.Selection()
	said, err := sel.Notes(c.source.Session(), "; percentages are of the whole run")
	if err != nil {
		return nil, err
	}
	var out []Note
	for _, s := range said {
		out = append(out, note(NoteSelection, s))
	}
	if len(c.allTimed) > 0 && !c.hasTime() {
		out = append(out, note(NoteNoTimes))
	}
	awaits, err := c.awaitsOfParts()
	if err != nil {
		return nil, err
	}
	out = append(out, awaits...)
	spans, err := c.source.GCSpans()
	for _, p := range c.processes.list {
		if span, ok := spans[p.ID]; ok && span != sel.GCs && sel.HasProcess(p.ID) {
			out = append(out, note(NoteGCSpan, p.PID, span))
		}
	}
	return out, err
}

func (c *context) readLosses() ([]Note, error) {
	list, err := c.source.Session().Losses()
	if err != nil {
		return nil, err
	}
	var out []Note
	for _, l := range list {
		if c.source.Selection().HasProcess(l.Process) {
			p := c.processes.get(l.Process)
			out = append(out, note(NoteLoss, l, p.PID, p.Name))
		}
	}
	folded, err := c.folded()
	return append(out, folded...), err
}
