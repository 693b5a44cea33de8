package analysis

import (
	"github.com/clrprof/clrprof/internal/calltree"
	"github.com/clrprof/clrprof/internal/pattern"
	q "github.com/clrprof/clrprof/internal/quantity"
)

// Range returns the values of a set of functions in what is selected; see Source.Range.
func (d *Data) Range(text string) (*Range, error) {
	of, err := pattern.Compile(text)
	if err != nil {
		return nil, err
	}
	bySite, err := d.SiteAmounts()
	if err != nil {
		return nil, err
	}
	own := make([]q.Amount, len(d.Nodes))
	for i, a := range bySite {
		addTo(own, d.siteNode[i], a)
	}
	times, err := d.nodeTimes()
	if err != nil {
		return nil, err
	}
	tree := d.callTree(own, times)
	in := d.matching(of)
	out := &Range{}
	group, seen := make([]int32, tree.Len()), make([]bool, len(d.Functions))
	amounts, inclusive := make([]q.Amount, tree.Len()), make([]q.Amount, tree.Len())
	for i, m := range tree.merged {
		amounts[i], inclusive[i] = tree.memory.own[m], tree.memory.inclusive[m]
		group[i] = none
		if function := tree.function[i]; in[function] {
			group[i], seen[function] = 0, true
		}
	}
	if times != nil && times.folded != nil {
		for i, caller := range times.folded.caller {
			if function := times.folded.function[i]; caller >= 0 && in[function] && !times.folded.of(int32(i)).counts.IsZero() {
				seen[function] = true
			}
		}
	}
	for i, s := range seen {
		if s {
			out.Functions = append(out.Functions, d.Functions[i].ID)
		}
	}
	out.Memory = combine(calltree.Presence(tree.Tree, inclusive, group, 1), calltree.Sum(amounts, group, 1))[0]
	if times != nil {
		rows := times.onPaths(tree.Tree, d.pathOf(tree)).group(group, 1)
		if times.folded != nil {
			times.folded.addTo(rows, false, func(_, function int32) int32 {
				if in[function] {
					return 0
				}
				return none
			})
		}
		out.Time, out.Single = rows[0].TimeValue, rows[0].SingleCalls
	}
	return out, nil
}

// matching reports which functions, by position, match a pattern.
func (d *Data) matching(p pattern.Pattern) []bool {
	out := make([]bool, len(d.Functions))
	for i, f := range d.Functions {
		module := ""
		if m := d.functionModule[i]; m >= 0 {
			module = d.Modules[m].Name
		}
		out[i] = p.Match(pattern.FunctionNames(module, f.RawType, f.RawName))
	}
	return out
}
