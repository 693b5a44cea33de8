// Package firefox writes a session for the Firefox Profiler (https://profiler.firefox.com): a processed profile, JSON,
// of version 56, which later ones of its readers upgrade.
//
// Each thread that has something of one value is a thread of the profile, and its stacks, with lines, are samples whose
// weight is that value: they add up to the session's sum. A session knows how much, not in which order, so all samples
// of a thread are at its beginning, and what the reader draws over time is that of the markers: a marker for each
// garbage collection, and for each interval in which the operating system acted (run --events), in its thread, and as a
// counter the size of the heap after each collection. A last sample of each thread has no stack and no
// weight, and is at the end. Values that can be less than zero, those alive at
// the end of a span, have no place.
//
// The output depends on nothing but the session and what is selected of it, which the profile's name says.
package firefox

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"strconv"

	"github.com/clrprof/clrprof/internal/analysis"
	"github.com/clrprof/clrprof/internal/session"
)

// version is that of the format.
const version = 56

// geckoVersion is that of the format that the browser itself writes, which a processed profile names too.
const geckoVersion = 29

// Categories of frames, by number.
const (
	categoryCode = iota // of which there is a source file
	categoryOther
	categoryGC
	categorySystem
)

type category struct {
	Name          string   `json:"name"`
	Color         string   `json:"color"`
	Subcategories []string `json:"subcategories"`
}

// categories has one that is grey, as the format demands: the one of what has no other.
var categories = []category{
	categoryCode:  {"With source", "blue", []string{"Other"}},
	categoryOther: {"Other", "grey", []string{"Other"}},
	categoryGC:    {"GC", "orange", []string{"Other"}},

	categorySystem: {"Operating system", "red", []string{"Other"}},
}

// Write writes one value of the part of s that is selected ("": bytes, or elapsed time where there is time). Errors
// are those of reading s, of the selection, of SampleSet.Find, and of w.
func Write(w io.Writer, s *session.Session, sel analysis.Selection, value string) error {
	samples, err := analysis.Samples(s, sel)
	if err != nil {
		return err
	}
	at, err := samples.Find(value)
	if err != nil {
		return err
	}
	threads, err := samples.ByThread(at, func(s *analysis.Sample) int32 { return s.Node })
	if err != nil {
		return err
	}
	collections, err := analysis.Collections(s, sel)
	if err != nil {
		return err
	}
	events, err := samples.Events()
	if err != nil {
		return err
	}
	threads = withEvents(threads, events)
	out := &writer{Writer: bufio.NewWriter(w), samples: samples, value: samples.Values[at], numbers: map[string]int{}}
	out.name = samples.Title()
	if err := out.profile(threads, collections, events); err != nil {
		return fmt.Errorf("writing a profile for Firefox: %w", err)
	}
	return nil
}

// writer writes a profile, thread by thread: the whole would be as large again in memory.
type writer struct {
	*bufio.Writer
	samples *analysis.SampleSet
	value   analysis.SampleValue
	name    string
	strings []string
	numbers map[string]int
}

// text returns the number of a string.
func (w *writer) text(s string) int {
	n, known := w.numbers[s]
	if !known {
		n = len(w.strings)
		w.strings, w.numbers[s] = append(w.strings, s), n
	}
	return n
}

func (w *writer) put(v any) error {
	b, err := json.Marshal(v)
	if err == nil {
		_, err = w.Write(b)
	}
	return err
}

func (w *writer) profile(threads []analysis.ThreadSums, collections []analysis.Collection,
	events []analysis.PlacedEvent) error {
	meta := map[string]any{
		"interval": 1, "startTime": 0, "categories": categories, "product": w.name, "stackwalk": 1,
		"version":                    geckoVersion,
		"preprocessedProfileVersion": version, "symbolicated": true, "processType": 0, "importedFrom": "clrprof",
		"markerSchema": []any{gcSchema, systemSchema()},
	}
	if began := w.samples.Began; !began.IsZero() {
		meta["startTime"] = began.UnixMilli()
	}
	w.WriteString(`{"meta":`)
	if err := w.put(meta); err != nil {
		return err
	}
	w.WriteString(`,"libs":[],"pages":[],"threads":[`)
	mains := map[session.ProcessID]int{}
	byThread := map[session.ThreadID][]analysis.PlacedEvent{}
	for _, e := range events {
		byThread[e.Thread.ID] = append(byThread[e.Thread.ID], e)
	}
	for i, t := range threads {
		first, seen := mains[t.Process]
		if !seen {
			first = i
			mains[t.Process] = i
		}
		if i > 0 {
			w.WriteString(",\n")
		}
		made := w.thread(&t, first == i, of(collections, t.Process), byThread[t.ID])
		if err := w.put(made); err != nil {
			return err
		}
	}
	w.WriteString(`],"counters":`)
	if err := w.put(w.counters(threads, mains, collections)); err != nil {
		return err
	}
	w.WriteString(`,"shared":{"stringArray":`)
	if err := w.put(append([]string{}, w.strings...)); err != nil {
		return err
	}
	w.WriteString("}}\n")
	return w.Flush()
}

// of leaves the collections of a process.
func of(collections []analysis.Collection, p session.ProcessID) []analysis.Collection {
	var out []analysis.Collection
	for _, c := range collections {
		if c.Process == p {
			out = append(out, c)
		}
	}
	return out
}

// milliseconds is a time as the format has it.
func milliseconds[T ~int64](ns T) float64 { return float64(ns) / 1e6 }

// end is a time that may not be known.
func end[T ~int64](ns T) any {
	if ns == 0 {
		return nil
	}
	return milliseconds(ns)
}

// thread makes a thread. The first one of a process has its collections.
func (w *writer) thread(t *analysis.ThreadSums, first bool, collections []analysis.Collection,
	events []analysis.PlacedEvent) map[string]any {
	until := max(w.samples.Duration, t.Begin, t.End)
	for i := range collections {
		until = max(until, collections[i].Begin+collections[i].Pause)
	}
	for i := range events {
		until = max(until, events[i].To)
	}
	tables := w.tables(t, until)
	var marked markers
	if first {
		w.markCollections(&marked, collections)
	}
	w.markEvents(&marked, events)
	name := t.Label(t.Of.PID)
	out := map[string]any{
		"processType": "default", "processName": t.Of.Name, "name": name, "isMainThread": first,
		"pid": strconv.FormatInt(t.Of.PID, 10), "tid": t.OSID, "pausedRanges": []any{},
		"processStartupTime": milliseconds(t.Of.Begin), "processShutdownTime": end(t.Of.End),
		"registerTime": milliseconds(t.Begin), "unregisterTime": end(t.End),
		"markers": marked.table(),
	}
	maps.Copy(out, tables)
	return out
}
