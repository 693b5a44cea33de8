package report

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/clrprof/clrprof/internal/session"
)

// rooted has a call tree begin with a function, and returns the rows of it: one for each process.
func (b *builder) rooted(processes []Row) ([]Row, error) {
	functions, err := b.functionRows()
	if err != nil {
		return nil, err
	}
	weights, weight := map[session.FunctionID]int64{}, b.heavier()
	var ids []session.FunctionID
	for i := range functions {
		ids = append(ids, functions[i].function)
		weights[functions[i].function] = weight(inclusiveCost(&functions[i]))
	}
	matches, err := find("function", b.options.Root, ids, b.functionName, func(id session.FunctionID) int64 { return weights[id] })
	if err != nil {
		return nil, err
	}
	roots := map[session.FunctionID]bool{}
	for _, id := range matches {
		roots[id] = true
	}
	if b.logical, err = b.source.Rooted(b.logical, roots); err != nil {
		return nil, err
	}
	var out []Row
	for i := range processes {
		below, err := b.pathsBelow(&Row{process: processes[i].process})
		if err != nil {
			return nil, err
		}
		out = append(out, below...)
	}
	b.table.Notes = append(b.table.Notes, fmt.Sprintf("Only what is at and below %s; percentages are of the whole run.", b.frameName(matches[0])))
	return out, nil
}

// onlyHot shows the hot path of the root that weighs most.
func (b *builder) onlyHot(roots []Row) error {
	if len(roots) == 0 {
		return nil
	}
	weight := b.heavier()
	heaviest := slices.MaxFunc(roots, func(x, y Row) int { return cmp.Compare(weight(inclusiveCost(&x)), weight(inclusiveCost(&y))) })
	hot, err := b.hotPath(heaviest, weight)
	b.table.Rows = append([]Row{heaviest}, hot...)
	what := "bytes"
	if b.hasTime() {
		what = "time"
	}
	b.table.Notes = append(b.table.Notes, fmt.Sprintf("Only the hot path by %s (docs/metrics.md).", what))
	return err
}
