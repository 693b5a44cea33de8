package analysis

import (
	"cmp"
	"slices"

	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/usercode"
)

// Interaction is what is known of the calls of one kind to a database or over HTTP, with one text, from one place: the
// innermost function of user code on the stack of the caller, and its line. Without user code it is who made the call.
type Interaction struct {
	Process         session.ProcessID
	Kind, Text      string
	HasText         bool // false: there was no room for it
	From            Place
	Calls           q.Count // that began
	Ended           q.Count // the rest is of these
	Failed          q.Count
	Unwaited        q.Count // their time lacks what their task took after they had returned it
	Total, Min, Max q.Nanoseconds
}

// Average is the mean time of the calls that ended, rounded down; 0: none has.
func (i *Interaction) Average() q.Nanoseconds {
	if i.Ended == 0 {
		return 0
	}
	return i.Total / q.Nanoseconds(i.Ended)
}

type interactionKey struct {
	process    session.ProcessID
	kind, text string
	hasText    bool
	from       Place
}

// Interactions returns the calls of a session to databases and over HTTP, those that took longest in all first.
func Interactions(s *session.Session) ([]Interaction, error) {
	list, err := s.Interactions()
	if err != nil || len(list) == 0 {
		return nil, err
	}
	places, err := interactionPlaces(s)
	if err != nil {
		return nil, err
	}
	var out []Interaction
	at := map[interactionKey]int{}
	for i := range list {
		r := &list[i]
		key := interactionKey{r.Process, r.Kind, r.Text, r.HasText, places[r.Stack]}
		n, known := at[key]
		if !known {
			n = len(out)
			at[key] = n
			out = append(out, Interaction{Process: r.Process, Kind: r.Kind, Text: r.Text, HasText: r.HasText,
				From: key.from})
		}
		out[n].add(r)
	}
	slices.SortStableFunc(out, func(a, b Interaction) int { // the order of rows decides between equal ones
		return cmp.Or(cmp.Compare(b.Total, a.Total), cmp.Compare(b.Calls, a.Calls))
	})
	return out, nil
}

func (i *Interaction) add(r *session.Interaction) {
	if r.Ended > 0 {
		if i.Ended == 0 {
			i.Min = r.Min
		}
		i.Min, i.Max = min(i.Min, r.Min), max(i.Max, r.Max)
	}
	i.Calls, i.Ended = i.Calls+r.Calls, i.Ended+r.Ended
	i.Failed, i.Unwaited = i.Failed+r.Failed, i.Unwaited+r.Unwaited
	i.Total += r.Total
}

// interactionPlaces returns the place in user code of each stack.
func interactionPlaces(s *session.Session) (map[session.InteractionStackID]Place, error) {
	frames, err := s.InteractionFrames()
	if err != nil {
		return nil, err
	}
	user, err := userFunctions(s)
	if err != nil {
		return nil, err
	}
	instructions, err := s.Instructions()
	if err != nil {
		return nil, err
	}
	first, err := firstStatements(s)
	if err != nil {
		return nil, err
	}
	lines := make(map[session.InstructionID]session.LineID, len(instructions))
	for i := range instructions {
		lines[instructions[i].ID] = first[instructions[i].Line]
	}
	out := map[session.InteractionStackID]Place{}
	found := map[session.InteractionStackID]bool{}
	for _, f := range frames { // in the order of depth
		_, any := out[f.Stack]
		if found[f.Stack] || any && !user[f.Function] {
			continue
		}
		found[f.Stack] = user[f.Function]
		out[f.Stack] = Place{f.Function, lines[f.Instruction]}
	}
	return out, nil
}

// firstStatements returns, for each statement, the first one of the same function that begins on the same line.
func firstStatements(s *session.Session) (map[session.LineID]session.LineID, error) {
	list, err := s.Lines()
	if err != nil {
		return nil, err
	}
	type begin struct {
		function session.FunctionID
		file     session.FileID
		line     int64
	}
	at := map[begin]session.LineID{}
	out := make(map[session.LineID]session.LineID, len(list))
	for i := range list {
		l := &list[i]
		key := begin{l.Function, l.File, l.LineBegin}
		if _, known := at[key]; !known {
			at[key] = l.ID
		}
		out[l.ID] = at[key]
	}
	return out, nil
}

// userFunctions says of each function whether it is user code.
func userFunctions(s *session.Session) (map[session.FunctionID]bool, error) {
	modules, err := s.Modules()
	if err != nil {
		return nil, err
	}
	functions, err := s.Functions()
	if err != nil {
		return nil, err
	}
	user := map[session.ModuleID]bool{}
	for i := range modules {
		user[modules[i].ID] = usercode.Origin(modules[i].Origin).IsUser()
	}
	out := make(map[session.FunctionID]bool, len(functions))
	for i := range functions {
		out[functions[i].ID] = user[functions[i].Module] && functions[i].Kind != session.FunctionExtern
	}
	return out, nil
}
