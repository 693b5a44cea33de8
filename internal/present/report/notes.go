package report

import (
	"encoding/json"
	"slices"

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
	out = append(out, c.lateNotes()...)
	if c.hasMemory() && c.hasTime() {
		out = append(out, note(NoteProbes))
	}
	selected, err := c.selectionNotes()
	return append(out, selected...), err
}

// lateNotes say what the recording of a process that was started without the agent cannot have.
func (c *context) lateNotes() []Note {
	var out []Note
	switch {
	case c.imported:
		return c.sampledNotes(NoteImported)
	case !c.late:
		return nil
	case c.hasMemory() && c.source.HasEstimates():
		out = append(out, c.sampledNotes(NoteSampled)...)
	case c.hasMemory():
		out = append(out, note(NoteLargeObjects))
	}
	if c.hasTime() {
		out = append(out, note(NoteLateCalls))
	}
	return out
}

// sampledNotes say how objects were sampled, by a kind of note.
func (c *context) sampledNotes(kind NoteKind) []Note {
	var out []Note
	for _, sampler := range []string{session.SamplerRandom, session.SamplerTicks} {
		if slices.ContainsFunc(c.processes.list, func(p session.Process) bool { return p.Sampler == sampler }) {
			out = append(out, note(kind, sampler))
		}
	}
	return out
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

// noteNone says why a view is empty: an option of the recording was not given, or nothing happened that it records.
func (b *builder) noteNone(what, option, flags string) error {
	info, err := b.source.Session().Info()
	if err != nil {
		return err
	}
	var given map[string]json.RawMessage
	if json.Unmarshal([]byte(info[session.KeyOptions]), &given) == nil && given[option] != nil {
		b.note(NoteNoneHappened, "--"+option)
		return nil
	}
	b.note(NoteNoneRecorded, what, flags)
	return nil
}

// noteThreads says which threads are listed: of the others the session knows nothing.
func (b *builder) noteThreads() { b.note(NoteThreads, b.threadsDid()) }

// threadsDid is what each thread did that is listed and counted.
func (c *context) threadsDid() string {
	switch {
	case c.hasTime() && c.hasMemory():
		return "allocated or made recorded calls"
	case c.hasTime():
		return "made recorded calls"
	}
	return "allocated"
}
