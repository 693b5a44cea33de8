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
	textTimes   = "name " + elapsedBoth + "calls cpu_inclusive cpu_exclusive module avg_elapsed_inclusive max_elapsed_inclusive"
	textBoth    = "name " + elapsedBoth + "inclusive_bytes inclusive_bytes_percent exclusive_bytes exclusive_bytes_percent calls module cpu_inclusive inclusive_allocations"
	textOwn     = "elapsed_inclusive elapsed_inclusive_percent cpu_inclusive cpu_inclusive_percent calls "
)

// timedViews are the views that can show times, by name.
var timedViews = map[string]timedView{
	"functions": {keys(timeKeys(true)), keys(textTimes), keys(textBoth), "elapsed_inclusive"},
	"calltree":  {keys(timeKeys(true)), keys(textTimes), keys(textBoth), "elapsed_inclusive"},
	"callers":   {keys(timeKeys(true)), keys("type " + textTimes), keys("type " + textBoth), "elapsed_inclusive"},
	"function": {keys("function_elapsed_percent " + timeKeys(true)), keys("type name function_elapsed_percent " + elapsedBoth + "calls cpu_inclusive cpu_exclusive module source_text"),
		keys("type name function_elapsed_percent " + elapsedBoth + "function_bytes_percent inclusive_bytes inclusive_bytes_percent exclusive_bytes exclusive_bytes_percent calls module source_text"), "elapsed_inclusive"},
	"modules": {keys(timeKeys(true)), keys("name " + elapsedBoth + "calls cpu_inclusive cpu_exclusive"), keys("name " + elapsedBoth + "inclusive_bytes inclusive_bytes_percent exclusive_bytes exclusive_bytes_percent calls"), "elapsed_inclusive"},
	"lines":   {keys("kind " + timeKeys(false)), keys("place function " + elapsedBoth + "calls cpu_inclusive cpu_exclusive module"), keys("place function " + elapsedBoth + "exclusive_bytes exclusive_bytes_percent calls module"), "elapsed_inclusive"},
	"ips":     {keys(timeKeys(false)), keys("instruction_address function place " + elapsedBoth + "calls cpu_inclusive cpu_exclusive module"), keys("instruction_address function place " + elapsedBoth + "exclusive_bytes exclusive_bytes_percent calls module"), "elapsed_inclusive"},
	"processes": {keys(timeKeys(false) + "instrument mechanism clock ticks_per_second agent_time_ns"), keys("name process_id " + textOwn + "threads end_state begin_ns end_ns runtime_version mechanism agent_bytes parent_process_id"),
		keys("name process_id " + textOwn + "bytes bytes_percent allocations allocations_percent threads end_state begin_ns end_ns runtime_version mechanism agent_bytes parent_process_id"), "elapsed_inclusive"},
	"threads": {keys(timeKeys(false)), keys("name thread_id " + textOwn + "begin_ns end_ns process_id"), keys("name thread_id " + textOwn + "bytes bytes_percent allocations allocations_percent begin_ns end_ns process_id"), "elapsed_inclusive"},
	"rules":   {text: keys("rule severity evidence from"), both: keys("rule severity evidence from")},
	"marks":   {text: keys("mark_name mark_ns mark_text mark_source mark_id"), both: keys("mark_name mark_ns mark_text mark_source mark_id")},
	"header":  {text: keys("key value"), both: keys("key value")},
}

// TimeKeys returns the keys of the columns that the view has in sessions with times.
func (v View) TimeKeys() []string { return slices.Clone(timedViews[v.Name].columns) }

// withData makes the view that fits what the session holds. Some views are about allocations alone.
func (v View) withData(c *context) (View, error) {
	if v.section {
		return v, nil
	}
	t, timed := timedViews[v.Name]
	if !c.hasMemory() && !timed {
		return v, ErrNoMemory
	}
	if !c.hasTime() || !timed {
		return v, nil
	}
	v.text = t.both
	if !c.hasMemory() {
		v.columns = slices.DeleteFunc(slices.Clone(v.columns), func(key string) bool { return allColumns[key].data == dataMemory })
		v.text = t.text
	}
	v.columns, v.sort = slices.Concat(v.columns, t.columns), t.sort
	if len(c.awaits) > 0 && slices.Contains(awaitViews, v.Name) {
		v = v.withAwaits()
	}
	return v, nil
}

// available are all columns that can be asked of a view, whether the session holds their data or not.
func (v View) available() []string {
	t := timedViews[v.Name]
	out := slices.Concat(v.columns, v.text, v.optional(), t.columns, t.text, t.both)
	if t.sort != "" {
		out = append(out, keys(waitKeys())...)
	}
	if slices.Contains(awaitViews, v.Name) {
		out = append(out, awaitKeys...)
	}
	return out
}

// checkData refuses a column whose data the session does not hold.
func (c *context) checkData(key string) error {
	switch column := allColumns[key]; {
	case column.data == dataTime && !c.hasTime():
		return analysis.ErrNoTime
	case column.data == dataMemory && !c.hasMemory():
		return ErrNoMemory
	}
	return nil
}
