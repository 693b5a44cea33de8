package analysis

import (
	"slices"

	"github.com/clrprof/clrprof/internal/analysis/calltree"
	"github.com/clrprof/clrprof/internal/pattern"
	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
)

// Range returns the values of a set of functions in what is selected; see Source.Range.
func (d *Data) Range(text string) (*Range, error) {
	of, err := pattern.Compile(text)
	if err != nil {
		return nil, err
	}
	group := make([]int32, len(d.Functions))
	for i, in := range d.matching(of) {
		if group[i] = none; in {
			group[i] = 0
		}
	}
	out, err := d.groups(group, 1)
	if err != nil {
		return nil, err
	}
	return &out[0], nil
}

// Namespace is what the functions of a namespace have in a process.
type Namespace struct {
	Process session.ProcessID
	Name    string // "": of none
	Range
}

// Namespaces returns the values of the namespaces that functions with values are in, in the order of the first.
func (d *Data) Namespaces() ([]Namespace, error) {
	type key struct {
		process session.ProcessID
		name    string
	}
	at := map[key]int32{}
	var out []Namespace
	group := make([]int32, len(d.Functions))
	for i := range d.Functions {
		f := &d.Functions[i]
		k := key{f.Process, pattern.Namespace(f.RawType)}
		n, known := at[k]
		if !known {
			n, at[k] = int32(len(out)), int32(len(out))
			out = append(out, Namespace{Process: k.process, Name: k.name})
		}
		group[i] = n
	}
	values, err := d.groups(group, len(out))
	if err != nil {
		return nil, err
	}
	for i := range values {
		out[i].Range = values[i]
	}
	return slices.DeleteFunc(out, func(n Namespace) bool { return len(n.Functions) == 0 }), nil
}

// groups returns the values of sets of functions; of is by function, none: in no set.
func (d *Data) groups(of []int32, groups int) ([]Range, error) {
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
	group, seen := make([]int32, tree.Len()), make([]bool, len(d.Functions))
	amounts, inclusive := make([]q.Amount, tree.Len()), make([]q.Amount, tree.Len())
	for i, m := range tree.merged {
		amounts[i], inclusive[i] = tree.memory.own[m], tree.memory.inclusive[m]
		function := tree.function[i]
		group[i] = of[function]
		seen[function] = seen[function] || group[i] != none
	}
	if times != nil && times.folded != nil {
		for i, caller := range times.folded.caller {
			if function := times.folded.function[i]; caller >= 0 && of[function] != none &&
				!times.folded.of(int32(i)).counts.IsZero() {
				seen[function] = true
			}
		}
	}
	out := make([]Range, groups)
	for i, s := range seen {
		if s {
			out[of[i]].Functions = append(out[of[i]].Functions, d.Functions[i].ID)
		}
	}
	for i, memory := range combine(calltree.Presence(tree.Tree, inclusive, group, groups),
		calltree.Sum(amounts, group, groups)) {
		out[i].Memory = memory
	}
	if times != nil {
		rows := times.onPaths(tree.Tree, d.pathOf(tree)).group(group, groups)
		if times.folded != nil {
			times.folded.addTo(rows, false, func(_, function int32) int32 { return of[function] })
		}
		for i := range rows {
			out[i].Time, out[i].Single = rows[i].TimeValue, rows[i].SingleCalls
		}
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
