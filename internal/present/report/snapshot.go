package report

import (
	"cmp"
	"slices"

	"github.com/clrprof/clrprof/internal/analysis"
	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
)

// snapshotView shows what retains memory.
var snapshotView = View{
	Name:     "snapshot",
	Short:    "what retains the memory of the heap (run --snapshot)",
	Argument: "[TYPE]",
	Text:     Options{Top: 30},
	isTree:   true,
	places:   true,
	columns:  keys(snapshotKeys),
	text:     keys(snapshotText),
	sort:     "retained_bytes",
	build:    buildSnapshot,
}

// rowObject is an object on a path from a root.
const rowObject rowKind = "object"

// rootStatic is the kind of a root that is a static field. For the runtime it is an array that a handle holds.
const rootStatic = "static"

// The columns of the view snapshot, for programs and in text.
const (
	snapshotKeys = "name kind level module module_path process_id process_name live_objects live_bytes " +
		"live_bytes_percent " +
		"retained_bytes retained_bytes_percent finalizable_objects frozen_objects unreachable_objects root_kind " +
		"root_flags static_field static_bytes from"
	snapshotText = "name retained_bytes retained_bytes_percent live_objects live_bytes live_bytes_percent " +
		"static_field from module"
)

// heapRow is what a snapshot of the heap says of a row. Whole is all bytes of the snapshots that are shown.
type heapRow struct {
	objects, finalizable, frozen, unreachable q.Count
	bytes, retained, whole                    q.Bytes
	noRetained                                bool                    // what functions retain together is not known
	static                                    *session.SnapshotStatic // that retains half of the type or more, or nil
	staticBytes                               q.Bytes
	isObject                                  bool // one, of whose kind nothing is counted
	isPart                                    bool // of the objects of a place: how many is not known

	sampled q.Sampled // what of objects and bytes samples stand for
}

// amount is how many objects and bytes it has.
func (h *heapRow) amount() q.Amount {
	return q.Amount{Allocations: h.objects, Bytes: h.bytes, Sampled: h.sampled}
}

// heapColumns makes the columns of the view snapshot. Rows of other views have empty cells there.
func heapColumns() []Column {
	cell := func(applies func(*heapRow) bool, value func(*heapRow) Cell) func(*context, *Row) Cell {
		return func(_ *context, r *Row) Cell {
			if r.heap == nil || !applies(r.heap) {
				return Cell{Empty: true}
			}
			return value(r.heap)
		}
	}
	always := func(*heapRow) bool { return true }
	amount := func(applies func(*heapRow) bool, value func(*context, q.Amount, q.Amount) Cell) func(*context,
		*Row) Cell {
		return func(c *context, r *Row) Cell {
			if r.heap == nil || !applies(r.heap) {
				return Cell{Empty: true}
			}
			return value(c, r.heap.amount(), r.heap.amount())
		}
	}
	retains := func(h *heapRow) bool { return !h.noRetained }
	counts := func(h *heapRow) bool { return !h.isObject && !h.isPart }
	ofType := func(h *heapRow) bool { return !h.isObject && !h.noRetained }
	return []Column{
		{Key: "live_objects", Title: "Objects", Kind: Count, cell: amount(counts, (*context).objectsCell)},
		{Key: "live_bytes", Title: "Bytes", Kind: Bytes, cell: amount(always, (*context).bytesCell)},
		{Key: "live_bytes_percent", Title: "%", Kind: Percent, cell: cell(always, func(h *heapRow) Cell {
			share := Cell{Percent: q.PercentOf(h.bytes, h.whole), Empty: h.sampled.IsFew()}
			if h.sampled.Samples > 0 {
				share.Estimate = &Estimate{Samples: h.sampled.Samples}
			}
			return share
		})},
		{Key: "retained_bytes", Title: "Retained", Kind: Bytes, cell: cell(retains, func(h *heapRow) Cell {
			return numberCell(h.retained)
		})},
		{Key: "retained_bytes_percent", Title: "%", Kind: Percent, cell: cell(retains, func(h *heapRow) Cell {
			return Cell{Percent: q.PercentOf(h.retained, h.whole)}
		})},
		{Key: "static_field", Title: "Static field", Kind: Name, cell: func(c *context, r *Row) Cell {
			if r.heap == nil || r.heap.static == nil {
				return Cell{Empty: true}
			}
			return textCell(c.staticName(r.heap.static))
		}, short: func(c *context, r *Row) string {
			if r.heap == nil || r.heap.static == nil {
				return ""
			}
			return c.shortStaticName(r.heap.static)
		}, Cut: CutParts},
		{Key: "static_bytes", Title: "It retains", Kind: Bytes, cell: cell(func(h *heapRow) bool {
			return h.static != nil
		}, func(h *heapRow) Cell { return numberCell(h.staticBytes) })},
		{Key: "finalizable_objects", Title: "To be finalized", Kind: Count, cell: cell(ofType, func(h *heapRow) Cell {
			return numberCell(h.finalizable)
		})},
		{Key: "frozen_objects", Title: "Frozen", Kind: Count, cell: cell(ofType, func(h *heapRow) Cell {
			return numberCell(h.frozen)
		})},
		{Key: "unreachable_objects", Title: "Unreachable", Kind: Count, cell: cell(ofType, func(h *heapRow) Cell {
			return numberCell(h.unreachable)
		})},
	}
}

// buildSnapshot shows what retains the memory of the heap: types, and below those that were asked for by name the
// functions that allocated them and how a root holds them.
func buildSnapshot(b *builder) error {
	whole, shown, err := b.snapshotNotes()
	if err != nil {
		return err
	}
	all, err := b.source.Session().SnapshotTypes()
	if err != nil {
		return err
	}
	statics, err := analysis.ReadStatics(b.source.Session())
	if err != nil {
		return err
	}
	all = slices.DeleteFunc(all, func(t session.SnapshotType) bool { return !shown[t.Process] })
	if b.options.Argument != "" {
		if all, err = b.matchingSnapshotTypes(all); err != nil {
			return err
		}
	}
	var list []Row
	for _, t := range all {
		static, bytes := statics.Holder(t.Type)
		row := Row{kind: rowType, typ: t.Type, module: b.types.get(t.Type).Module, process: t.Process,
			heap: &heapRow{objects: t.Allocations,
				bytes: t.Bytes, retained: t.Retained, whole: whole, finalizable: t.Finalizable, frozen: t.Frozen,
				unreachable: t.Unreachable, static: static, staticBytes: bytes}}
		if t.Type == 0 {
			row.kind, row.text = rowObject, "(types that the runtime did not name)"
		}
		list = append(list, row)
	}
	list = b.first(b.sorted(list), "more type")
	known := slices.ContainsFunc(list, func(r Row) bool { return r.heap.static != nil })
	named := b.options.Argument != "" // below such a type are rows of who holds it
	if !known || named {
		b.table.TextColumns = without(b.table.TextColumns, "static_field")
	}
	if !named {
		b.table.TextColumns = without(b.table.TextColumns, "from")
	}
	if b.options.Argument == "" {
		b.table.Rows = list
		if len(list) > 0 {
			b.next(NoteNameType)
		}
		return nil
	}
	return b.explainTypes(list, statics, whole)
}

// without returns keys of columns without one.
func without(keys []string, key string) []string {
	return slices.DeleteFunc(slices.Clone(keys), func(k string) bool { return k == key })
}

// snapshotNotes says what the snapshots are of, and returns all their bytes and the processes that are shown.
func (b *builder) snapshotNotes() (whole q.Bytes, shown map[session.ProcessID]bool, err error) {
	list, err := b.source.Session().Snapshots()
	if err != nil {
		return 0, nil, err
	}
	shown = map[session.ProcessID]bool{}
	sel := b.source.Selection()
	for _, s := range list {
		if !sel.HasProcess(s.Process) {
			continue
		}
		shown[s.Process] = true
		whole += s.All.Bytes
		b.note(NoteHeap, b.processes.get(s.Process).PID, s.GCNumber, Things{int(s.All.Allocations), "object"},
			s.All.Bytes)
		for _, part := range []struct {
			amount q.Amount
			kind   NoteKind
		}{
			{s.Finalizable, NoteOnlyFinalizer},
			{s.Frozen, NoteOnlyFrozen},
			{s.Unreachable, NoteNoRoot},
		} {
			if !part.amount.IsZero() {
				b.note(part.kind, Things{int(part.amount.Allocations), "object"}, part.amount.Bytes)
			}
		}
	}
	if len(shown) == 0 {
		return 0, nil, analysis.ErrNoSnapshot
	}
	b.note(NoteRetained)
	b.note(NoteOfHeap)
	if !sel.WholeProcesses() {
		b.note(NoteWholeHeap)
	}
	return whole, shown, nil
}

func (b *builder) matchingSnapshotTypes(all []session.SnapshotType) ([]session.SnapshotType, error) {
	var ids []session.TypeID
	retained := map[session.TypeID]q.Bytes{}
	for _, t := range all {
		if t.Type != 0 {
			ids = append(ids, t.Type)
			retained[t.Type] = t.Retained
		}
	}
	isNamed := func(id session.TypeID) bool { return isName(b.typeName(id), b.options.Argument) }
	if !slices.ContainsFunc(ids, isNamed) {
		for _, t := range b.types.list { // another one that is alive, with a part of this name, is not meant
			if isNamed(t.ID) {
				return nil, &UnknownError{What: "type", Name: b.options.Argument, Dead: true}
			}
		}
	}
	matches, err := find("type", b.options.Argument, ids, b.typeName, func(id session.TypeID) int64 {
		return int64(retained[id])
	})
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(all, func(t session.SnapshotType) bool { return !slices.Contains(matches, t.Type) }), nil
}

// explainTypes adds the types with what is below them.
func (b *builder) explainTypes(list []Row, statics *analysis.Statics, whole q.Bytes) error {
	functions, err := b.snapshotFunctions(whole)
	if err != nil {
		return err
	}
	paths, err := b.source.Session().SnapshotPaths()
	if err != nil {
		return err
	}
	holders, err := b.source.Holders()
	if err != nil {
		return err
	}
	placed := false
	for _, row := range list {
		held, err := b.holderRows(&row)
		if err != nil {
			return err
		}
		note := NoteHolders
		if len(held) == 0 { // of a version that knew only what static fields retain
			note, held = NoteHeldBy, b.heldRows(&row, holders)
		}
		placed = placed || len(held) > 0
		b.table.Rows = slices.Concat(b.table.Rows, []Row{row}, functions[row.typ], held)
		if len(held) > 0 {
			b.note(note)
		}
		before := len(b.table.Rows)
		for _, step := range paths {
			if step.Process == row.process && step.Type == row.typ {
				b.addStep(step, statics.Field(step.Process, step.Static), before, whole)
			}
		}
		if len(b.table.Rows) == before {
			b.note(NoteNoPath, b.typeName(row.typ))
		}
	}
	if !placed {
		b.table.TextColumns = without(b.table.TextColumns, "from")
	}
	return b.noteStaticsLeftOut(list)
}

// heldRows are the static fields that hold objects of a type, and below each the places in user code that made these:
// those of most bytes first.
func (b *builder) heldRows(of *Row, holders *analysis.Holders) []Row {
	var list []*holder
	by := map[*session.SnapshotStatic]*holder{}
	for i := range holders.Places {
		p := &holders.Places[i]
		if p.Type != of.typ || p.Static == nil {
			continue
		}
		held := &heapRow{bytes: p.StaticBytes, whole: of.heap.whole, noRetained: true, isPart: p.StaticBytes < p.Bytes}
		if !held.isPart {
			held.objects = p.Allocations
		}
		place := Row{kind: rowFunction, level: 2, function: p.From.Function, from: p.From, process: of.process,
			module: b.functions.get(p.From.Function).Module, heap: held}
		if p.From.Function == 0 {
			place.kind, place.text = rowOutside, "(code that is not yours)"
		}
		h := by[p.Static]
		if h == nil {
			h = &holder{row: Row{kind: rowRoot, level: 1, typ: p.Static.Type, module: b.types.get(p.Static.Type).Module,
				process: of.process, held: &rootRow{kind: rootStatic, static: p.Static},
				heap: &heapRow{whole: of.heap.whole, noRetained: true}}}
			by[p.Static] = h
			list = append(list, h)
		}
		h.row.heap.bytes, h.row.heap.objects = h.row.heap.bytes+held.bytes, h.row.heap.objects+held.objects
		h.row.heap.isPart = h.row.heap.isPart || held.isPart
		h.places = append(h.places, place)
	}
	sortByBytes(list)
	var out []Row
	other := *of.heap
	other.noRetained, other.static = true, nil
	for _, h := range list {
		out = append(append(out, h.row), h.places...)
		other.bytes, other.objects = other.bytes-h.row.heap.bytes, other.objects-h.row.heap.objects
		other.isPart = other.isPart || h.row.heap.isPart
	}
	if len(out) > 0 && other.bytes > 0 {
		out = append(out, Row{kind: rowOutside, level: 1, process: of.process, heap: &other,
			text: "(held otherwise)"})
	}
	return out
}

func sortByBytes(list []*holder) {
	slices.SortStableFunc(list, func(x, y *holder) int { return cmp.Compare(y.row.heap.bytes, x.row.heap.bytes) })
}

// noteStaticsLeftOut says of how many classes the static fields are not known, in the processes of the rows.
func (b *builder) noteStaticsLeftOut(list []Row) error {
	snapshots, err := b.source.Session().Snapshots()
	for _, s := range snapshots {
		if s.StaticsLeftOut > 0 && slices.ContainsFunc(list, func(r Row) bool { return r.process == s.Process }) {
			b.note(NoteStaticsLeftOut, b.processes.get(s.Process).PID,
				Things{int(s.StaticsLeftOut), "class"})
		}
	}
	return err
}

// snapshotFunctions returns, for each type, the functions that allocated its objects, those of most bytes first.
func (b *builder) snapshotFunctions(whole q.Bytes) (map[session.TypeID][]Row, error) {
	s := b.source.Session()
	values, err := s.SnapshotSites()
	if err != nil {
		return nil, err
	}
	sites, err := s.Sites()
	if err != nil {
		return nil, err
	}
	nodes, err := s.Nodes()
	if err != nil {
		return nil, err
	}
	stand, err := b.source.SiteStandsFor()
	if err != nil {
		return nil, err
	}
	site := rows[session.SiteID, session.Site]{sites, func(r *session.Site) session.SiteID { return r.ID }}
	node := rows[session.NodeID, session.Node]{nodes, func(r *session.Node) session.NodeID { return r.ID }}
	type key struct {
		typ      session.TypeID
		function session.FunctionID
	}
	sums := map[key]*heapRow{}
	out := map[session.TypeID][]Row{}
	for _, v := range values {
		at := site.get(v.Site)
		k := key{at.Type, node.get(at.Node).Function}
		if sums[k] == nil {
			sums[k] = &heapRow{whole: whole, noRetained: true}
			f := b.functions.get(k.function)
			out[k.typ] = append(out[k.typ], Row{kind: rowFunction, level: 1, function: k.function, module: f.Module,
				process: f.Process, heap: sums[k]})
		}
		sums[k].add(stand(v.Site, v.Amount))
	}
	for _, list := range out {
		slices.SortFunc(list, func(x, y Row) int {
			return cmp.Or(cmp.Compare(y.heap.bytes, x.heap.bytes),
				cmp.Compare(b.functionName(x.function), b.functionName(y.function)),
				cmp.Compare(x.function, y.function))
		})
	}
	return out, nil
}

// staticName is the name of a static field, or of the property that it is the field of: Class.Name.
func (c *context) staticName(s *session.SnapshotStatic) string {
	return c.typeName(s.Type) + "." + s.Member()
}

func (c *context) shortStaticName(s *session.SnapshotStatic) string {
	return c.shortTypeName(s.Type) + "." + s.Member()
}

// addStep adds a step of a path, whose rows begin at the position before: the root first, each object below the last.
// The static field that holds an object is its root: what comes before is the runtime's own.
func (b *builder) addStep(step session.SnapshotPath, static *session.SnapshotStatic, before int, whole q.Bytes) {
	t := b.table
	if step.Position == 0 {
		t.Rows = append(t.Rows, Row{kind: rowRoot, level: 1, function: step.Function,
			module: b.functions.get(step.Function).Module, process: step.Process,
			held: &rootRow{kind: step.Kind, flags: step.Flags}})
	}
	if static != nil {
		t.Rows = append(t.Rows[:before], Row{kind: rowRoot, level: 1, typ: static.Type,
			module: b.types.get(static.Type).Module, process: step.Process, position: int(step.Position) - 1,
			held: &rootRow{kind: rootStatic, static: static}})
	}
	// The root is at level 1, the object at position 0 below it; a gap in the positions is one row.
	last := t.Rows[len(t.Rows)-1].level
	if left := int(step.Position) - t.Rows[len(t.Rows)-1].position - 1; len(t.Rows) > before+1 && left > 0 {
		last++
		t.Rows = append(t.Rows, Row{kind: rowObject, level: last, process: step.Process, text: ellipsis + " " +
			counted(left, "more object"), position: int(step.Position) - 1})
	}
	t.Rows = append(t.Rows, Row{kind: rowObject, level: last + 1, typ: step.ObjectType,
		module: b.types.get(step.ObjectType).Module, process: step.Process,
		text: b.typeName(step.ObjectType), position: int(step.Position),
		heap: &heapRow{isObject: true, bytes: step.Bytes, retained: step.Retained, whole: whole}})
}
