package report

import (
	"github.com/clrprof/clrprof/internal/analysis"
	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
)

// typesView is the tree of types and of the paths that created their objects.
var typesView = View{
	Name:          "types",
	Short:         "types, and below them the call paths that created them",
	Argument:      "[TYPE]",
	Text:          Options{Top: 20, Depth: 1, Min: 0.1},
	Paths:         true,
	Followed:      true,
	code:          true,
	list:          buildTypesFlat,
	isTree:        true,
	columns:       keys("name kind level " + identity[len("name "):] + instances + amounts),
	text:          keys("name bytes bytes_percent instances instances_percent module"),
	sort:          "bytes",
	build:         buildTypes,
	groups:        []string{string(analysis.ByModule), string(analysis.ByNamespace)},
	optional:      keys(lifetimeKeys("")),
	readLifetimes: func(b *builder, l *analysis.Lifetimes) { b.lifetimes.types = l.Types() },
}

// buildTypes makes the Allocation view: types, and below each the paths that
// created its objects. With a depth of 1 (types only) each type gets its hot path in
// one line instead.
func buildTypes(b *builder) error {
	values, err := b.source.Types()
	if err != nil {
		return err
	}
	if b.options.Argument != "" {
		if values, err = b.matchingTypes(values); err != nil {
			return err
		}
		matches := make([]session.TypeID, len(values))
		for i, v := range values {
			matches[i] = v.Type
		}
		b.source.OfTypes(matches)
	}
	var roots []Row
	for _, v := range values {
		t := b.types.get(v.Type)
		roots = append(roots, Row{kind: rowType, typ: v.Type, module: t.Module, process: t.Process,
			values: both(v.Amount)})
	}
	if b.options.By != "" {
		return b.merged(roots, b.groupOfType)
	}
	b.attachLifetimes(roots)
	below := map[session.PathID][]Row{} // of the type whose tree is being built
	err = b.tree(roots, inclusiveCost, func(r *Row) ([]Row, error) {
		if r.kind != rowType {
			return below[r.path], nil
		}
		paths, err := b.source.TypePaths(r.typ)
		if err != nil {
			return nil, err
		}
		below = b.byParent(paths)
		return below[0], nil
	})
	if err != nil {
		return err
	}
	if b.options.Depth == 1 {
		b.next(NoteTypePaths)
	}
	for i := range b.table.Rows {
		r := &b.table.Rows[i]
		if b.options.Depth != 1 || b.options.Top == 0 || r.kind != rowType {
			continue
		}
		if err := b.hotPathOfType(r); err != nil {
			return err
		}
	}
	return nil
}

func (b *builder) matchingTypes(values []session.TypeValue) ([]session.TypeValue, error) {
	of := map[session.TypeID]session.TypeValue{}
	var ids []session.TypeID
	for _, v := range values {
		of[v.Type] = v
		ids = append(ids, v.Type)
	}
	matches, err := find("type", b.options.Argument, ids, b.typeName, func(id session.TypeID) int64 {
		return int64(of[id].Bytes)
	})
	if err != nil {
		return nil, err
	}
	var out []session.TypeValue
	for _, id := range matches {
		out = append(out, of[id])
	}
	return out, nil
}

func (b *builder) byParent(paths []session.PathValue) map[session.PathID][]Row {
	below := map[session.PathID][]Row{}
	for _, p := range paths {
		below[p.Parent] = append(below[p.Parent], b.pathRow(p))
	}
	return below
}

// hotPathOfType finds the path on which most bytes of a type were allocated.
func (b *builder) hotPathOfType(r *Row) error {
	steps, err := b.source.TypeHotPath(r.typ)
	if err != nil || len(steps) == 0 {
		return err
	}
	r.hotPath = steps
	r.fromShare = q.PercentOf(steps[len(steps)-1].Bytes, r.values.Inclusive.Bytes)
	return nil
}

// buildTypesFlat is buildTypes without any paths, which need the whole tree.
func buildTypesFlat(b *builder) error {
	values, err := b.source.Types()
	if err != nil {
		return err
	}
	var list []Row
	for _, v := range values {
		t := b.types.get(v.Type)
		list = append(list, Row{kind: rowType, typ: v.Type, module: t.Module, process: t.Process,
			values: both(v.Amount)})
	}
	b.table.Rows = b.limit(list, inclusiveCost)
	return nil
}
