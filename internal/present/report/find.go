package report

import (
	"cmp"
	"slices"
	"strings"

	"github.com/clrprof/clrprof/internal/analysis"
	"github.com/clrprof/clrprof/internal/dotnet/names"
)

// find returns the ids whose names match: exactly, else as the last parts of a name (Append, AuditTrail.Append of
// Ns.AuditTrail.Append(int)), else as any part of it without regard to case. Several ids of one name (in several
// processes, an async method and its body) are one match. weight orders the candidates of an ambiguous name.
func find[ID ~int64 | ~uint32](what, wanted string, ids []ID, name func(ID) string, weight func(ID) int64) ([]ID,
	error) {
	var exact, part []ID
	for _, id := range ids {
		switch n := name(id); {
		case n == wanted:
			exact = append(exact, id)
		case isName(n, wanted):
			part = append(part, id)
		}
	}
	if len(exact) > 0 {
		return exact, nil
	}
	if len(part) == 0 {
		lower := strings.ToLower(wanted)
		for _, id := range ids {
			if strings.Contains(strings.ToLower(name(id)), lower) {
				part = append(part, id)
			}
		}
	}
	slices.SortStableFunc(part, func(x, y ID) int { return cmp.Compare(weight(y), weight(x)) })
	var names []string
	for _, id := range part {
		if n, _ := analysis.WrittenName(name(id)); !slices.Contains(names, n) {
			names = append(names, n)
		}
		if len(names) > maxCandidates {
			break
		}
	}
	switch {
	case len(names) == 1:
		return part, nil
	case len(names) > maxCandidates:
		names[maxCandidates] = "…"
	case len(names) == 0:
		all := make([]string, 0, len(ids))
		for _, id := range ids {
			all = append(all, name(id))
		}
		return nil, Unknown(what, wanted, all)
	}
	return nil, &UnknownError{What: what, Name: wanted, Candidates: names, Ambiguous: true}
}

// isName reports whether what is wanted is a name, or its last parts.
func isName(name, wanted string) bool {
	if !strings.Contains(name, wanted) { // nearly all, of tens of thousands
		return false
	}
	head, _ := names.CutParameters(name)
	return name == wanted || head == wanted || strings.HasSuffix(head, "."+wanted) ||
		strings.HasSuffix(name, "."+wanted)
}
