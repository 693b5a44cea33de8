package budget

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/clrprof/clrprof/internal/analysis"
	"github.com/clrprof/clrprof/internal/report/names"
	"github.com/clrprof/clrprof/internal/rules"
	"github.com/clrprof/clrprof/internal/session"
)

// Bounds of what is said of the places of a limit: a message is read in a list of others.
const (
	maxPlaces     = 3 // of a limit
	maxPlaceTypes = 3 // of a place
)

// Place is where user code does much of what a limit is about, with the framework code that it calls.
type Place struct {
	Name     string   // of the function, without namespace and parameters
	Function string   // the whole name, as reports and filters have it
	File     string   // as the symbols name it; "": not known
	Line     int64    // 0: not known
	Value    int64    // of the metric, or how much more of it than in the baseline
	Types    []string // of the objects, those with most first; none for calls and times
	By       string   // the function that the place called for most of it; "": it did most itself
	Evidence string   // of findings: what a rule found
}

// String is the place as a person names it: Parser.ParseLine Orders.cs:8.
func (p *Place) String() string {
	if p.File == "" || p.Line == 0 {
		return p.Name
	}
	return fmt.Sprintf("%s %s:%d", p.Name, path.Base(strings.ReplaceAll(p.File, `\`, "/")), p.Line)
}

// describe says what a place has of what is counted in a unit.
func (p *Place) describe(u unit) string {
	if p.Evidence != "" {
		return fmt.Sprintf("%s (%s)", p, p.Evidence)
	}
	text := fmt.Sprintf("%s, %s", p, u.print(p.Value))
	if len(p.Types) > 0 {
		text += " of " + strings.Join(p.Types, ", ")
	}
	if p.By != "" {
		text += " by " + p.By
	}
	return text
}

// placeSum is what a place has of a metric.
type placeSum struct {
	value int64
	types map[session.TypeID]int64
	by    map[session.FunctionID]int64 // by the first function that was called; 0: itself
}

// placeSums adds up a metric by place in user code.
func placeSums(src *analysis.Source, weigh func(*analysis.Use) int64) (map[analysis.Place]*placeSum, error) {
	uses, err := src.Uses(nil)
	if err != nil {
		return nil, err
	}
	out := map[analysis.Place]*placeSum{}
	uses.Each(func(u *analysis.Use) {
		w := weigh(u)
		if w <= 0 || u.From.Function == 0 {
			return
		}
		sum := out[u.From]
		if sum == nil {
			sum = &placeSum{types: map[session.TypeID]int64{}, by: map[session.FunctionID]int64{}}
			out[u.From] = sum
		}
		sum.value += w
		if u.Type != 0 {
			sum.types[u.Type] += w
		}
		first := session.FunctionID(0)
		if len(u.Chain) > 0 {
			first = u.Chain[0]
		}
		sum.by[first] += w
	})
	return out, nil
}

// heaviest returns the keys with the greatest values, the greatest first.
func heaviest[K cmp.Ordered](of map[K]int64, most int) []K {
	keys := slices.SortedFunc(maps.Keys(of), func(a, b K) int {
		return cmp.Or(cmp.Compare(of[b], of[a]), cmp.Compare(a, b))
	})
	return keys[:min(most, len(keys))]
}

// named makes a Place with names.
func named(n *rules.SessionNames, at analysis.Place) Place {
	p := Place{Name: shortFunction(n, at.Function), Function: n.Function(at.Function)}
	if line, file := n.Position(at); line != nil {
		p.File, p.Line = file, line.LineBegin
	}
	return p
}

// shortFunction is the name of a function without namespace and parameters.
func shortFunction(n *rules.SessionNames, id session.FunctionID) string {
	f := n.FunctionRow(id)
	if f == nil {
		return "(unknown)"
	}
	head, _ := names.CutParameters(names.ShortFunction(f.DisplayName(), names.Namespace(f.RawType)))
	return head
}

// describeSum adds what a sum says of its place.
func describeSum(p Place, n *rules.SessionNames, sum *placeSum) Place {
	for _, id := range heaviest(sum.types, maxPlaceTypes) {
		p.Types = append(p.Types, names.ShortType(n.Type(id), names.Namespace(n.TypeNamespace(id))))
	}
	if by := heaviest(sum.by, 1); len(by) > 0 && by[0] != 0 {
		p.By = shortFunction(n, by[0])
	}
	return p
}

// namesOf returns the names of a session, which are read once for all limits.
func (b *Budget) namesOf(src *analysis.Source) (*rules.SessionNames, error) {
	s := src.Session()
	if b.names[s] == nil {
		n, err := rules.ReadNames(src)
		if err != nil {
			return nil, err
		}
		if b.names == nil {
			b.names = map[*session.Session]*rules.SessionNames{}
		}
		b.names[s] = n
	}
	return b.names[s], nil
}

// places returns where most of what a limit is about is done, or, with a baseline, most of what is more than in it.
// Metrics of whole processes have none.
func (l *Limit) places(now, before *measured, b *Budget) ([]Place, error) {
	n, err := b.namesOf(now.src)
	if err != nil {
		return nil, err
	}
	if l.metric.finds {
		return findingPlaces(n, now.found), nil
	}
	if l.metric.weigh == nil {
		return nil, nil
	}
	sums, err := placeSums(now.src, l.metric.weigh)
	if err != nil {
		return nil, err
	}
	if before != nil {
		return l.grown(n, sums, before, b)
	}
	list := slices.SortedFunc(maps.Keys(sums), func(a, b analysis.Place) int {
		return cmp.Or(cmp.Compare(sums[b].value, sums[a].value), cmp.Compare(a.Function, b.Function),
			cmp.Compare(a.Line, b.Line))
	})
	var out []Place
	for _, at := range list[:min(maxPlaces, len(list))] {
		p := describeSum(named(n, at), n, sums[at])
		p.Value = sums[at].value
		out = append(out, p)
	}
	return out, nil
}

// byFunction is what the places of a function have, by its whole name: ids and lines differ from session to session.
type byFunction struct {
	value int64
	lines map[int64]int64 // values by line, 0: not known
	most  analysis.Place  // the place that grew most
	grown int64           // by so much
}

// functionSums adds places up by function.
func functionSums(n *rules.SessionNames, sums map[analysis.Place]*placeSum) map[string]*byFunction {
	out := map[string]*byFunction{}
	for at, sum := range sums {
		name := n.Function(at.Function)
		f := out[name]
		if f == nil {
			f = &byFunction{lines: map[int64]int64{}}
			out[name] = f
		}
		f.value += sum.value
		f.lines[named(n, at).Line] += sum.value
	}
	return out
}

// grown returns the functions that have most more than in the baseline, each with its line that has.
func (l *Limit) grown(n *rules.SessionNames, sums map[analysis.Place]*placeSum, before *measured, b *Budget) ([]Place,
	error) {
	oldNames, err := b.namesOf(before.src)
	if err != nil {
		return nil, err
	}
	oldSums, err := placeSums(before.src, l.metric.weigh)
	if err != nil {
		return nil, err
	}
	now, old := functionSums(n, sums), functionSums(oldNames, oldSums)
	places := slices.SortedFunc(maps.Keys(sums), func(a, b analysis.Place) int {
		return cmp.Or(cmp.Compare(a.Function, b.Function), cmp.Compare(a.Line, b.Line))
	})
	growth := map[string]int64{}
	for _, at := range places {
		f, name := now[n.Function(at.Function)], n.Function(at.Function)
		more := sums[at].value
		growth[name] = f.value
		if o := old[name]; o != nil {
			more -= o.lines[named(n, at).Line]
			growth[name] -= o.value
		}
		if f.most.Function == 0 || more > f.grown {
			f.most, f.grown = at, more
		}
	}
	var out []Place
	for _, name := range heaviest(growth, maxPlaces) {
		if growth[name] > 0 {
			p := describeSum(named(n, now[name].most), n, sums[now[name].most])
			p.Value = growth[name]
			out = append(out, p)
		}
	}
	return out, nil
}

// findingPlaces are the places of findings.
func findingPlaces(n *rules.SessionNames, found *rules.Result) []Place {
	var out []Place
	for i := range found.Findings[:min(maxPlaces, len(found.Findings))] {
		f := &found.Findings[i]
		p := named(n, f.From)
		if p.Evidence = f.Evidence(n); f.From.Function == 0 {
			p.Name = f.Rule.ID
		}
		out = append(out, p)
	}
	return out
}

// maxRenamed bounds the functions of which it is tried whether one is what another was called: each is a pass over the
// session.
const maxRenamed = 50

// renamed returns the function of user code that the baseline does not have, and that has exactly as much of a metric
// as what the limit names has there: "" if there is none, or several. Limits on other things than functions have none.
func (l *Limit) renamed(now, old *session.Session, b *Budget, value int64) (string, error) {
	if l.metric.weigh == nil || value <= 0 || len(l.Functions)+len(l.Focus) != 1 {
		return "", nil
	}
	var of [2]map[string]*byFunction
	for i, s := range []*session.Session{now, old} {
		src, err := analysis.Open(s, analysis.Selection{})
		if err != nil {
			return "", err
		}
		n, err := b.namesOf(src)
		if err != nil {
			return "", err
		}
		sums, err := placeSums(src, l.metric.weigh)
		if err != nil {
			return "", err
		}
		of[i] = functionSums(n, sums)
	}
	added := map[string]int64{}
	for name, f := range of[0] {
		if of[1][name] == nil && !strings.ContainsAny(name, "*!") {
			added[name] = f.value
		}
	}
	found := ""
	for _, name := range heaviest(added, maxRenamed) {
		like := *l
		if like.Functions = []string{name}; len(l.Focus) > 0 {
			like.Functions, like.Focus = nil, []string{name}
		}
		switch m, err := like.measure(now, b); {
		case err != nil:
			return "", err
		case m.value != value:
		case found != "":
			return "", nil
		default:
			found = name
		}
	}
	return found, nil
}
