package report

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/clrprof/clrprof/internal/analysis"
	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
)

// survivorsView shows why objects survived a collection.
var survivorsView = View{
	Name:     "survivors",
	Short:    "why objects survived a collection",
	Argument: "[GC]",
	Text:     Options{Top: 20, Depth: 2},
	Grouped:  true,
	isTree:   true,
	columns: keys("kind level gc surviving_objects surviving_bytes rooted_objects rooted_bytes reachable_objects " +
		"reachable_bytes uncollected_objects uncollected_bytes root_kind root_flags references"),
	text:  keys("surviving_bytes surviving_objects rooted_objects reachable_objects uncollected_objects references"),
	sort:  "surviving_bytes",
	build: buildSurvivors,
}

// whyRow is why objects survived.
type whyRow struct {
	uncollected, rooted, reachable q.Amount
}

func (w *whyRow) all() q.Amount { return w.uncollected.Add(w.rooted).Add(w.reachable) }

// rootRow is a kind of root references.
type rootRow struct {
	kind       string
	flags      int64
	references q.Count
	sampled    q.Sampled               // what of these is estimated
	static     *session.SnapshotStatic // the static field that it is; of a snapshot only
	through    bool                    // the row's type is that of what is held directly; of a snapshot only
}

func whyColumns() []Column {
	var out []Column
	for _, v := range []struct {
		key, title string
		of         func(*whyRow) q.Amount
	}{
		{"uncollected", "Not collected", func(w *whyRow) q.Amount { return w.uncollected }},
		{"rooted", "Rooted", func(w *whyRow) q.Amount { return w.rooted }},
		{"reachable", "Reachable", func(w *whyRow) q.Amount { return w.reachable }},
		{"surviving", "Survived", (*whyRow).all},
	} {
		cell := func(value func(*context, q.Amount, q.Amount) Cell) func(*context, *Row) Cell {
			return func(c *context, r *Row) Cell {
				if r.why == nil {
					return Cell{Empty: true}
				}
				return value(c, v.of(r.why), r.why.all())
			}
		}
		out = append(out,
			Column{Key: v.key + "_objects", Title: v.title, Kind: Count, cell: cell((*context).objectsCell)},
			Column{Key: v.key + "_bytes", Title: v.title + " bytes", Kind: Bytes, cell: cell((*context).bytesCell)})
	}
	root := func(value func(*context, *rootRow) Cell) func(*context, *Row) Cell {
		return func(c *context, r *Row) Cell {
			if r.held == nil {
				return Cell{Empty: true}
			}
			return value(c, r.held)
		}
	}
	return append(out,
		Column{Key: "root_kind", Title: "Root", Kind: Text, cell: root(func(_ *context, r *rootRow) Cell {
			return textCell(r.kind)
		})},
		Column{Key: "root_flags", Title: "Flags", Kind: Text, cell: root(func(_ *context, r *rootRow) Cell {
			return textCell(flagText(r.flags))
		})},
		Column{Key: "references", Title: "References", Kind: Count, cell: root(func(c *context, r *rootRow) Cell {
			return c.objectsCell(r.referring(), r.referring())
		})},
		Column{Key: "gc", Title: "GC", Kind: Number, cell: number(func(_ *context, r *Row) int64 { return r.number })})
}

// referring is how many references there are, as an amount of objects: each refers to one.
func (r *rootRow) referring() q.Amount {
	return q.Amount{Allocations: r.references, Sampled: r.sampled}
}

// flagText names the flags of a root.
func flagText(flags int64) string {
	var out []string
	for i, name := range []string{"pinning", "weak", "interior", "ref-counted"} {
		if flags>>i&1 != 0 {
			out = append(out, name)
		}
	}
	return strings.Join(out, " ")
}

// rootName says what a root is: "F, on the stack", "handle, pinning".
func rootName(r *Row, function func(session.FunctionID) string, static func(*session.SnapshotStatic) string,
	typ func(session.TypeID) string) string {
	var name string
	if r.held.static != nil {
		if r.held.static.OfThread {
			return static(r.held.static) + " (thread static)"
		}
		return static(r.held.static) + " (static)"
	}
	switch r.held.kind {
	case session.RootStack:
		name = "on a stack"
		if r.function != 0 {
			name = function(r.function) + ", on the stack" // where names are cut, their ends are whole
		}
	case session.RootHandle:
		name = "handle"
	case session.RootFinalizer:
		name = "finalizer queue"
	case session.HolderSeveral:
		name = "several together"
	case session.HolderFrozen:
		name = "frozen: never freed"
	case session.HolderNone:
		name = "no known root"
	case session.HolderDependent:
		if r.held.through {
			return "as long as its key is alive: " + typ(r.typ)
		}
		return "as long as one of its keys is alive"
	default:
		name = "other root"
	}
	if flags := flagText(r.held.flags); flags != "" {
		name += ", " + flags
	}
	if r.held.through {
		name += ": " + typ(r.typ)
	}
	return name
}

// explained returns for each process the collection that is shown: that with the number, or else the one, of those
// whose roots were looked at, that most bytes survived.
func (b *builder) explained(survivals []session.Survival) (map[session.GCID]*gcRow, error) {
	list, err := b.gcRows()
	if err != nil {
		return nil, err
	}
	number := int64(0)
	if b.options.Argument != "" {
		if number, err = strconv.ParseInt(b.options.Argument, 10, 64); err != nil {
			return nil, &UnknownError{What: "collection", Name: b.options.Argument}
		}
	}
	looked := map[session.GCID]bool{}
	for _, s := range survivals {
		looked[s.GC] = true
	}
	best := map[session.ProcessID]*gcRow{}
	var numbers []string
	for i := range list {
		g := &list[i]
		if !looked[g.ID] {
			continue
		}
		if name := strconv.FormatInt(g.Number, 10); !slices.Contains(numbers, name) {
			numbers = append(numbers, name)
		}
		old := best[g.Process]
		if number == g.Number || number == 0 && (old == nil || g.survived().Bytes > old.survived().Bytes) {
			best[g.Process] = g
		}
	}
	if number != 0 && len(best) == 0 {
		return nil, Unknown("collection", b.options.Argument, numbers)
	}
	out := map[session.GCID]*gcRow{}
	for _, g := range best {
		out[g.ID] = g
	}
	return out, nil
}

func buildSurvivors(b *builder) error {
	list, of, err := b.groups()
	if err != nil {
		return err
	}
	survivals, err := b.source.Session().Survivals()
	if err != nil {
		return err
	}
	gcs, err := b.explained(survivals)
	if err != nil {
		return err
	}
	estimated, err := b.source.SiteEstimates()
	if err != nil {
		return err
	}
	b.table.Notes = append(b.table.Notes, survivorNotes(gcs)...)
	why := make([]whyRow, len(list))
	for _, s := range survivals {
		g, wanted := of.Of(s.Site)
		if gc := gcs[s.GC]; gc != nil && wanted {
			why[g].uncollected = why[g].uncollected.Add(estimated(s.Site, s.Uncollected))
			why[g].rooted = why[g].rooted.Add(estimated(s.Site, s.Rooted))
			why[g].reachable = why[g].reachable.Add(estimated(s.Site, s.Reachable))
			list[g].number = gc.Number
		}
	}
	roots, err := b.rootsOf(gcs, of, list)
	if err != nil {
		return err
	}
	var out []Row
	for i, r := range list {
		if all := why[i].all(); !all.IsZero() {
			r.values, r.why, r.rest = both(all), &why[i], i
			out = append(out, r)
		}
	}
	return b.tree(out, exclusiveCost, func(r *Row) ([]Row, error) {
		if r.kind == rowRoot {
			return nil, nil
		}
		return roots[r.rest], nil
	})
}

func survivorNotes(gcs map[session.GCID]*gcRow) []Note {
	var list []*gcRow
	for _, g := range gcs {
		list = append(list, g)
	}
	slices.SortFunc(list, func(a, b *gcRow) int { return cmp.Compare(a.ID, b.ID) })
	if len(list) == 0 {
		return []Note{note(NoteNoRoots)}
	}
	var out []Note
	for _, g := range list {
		out = append(out, note(NoteSurvived, g.Number, g.Generation, g.Begin))
	}
	return out
}

// rootsOf returns the rows below the groups: what refers to their objects.
func (b *builder) rootsOf(gcs map[session.GCID]*gcRow, of analysis.SiteGroups, list []Row) (map[int][]Row, error) {
	all, err := b.source.Session().Roots()
	if err != nil {
		return nil, err
	}
	type key struct {
		group    int
		kind     string
		flags    int64
		function session.FunctionID
	}
	stand, err := b.source.SiteStandsFor()
	if err != nil {
		return nil, err
	}
	sums := map[key]*rootRow{}
	out := map[int][]Row{}
	for _, r := range all {
		g, wanted := of.Of(r.Site)
		gc := gcs[r.GC]
		if gc == nil || !wanted {
			continue
		}
		k := key{g, r.Kind, r.Flags, r.Function}
		if sums[k] == nil {
			sums[k] = &rootRow{kind: r.Kind, flags: r.Flags}
			f := b.functions.get(r.Function)
			out[g] = append(out[g], Row{kind: rowRoot, level: 1, held: sums[k], function: r.Function, module: f.Module,
				process: list[g].process, number: gc.Number})
		}
		referring := stand(r.Site, q.Amount{Allocations: r.References})
		sums[k].references += referring.Allocations
		sums[k].sampled = sums[k].sampled.Add(referring.Sampled)
	}
	return out, nil
}
