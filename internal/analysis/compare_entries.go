package analysis

import (
	"errors"
	"fmt"

	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
)

// ErrNoEntries means that the entry points of a kind are to be compared, and no session has any.
var ErrNoEntries = errors.New("no session has any")

// The views that are compared besides those of code, types and threads.
const (
	comparedTests     = "tests"
	comparedEndpoints = "endpoints"
	comparedGCs       = "gcs"
)

// entryKinds are the views of entry points.
var entryKinds = map[string]EntryKind{comparedTests: EntryTests, comparedEndpoints: EntryEndpoints}

// entryColumns are the columns of entry points: what they did with all that they called.
var entryColumns = []comparedColumn{timeColumns[1], timeColumns[3], timeColumns[5], timeColumns[6], amountColumns[2],
	amountColumns[3]}

// gcColumns are the columns of collections.
var gcColumns = []comparedColumn{
	{key: "collections", unit: "count", gcs: func(session.GC, session.GCGeneration) int64 { return 1 }, once: true},
	{key: "pause_ns", unit: "nanoseconds", once: true,
		gcs: func(g session.GC, _ session.GCGeneration) int64 { return int64(g.Pause) }},
	{key: "before_bytes", unit: "bytes",
		gcs: func(_ session.GC, of session.GCGeneration) int64 { return int64(of.Before.Bytes) }},
	{key: "dead_bytes", unit: "bytes",
		gcs: func(_ session.GC, of session.GCGeneration) int64 { return int64(of.Dead.Bytes) }},
	{key: "survived_bytes", unit: "bytes",
		gcs: func(_ session.GC, of session.GCGeneration) int64 { return int64(of.Before.Bytes - of.Dead.Bytes) }},
	{key: "promoted_bytes", unit: "bytes",
		gcs: func(_ session.GC, of session.GCGeneration) int64 { return int64(of.Promoted.Bytes) }},
}

// lackedEntries returns the views of entry points that no session has. It reads the functions of the sessions.
func lackedEntries(all []*Source) (map[string]bool, error) {
	lacked := map[string]bool{}
	for view := range entryKinds {
		lacked[view] = true
	}
	for _, v := range all {
		functions, err := v.session.Functions()
		if err != nil {
			return nil, err
		}
		for view, kind := range entryKinds {
			lacked[view] = lacked[view] && !HasEntries(functions, kind)
		}
	}
	return lacked, nil
}

// eachEntry adds the values of entry points: of tests by their functions, of endpoints by their routes. With what was
// done beside them all is there, once.
func (v *comparedSource) eachEntry(kind EntryKind, c *comparedColumn, out *comparedRun) error {
	found, err := v.Entries(kind)
	if err != nil {
		return err
	}
	var rows []EntryValue
	var nameOf []string // by row: "" is that of its function
	for _, part := range []struct {
		name string
		list []EntryValue
	}{{"", found.List}, {kind.Several(), found.Several}, {kind.Beside(), found.Outside}} {
		for _, one := range part.list {
			rows, nameOf = append(rows, one), append(nameOf, part.name)
		}
	}
	if !found.Elsewhere.IsZero() {
		rows, nameOf = append(rows, found.Elsewhere), append(nameOf, kind.Elsewhere())
	}
	out.describe = func(i int64) Change {
		if nameOf[i] != "" {
			return Change{Name: nameOf[i]}
		}
		f := at(v.data.Functions, v.functions, rows[i].Function)
		if kind == EntryEndpoints {
			return Change{Name: f.Route, Module: v.moduleName(f.Module)}
		}
		return Change{Name: f.DisplayName(), Module: v.moduleName(f.Module), Namespace: FunctionNamespace(f),
			renamed: v.isRenamed(f.ID)}
	}
	for i, r := range rows {
		key := nameOf[i]
		if key == "" {
			f, _ := v.functions.find(r.Function)
			if key = v.keys.Function(int(f)); kind == EntryEndpoints {
				key = "route " + at(v.data.Functions, v.functions, r.Function).Route
			}
		}
		out.add(key, c.ofEntry(&r), int64(i))
	}
	return nil
}

// ofEntry is the value of an entry point in a column.
func (c *comparedColumn) ofEntry(r *EntryValue) value {
	if c.time {
		return value{n: c.value(r.Time)}
	}
	return c.amount(q.Amounts{Inclusive: r.Amounts.Inclusive})
}

// eachCollection adds the values of collections, by the oldest generation that they collected, and whether the program
// asked for them.
func (v *comparedSource) eachCollection(c *comparedColumn, out *comparedRun) error {
	all, err := Collections(v.session, v.selection)
	if err != nil {
		return err
	}
	generations, err := v.session.GCGenerations()
	if err != nil {
		return err
	}
	parts := map[session.GCID][]session.GCGeneration{}
	for _, g := range generations {
		parts[g.GC] = append(parts[g.GC], g)
	}
	names := []string{}
	out.describe = func(i int64) Change { return Change{Name: names[i]} }
	for i := range all {
		g := &all[i].GC
		name := fmt.Sprintf("generation %d", g.Generation)
		if g.Induced {
			name += ", induced"
		}
		names = append(names, name)
		x := value{}
		if c.once {
			x.n = c.gcs(*g, session.GCGeneration{})
		}
		for _, of := range parts[g.ID] {
			if c.once {
				break
			}
			n := c.gcs(*g, of)
			if x.n += n; v.estimates && of.Generation != session.GenerationLarge {
				x.sampled = x.sampled.Add(q.SampledIn(q.Bytes(n)))
			}
		}
		out.add(name, x, int64(i))
	}
	return nil
}

// ComparedRow is a row of a session that is compared with those of others that have its key: a value, and what it is
// about.
type ComparedRow struct {
	Value   int64
	Sampled q.Sampled // what of the value is estimated
	Change
}

// CompareRows compares rows that others have made of sessions: of each side those of its runs. Values of one key are
// added up.
func CompareRows(view, column, unit string, sides [2][][]ComparedRow) *Comparison {
	out := &Comparison{View: view, Column: column, Unit: unit, AddsUp: true, Runs: [2]int{len(sides[0]), len(sides[1])}}
	keys := &comparedKeys{}
	var all []comparedRun
	for side, runs := range sides {
		for _, rows := range runs {
			run := comparedRun{side: side, keys: keys, describe: func(i int64) Change { return rows[i].Change }}
			for i := range rows {
				run.add(rows[i].Key, value{rows[i].Value, rows[i].Sampled}, int64(i))
				run.estimates = run.estimates || rows[i].Sampled.Samples > 0
			}
			all = append(all, run)
		}
	}
	out.finish(keys, all)
	return out
}
