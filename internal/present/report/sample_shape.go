package report

import (
	"slices"

	"github.com/clrprof/clrprof/internal/analysis"
	"github.com/clrprof/clrprof/internal/session"
)

// SampleShape says how the stacks of an export are put together as the call tree of the options is, and in notes what
// that is. Of options that are no shape of stacks (Hot, BottomUp) there are only the notes.
func (r *Reader) SampleShape(o Options) (*analysis.SampleShape, []Note, error) {
	shape, notes := &analysis.SampleShape{Fold: o.Fold, By: o.By}, []Note(nil)
	view := callTreeView
	view.build = func(b *builder) error {
		before := len(b.table.Notes)
		if !o.Physical {
			var err error
			if shape.Logical, err = analysis.HasAsync(b.source.Session()); err != nil {
				return err
			}
			if shape.Logical {
				b.note(NoteAsync)
			}
		}
		if o.Root != "" {
			matches, err := b.matching(o.Root)
			if err != nil {
				return err
			}
			shape.Roots = map[session.FunctionID]bool{}
			for i := range matches {
				shape.Roots[matches[i].function] = true
			}
			b.note(NoteRooted, b.frameName(matches[0].function))
		}
		if o.Fold {
			b.note(NoteSelection, analysis.FoldNote)
		}
		if o.By != "" {
			b.note(NoteTreeGroups, o.By)
		}
		if o.MinShare > 0 {
			shape.Small = b.trims
			b.note(NoteTrimmed, o.MinShare, b.measures())
		}
		if o.BottomUp {
			b.note(NoteBottomUp)
		}
		if o.Hot {
			b.noteHot()
		}
		notes = slices.Clone(b.table.Notes[before:])
		return nil
	}
	_, err := view.buildIn(r.own(), o)
	return shape, notes, err
}
