package analysis

import (
	"fmt"

	"github.com/clrprof/clrprof/internal/session"
)

// maxComparedStack bounds the functions of a stack that are named: a stack can be 65,536 deep.
const maxComparedStack = 64

// comparedStack collects the functions of a stack, the leaf first, as far as they are named. There can be a million
// stacks.
type comparedStack struct {
	names  [maxComparedStack]string
	length int
}

func (s *comparedStack) add(name string) {
	if s.length < maxComparedStack {
		s.names[s.length] = name
	}
	s.length++
}

// appendTo appends the stack from the root on.
func (s *comparedStack) appendTo(out []byte) []byte {
	named := min(s.length, maxComparedStack)
	if more := s.length - named; more > 0 {
		out = fmt.Appendf(out, "… %d more › ", more)
	}
	for i := named - 1; i >= 0; i-- {
		out = append(out, s.names[i]...)
		if i > 0 {
			out = append(out, " › "...)
		}
	}
	return out
}

// comparedPath is a path of the call tree.
type comparedPath struct {
	parent   int32 // position; none
	function int32 // likewise
}

// pathRow is what is compared of a path.
type pathRow struct {
	id, parent session.PathID
	value      value
	function   session.FunctionID
}

// pathRows returns the paths of the call tree with their values in a column, in the order of id.
func (v *comparedSource) pathRows(c *comparedColumn) ([]pathRow, error) {
	var out []pathRow
	if !c.time {
		values, err := v.Paths()
		out = make([]pathRow, 0, len(values))
		for i := range values {
			p := &values[i]
			out = append(out, pathRow{p.ID, p.Parent, c.amount(p.Amounts), p.Function})
		}
		return out, err
	}
	ascend := true
	err := v.EachPathTime(func(p *session.PathTime) { // which is ten times as large
		ascend = ascend && (len(out) == 0 || out[len(out)-1].id < p.ID)
		out = append(out, pathRow{p.ID, p.Parent, value{n: c.value(p.TimeValue)}, p.Function})
	})
	if ascend || err != nil {
		return out, err
	}
	times, err := v.PathTimes() // sorts them, and knows which of two with one id counts
	out = out[:0]
	for i := range times {
		p := &times[i]
		out = append(out, pathRow{p.ID, p.Parent, value{n: c.value(p.TimeValue)}, p.Function})
	}
	return out, err
}

// eachPath adds the values of the paths of the call tree, as it was recorded.
func (v *comparedSource) eachPath(c *comparedColumn, out *comparedRun) error {
	rows, err := v.pathRows(c)
	if err != nil {
		return err
	}
	keys := out.keys.paths
	keys.expect(len(rows))
	names := v.functionNumbers(&keys.names)
	at := newIndex(rows, func(r *pathRow) session.PathID { return r.id })
	paths, numbers := make([]comparedPath, len(rows)), make([]int32, len(rows))
	for i := range rows {
		r := &rows[i]
		p, step := &paths[i], pair{above: none}
		p.parent = none
		if n, known := at.find(r.parent); known && n >= 0 && int(n) < i {
			p.parent, step.above = n, numbers[n]
		}
		p.function, _ = v.functions.find(r.function)
		if p.function >= 0 {
			step.name = names.number(p.function)
		} else {
			step.name = keys.names.number("")
		}
		numbers[i] = keys.number(step)
		out.addTo(numbers[i], r.value, int64(i))
	}
	called := make([]Change, len(v.data.Functions)) // the name and the module of functions
	for f := range called {
		of := &v.data.Functions[f]
		called[f] = Change{Name: of.DisplayName(), Module: v.moduleName(of.Module), Namespace: FunctionNamespace(of)}
	}
	out.describe = func(i int64) Change {
		x := Change{}
		if f := paths[i].function; f >= 0 {
			x = called[f]
		}
		x.stack = func(text []byte) []byte {
			var s comparedStack
			for n := int32(i); n >= 0; n = paths[n].parent {
				if f := paths[n].function; f >= 0 {
					s.add(called[f].Name)
				}
			}
			return s.appendTo(text)
		}
		return x
	}
	return nil
}
