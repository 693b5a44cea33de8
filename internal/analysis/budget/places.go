package budget

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/clrprof/clrprof/internal/analysis"
	"github.com/clrprof/clrprof/internal/analysis/rules"
	"github.com/clrprof/clrprof/internal/dotnet/names"
	q "github.com/clrprof/clrprof/internal/quantity"
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
	AtLine   int64    // how much of Value is on Line, where several lines have it; 0: all
	about    string   // what stands before Value and AtLine if they are estimates
}

// String is the place as a person names it: Parser.ParseLine Orders.cs:8.
func (p *Place) String() string {
	if p.File == "" || p.Line == 0 {
		return p.Name
	}
	return fmt.Sprintf("%s %s:%d", p.Name, path.Base(strings.ReplaceAll(p.File, `\`, "/")), p.Line)
}

// where is the place, or, if several lines have what it has, its function, and how much its first line has.
func (p *Place) where(u unit) (text, most string) {
	if text = p.String(); p.AtLine == 0 {
		return text, ""
	}
	return p.Name, fmt.Sprintf(" (%s%s more at %s)", p.about, u.print(p.AtLine), strings.TrimPrefix(text, p.Name+" "))
}

// describe says what a place has of what is counted in a unit.
func (p *Place) describe(u unit) string {
	if p.Evidence != "" {
		return fmt.Sprintf("%s (%s)", p, p.Evidence)
	}
	where, most := p.where(u)
	text := fmt.Sprintf("%s, %s%s", where, p.about, u.print(p.Value))
	if len(p.Types) > 0 {
		text += " of " + strings.Join(p.Types, ", ")
	}
	if p.By != "" {
		text += " by " + p.By
	}
	return text + most
}

// placeSum is what a place has of a metric.
type placeSum[T, F cmp.Ordered] struct {
	value   int64
	sampled q.Sampled // what of the value is estimated
	types   map[T]int64
	by      map[F]int64 // by the first function that was called; of the zero value: itself
}

// placeSums are what places in user code have of a metric.
type placeSums map[analysis.Place]*placeSum[session.TypeID, session.FunctionID]

// sumPlaces adds up a metric by place in user code.
func sumPlaces(src *analysis.Source, weigh func(*analysis.Use) measure) (placeSums, error) {
	uses, err := src.Uses(nil)
	if err != nil {
		return nil, err
	}
	out := placeSums{}
	uses.Each(func(u *analysis.Use) {
		x := weigh(u)
		w := x.n
		if w <= 0 || u.From.Function == 0 {
			return
		}
		sum := out[u.From]
		if sum == nil {
			sum = &placeSum[session.TypeID, session.FunctionID]{types: map[session.TypeID]int64{},
				by: map[session.FunctionID]int64{}}
			out[u.From] = sum
		}
		sum.value, sum.sampled = sum.value+w, sum.sampled.Add(x.sampled)
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
func describeSum(p Place, n *rules.SessionNames, sum *placeSum[session.TypeID, session.FunctionID]) Place {
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
	sums, err := sumPlaces(now.src, l.metric.weigh)
	if err != nil {
		return nil, err
	}
	if before != nil {
		return l.grown(n, sums, now, before, b)
	}
	maps.DeleteFunc(sums, func(_ analysis.Place, sum *placeSum[session.TypeID, session.FunctionID]) bool {
		return sum.sampled.IsFew() // too few samples to say which place has most
	})
	list := slices.SortedFunc(maps.Keys(sums), func(a, b analysis.Place) int {
		return cmp.Or(cmp.Compare(sums[b].value, sums[a].value), cmp.Compare(a.Function, b.Function),
			cmp.Compare(a.Line, b.Line))
	})
	var out []Place
	for _, at := range list[:min(maxPlaces, len(list))] {
		p := describeSum(named(n, at), n, sums[at])
		p.Value, p.about = sums[at].value, q.Amount{Sampled: sums[at].sampled}.Sign()
		out = append(out, p)
	}
	return out, nil
}

// functionSum is what a function has of a metric, by what is the same in another session.
type functionSum struct {
	placeSum[string, string] // types by name, called functions by key
	lines                    map[string]int64
	at                       map[string]analysis.Place // of a line by its key
}

// functionSums adds places up by the keys of their functions.
func functionSums(n *rules.SessionNames, keys *analysis.PlaceKeys, sums placeSums) map[string]*functionSum {
	out := map[string]*functionSum{}
	for at, sum := range sums {
		key := keys.Function(at.Function)
		f := out[key]
		if f == nil {
			f = &functionSum{placeSum[string, string]{types: map[string]int64{}, by: map[string]int64{}},
				map[string]int64{}, map[string]analysis.Place{}}
			out[key] = f
		}
		line := keys.Place(at)
		f.value, f.sampled = f.value+sum.value, f.sampled.Add(sum.sampled)
		f.lines[line] += sum.value
		if was, known := f.at[line]; !known || at.Line < was.Line || at.Function < was.Function {
			f.at[line] = at
		}
		for id, value := range sum.types {
			f.types[names.ShortType(n.Type(id), names.Namespace(n.TypeNamespace(id)))] += value
		}
		for id, value := range sum.by {
			f.by[keys.Function(id)] += value
		}
	}
	return out
}

// less takes away what a function had before: what is left is its growth, and negative where it has less now.
func (f *functionSum) less(old *functionSum) {
	f.value -= old.value
	for _, of := range [][2]map[string]int64{{f.lines, old.lines}, {f.types, old.types}, {f.by, old.by}} {
		for key, value := range of[1] {
			of[0][key] -= value
		}
	}
}

// grownPlace describes the growth of a function: the line that grew most, the types of the objects, and the function
// that it called for most of it.
func (f *functionSum) grownPlace(n *rules.SessionNames, shortOf map[string]string) Place {
	most := ""
	for _, line := range heaviest(f.lines, len(f.lines)) {
		if _, isNow := f.at[line]; isNow { // a line that is gone has no place to point at
			most = line
			break
		}
	}
	p := named(n, f.at[most])
	p.about = q.Amount{Sampled: f.sampled}.Sign()
	if p.Value = f.value; p.Line != 0 && f.lines[most] != f.value {
		p.AtLine = f.lines[most]
	}
	for _, name := range heaviest(f.types, maxPlaceTypes) {
		if f.types[name] > 0 {
			p.Types = append(p.Types, name)
		}
	}
	if by := heaviest(f.by, 1); len(by) > 0 && f.by[by[0]] > 0 {
		p.By = shortOf[by[0]]
	}
	return p
}

// grown returns the functions that have most more than in the baseline, each with its line that has. Both are matched
// with those of the baseline wherever they have moved since.
func (l *Limit) grown(n *rules.SessionNames, sums placeSums, now, before *measured, b *Budget) ([]Place, error) {
	oldNames, err := b.namesOf(before.src)
	if err != nil {
		return nil, err
	}
	oldSums, err := sumPlaces(before.src, l.metric.weigh)
	if err != nil {
		return nil, err
	}
	oldKeys, keys, err := analysis.PairPlaces(before.src, now.src)
	if err != nil {
		return nil, err
	}
	grown, growth := functionSums(n, keys, sums), map[string]int64{}
	for key, old := range functionSums(oldNames, oldKeys, oldSums) {
		if f := grown[key]; f != nil {
			f.less(old)
		}
	}
	for key, f := range grown {
		if f.value > 0 && !f.sampled.IsFew() {
			growth[key] = f.value
		}
	}
	shortOf := map[string]string{}
	for _, sum := range sums {
		for id := range sum.by {
			if id != 0 {
				shortOf[keys.Function(id)] = shortFunction(n, id)
			}
		}
	}
	var out []Place
	for _, key := range heaviest(growth, maxPlaces) {
		out = append(out, grown[key].grownPlace(n, shortOf))
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

// sameCode returns the name of the function that has the code of the one that a limit names, which only the baseline
// has under that name: "" if there is none, or the limit names several functions.
func (l *Limit) sameCode(now, old *session.Session, b *Budget) (string, error) {
	if len(l.Functions)+len(l.Focus) != 1 {
		return "", nil
	}
	oldSource, err := analysis.Open(old, analysis.Selection{})
	if err != nil {
		return "", err
	}
	source, err := analysis.Open(now, analysis.Selection{})
	if err != nil {
		return "", err
	}
	oldKeys, keys, err := analysis.PairPlaces(oldSource, source)
	if err != nil || len(oldKeys.Renamed()) == 0 {
		return "", err
	}
	wanted, err := analysis.NamedFunctions(old, slices.Concat(l.Functions, l.Focus))
	if err != nil {
		return "", err
	}
	n, err := b.namesOf(source)
	if err != nil {
		return "", err
	}
	functions, err := now.Functions()
	if err != nil {
		return "", err
	}
	found := ""
	for id := range wanted {
		key, name := oldKeys.Function(id), ""
		if slices.Contains(oldKeys.Renamed()[key], id) {
			at := slices.IndexFunc(functions, func(f session.Function) bool { return keys.Function(f.ID) == key })
			name = n.Function(functions[at].ID)
		}
		if name == "" || found != "" && found != name {
			return "", nil
		}
		found = name
	}
	return found, nil
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
	var of [2]map[string]int64 // values by the names of functions
	for i, s := range []*session.Session{now, old} {
		src, err := analysis.Open(s, analysis.Selection{})
		if err != nil {
			return "", err
		}
		n, err := b.namesOf(src)
		if err != nil {
			return "", err
		}
		sums, err := sumPlaces(src, l.metric.weigh)
		if err != nil {
			return "", err
		}
		of[i] = map[string]int64{}
		for at, sum := range sums {
			of[i][n.Function(at.Function)] += sum.value
		}
	}
	added := map[string]int64{}
	for name, value := range of[0] {
		if _, isOld := of[1][name]; !isOld && !strings.ContainsAny(name, "*!") {
			added[name] = value
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
