package analysis

import (
	"cmp"
	"slices"

	"github.com/clrprof/clrprof/internal/pattern"
	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
)

// comparedSource is a session that is compared, with the keys of its rows.
type comparedSource struct {
	*Source
	data      *Data
	keys      *Keys
	moved     []bool // by line: it is elsewhere in its function than in the session that it is compared with
	renamed   []bool // by function: it has the key of one with another name and the same code; nil: none has
	modules   index[session.ModuleID]
	functions index[session.FunctionID]
	types     index[session.TypeID]
	files     map[session.FileID]string
}

// prepare reads the names of all sessions. Where lines count, those of all sessions have the keys that they have in the
// first of the new ones.
func prepare(from, to []*Source, view string) (sides [2][]*comparedSource, err error) {
	for n, side := range [][]*Source{from, to} {
		for _, v := range side {
			one := &comparedSource{Source: v}
			if view == "sites" {
				one.data, err = v.load()
			} else {
				one.data, err = v.named()
			}
			if err != nil {
				return sides, err
			}
			files, err := v.session.SourceFiles()
			if err != nil {
				return sides, err
			}
			one.files = map[session.FileID]string{}
			for _, f := range files {
				one.files[f.ID] = f.Path
			}
			one.keys = one.data.Keys()
			one.modules = newIndex(one.data.Modules, func(r *session.Module) session.ModuleID { return r.ID })
			one.functions = newIndex(one.data.Functions, func(r *session.Function) session.FunctionID { return r.ID })
			one.types = newIndex(one.data.Types, func(r *session.Type) session.TypeID { return r.ID })
			sides[n] = append(sides[n], one)
		}
	}
	if err := pairRenamed(slices.Concat(sides[1], sides[0]), len(sides[1])); err != nil {
		return sides, err
	}
	if hasLines(view) {
		err = alignLines(slices.Concat(sides[1], sides[0]))
	}
	return sides, err
}

func (v *comparedSource) moduleName(id session.ModuleID) string {
	return cmp.Or(at(v.data.Modules, v.modules, id).Name, noModule)
}

func (v *comparedSource) typeName(id session.TypeID) string {
	return session.TypeDisplayName(id, v.getType)
}

// typeNamespace is the namespace with which the name of a type begins.
func (v *comparedSource) typeNamespace(id session.TypeID) string {
	return pattern.Namespace(session.NamedType(id, v.getType).RawName)
}

func (v *comparedSource) getType(id session.TypeID) *session.Type {
	return at(v.data.Types, v.types, id)
}

// comparedKeys numbers the keys of all sessions that are compared, so that each is looked up once.
type comparedKeys struct {
	numbering[string]
	paths *pathKeys // of the call tree, whose numbers are those of this tree; nil: of something else
	sites *siteKeys // likewise of sites
}

// text returns the key with a number.
func (k *comparedKeys) text(n int32) string {
	switch {
	case k.paths != nil:
		return k.paths.key(n)
	case k.sites != nil:
		return k.sites.key(n)
	}
	return k.list[n]
}

// pathKeys are the call trees of all sessions, one above the other: paths with the same names from the root are one,
// which is a pair of the path above it, and the number of its name: the key of a function or a line. Their keys are
// hashes, which are only made of those that differ.
type pathKeys struct {
	pairNumbering
	hashes []string // by number; "": not made yet
	names  numbering[string]
}

// key returns the key of a path: as Keys.Path makes them.
func (k *pathKeys) key(n int32) string {
	if k.hashes == nil {
		k.hashes = make([]string, len(k.list))
	}
	var missing []int32 // from the path up: a stack can be 65,536 deep
	for at := n; at >= 0 && k.hashes[at] == ""; at = k.list[at].above {
		missing = append(missing, at)
	}
	for _, at := range slices.Backward(missing) {
		above := ""
		if p := k.list[at].above; p >= 0 {
			above = k.hashes[p]
		}
		k.hashes[at] = digest(above, k.names.list[k.list[at].name])
	}
	return k.hashes[n]
}

// siteKeys are the sites of all sessions: pairs of a stack with its lines, and the number of the key of a type, or
// none.
type siteKeys struct {
	pairNumbering
	stacks pathKeys
	types  numbering[string]
}

// key returns the key of a site: as Keys.Site makes them.
func (k *siteKeys) key(n int32) string {
	stack, typ := "", ""
	if s := k.list[n].above; s >= 0 {
		stack = k.stacks.key(s)
	}
	if t := k.list[n].name; t >= 0 {
		typ = k.types.list[t]
	}
	return digest(stack, typ)
}

// newComparedKeys makes the numbers of a view.
func newComparedKeys(view string) *comparedKeys {
	out := &comparedKeys{}
	switch view {
	case "calltree":
		out.paths = &pathKeys{}
	case "sites":
		out.sites = &siteKeys{}
	}
	return out
}

// comparedRun is what a session has of a column.
type comparedRun struct {
	side     int // 0: old, 1: new
	keys     *comparedKeys
	values   []comparedValue // by the number of the key; those at the end have none
	sampled  []q.Sampled     // what of the values is estimated, likewise
	describe func(first int64) Change

	estimates bool // of what has no samples there can be more than was counted
}

// comparedValue is the value of a key, and the number of its first row, an id or a position, plus 1; 0: it has none.
type comparedValue struct{ value, first int64 }

// of returns the value with a number.
func (r *comparedRun) of(n int32) comparedValue {
	if int(n) < len(r.values) {
		return r.values[n]
	}
	return comparedValue{}
}

// add adds a value to a key.
func (r *comparedRun) add(key string, v value, row int64) {
	if v.n != 0 {
		r.addTo(r.keys.number(key), v, row)
	}
}

// addTo adds a value to the key with a number.
func (r *comparedRun) addTo(n int32, v value, row int64) {
	if v.n == 0 {
		return
	}
	if missing := int(n) + 1 - len(r.values); missing > 0 {
		r.values = append(r.values, make([]comparedValue, missing)...)
	}
	x := &r.values[n]
	if x.first == 0 {
		x.first = row + 1
	}
	x.value += v.n
	if v.sampled.Samples == 0 {
		return
	}
	if missing := int(n) + 1 - len(r.sampled); missing > 0 {
		r.sampled = append(r.sampled, make([]q.Sampled, missing)...)
	}
	r.sampled[n] = r.sampled[n].Add(v.sampled)
}

// compared returns the values of a view in a column, by key.
func (v *comparedSource) compared(view string, c *comparedColumn, keys *comparedKeys) (comparedRun, error) {
	out := comparedRun{keys: keys}
	switch view {
	case "modules":
		out.describe = func(id int64) Change {
			name := v.moduleName(session.ModuleID(id))
			return Change{Name: name, Module: name}
		}
		return out, v.eachModule(c, func(id session.ModuleID, x value) {
			out.add(v.moduleName(id), x, int64(id))
		})
	case "types", "lifetime":
		out.describe = func(i int64) Change {
			t := &v.data.Types[i]
			return Change{Name: v.typeName(t.ID), Module: v.moduleName(t.Module),
				Namespace: v.typeNamespace(t.ID)}
		}
		return out, v.eachType(c, func(id session.TypeID, x value) {
			if i, ok := v.types.find(id); ok && i >= 0 {
				out.add(v.keys.Type(int(i)), x, int64(i))
			}
		})
	case "lines":
		lines := newIndex(v.data.Lines, func(r *session.Line) session.LineID { return r.ID })
		out.describe = func(i int64) Change { return v.lineChange(int32(i)) }
		return out, v.eachLine(c, func(id session.LineID, x value) {
			if i, ok := lines.find(id); ok && i >= 0 {
				out.add(v.keys.Line(int(i)), x, int64(i))
			}
		})
	case "threads":
		return out, v.eachThread(c, &out)
	case comparedTests, comparedEndpoints:
		return out, v.eachEntry(entryKinds[view], c, &out)
	case comparedGCs:
		return out, v.eachCollection(c, &out)
	case "sites":
		out.describe = v.siteChange
		return out, v.eachSite(c, &out)
	case "calltree":
		return out, v.eachPath(c, &out)
	}
	out.describe = func(i int64) Change {
		f := &v.data.Functions[i]
		return Change{Name: f.DisplayName(), Module: v.moduleName(f.Module), Namespace: FunctionNamespace(f),
			renamed: v.isRenamed(f.ID)}
	}
	return out, v.eachFunction(c, func(id session.FunctionID, x value) {
		if i, ok := v.functions.find(id); ok && i >= 0 {
			out.add(v.keys.Function(int(i)), x, int64(i))
		}
	})
}

// lineChange is the row of a line.
func (v *comparedSource) lineChange(i int32) Change {
	l := &v.data.Lines[i]
	f := at(v.data.Functions, v.functions, l.Function)
	return Change{Name: f.DisplayName(), Module: v.moduleName(f.Module), File: v.files[l.File], Line: l.LineBegin,
		Namespace: FunctionNamespace(f), moved: v.moved[i], renamed: v.isRenamed(f.ID)}
}

// eachType calls fn with the values of types in a column.
func (v *comparedSource) eachType(c *comparedColumn, fn func(session.TypeID, value)) error {
	if c.ends != nil {
		lifetimes, err := v.TypeLifetimes()
		for _, l := range lifetimes {
			fn(l.Type, c.ends(l.Lifetime))
		}
		return err
	}
	values, err := v.Types()
	for _, r := range values {
		fn(r.Type, c.amount(q.Amounts{Exclusive: r.Amount}))
	}
	return err
}

// eachThread adds the values of threads: those of one name in processes of one name are one.
func (v *comparedSource) eachThread(c *comparedColumn, out *comparedRun) error {
	threads, err := v.session.Threads()
	if err != nil {
		return err
	}
	processes, err := v.session.Processes()
	if err != nil {
		return err
	}
	processOf, nameOf := map[session.ProcessID]string{}, map[session.ThreadID]string{}
	for _, p := range processes {
		processOf[p.ID] = p.Name
	}
	for _, t := range threads {
		nameOf[t.ID] = processOf[t.Process] + ": " + cmp.Or(t.Name, "(threads without a name)")
	}
	out.describe = func(id int64) Change { return Change{Name: nameOf[session.ThreadID(id)]} }
	if c.time {
		times, err := v.ThreadTimes()
		for _, r := range times {
			out.add(nameOf[r.Thread], value{n: c.value(r.TimeValue)}, int64(r.Thread))
		}
		return err
	}
	values, err := v.Threads()
	for _, r := range values {
		out.add(nameOf[r.Thread], c.amount(q.Amounts{Exclusive: r.Amount}), int64(r.Thread))
	}
	return err
}

// eachSite adds the values of sites: the same stack, with its lines, and type.
func (v *comparedSource) eachSite(c *comparedColumn, out *comparedRun) error {
	values, err := v.data.SiteAmounts()
	if err != nil {
		return err
	}
	keys, stacks := out.keys.sites, v.stackNumbers(&out.keys.sites.stacks)
	types := v.typeNumbers(&keys.types)
	keys.expect(len(values))
	out.values = slices.Grow(out.values, len(values))
	for i, a := range values {
		x := c.amount(q.Amounts{Exclusive: a})
		if x.n == 0 {
			continue
		}
		site := pair{none, none}
		if n := v.data.siteNode[i]; n >= 0 {
			site.above = stacks[n]
		}
		if t := v.data.siteType[i]; t >= 0 {
			site.name = types.number(t)
		}
		out.addTo(keys.number(site), x, int64(i))
	}
	return nil
}

// stackNumbers returns the number of the stack of each node, with its lines.
func (v *comparedSource) stackNumbers(keys *pathKeys) []int32 {
	d, lines := v.data, int32(len(v.data.Lines))
	names := newKeyNumbers(&keys.names, len(d.Lines)+len(d.Functions), func(at int32) string { // lines first
		if at < lines {
			return v.keys.Line(int(at))
		}
		return v.keys.Function(int(at - lines))
	})
	out := make([]int32, d.tree.Len())
	keys.expect(len(out))
	for i, p := range d.tree.Parent { // parents first
		step, name := pair{above: none}, lines+d.nodeFunction[i]
		if p >= 0 {
			step.above = out[p]
		}
		if in := d.nodeInstruction[i]; in >= 0 && d.instructionLine[in] >= 0 {
			name = d.instructionLine[in]
		}
		step.name = names.number(name)
		out[i] = keys.number(step)
	}
	return out
}

// typeNumbers are the numbers of the keys of types, functionNumbers of functions.
func (v *comparedSource) typeNumbers(n *numbering[string]) *keyNumbers {
	return newKeyNumbers(n, len(v.data.Types), func(at int32) string { return v.keys.Type(int(at)) })
}

func (v *comparedSource) functionNumbers(n *numbering[string]) *keyNumbers {
	return newKeyNumbers(n, len(v.data.Functions), func(at int32) string { return v.keys.Function(int(at)) })
}

// siteChange is the row of a site.
func (v *comparedSource) siteChange(i int64) Change {
	d := v.data
	out := Change{Name: v.typeName(d.Sites[i].Type), Namespace: v.typeNamespace(d.Sites[i].Type)}
	n := d.siteNode[i]
	if n < 0 {
		return out
	}
	if in := d.nodeInstruction[n]; in >= 0 && d.instructionLine[in] >= 0 {
		line := v.lineChange(d.instructionLine[in])
		out.File, out.Line, out.moved = line.File, line.Line, line.moved
	}
	f := &d.Functions[d.nodeFunction[n]]
	out.Function, out.Module, out.Within = f.DisplayName(), v.moduleName(f.Module), FunctionNamespace(f)
	out.stack = func(text []byte) []byte {
		var s comparedStack
		for at := n; at >= 0; at = d.tree.Parent[at] {
			s.add(d.Functions[d.nodeFunction[at]].DisplayName())
		}
		return s.appendTo(text)
	}
	return out
}
