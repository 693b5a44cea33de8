package report

import (
	"slices"

	"github.com/clrprof/clrprof/internal/analysis"
)

// ErrNoMemory means that a view or column of allocations is asked of a session that has none.
var ErrNoMemory = analysis.ErrNoMemory

// dataSet says what a column needs of a session.
type dataSet int

const (
	dataAny dataSet = iota
	dataMemory
	dataTime
)

// timedView is what a view shows of times.
type timedView struct {
	columns []string // after those of the view, beside or instead of allocations
	text    []string // columns of text in a session with times alone
	both    []string // and in one with allocations too
	sort    string
}

const (
	elapsedBoth = "elapsed_inclusive elapsed_inclusive_percent elapsed_exclusive elapsed_exclusive_percent "
	textTimes   = "name " + elapsedBoth +
		"calls cpu_inclusive cpu_exclusive module avg_elapsed_inclusive max_elapsed_inclusive"
	textBoth = "name " + elapsedBoth +
		"inclusive_bytes inclusive_bytes_percent exclusive_bytes exclusive_bytes_percent calls module cpu_inclusive " +
		"inclusive_allocations"
	textOwn = "elapsed_inclusive elapsed_inclusive_percent cpu_inclusive cpu_inclusive_percent calls "
)

// TimeKeys returns the keys of the columns that the view has in sessions with times.
func (v View) TimeKeys() []string { return slices.Clone(v.timed.columns) }

// withData makes the view that fits what the session holds. Some views are about allocations alone.
func (v View) withData(c *context) (View, error) {
	if v.section {
		return v, nil
	}
	t := v.timed
	timed := len(t.text) > 0
	if !c.hasMemory() && !timed {
		return v, ErrNoMemory
	}
	if !c.hasTime() || !timed {
		return v, nil
	}
	v.text = t.both
	if !c.hasMemory() {
		v.columns = slices.DeleteFunc(slices.Clone(v.columns), func(key string) bool {
			return allColumns[key].data == dataMemory
		})
		v.text = t.text
	}
	v.columns, v.sort = slices.Concat(v.columns, t.columns), t.sort
	if len(c.awaits) > 0 && v.awaits {
		v = v.withAwaits()
	}
	if v.counted(c) {
		v = v.withCounters(c)
	}
	return v, nil
}

// available are all columns that can be asked of a view, whether the session holds their data or not.
func (v View) available() []string {
	t := v.timed
	out := slices.Concat(v.columns, v.text, v.optional, v.asked, t.columns, t.text, t.both)
	if t.sort != "" {
		out = append(out, keys(waitKeys())...)
	}
	if v.awaits {
		out = append(out, awaitKeys...)
	}
	return out
}

// checkData refuses a column whose data the session does not hold.
func (c *context) checkData(key string) error {
	switch column := c.column(key); {
	case column.data == dataTime && !c.hasTime():
		return analysis.ErrNoTime
	case column.data == dataMemory && !c.hasMemory():
		return ErrNoMemory
	}
	return nil
}
