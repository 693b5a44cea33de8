package collect

import (
	"fmt"
	"math"

	"github.com/clrprof/clrprof/internal/capture/arena"
	"github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/wire"
)

// interactions are the calls of a process to databases and over HTTP.
type interactions struct {
	texts    map[uint32]string
	rows     []wire.Interaction // as they were read last
	written  []wire.Interaction // those that the session has, by their place
	ids      []session.InteractionID
	reported map[uint32]session.InteractionStackID // by node of the arena
}

var interactionKinds = map[uint32]string{wire.InteractionDatabase: session.InteractionDatabase,
	wire.InteractionHTTP: session.InteractionHTTP}

// addText takes a text, before the rows that have it.
func (s *interactions) addText(record *wire.InteractionText) {
	if s.texts == nil {
		s.texts = map[uint32]string{}
	}
	s.texts[record.ID] = record.Text
}

// read takes what the agent tells. It comes before the log and the trees are read, which have what the rows refer to.
func (s *interactions) read(a *arena.Arena) {
	rows := a.Interactions()
	s.rows = make([]wire.Interaction, len(rows))
	for i := range rows {
		s.rows[i] = arena.Interaction(&rows[i])
	}
}

// write writes the rows that changed. Those of which nobody knows the stack yet come later, or at the end without one.
func (s *interactions) write(r *Recorder, p *process, f *found, last bool) error {
	var rows []session.Interaction
	for i := range s.rows {
		if i == len(s.ids) {
			s.ids, s.written = append(s.ids, 0), append(s.written, wire.Interaction{})
		}
		row := &s.rows[i]
		nothing := row.Started == 0 && row.Ended == 0 && s.ids[i] == 0
		if *row == s.written[i] || nothing || row.Node == 0 && !last && !p.over {
			continue
		}
		kind, known := interactionKinds[row.Kind]
		if !known || int(row.Node) >= len(f.nodes) {
			err := fmt.Errorf("%w: interaction %d of kind %d at node %d", wire.ErrCorrupt, i, row.Kind, row.Node)
			if p.skips(err) {
				continue
			}
			return err
		}
		stack, err := s.stack(p, f, row.Node)
		if err != nil {
			return err
		}
		if s.ids[i] == 0 {
			s.ids[i] = r.rec.NextInteraction()
		}
		s.written[i] = *row
		rows = append(rows, s.row(s.ids[i], p, kind, stack, row))
	}
	return r.rec.WriteInteractions(rows)
}

func (s *interactions) row(id session.InteractionID, p *process, kind string, stack session.InteractionStackID,
	row *wire.Interaction) session.Interaction {
	out := session.Interaction{ID: id, Process: p.rec.ID(), Kind: kind, Text: s.texts[row.Text],
		HasText: row.Text != 0, Stack: stack,
		Calls: quantity.Count(max(row.Started, row.Ended)), Ended: quantity.Count(row.Ended),
		Failed: quantity.Count(min(row.Failed, row.Ended)), Unwaited: quantity.Count(min(row.Unwaited, row.Ended)),
		Total: nanoseconds(row.TotalNS), Min: nanoseconds(row.MinNS), Max: nanoseconds(row.MaxNS)}
	if row.Ended == 0 {
		out.Total, out.Min, out.Max = 0, 0, 0
	}
	return out
}

// nanoseconds of a damaged row are as many as there can be.
func nanoseconds(ns uint64) quantity.Nanoseconds { return quantity.Nanoseconds(min(ns, math.MaxInt64)) }

// stack writes a stack, once, the innermost frame first. 0: none.
func (s *interactions) stack(p *process, f *found, leaf uint32) (session.InteractionStackID, error) {
	if id, ok := s.reported[leaf]; ok || leaf == wire.NodeRoot {
		return id, nil
	}
	var frames []session.InteractionFrame
	for at := leaf; at != wire.NodeRoot; at = f.nodes[at].Parent {
		in := p.tree.instructions[f.nodes[at].IP]
		if in.function == 0 {
			continue
		}
		frames = append(frames, session.InteractionFrame{Depth: int64(len(frames)), Function: in.function,
			Instruction: in.id})
	}
	id, err := p.rec.InteractionStack(frames)
	if err != nil {
		return 0, err
	}
	if s.reported == nil {
		s.reported = map[uint32]session.InteractionStackID{}
	}
	s.reported[leaf] = id
	return id, nil
}
