package firefox

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/clrprof/clrprof/internal/analysis"
	"github.com/clrprof/clrprof/internal/session"
)

// Names of the kinds of markers.
const (
	gcMarker     = "clrprofGC"
	systemMarker = "clrprofSystem"
)

// gcSchema says how the reader shows a collection.
var gcSchema = map[string]any{
	"name": gcMarker, "tooltipLabel": "Garbage collection", "tableLabel": "{marker.data.text}",
	"chartLabel": "{marker.data.text}",
	"display":    []string{"marker-chart", "marker-table", "timeline-overview"},
	"fields": []map[string]any{
		{"key": "text", "label": "Collection", "format": "string"},
		{"key": "generation", "label": "Generation", "format": "integer"},
		{"key": "after", "label": "Heap after it", "format": "bytes"},
	},
}

// interval is the phase of markers that have a beginning and an end.
const interval = 1

// systemSchema says how the reader shows an interval in which the operating system acted.
func systemSchema() map[string]any {
	fields := []map[string]any{
		{"key": "text", "label": "Why", "format": "string"},
		{"key": "function", "label": "Function", "format": "string"},
		{"key": "place", "label": "Line", "format": "string"},
		{"key": "system_calls", "label": "Which calls", "format": "string"},
	}
	for _, a := range new(analysis.SystemEvent).Amounts() {
		format := "integer"
		if a.Time {
			format = "nanoseconds"
		}
		fields = append(fields, map[string]any{"key": a.Key, "label": a.Title, "format": format})
	}
	return map[string]any{
		"name": systemMarker, "tooltipLabel": "The operating system acted",
		"tableLabel": "{marker.data.text} in {marker.data.function}", "chartLabel": "{marker.data.text}",
		"display": []string{"marker-chart", "marker-table", "timeline-overview"}, "fields": fields,
	}
}

// markers is the table of markers of a thread.
type markers struct {
	name, category []int
	begin, end     []float64
	data           []any
}

func (m *markers) add(name, category int, begin, end float64, data map[string]any) {
	m.name, m.category = append(m.name, name), append(m.category, category)
	m.begin, m.end, m.data = append(m.begin, begin), append(m.end, end), append(m.data, data)
}

func (w *writer) markCollections(m *markers, collections []analysis.Collection) {
	for i := range collections {
		c := &collections[i]
		data := map[string]any{"type": gcMarker, "generation": c.Generation,
			"text": "GC " + strconv.FormatInt(c.Number, 10) +
				" of generation " + strconv.FormatInt(c.Generation, 10)}
		if c.Known {
			data["after"] = int64(c.After().Bytes)
		}
		m.add(w.text("GC"), categoryGC, milliseconds(c.Begin), milliseconds(c.Begin+c.Pause), data)
	}
}

func (w *writer) markEvents(m *markers, events []analysis.PlacedEvent) {
	for i := range events {
		e := &events[i]
		data := map[string]any{"type": systemMarker, "text": e.Reason(), "function": e.Function.DisplayName()}
		if e.File != "" && e.Line > 0 {
			data["place"] = fmt.Sprintf("%s:%d", e.File, e.Line)
		}
		for _, a := range e.Amounts() {
			if a.Value != 0 {
				data[a.Key] = a.Value
			}
		}
		if calls := e.SystemCalls(); calls != "" {
			data["system_calls"] = calls
		}
		m.add(w.text("Operating system"), categorySystem, milliseconds(e.From), milliseconds(e.To), data)
	}
}

// withEvents adds to the threads those that have events and nothing of the value, in the order of their ids.
func withEvents(threads []analysis.ThreadSums, events []analysis.PlacedEvent) []analysis.ThreadSums {
	known := map[session.ThreadID]bool{}
	for _, t := range threads {
		known[t.ID] = true
	}
	for i := range events {
		if e := &events[i]; !known[e.Thread.ID] {
			known[e.Thread.ID] = true
			threads = append(threads, analysis.ThreadSums{Thread: e.Thread, Of: e.Of, Sums: map[int32]int64{}})
		}
	}
	slices.SortStableFunc(threads, func(a, b analysis.ThreadSums) int { return cmp.Compare(a.ID, b.ID) })
	return threads
}

func (m *markers) table() map[string]any {
	n := len(m.data)
	return map[string]any{"data": append([]any{}, m.data...), "name": append([]int{}, m.name...),
		"startTime": append([]float64{}, m.begin...), "endTime": append([]float64{}, m.end...),
		"phase": repeat(interval, n), "category": append([]int{}, m.category...), "length": n}
}
