package analysis

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
)

// comparedSource is a session that is compared, with the keys of its rows.
type comparedSource struct {
	*Source
	data      *Data
	keys      *Keys
	moved     []bool // by line: it is elsewhere in its function than in the session that it is compared with
	modules   index[session.ModuleID]
	functions index[session.FunctionID]
	types     index[session.TypeID]
	files     map[session.FileID]string
}

// prepare reads the names of all sessions. Where lines count, those of all sessions have the keys that they have in the first of the
// new ones.
func prepare(from, to []*Source, view string) (sides [2][]*comparedSource, err error) {
	byLine := view == "lines" || view == "sites"
	for n, side := range [][]*Source{from, to} {
		for _, v := range side {
			one := &comparedSource{Source: v}
			if byLine {
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
	if byLine {
		alignLines(slices.Concat(sides[1], sides[0]))
	}
	return sides, nil
}

func (v *comparedSource) moduleName(id session.ModuleID) string {
	return cmp.Or(at(v.data.Modules, v.modules, id).Name, noModule)
}

func (v *comparedSource) typeName(id session.TypeID) string {
	return session.TypeDisplayName(id, func(id session.TypeID) *session.Type { return at(v.data.Types, v.types, id) })
}

// compared returns the rows of a view that have a value in a column, by key: their New is the value.
func (v *comparedSource) compared(view string, c *comparedColumn) (map[string]*Change, error) {
	out := map[string]*Change{}
	add := func(key string, value int64, row func() Change) {
		if value == 0 {
			return
		}
		x := out[key]
		if x == nil {
			made := row()
			x = &made
			x.Key, out[key] = key, x
		}
		x.New += value
	}
	switch view {
	case "modules":
		return out, v.eachModule(c, func(id session.ModuleID, value int64) {
			name := v.moduleName(id)
			add(name, value, func() Change { return Change{Name: name, Module: name} })
		})
	case "types", "lifetime":
		return out, v.eachType(c, func(id session.TypeID, value int64) {
			if i, ok := v.types.find(id); ok && i >= 0 {
				add(v.keys.Type(int(i)), value, func() Change { return Change{Name: v.typeName(id), Module: v.moduleName(v.data.Types[i].Module)} })
			}
		})
	case "lines":
		lines := newIndex(v.data.Lines, func(r *session.Line) session.LineID { return r.ID })
		return out, v.eachLine(c, func(id session.LineID, value int64) {
			if i, ok := lines.find(id); ok && i >= 0 {
				add(v.keys.Line(int(i)), value, func() Change { return v.lineChange(i) })
			}
		})
	case "threads":
		return out, v.eachThread(c, func(key, name string, value int64) {
			add(key, value, func() Change { return Change{Name: name} })
		})
	case "sites":
		return out, v.eachSite(c, add)
	case "calltree":
		return out, v.eachPath(c, add)
	}
	return out, v.eachFunction(c, func(id session.FunctionID, value int64) {
		if i, ok := v.functions.find(id); ok && i >= 0 {
			f := &v.data.Functions[i]
			add(v.keys.Function(int(i)), value, func() Change { return Change{Name: f.DisplayName(), Module: v.moduleName(f.Module)} })
		}
	})
}

// lineChange is the row of a line.
func (v *comparedSource) lineChange(i int32) Change {
	l := &v.data.Lines[i]
	f := at(v.data.Functions, v.functions, l.Function)
	return Change{Name: f.DisplayName(), Module: v.moduleName(f.Module), File: v.files[l.File], Line: l.LineBegin, moved: v.moved[i]}
}

// eachType calls fn with the values of types in a column.
func (v *comparedSource) eachType(c *comparedColumn, fn func(session.TypeID, int64)) error {
	if c.ends != nil {
		lifetimes, err := v.Lifetimes()
		if err != nil {
			return err
		}
		for id, l := range lifetimes.Types() {
			fn(id, c.ends(l))
		}
		return nil
	}
	values, err := v.Types()
	for _, r := range values {
		fn(r.Type, c.amount(q.Amounts{Exclusive: r.Amount}))
	}
	return err
}

// eachThread calls fn with the values of threads: those of one name in processes of one name are one.
func (v *comparedSource) eachThread(c *comparedColumn, fn func(key, name string, value int64)) error {
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
	if c.time {
		times, err := v.ThreadTimes()
		for _, r := range times {
			fn(nameOf[r.Thread], nameOf[r.Thread], c.value(r.TimeValue))
		}
		return err
	}
	values, err := v.Threads()
	for _, r := range values {
		fn(nameOf[r.Thread], nameOf[r.Thread], c.amount(q.Amounts{Exclusive: r.Amount}))
	}
	return err
}

// eachSite adds the values of sites: the same stack, with its lines, and type.
func (v *comparedSource) eachSite(c *comparedColumn, add func(string, int64, func() Change)) error {
	values, err := v.data.SiteAmounts()
	if err != nil {
		return err
	}
	d := v.data
	for i, a := range values {
		value := c.amount(q.Amounts{Exclusive: a})
		if value == 0 { // a key takes a while
			continue
		}
		add(v.keys.Site(i), value, func() Change {
			out := Change{Name: v.typeName(d.Sites[i].Type)}
			n := d.siteNode[i]
			if n < 0 {
				return out
			}
			if in := d.nodeInstruction[n]; in >= 0 && d.instructionLine[in] >= 0 {
				line := v.lineChange(d.instructionLine[in])
				out.File, out.Line, out.moved = line.File, line.Line, line.moved
			}
			f := &d.Functions[d.nodeFunction[n]]
			out.Function, out.Module = f.DisplayName(), v.moduleName(f.Module)
			out.stack = func() string {
				var names []string
				for ; n >= 0; n = d.tree.Parent[n] {
					names = append(names, d.Functions[d.nodeFunction[n]].DisplayName())
				}
				return joinStack(names)
			}
			return out
		})
	}
	return nil
}

// maxComparedStack bounds the functions of a stack that are told: a stack can be 65,536 deep.
const maxComparedStack = 64

// joinStack makes one text of a stack, the leaf first: from the root on, as far as it is told.
func joinStack(names []string) string {
	if len(names) > maxComparedStack {
		names = append(names[:maxComparedStack:maxComparedStack], fmt.Sprintf("… %d more", len(names)-maxComparedStack))
	}
	names = slices.Clone(names)
	slices.Reverse(names)
	return strings.Join(names, " › ")
}

// eachPath adds the values of the paths of the call tree, as it was recorded.
func (v *comparedSource) eachPath(c *comparedColumn, add func(string, int64, func() Change)) error {
	type place struct {
		parent   session.PathID
		function int32
		key      string
	}
	places := map[session.PathID]place{}
	one := func(id, parent session.PathID, function session.FunctionID, value int64) {
		f, _ := v.functions.find(function)
		p, known := places[id]
		if !known {
			name := ""
			if f >= 0 {
				name = v.keys.Function(int(f))
			}
			p = place{parent, f, digest(places[parent].key, name)}
			places[id] = p
		}
		add(p.key, value, func() Change {
			out := Change{stack: func() string {
				var names []string
				for n := id; n != 0 && places[n].key != ""; n = places[n].parent {
					if at := places[n].function; at >= 0 {
						names = append(names, v.data.Functions[at].DisplayName())
					}
				}
				return joinStack(names)
			}}
			if f >= 0 {
				out.Name, out.Module = v.data.Functions[f].DisplayName(), v.moduleName(v.data.Functions[f].Module)
			}
			return out
		})
	}
	if c.time {
		times, err := v.PathTimes()
		for _, p := range times {
			one(p.ID, p.Parent, p.Function, c.value(p.TimeValue))
		}
		return err
	}
	paths, err := v.Paths()
	for _, p := range paths {
		one(p.ID, p.Parent, p.Function, c.amount(p.Amounts))
	}
	return err
}
