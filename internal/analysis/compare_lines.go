package analysis

import (
	"cmp"
	"encoding/binary"
	"slices"
)

// mostAligned bounds the work of matching the lines of a function: lines of one session times lines of the other.
const mostAligned = 1 << 22

// comparedLine is a line of a function, with all that the symbols have on it.
type comparedLine struct {
	at       []int32 // positions
	distance int64   // from the function's first line
	does     int32   // the number of what it does; 0: nothing is known
}

// alignLines gives lines the keys that they have in the first session.
//
// A line is named by its function and how far it is from the function's first line. If a function was written anew that
// says nothing. So its lines are also compared by what they do: which types are allocated there, and which functions
// called. If in the order of the source more lines do the same, or more of it, than at the same distance, the lines
// have moved: lines that do the same are matched. Lines between two matched ones are matched, as changed, if a part of
// what they do is the same, or if they are as far from one of the two. All other lines of the function are new, or
// gone. In modules that are the same build no line has moved.
func alignLines(all []*comparedSource) error {
	anew := rebuilt(all)
	first, done := all[0], &doings{}
	var theirs map[string][]comparedLine // by the function's key
	for i, v := range all {
		v.moved = make([]bool, len(v.data.Lines))
		if len(anew) == 0 {
			continue
		}
		d, err := v.codeData()
		if err != nil {
			return err
		}
		lines := v.linesByFunction(anew, v.whatLinesDo(d, anew, done), done)
		if i == 0 {
			theirs = lines
			continue
		}
		for key, mine := range lines {
			if others := theirs[key]; len(others) > 0 {
				v.align(mine, first, others, done)
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

// linesByFunction returns the lines of functions of some modules, with what they do, by the function's key, in the
// order of the source. What functions of one key do in several processes is together, so that the lines of a session
// are aligned with all of another one at once.
func (v *comparedSource) linesByFunction(of map[string]bool, does []int32, n *doings) map[string][]comparedLine {
	d := v.data
	points := map[string][]comparedLine{}
	for i := range d.Lines {
		l := &d.Lines[i]
		pos, ok := v.functions.find(l.Function)
		if !ok || pos < 0 || !of[v.moduleName(d.Functions[pos].Module)] {
			continue
		}
		key := v.keys.Function(int(pos))
		points[key] = append(points[key], comparedLine{[]int32{int32(i)}, l.LineBegin - d.Functions[pos].Line, does[i]})
	}
	out := map[string][]comparedLine{}
	for key, of := range points {
		slices.SortStableFunc(of, func(a, b comparedLine) int { return cmp.Compare(a.distance, b.distance) })
		lines := of[:0]
		for _, p := range of {
			if last := len(lines) - 1; last >= 0 && lines[last].distance == p.distance {
				lines[last].at = append(lines[last].at, p.at...)
				lines[last].does = n.both(lines[last].does, p.does)
			} else {
				lines = append(lines, p)
			}
		}
		out[key] = lines
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

// codes returns what a number stands for, sorted.
func (n *doings) codes(does int32) []int32 {
	if does == 0 {
		return nil
	}
	text := []byte(n.sets.list[does-1])
	out := make([]int32, 0, len(text)/4)
	for ; len(text) > 0; text = text[4:] {
		out = append(out, int32(binary.LittleEndian.Uint32(text)))
	}
	return out
}

// both returns the number of what two lines do together.
func (n *doings) both(a, b int32) int32 {
	if a == b || b == 0 {
		return a
	}
	all := append(n.codes(a), n.codes(b)...)
	slices.Sort(all)
	return n.number(slices.Compact(all))
}

// codesOf returns what each of several lines does.
func (n *doings) codesOf(lines []comparedLine) [][]int32 {
	out := make([][]int32, len(lines))
	for i := range lines {
		out[i] = n.codes(lines[i].does)
	}
	return out
}

// shared returns how many elements are in both of two sorted lists.
func shared(x, y []int32) int32 {
	out := int32(0)
	for len(x) > 0 && len(y) > 0 {
		switch cmp.Compare(x[0], y[0]) {
		case 0:
			x, y, out = x[1:], y[1:], out+1
		case -1:
			x = x[1:]
		default:
			y = y[1:]
		}
	}
	return out
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
func (v *comparedSource) align(mine []comparedLine, other *comparedSource, theirs []comparedLine, n *doings) {
	if len(mine)*len(theirs) > mostAligned {
		return
	}
	pairs, moved := movedLines(mine, theirs, n)
	if !moved {
		return
	}
	for _, l := range mine { // what is not matched is no line of the other session
		for _, p := range l.at {
			v.keys.lines[p] += " (was)"
		}
	}
	for _, p := range pairs {
		l, o := mine[p[0]], theirs[p[1]]
		for _, p := range l.at {
			v.keys.lines[p], v.moved[p] = other.keys.lines[o.at[0]], v.moved[p] || l.distance != o.distance
		}
		for _, p := range o.at {
			other.moved[p] = other.moved[p] || l.distance != o.distance
		}
	}
}

// movedLines returns the pairs of positions of lines that are the same one, and whether they do more of the same than
// the lines at the same distance: more of them exactly the same, or as many and more in parts. In a function where no
// line does exactly what it did, only the parts tell that lines have moved.
func movedLines(mine, theirs []comparedLine, n *doings) (pairs [][2]int, moved bool) {
	does, did := n.codesOf(mine), n.codesOf(theirs)
	exactly := int64(1) // more than all parts together
	for _, codes := range does {
		exactly += int64(len(codes))
	}
	alike := func(i, j int) int64 {
		if mine[i].does == theirs[j].does && mine[i].does != 0 {
			return exactly
		}
		return int64(shared(does[i], did[j]))
	}
	at, stay := map[int64]int{}, int64(0)
	for i, l := range theirs {
		at[l.distance] = i
	}
	for i, l := range mine {
		if j, ok := at[l.distance]; ok {
			stay += alike(i, j)
		}
	}
	if stay == exactly*int64(min(len(mine), len(theirs))) {
		return nil, false // as heavy as any matching can be: in most functions no line was changed
	}
	most, all := heaviestPairs(len(mine), len(theirs), alike), int64(0)
	same := most[:0:0]
	for _, p := range most {
		weight := alike(p[0], p[1])
		if all += weight; weight == exactly {
			same = append(same, p)
		}
	}
	if all <= stay {
		return nil, false
	}
	return changedLines(mine, theirs, same, alike), true
}

// changedLines returns pairs of lines that do the same, and between them those of lines that were changed.
func changedLines(a, b []comparedLine, same [][2]int, alike func(i, j int) int64) [][2]int {
	var out [][2]int
	begin, shifts := [2]int{}, []int64{0} // a function begins at its first line in both
	for at := range len(same) + 1 {
		end, next := [2]int{len(a), len(b)}, shifts[:1]
		if at < len(same) {
			end = same[at]
			next = []int64{a[end[0]].distance - b[end[1]].distance}
		}
		between := slices.Concat(shifts, next)
		several := int64(end[0]-begin[0]) + 1 // more than all that are only as far
		for _, p := range heaviestPairs(end[0]-begin[0], end[1]-begin[1], func(i, j int) int64 {
			i, j = begin[0]+i, begin[1]+j
			weight := several * alike(i, j)
			if slices.Contains(between, a[i].distance-b[j].distance) {
				weight++
			}
			return weight
		}) {
			out = append(out, [2]int{begin[0] + p[0], begin[1] + p[1]})
		}
		if at < len(same) {
			out, begin, shifts = append(out, end), [2]int{end[0] + 1, end[1] + 1}, next
		}
	}
	return out
}

// heaviestPairs matches two lists without changing their order: it returns the pairs of positions whose weights have
// the greatest sum. Positions of weight 0 are never matched.
func heaviestPairs(a, b int, weight func(i, j int) int64) [][2]int {
	if a == 0 || b == 0 {
		return nil
	}
	width := b + 1
	sum := make([]int64, (a+1)*width)
	for i := a - 1; i >= 0; i-- {
		for j := b - 1; j >= 0; j-- {
			sum[i*width+j] = max(sum[(i+1)*width+j], sum[i*width+j+1])
			if w := weight(i, j); w > 0 {
				sum[i*width+j] = max(sum[i*width+j], sum[(i+1)*width+j+1]+w)
			}
		}
	}
	var out [][2]int
	for i, j := 0, 0; i < a && j < b; {
		w := weight(i, j)
		switch here := sum[i*width+j]; {
		case w > 0 && here == sum[(i+1)*width+j+1]+w:
			out = append(out, [2]int{i, j})
			i, j = i+1, j+1
		case here == sum[(i+1)*width+j]:
			i++
		default:
			j++
		}
	}
	return out
}
