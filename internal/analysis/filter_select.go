package analysis

import (
	"errors"
	"fmt"

	"github.com/clrprof/clrprof/internal/session"
)

// filterSet is a filter for one session: what of it each clause holds for.
type filterSet struct {
	how   string
	parts []*filterSet

	field     string
	functions map[session.FunctionID]bool // of a module, a namespace, a function, or one on the stack
	processes map[session.ProcessID]bool
	threads   map[session.ThreadID]bool
	types     map[session.TypeID]bool
	not       bool // it holds for all others
}

// selectFilter compiles the filter.
func (t Terms) selectFilter(s *session.Session, term *filterTerm, out *Selection) error {
	if len(term.parts) == 0 && term.how != "" {
		return nil // all of it is in other terms
	}
	var err error
	out.filter, err = t.filterSet(s, term)
	out.filterOfTypes = term.has(fieldType)
	return err
}

func (t Terms) filterSet(s *session.Session, term *filterTerm) (*filterSet, error) {
	out := &filterSet{how: term.how, field: term.field, not: term.operator == "<>"}
	for _, p := range term.parts {
		part, err := t.filterSet(s, p)
		if err != nil {
			return nil, err
		}
		out.parts = append(out.parts, part)
	}
	var err error
	switch term.field {
	case fieldProcess:
		rows, e := s.Processes()
		if err = e; err == nil {
			out.processes, err = clauseIDs(term, rows, func(p *session.Process) (session.ProcessID, int64, string) {
				return p.ID, p.PID, p.Name
			})
		}
	case fieldThread:
		rows, e := s.Threads()
		processes, e2 := s.Processes()
		threadName := threadNamer(processes)
		if err = errors.Join(e, e2); err == nil {
			out.threads, err = clauseIDs(term, rows, func(r *session.Thread) (session.ThreadID, int64, string) {
				return r.ID, r.OSID, threadName(r)
			})
		}
	case fieldType:
		of := Selection{}
		err = Terms{Types: []string{term.value}, MayMiss: t.MayMiss}.selectTypes(s, &of)
		out.types = of.types
	case fieldModule, fieldNamespace, fieldFunction, fieldFocus:
		out.functions, err = t.clauseFunctions(s, term)
	}
	return out, err
}

// clauseIDs returns the processes or threads that a clause, or with <> its opposite, holds for.
func clauseIDs[ID ~int64 | ~uint32, Row any](term *filterTerm, rows []Row,
	of func(*Row) (ID, int64, string)) (map[ID]bool, error) {
	out := map[ID]bool{}
	if term.isOrder() {
		for i := range rows {
			id, number, _ := of(&rows[i])
			out[id] = term.ordered(number)
		}
		return out, nil
	}
	ids, err := pick(term.field, []string{term.value}, rows, of)
	for _, id := range ids {
		out[id] = true
	}
	return out, err
}

// clauseFunctions returns the functions whose own name, or that of their module or namespace, is as a clause wants it.
func (t Terms) clauseFunctions(s *session.Session, term *filterTerm) (map[session.FunctionID]bool, error) {
	one, of := []string{term.value}, Selection{}
	terms := map[string]Terms{fieldModule: {Modules: one}, fieldNamespace: {Namespaces: one},
		fieldFunction: {Functions: one}, fieldFocus: {Functions: one}}[term.field]
	terms.MayMiss = t.MayMiss
	err := terms.selectFunctions(s, &of)
	return of.own, err
}

// filterAt is a filter for the rows of a session.
type filterAt struct {
	filter *filterSet
	parts  []*filterAt
	data   *Data
	with   []bool // by node: a function of the clause is on the stack
}

// filterAt makes a filter ready for the rows of a session.
func (d *Data) filterAt(f *filterSet) *filterAt {
	out := &filterAt{filter: f, data: d}
	for _, p := range f.parts {
		out.parts = append(out.parts, d.filterAt(p))
	}
	if f.field == fieldFocus {
		out.with = make([]bool, len(d.Nodes))
		for i := range d.Nodes { // parents first
			p := d.tree.Parent[i]
			out.with[i] = f.functions[d.Nodes[i].Function] || p >= 0 && out.with[p]
		}
	}
	return out
}

// lets reports whether what happened at a node in a thread is let through; typ is that of objects.
func (p *filterAt) lets(node, thread int32, typ session.TypeID) bool {
	switch f := p.filter; f.how {
	case "not":
		return !p.parts[0].lets(node, thread, typ)
	case "and", "or":
		for _, part := range p.parts {
			if part.lets(node, thread, typ) == (f.how == "or") {
				return f.how == "or"
			}
		}
		return f.how == "and"
	}
	return p.holds(node, thread, typ) != p.filter.not
}

// holds reports whether a clause holds, without what <> makes of it.
func (p *filterAt) holds(node, thread int32, typ session.TypeID) bool {
	switch f, d := p.filter, p.data; f.field {
	case fieldProcess:
		return thread >= 0 && f.processes[d.Threads[thread].Process]
	case fieldThread:
		return thread >= 0 && f.threads[d.Threads[thread].ID]
	case fieldType:
		return f.types[typ]
	case fieldFocus:
		return node >= 0 && p.with[node]
	default:
		return node >= 0 && f.functions[d.Nodes[node].Function]
	}
}

// filtered leaves of sites and timings what the selection's filter lets through.
func (p *scope) filtered(d *Data) {
	f := d.filterAt(p.selection.filter)
	if p.sites == nil {
		p.sites = all(len(d.Sites))
	}
	for i := range d.Sites {
		p.sites[i] = p.sites[i] && f.lets(d.siteNode[i], d.siteThread[i], d.Sites[i].Type)
	}
	if p.timings == nil {
		p.timings = all(len(d.Timings))
	}
	for i := range d.Timings {
		p.timings[i] = p.timings[i] && f.lets(d.timingNode[i], d.timingThread[i], 0)
	}
}

// all is a list that lets everything through.
func all(n int) []bool {
	out := make([]bool, n)
	for i := range out {
		out[i] = true
	}
	return out
}

// filterWords say what the filter is.
func (t Terms) filterWords() []string {
	if t.Filter == "" {
		return nil
	}
	text, err := CheckFilter(t.Filter)
	if err != nil {
		text = t.Filter
	}
	if t.FilterName != "" {
		return []string{fmt.Sprintf("what the filter %s lets through (%s)", t.FilterName, text)}
	}
	return []string{"what a filter lets through (" + text + ")"}
}
