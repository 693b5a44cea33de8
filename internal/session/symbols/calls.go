package symbols

import (
	"cmp"
	"slices"
	"strings"

	"github.com/clrprof/clrprof/internal/dotnet/clrmeta"
	"github.com/clrprof/clrprof/internal/dotnet/il"
	"github.com/clrprof/clrprof/internal/session"
)

// CalledFrom is what happened at a return address.
type CalledFrom struct {
	Functions []session.FunctionID // that were called there
	Types     []session.TypeID     // of objects that were made there
}

// callLines finds the lines of calls that the runtime's map has in a statement before their own. The JIT notes a place
// only where nothing is on the evaluation stack, and C# leaves there a value that is used once, in the next statement:
// the map then has both statements as the first. What was called tells which call of the code it was.
type callLines struct {
	r    *resolver
	runs []run
}

// run is machine code that the map has as one place, and in which more than one line may be.
type run struct {
	function     int   // into Output.Functions
	instructions []int // into Output.Instructions, in the order of the machine code
	sites        []lineSite
}

// lineSite is where the code of a function calls something or makes an object, in the order of IL.
type lineSite struct {
	il.Site
	place place
	file  *moduleFile
	token clrmeta.Token // of the function that it calls, if that is known to be one of the file; else 0
	owner string        // the type that declares what it calls, or of what it makes; of an array that of the elements
	name  string        // of what it calls
	// moved: the map has no place for its statement, or for the end of it after a branch, so it may be here, and counts
	// only if it is recognised and nothing else is.
	moved bool
	// returns is the only native offset that it can return to; -1: any. It is where the next place begins, with a call:
	// code that returns there is the probe before that call. The JIT notes a place after each call of nothing.
	returns int64
}

// note keeps the instructions of a function that may be on another line than the map says.
func (c *callLines) note(f *moduleFile, s *source, open *code, at int, maps map[session.BodyID][]session.ILPoint) {
	row := &c.r.out.Functions[at]
	if row.Kind != session.FunctionMethod || len(s.visible(clrmeta.Token(row.Token))) < 2 {
		return
	}
	all := lineSites(f, s, open, row)
	if len(all) == 0 {
		return
	}
	type key struct {
		body  session.BodyID
		point session.ILPoint
	}
	runs, order := map[key]*run{}, []key(nil)
	for _, j := range c.r.instructions[row.ID] {
		n := &c.r.out.Instructions[j]
		point, ok := mapIL(maps[n.Body], n.NativeOffset)
		if !ok {
			continue
		}
		k := key{n.Body, point}
		if runs[k] == nil {
			runs[k] = &run{function: at}
			order = append(order, k)
		}
		runs[k].instructions = append(runs[k].instructions, j)
	}
	for _, k := range order {
		r := runs[k]
		if len(r.instructions) > maxRun {
			continue
		}
		slices.SortFunc(r.instructions, func(a, b int) int {
			return cmp.Compare(c.r.out.Instructions[a].NativeOffset, c.r.out.Instructions[b].NativeOffset)
		})
		r.sites = c.sitesNear(all, maps[k.body], k.point, r.instructions)
		was := c.r.lines.of[r.instructions[0]]
		if len(r.sites) <= maxRun && slices.ContainsFunc(r.sites, func(x lineSite) bool { return x.place != was }) {
			c.runs = append(c.runs, *r)
		}
	}
}

// sitesNear returns which of all sites of a function may be in the place of a map that begins at a point.
func (c *callLines) sitesNear(all []lineSite, points []session.ILPoint, point session.ILPoint,
	instructions []int) (near []lineSite) {
	noted := notedIL(points)
	returns := map[int]int64{}
	for _, j := range instructions {
		native := c.r.out.Instructions[j].NativeOffset
		if at, ok := beginsAt(points, native); ok {
			returns[at] = native
		}
	}
	for _, x := range all {
		i, found := slices.BinarySearch(noted, x.At)
		if found {
			i++
		}
		last, next := -1, -1
		if i > 0 {
			last = noted[i-1]
		}
		if i < len(noted) {
			next = noted[i]
		}
		x.moved, x.returns = last < x.Statement || x.Joined, -1
		switch native, ends := returns[x.At]; {
		case last == int(point.IL), x.moved && next == int(point.IL), x.Joined && int(point.IL) <= x.At:
		case ends:
			x.moved, x.returns = false, native
		default:
			continue
		}
		near = append(near, x)
	}
	return near
}

// notedIL returns the IL offsets for which a map has code, in order.
func notedIL(points []session.ILPoint) (noted []int) {
	for len(points) > 0 {
		here := lastPlace(points)
		points = points[:len(points)-len(here)]
		if offset, ok := largestIL(here); ok {
			noted = append(noted, int(offset))
		} else if here[0].IL == session.ILProlog {
			noted = append(noted, 0)
		}
	}
	slices.Sort(noted)
	return slices.Compact(noted)
}

// beginsAt returns the IL offset of the place that begins at a native offset.
func beginsAt(points []session.ILPoint, native int64) (int, bool) {
	end, _ := slices.BinarySearchFunc(points, native, func(p session.ILPoint, at int64) int {
		if int64(p.Native) <= at {
			return -1
		}
		return 1
	})
	if end == 0 || int64(points[end-1].Native) != native {
		return 0, false
	}
	offset, ok := largestIL(lastPlace(points[:end]))
	return int(offset), ok
}

// lineSites finds the sites in the code of a function; none if that cannot be followed.
func lineSites(f *moduleFile, s *source, open *code, row *session.Function) (all []lineSite) {
	method := clrmeta.Token(row.Token)
	body, err := il.ReadBody(open.body(method))
	if err != nil {
		return nil
	}
	found, err := il.Sites(body, f.calls)
	if err != nil || len(found) > maxObjects {
		return nil
	}
	for _, at := range found {
		x := lineSite{Site: at, file: f}
		if p, ok := s.at(method, uint32(at.At)); ok {
			x.place = s.place(row.ID, p)
		}
		x.describe()
		all = append(all, x)
	}
	return all
}

// describe reads what a site names. What cannot be read is not recognised.
func (x *lineSite) describe() {
	typ := clrmeta.Token(x.Token)
	if x.Op != il.OpNewarr && x.Op != il.OpBox {
		called, err := x.file.meta.Callee(typ)
		if err != nil {
			return
		}
		x.token, x.name, typ = called.Method, called.Name, called.Type
	}
	if typ != 0 {
		_, name, err := x.file.named(typ)
		if err == nil {
			x.owner = name.String()
		}
	}
}

// likeness says how surely something that happened at a return address is what a site does.
type likeness int

const (
	unlike   likeness = iota
	related           // the type is that of what is called, which the JIT may have inlined; or a delegate is called
	sameName          // the name is that of what is called, so it may implement or override it
	same              // it is that, and the site may be here
	surely            // it is that, and the site is here
)

// function compares what a site calls with a function that ran.
func (x *lineSite) function(r *resolver, row *session.Function) likeness {
	if x.name == "" {
		return unlike
	}
	owner := row.RawType
	if t := r.types[row.Type]; owner == "" && t != nil {
		owner = t.RawName
	}
	ofType := owner != "" && owner == x.owner
	switch {
	case x.token != 0 && x.token == clrmeta.Token(row.Token) && r.moduleFiles[row.Module] == x.file,
		ofType && row.RawName == x.name:
		return same
	case row.RawName == ".ctor" || x.name == ".ctor":
	case row.RawName == x.name, strings.HasSuffix(row.RawName, "."+x.name):
		return sameName
	}
	if ofType || x.Op == il.OpCallvirt && x.name == "Invoke" || x.Op == il.OpCalli {
		return related
	}
	return unlike
}

// object compares what a site makes with the type of an object.
func (x *lineSite) object(r *resolver, t *session.Type) likeness {
	isArray := t.Kind == session.TypeArray
	of := t.RawName
	if element := r.types[t.ElementType]; isArray && element != nil {
		of = element.RawName
	}
	switch {
	case isArray != (x.Op == il.OpNewarr), x.Op != il.OpNewarr && x.Op != il.OpBox && x.Op != il.OpNewobj:
		return unlike
	case of != "" && of == x.owner:
		return same
	case isArray:
		return related // of elements that are named in another way, such as type parameters
	}
	return unlike
}

// decide gives the instructions of all runs the lines of what they are.
func (c *callLines) decide(called func(map[session.InstructionID]bool) map[session.InstructionID]CalledFrom) {
	if called == nil || len(c.runs) == 0 {
		return
	}
	wanted := map[session.InstructionID]bool{}
	for i := range c.runs {
		for _, j := range c.runs[i].instructions {
			wanted[c.r.out.Instructions[j].ID] = true
		}
	}
	functions := make(map[session.FunctionID]*session.Function, len(c.r.out.Functions))
	for i := range c.r.out.Functions {
		functions[c.r.out.Functions[i].ID] = &c.r.out.Functions[i]
	}
	happened := called(wanted)
	for i := range c.runs {
		run := &c.runs[i]
		choices := make([]choice, len(run.instructions))
		for k, j := range run.instructions {
			n := &c.r.out.Instructions[j]
			choices[k] = c.choices(run.sites, n.NativeOffset, happened[n.ID], functions)
		}
		for k, at := range chooseInOrder(choices) {
			if at < 0 {
				continue
			}
			x, j := &run.sites[at], run.instructions[k]
			if c.r.lines.of[j] != x.place && x.place.path != 0 {
				c.r.lines.of[j], c.r.out.Instructions[j].ILOffset = x.place, int64(x.At)
			}
		}
	}
}

// choice is which sites an instruction may be: their positions, in order.
type choice struct {
	sites []int
	by    likeness
}

// choices returns the sites that an instruction is most likely to be.
func (c *callLines) choices(sites []lineSite, native int64, happened CalledFrom,
	functions map[session.FunctionID]*session.Function) (most choice) {
	for i := range sites {
		x := &sites[i]
		if x.returns >= 0 && x.returns != native {
			continue
		}
		like := unlike
		for _, id := range happened.Functions {
			if f := functions[id]; f != nil {
				like = max(like, x.function(c.r, f))
			}
		}
		for _, id := range happened.Types {
			if t := c.r.types[id]; t != nil {
				like = max(like, x.object(c.r, t))
			}
		}
		if like == same && !x.moved {
			like = surely
		}
		switch {
		case like < most.by, like == unlike, x.moved && like != same:
		case like > most.by:
			most = choice{[]int{i}, like}
		default:
			most.sites = append(most.sites, i)
		}
	}
	return most
}

// chooseInOrder chooses a site for each instruction, -1 for those that are not recognised. Machine code calls in the
// order of IL, so what is certain of one bounds what is before and after it. Of several that remain an instruction is
// the first, unless there are as many instructions with the same choice: then each is one of them.
func chooseInOrder(choices []choice) []int {
	chosen := make([]int, len(choices))
	first, last := make([]int, len(choices)), make([]int, len(choices))
	low := 0
	for k, c := range choices {
		first[k] = low
		if len(c.sites) == 1 && c.by >= sameName {
			low = max(low, c.sites[0])
		}
	}
	high := int(^uint(0) >> 1)
	for k := len(choices) - 1; k >= 0; k-- {
		last[k] = high
		if c := choices[k]; len(c.sites) == 1 && c.by >= sameName {
			high = min(high, c.sites[0])
		}
	}
	taken := map[int]int{} // instructions that came before, by the first site of their choice
	for k, c := range choices {
		chosen[k] = -1
		if len(c.sites) == 0 {
			continue
		}
		within := slices.DeleteFunc(slices.Clone(c.sites), func(x int) bool { return x < first[k] || x > last[k] })
		if len(within) == 0 {
			within = c.sites
		}
		alike := 0
		for _, other := range choices {
			if slices.Equal(other.sites, c.sites) {
				alike++
			}
		}
		if alike == len(c.sites) {
			within = c.sites[taken[c.sites[0]]:]
			taken[c.sites[0]]++
		}
		chosen[k] = within[0]
	}
	return chosen
}
