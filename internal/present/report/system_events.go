package report

import (
	"cmp"
	"slices"
	"strings"

	"github.com/clrprof/clrprof/internal/analysis"
	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
)

// What the list of system events can be grouped by.
const (
	eventsByThread   = "thread"
	eventsByFunction = string(analysis.ByFunction)
	eventsByCall     = "system-call"
)

// eventsView is the list of system events.
var eventsView = View{
	Name:    "events",
	Short:   "what the operating system did to threads, by time, thread and function",
	Text:    Options{Top: 60},
	places:  true,
	columns: keys("event_begin name module source_file line process_id process_name thread_id thread_name " + eventValues),
	text:    keys(textEvents),
	groups:  []string{eventsByFunction, eventsByThread, eventsByCall},
	build:   buildEvents,
	timed:   timedView{text: keys(textEvents), both: keys(textEvents)},
}

const (
	eventAmounts = "event_voluntary event_preempted event_minor_faults event_major_faults event_reads event_writes " +
		"event_calls event_migrations event_blocked event_ready event_length"
	eventSums   = "event_lost " + eventAmounts
	eventValues = "event_reason event_system_calls event_count " + eventSums
	textEvents  = "event_begin name event_lost event_reason thread_name " + eventAmounts + " event_system_calls place"
	textCalls   = "name event_calls event_count"
	textGroups  = "name event_count " + eventSums
)

// eventRow is an interval in which the operating system acted, or several.
type eventRow struct {
	analysis.SystemEvent
	count q.Count
}

// eventColumns are those of the view events.
var eventColumns = append([]Column{
	{Key: "event_begin", Title: "Time", Kind: Time, cell: func(_ *context, r *Row) Cell {
		if r.event == nil || r.kind != rowEvent {
			return Cell{Empty: true}
		}
		return Cell{Number: int64(r.event.Begin())}
	}},
	{Key: "thread_name", Title: "Thread", Kind: Name, cell: func(c *context, r *Row) Cell {
		if r.thread == 0 {
			return Cell{Empty: true}
		}
		return textCell(c.threadName(r.thread))
	}},
	{Key: "event_reason", Title: "Why", Kind: Text, cell: func(_ *context, r *Row) Cell {
		if r.event == nil || r.kind != rowEvent {
			return Cell{Empty: true}
		}
		return textCell(r.event.Reason())
	}},
	{Key: "event_system_calls", Title: "Which calls", Kind: Name, cell: func(_ *context, r *Row) Cell {
		if r.event == nil || r.kind != rowEvent || len(r.event.Called) == 0 {
			return Cell{Empty: true}
		}
		return textCell(r.event.SystemCalls())
	}},
	eventNumber("count", "Events", Count, func(e *eventRow) int64 { return int64(e.count) }),
	eventNumber("lost", "Lost", Duration, func(e *eventRow) int64 { return int64(e.Lost()) }),
}, amountColumns()...)

// amountColumns are what the system did.
func amountColumns() []Column {
	var out []Column
	for i, a := range new(analysis.SystemEvent).Amounts() {
		kind := Count
		if a.Time {
			kind = Duration
		}
		out = append(out, eventNumber(a.Key, a.Title, kind, func(e *eventRow) int64 { return e.Amounts()[i].Value }))
	}
	return out
}

func eventNumber(key, title string, kind Kind, value func(*eventRow) int64) Column {
	return Column{Key: "event_" + key, Title: title, Kind: kind, cell: func(_ *context, r *Row) Cell {
		if r.event == nil || r.kind == rowCall && key != "calls" && key != "count" {
			return Cell{Empty: true} // an event can have several calls: of one of them nothing else is known
		}
		return Cell{Number: value(r.event)}
	}}
}

// buildEvents lists events in the order of time, or functions or threads with their sums, those that lost most first.
func buildEvents(b *builder) error {
	list, err := b.source.SystemEvents()
	if err != nil {
		return err
	}
	if len(list) == 0 && b.source.Selection().IsZero() {
		const flags = "--time --events sched,page-faults,io"
		if err := b.noteNone("events of the operating system", "events", flags); err != nil {
			return err
		}
	}
	if b.options.By != "" {
		b.table.IsTree = false
		rows, columns := b.eventGroups(list), textGroups
		if b.options.By == eventsByCall {
			rows, columns = callGroups(list), textCalls
		}
		if len(b.options.Columns) == 0 {
			b.table.TextColumns = keys(columns)
		}
		if b.options.Sort != "" {
			b.sorted(rows)
		}
		b.table.Rows = b.first(rows, "more row")
		return nil
	}
	rows := make([]Row, len(list))
	for i := range list {
		rows[i] = b.eventRow(eventRow{list[i], 1})
	}
	if b.options.Sort != "" {
		b.sorted(rows)
	}
	b.table.Rows = b.first(rows, "more event")
	return nil
}

func (b *builder) eventRow(e eventRow) Row {
	return Row{kind: rowEvent, process: e.Process, thread: e.Thread, function: e.At.Function, line: e.At.Line,
		module: b.functions.get(e.At.Function).Module, event: &e}
}

// eventGroups adds events up by function or thread.
func (b *builder) eventGroups(list []analysis.SystemEvent) []Row {
	type key struct {
		function session.FunctionID
		thread   session.ThreadID
	}
	at := map[key]int{}
	var rows []Row
	for i := range list {
		e := &list[i]
		k, row := key{function: e.At.Function}, Row{kind: rowFunction, process: e.Process, function: e.At.Function,
			module: b.functions.get(e.At.Function).Module}
		if b.options.By == eventsByThread {
			k, row = key{thread: e.Thread}, Row{kind: rowThread, process: e.Process, thread: e.Thread}
		}
		n, known := at[k]
		if !known {
			n, row.event = len(rows), &eventRow{}
			at[k], rows = n, append(rows, row)
		}
		rows[n].event.Add(e)
		rows[n].event.count++
	}
	slices.SortStableFunc(rows, func(x, y Row) int {
		for _, d := range []int64{int64(y.event.Lost() - x.event.Lost()), int64(y.event.count - x.event.count)} {
			if d != 0 {
				return int(max(-1, min(1, d)))
			}
		}
		return 0
	})
	return rows
}

// notReported is the name of system calls of which only the number is known.
const notReported = "(not reported)"

// callGroups adds system calls up by name, those that were made most first.
func callGroups(list []analysis.SystemEvent) []Row {
	at := map[string]int{}
	var rows []Row
	add := func(name string, calls q.Count) {
		n, known := at[name]
		if !known {
			n = len(rows)
			at[name], rows = n, append(rows, Row{kind: rowCall, text: name, event: &eventRow{}})
		}
		rows[n].event.Calls += calls
		rows[n].event.count++
	}
	for i := range list {
		for _, c := range list[i].Called {
			add(c.Name, c.Calls)
		}
		if n := list[i].Unnamed(); n > 0 {
			add(notReported, n)
		}
	}
	slices.SortFunc(rows, func(x, y Row) int {
		return cmp.Or(cmp.Compare(y.event.Calls, x.event.Calls), strings.Compare(x.text, y.text))
	})
	return rows
}
