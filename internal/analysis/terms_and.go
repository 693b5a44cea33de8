package analysis

import "strings"

// termLists are the lists of terms that a filter has a field for.
func (t *Terms) termLists() []struct {
	field string
	list  *[]string
} {
	return []struct {
		field string
		list  *[]string
	}{
		{fieldProcess, &t.Processes}, {fieldThread, &t.Threads}, {fieldModule, &t.Modules},
		{fieldNamespace, &t.Namespaces}, {fieldFunction, &t.Functions}, {fieldType, &t.Types}, {fieldFocus, &t.Focus},
	}
}

// And returns the terms that select what both do. A list that both have stays that of t; the other one becomes clauses
// of the filter, as which it selects the same. How stacks are shown, and MayMiss, are t's.
func (t Terms) And(o Terms) Terms {
	t.From = max(t.From, o.From)
	if o.To != 0 {
		t.endAt(o.To)
	}
	t.GCs = t.GCs.and(o.GCs)
	clauses, others := []string{t.Filter, o.Filter}, o.termLists()
	for i, of := range t.termLists() {
		switch more := *others[i].list; {
		case len(*of.list) == 0:
			*of.list = more
		case len(more) > 0:
			clauses = append(clauses, listClauses(of.field, more))
		}
	}
	switch joined := JoinFilters(clauses...); joined {
	case t.Filter:
	case o.Filter:
		t.Filter, t.FilterName = joined, o.FilterName
	default:
		t.Filter, t.FilterName = joined, ""
	}
	return t
}

// and returns what is in both spans.
func (g GCSpan) and(o GCSpan) GCSpan {
	g.After = max(g.After, o.After)
	if o.To != 0 && (g.To == 0 || o.To < g.To) {
		g.To = o.To
	}
	return g
}

// listClauses are the clauses that select what a list of terms does: what one of those matches that include, and none
// that exclude.
func listClauses(field string, texts []string) string {
	var include, all []string
	for _, text := range texts {
		if rest, not := strings.CutPrefix(text, "!"); not {
			all = append(all, field+" <> "+quoted(rest))
		} else {
			include = append(include, field+" = "+quoted(text))
		}
	}
	if len(include) > 0 {
		all = append(all, "("+strings.Join(include, " or ")+")")
	}
	return strings.Join(all, " and ")
}
