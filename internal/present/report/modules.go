package report

import (
	"github.com/clrprof/clrprof/internal/session"
)

// modulesView is the tree of modules.
var modulesView = View{
	Name:    "modules",
	Short:   "modules, and below them functions, lines and instructions",
	Text:    Options{Top: 15, Depth: 2},
	isTree:  true,
	places:  true,
	columns: keys("name kind level " + identity[len("name "):] + amounts),
	text:    keys("name " + textAmounts),
	sort:    "inclusive_bytes",
	build:   buildModules,
	timed: timedView{
		columns: keys(timeKeys(true)),
		text:    keys("name " + elapsedBoth + "calls cpu_inclusive cpu_exclusive"),
		both: keys("name " + elapsedBoth +
			"inclusive_bytes inclusive_bytes_percent exclusive_bytes exclusive_bytes_percent calls"),
		sort: "elapsed_inclusive",
	},
}

func buildModules(b *builder) error {
	roots, err := b.moduleRows()
	if err != nil {
		return err
	}
	functions, err := b.functionRows()
	if err != nil {
		return err
	}
	ofModule := map[session.ModuleID][]*Row{}
	for i := range functions {
		row := &functions[i]
		row.level = 1
		ofModule[row.module] = append(ofModule[row.module], row)
	}
	var below *placesIn // nil until something needs it
	return b.tree(roots, exclusiveCost, func(r *Row) ([]Row, error) {
		if r.kind == rowModule {
			return copied(ofModule[r.module]), nil
		}
		if r.kind == rowFunction && b.isDeepest(r) { // nearly always the first one: all places take long to read
			if some, err := b.source.HasLineTimes(r.function); some || err != nil {
				return []Row{*r}, err
			}
		}
		if below == nil {
			if below, err = b.placesBelow(); err != nil {
				return nil, err
			}
		}
		switch r.kind {
		case rowFunction:
			return copied(below.functions[r.function]), nil
		case rowBody:
			return copied(below.bodies[r.function]), nil
		case rowLine:
			return copied(below.lines[r.line]), nil
		}
		return nil, nil
	})
}

// copied returns rows that can be sorted and cut.
func copied(list []*Row) []Row {
	out := make([]Row, len(list))
	for i, r := range list {
		out[i] = *r
	}
	return out
}

// placesIn are the rows below functions: their lines and what is on none, and the instructions of these.
type placesIn struct {
	functions, bodies map[session.FunctionID][]*Row
	lines             map[session.LineID][]*Row
}

func (c *context) placesBelow() (*placesIn, error) {
	below := &placesIn{map[session.FunctionID][]*Row{}, map[session.FunctionID][]*Row{}, map[session.LineID][]*Row{}}
	lines, err := c.lineRows()
	if err != nil {
		return nil, err
	}
	hasBody := map[session.FunctionID]bool{}
	for i := range lines {
		row := &lines[i]
		row.level = 2
		hasBody[row.function] = hasBody[row.function] || row.kind == rowBody
		below.functions[row.function] = append(below.functions[row.function], row)
	}
	instructions, err := c.instructionRows()
	for i := range instructions {
		row := &instructions[i]
		switch {
		case row.line != 0:
			row.level = 3
			below.lines[row.line] = append(below.lines[row.line], row)
		case hasBody[row.function]: // no symbols: the time of its body holds that of these calls
			row.level = 3
			below.bodies[row.function] = append(below.bodies[row.function], row)
		default:
			row.level = 2
			below.functions[row.function] = append(below.functions[row.function], row)
		}
	}
	return below, err
}
