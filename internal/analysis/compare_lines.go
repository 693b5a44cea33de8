package analysis

import (
	"cmp"
	"slices"
	"strings"
)

// mostAligned bounds the work of matching the lines of a function: lines of one session times lines of the other.
const mostAligned = 1 << 22

// comparedLine is a line of a function.
type comparedLine struct {
	at       int32 // position
	distance int64 // from the function's first line
	does     string
}

// alignLines gives lines the keys that they have in the first session.
//
// A line is named by its function and how far it is from the function's first line. If a function was written anew that
// says nothing. So its lines are also compared by what they do: which types are allocated there, and which functions
// called. If in the order of the source more lines do the same than at the same distance, the lines have moved, and
// those that do the same are the same. Other lines of such a function are new, or gone. In modules that are the same
// build no line has moved.
func alignLines(all []*comparedSource) {
	anew := rebuilt(all)
	first := all[0]
	first.moved = make([]bool, len(first.data.Lines))
	theirs := map[string][]comparedLine{} // by the function's key: of one process
	for at, lines := range first.linesByFunction(anew) {
		key := first.keys.Function(int(at))
		if known := theirs[key]; known == nil || lines[0].at < known[0].at {
			theirs[key] = lines
		}
	}
	for _, v := range all[1:] {
		v.moved = make([]bool, len(v.data.Lines))
		for at, lines := range v.linesByFunction(anew) {
			if others := theirs[v.keys.Function(int(at))]; len(others) > 0 {
				v.align(lines, first, others)
			}
		}
	}
}

// rebuilt returns the names of modules that are not one build in all sessions.
func rebuilt(all []*comparedSource) map[string]bool {
	builds, out := map[string]string{}, map[string]bool{}
	for _, v := range all {
		for _, m := range v.data.Modules {
			if build, known := builds[m.Name]; m.MVID == "" || known && build != m.MVID {
				out[m.Name] = true
			}
			builds[m.Name] = m.MVID
		}
	}
	return out
}

// linesByFunction returns the lines of functions of some modules, by position, in the order of the source.
func (v *comparedSource) linesByFunction(of map[string]bool) map[int32][]comparedLine {
	d := v.data
	out := map[int32][]comparedLine{}
	if len(of) == 0 {
		return out
	}
	does := v.whatLinesDo(of)
	for i := range d.Lines {
		l := &d.Lines[i]
		pos, ok := v.functions.find(l.Function)
		if !ok || pos < 0 || !of[v.moduleName(d.Functions[pos].Module)] {
			continue
		}
		out[pos] = append(out[pos], comparedLine{int32(i), l.LineBegin - d.Functions[pos].Line, does[i]})
	}
	for _, lines := range out {
		slices.SortStableFunc(lines, func(a, b comparedLine) int {
			x, y := &d.Lines[a.at], &d.Lines[b.at]
			return cmp.Or(cmp.Compare(x.LineBegin, y.LineBegin), cmp.Compare(x.ColumnBegin, y.ColumnBegin))
		})
	}
	return out
}

// whatLinesDo returns by line which types are allocated there and which functions called, by their keys.
func (v *comparedSource) whatLinesDo(of map[string]bool) []string {
	d := v.data
	wanted := make([]bool, len(d.Functions))
	for i := range d.Functions {
		wanted[i] = of[v.moduleName(d.Functions[i].Module)]
	}
	codes := make([][]int32, len(d.Lines)) // types below 0
	note := func(node, code int32) {
		if node < 0 || d.nodeInstruction[node] < 0 || !wanted[d.nodeFunction[node]] {
			return
		}
		if line := d.instructionLine[d.nodeInstruction[node]]; line >= 0 {
			list := codes[line]
			if len(list) == cap(list) { // it grows by what is in it more than once at last
				slices.Sort(list)
				list = slices.Grow(slices.Compact(list), 4)
			}
			codes[line] = append(list, code)
		}
	}
	for i, typ := range d.siteType {
		if typ >= 0 {
			note(d.siteNode[i], -typ-1)
		}
	}
	for i, parent := range d.tree.Parent {
		note(parent, d.nodeFunction[i])
	}
	out := make([]string, len(d.Lines))
	for line, list := range codes {
		var what []string
		slices.Sort(list)
		for _, code := range slices.Compact(list) {
			if code < 0 {
				what = append(what, "new "+v.keys.Type(int(-code-1)))
			} else {
				what = append(what, "call "+v.keys.Function(int(code)))
			}
		}
		slices.Sort(what)
		out[line] = strings.Join(slices.Compact(what), "\n")
	}
	return out
}

// align matches the lines of a function with those of another session, and takes their keys.
func (v *comparedSource) align(mine []comparedLine, other *comparedSource, theirs []comparedLine) {
	if len(mine)*len(theirs) > mostAligned {
		return
	}
	at, stay := map[int64]int{}, 0
	for i, l := range theirs {
		at[l.distance] = i
	}
	for _, l := range mine {
		if i, ok := at[l.distance]; ok && theirs[i].does == l.does && l.does != "" {
			stay++
		}
	}
	pairs := commonLines(mine, theirs)
	if len(pairs) <= stay {
		return
	}
	for _, l := range mine { // what is not matched is no line of the other session
		v.keys.lines[l.at] += " (was)"
	}
	for _, p := range pairs {
		l, o := mine[p[0]], theirs[p[1]]
		v.keys.lines[l.at] = other.keys.lines[o.at]
		if l.distance != o.distance {
			v.moved[l.at], other.moved[o.at] = true, true
		}
	}
}

// commonLines returns the positions of a longest sequence of lines, in their order, that do the same in both lists.
func commonLines(a, b []comparedLine) [][2]int {
	width := len(b) + 1
	length := make([]int32, (len(a)+1)*width)
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i].does == b[j].does && a[i].does != "" {
				length[i*width+j] = length[(i+1)*width+j+1] + 1
			} else {
				length[i*width+j] = max(length[(i+1)*width+j], length[i*width+j+1])
			}
		}
	}
	var out [][2]int
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch {
		case a[i].does == b[j].does && a[i].does != "":
			out = append(out, [2]int{i, j})
			i, j = i+1, j+1
		case length[(i+1)*width+j] >= length[i*width+j+1]:
			i++
		default:
			j++
		}
	}
	return out
}
