package analysis

import (
	"cmp"
	"encoding/binary"
	"slices"
)

// mostAligned bounds the work of matching the lines of a function: lines of one session times lines of the other.
const mostAligned = 1 << 22

// comparedLine is a line of a function.
type comparedLine struct {
	at       int32 // position
	distance int64 // from the function's first line
	does     int32 // the number of what it does; 0: nothing is known
}

// alignLines gives lines the keys that they have in the first session.
//
// A line is named by its function and how far it is from the function's first line. If a function was written anew that
// says nothing. So its lines are also compared by what they do: which types are allocated there, and which functions
// called. If in the order of the source more lines do the same than at the same distance, the lines have moved, and
// those that do the same are the same. Other lines of such a function are new, or gone. In modules that are the same
// build no line has moved.
func alignLines(all []*comparedSource) error {
	anew := rebuilt(all)
	first, done := all[0], &doings{}
	theirs := map[string][]comparedLine{} // by the function's key: of one process
	for i, v := range all {
		v.moved = make([]bool, len(v.data.Lines))
		if len(anew) == 0 {
			continue
		}
		d, err := v.codeData()
		if err != nil {
			return err
		}
		for at, lines := range v.linesByFunction(anew, v.whatLinesDo(d, anew, done)) {
			key := v.keys.Function(int(at))
			others := theirs[key]
			switch {
			case i > 0 && len(others) > 0:
				v.align(lines, first, others)
			case i == 0 && (others == nil || lines[0].at < others[0].at):
				theirs[key] = lines
			}
		}
	}
	return nil
}

// codeData returns data with stacks and sites. There can be millions, so it is not kept but where it is anyway.
func (v *comparedSource) codeData() (*Data, error) {
	if v.Source.data != nil {
		return v.Source.data, nil
	}
	return Load(v.session)
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

// linesByFunction returns the lines of functions of some modules, with what they do, by position, in the order of the
// source.
func (v *comparedSource) linesByFunction(of map[string]bool, does []int32) map[int32][]comparedLine {
	d := v.data
	out := map[int32][]comparedLine{}
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

// doings numbers what lines do: which types are allocated there, and which functions called. It is the same for all
// sessions.
type doings struct {
	types, functions numbering[string] // keys
	sets             numbering[string] // of their numbers, those of types twice as great, of functions one more
}

// number returns the number of what a line does and one more; 0: nothing. It sorts the numbers.
func (n *doings) number(codes []int32) int32 {
	if len(codes) == 0 {
		return 0
	}
	slices.Sort(codes)
	text := make([]byte, 0, 4*len(codes))
	for _, c := range codes {
		text = binary.LittleEndian.AppendUint32(text, uint32(c))
	}
	return n.sets.number(string(text)) + 1
}

// whatLinesDo returns the number of what each line of some modules does.
func (v *comparedSource) whatLinesDo(d *Data, of map[string]bool, n *doings) []int32 {
	types, functions := v.typeNumbers(&n.types), v.functionNumbers(&n.functions)
	lineOf := v.nodeLines(d, of)
	each := func(fn func(line, code int32)) { // most are the same as another one
		for i, typ := range d.siteType {
			if node := d.siteNode[i]; typ >= 0 && node >= 0 && lineOf[node] >= 0 {
				fn(lineOf[node], 2*types.number(typ))
			}
		}
		for i, parent := range d.tree.Parent {
			if parent >= 0 && lineOf[parent] >= 0 {
				fn(lineOf[parent], 2*functions.number(d.nodeFunction[i])+1)
			}
		}
	}
	begin := make([]int32, len(d.Lines)+2) // where in a list of all codes those of a line are, one line later
	each(func(line, _ int32) { begin[line+2]++ })
	for i := range begin[1:] {
		begin[i+1] += begin[i]
	}
	codes := make([]int32, begin[len(begin)-1])
	each(func(line, code int32) {
		next := &begin[line+1]
		codes[*next] = code
		*next++
	})
	out := make([]int32, len(d.Lines))
	seen := make([]int32, 2*max(len(n.types.list), len(n.functions.list))+2) // the line that a code was met at last
	for i := range out {
		once := codes[begin[i]:begin[i]:begin[i+1]]
		for _, code := range codes[begin[i]:begin[i+1]] {
			if seen[code] != int32(i)+1 {
				seen[code], once = int32(i)+1, append(once, code)
			}
		}
		out[i] = n.number(once)
	}
	return out
}

// nodeLines returns the line of each node in a function of some modules, or none.
func (v *comparedSource) nodeLines(d *Data, of map[string]bool) []int32 {
	wanted := make([]bool, len(d.Functions))
	for i := range d.Functions {
		wanted[i] = of[v.moduleName(d.Functions[i].Module)]
	}
	out := make([]int32, d.tree.Len())
	for i, in := range d.nodeInstruction {
		if out[i] = none; in >= 0 && wanted[d.nodeFunction[i]] {
			out[i] = d.instructionLine[in]
		}
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
		if i, ok := at[l.distance]; ok && theirs[i].does == l.does && l.does != 0 {
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
			if a[i].does == b[j].does && a[i].does != 0 {
				length[i*width+j] = length[(i+1)*width+j+1] + 1
			} else {
				length[i*width+j] = max(length[(i+1)*width+j], length[i*width+j+1])
			}
		}
	}
	var out [][2]int
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch {
		case a[i].does == b[j].does && a[i].does != 0:
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
