package analysis

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"github.com/clrprof/clrprof/internal/dotnet/usercode"
	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
)

// Interaction is what is known of the calls of one kind to a database or over HTTP, with one text, from one place: the
// innermost function of user code on the stack of the caller, and its line. Without user code it is who made the call.
type Interaction struct {
	Process         session.ProcessID
	Kind, Text      string
	HasText         bool    // false: there was no room for it, or there are several
	Texts           q.Count // how many different texts these calls had
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

// Ways to group interactions, beside ByLine.
const (
	ByText  By = "text"  // and by line; what tells one object from another in an address is {id}
	ByExact By = "exact" // and by line; as the text was sent
)

type interactionKey struct {
	process    session.ProcessID
	kind, text string
	hasText    bool
	from       Place
}

// shown is the part of a text by which calls are grouped.
func (k interactionKey) shown(by By) interactionKey {
	switch {
	case by == ByLine:
		return interactionKey{process: k.process, from: k.from}
	case by == ByText && k.kind == session.InteractionHTTP:
		k.text = WithoutIDs(k.text)
	}
	return k
}

// WithoutIDs puts {id} in the place of the segments of an address that are numbers or GUIDs.
func WithoutIDs(text string) string {
	begin := 0
	if i := strings.Index(text, "://"); i >= 0 {
		begin = i + len("://") // of the host, which is none of them
	}
	path := strings.IndexByte(text[begin:], '/')
	if path < 0 {
		return text
	}
	begin += path + 1
	segments := strings.Split(text[begin:], "/")
	for i, segment := range segments {
		if number.MatchString(segment) || guid.MatchString(segment) {
			segments[i] = "{id}"
		}
	}
	return text[:begin] + strings.Join(segments, "/")
}

// What tells one object from another in an address; a GUID as .NET formats it, by D or N.
var (
	number = regexp.MustCompile(`^[0-9]+$`)
	guid   = regexp.MustCompile(`(?i)^([0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}|[0-9a-f]{32})$`)
)

// Interactions returns the calls of a session to databases and over HTTP, those that took longest in all first: by
// ByText, ByExact or ByLine. A row of several texts has none, or of several kinds.
func Interactions(s *session.Session, by By) ([]Interaction, error) {
	list, err := s.Interactions()
	if err != nil || len(list) == 0 {
		return nil, err
	}
	places, err := interactionPlaces(s)
	if err != nil {
		return nil, err
	}
	var out []Interaction
	at, texts := map[interactionKey]int{}, map[interactionKey]bool{}
	for i := range list {
		r := &list[i]
		exact := interactionKey{r.Process, r.Kind, r.Text, r.HasText, places[r.Stack]}
		key, text := exact.shown(by), exact.shown(ByText)
		n, known := at[key]
		if !known {
			n = len(out)
			at[key] = n
			out = append(out, Interaction{Process: r.Process, Kind: r.Kind, Text: exact.text, HasText: r.HasText,
				From: key.from})
			if by != ByExact {
				out[n].Text = text.text
			}
		}
		if !texts[exact] {
			texts[exact] = true
			out[n].Texts++
		}
		out[n].add(r)
		out[n].share(text, by)
	}
	slices.SortStableFunc(out, func(a, b Interaction) int { // the order of rows decides between equal ones
		return cmp.Or(cmp.Compare(b.Total, a.Total), cmp.Compare(b.Calls, a.Calls))
	})
	return out, nil
}

// share takes the kind and the text away that a call does not have which is in the same line.
func (i *Interaction) share(call interactionKey, by By) {
	if by != ByLine {
		return
	}
	if i.Kind != call.kind {
		i.Kind = ""
	}
	if i.Text != call.text || i.HasText != call.hasText {
		i.Text, i.HasText = "", false
	}
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

// GCCallers returns the places in user code that asked for collections, of those of which that is known. Without user
// code on its stack it is the function of the framework that did.
func GCCallers(s *session.Session) (map[session.GCID]Place, error) {
	callers, err := s.GCCallers()
	if err != nil || len(callers) == 0 {
		return nil, err
	}
	places, err := interactionPlaces(s)
	if err != nil {
		return nil, err
	}
	out := make(map[session.GCID]Place, len(callers))
	for _, c := range callers {
		out[c.GC] = places[c.Stack]
	}
	return out, nil
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
