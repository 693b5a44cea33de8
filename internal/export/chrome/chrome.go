// Package chrome writes a session as a trace of Chrome (Trace Event Format, JSON), which Perfetto
// (https://ui.perfetto.dev) and chrome://tracing open.
//
// In the order of time are the garbage collections of each process, on a track of their own, and as counters the size
// of each generation before and after them. A session knows how much, not in which order: each thread has a track with
// its call tree for one value, summed up, the largest first, in which a nanosecond stands for a unit of the value. The
// widths of what has no caller add up to the session's sum. Values that can be less than zero, those alive at the end
// of a span, have no place. What the operating system did to a thread (run --events), which is in the order of time,
// is on a second track of it.
//
// Viewers take mostEvents events: of larger trees the smallest parts are left out, which only leaves their callers
// without them, and of more system events the shortest. The trace says how many under otherData.
//
// The output depends on nothing but the session and what is selected of it, which otherData says.
package chrome

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"

	"github.com/clrprof/clrprof/internal/analysis"
	"github.com/clrprof/clrprof/internal/session"
)

// mostEvents is how many functions of call trees a trace has, and how many system events: viewers hold it in memory,
// about 200 bytes for each.
const mostEvents = 1_000_000

// collectionTrack is the thread on which collections are drawn; no real thread has this id.
const collectionTrack = 0

// event is an entry of traceEvents.
type event struct {
	Phase string         `json:"ph"`
	PID   int64          `json:"pid"`
	TID   int64          `json:"tid"`
	Name  string         `json:"name"`
	Kind  string         `json:"cat,omitempty"`
	Time  *micros        `json:"ts,omitempty"`
	Took  *micros        `json:"dur,omitempty"`
	Args  map[string]any `json:"args,omitempty"`
}

// micros is a number of nanoseconds, which the format has as microseconds: all digits are written.
type micros int64

// MarshalJSON returns the number.
func (m micros) MarshalJSON() ([]byte, error) {
	return fmt.Appendf(nil, "%d.%03d", m/1000, m%1000), nil
}

func at[T ~int64](ns T) *micros {
	m := micros(ns)
	return &m
}

// Write writes the part of s that is selected, with one value ("": bytes, or elapsed time where there is time). Errors
// are those of reading s, of the selection, of SampleSet.Find, and of w.
func Write(w io.Writer, s *session.Session, sel analysis.Selection, value string) error {
	return write(w, s, sel, value, mostEvents)
}

func write(w io.Writer, s *session.Session, sel analysis.Selection, value string, most int) error {
	samples, err := analysis.Samples(s, sel)
	if err != nil {
		return err
	}
	at, err := samples.Find(value)
	if err != nil {
		return err
	}
	collections, err := analysis.Collections(s, sel)
	if err != nil {
		return err
	}
	processes, err := s.Processes()
	if err != nil {
		return err
	}
	events, err := samples.Events()
	if err != nil {
		return err
	}
	trees, err := treesOf(samples, at)
	if err != nil {
		return err
	}
	least, left := smallest(trees, most)
	out := &writer{Writer: bufio.NewWriter(w), samples: samples, value: samples.Values[at], least: least}
	other := map[string]any{"session": filepath.Base(s.Path()), "value": out.value.Name, "unit": out.value.Unit,
		"selection": samples.Notes}
	if out.value.Estimated {
		other["estimated"] = true
	}
	if left > 0 {
		other["left_out"] = fmt.Sprintf("%d functions with less than %d %s each: their callers are as wide as "+
			"they were",
			left, least, out.value.Unit)
	}
	var short int
	if out.system, short, least = longest(events, most); short > 0 {
		other["left_out_events"] = fmt.Sprintf("%d system events that took less than %d nanoseconds each", short, least)
	}
	if err := out.trace(other, processes, sel, collections, trees); err != nil {
		return fmt.Errorf("writing a trace: %w", err)
	}
	return nil
}

// tree is the call tree of a thread, by path.
type tree struct {
	analysis.ThreadSums // exclusive
	inclusive           map[int32]int64
	below               map[int32][]int32 // of -1: the roots
}

// treesOf adds up the value by thread and path.
func treesOf(samples *analysis.SampleSet, at int) ([]*tree, error) {
	threads, err := samples.ByThread(at, func(s *analysis.Sample) int32 { return samples.PathOf(s.Node) })
	var out []*tree
	for _, t := range threads {
		x := &tree{t, map[int32]int64{}, map[int32][]int32{}}
		x.sum(samples)
		out = append(out, x)
	}
	return out, err
}

// sum computes the inclusive values, and who is below whom, the largest first.
func (t *tree) sum(samples *analysis.SampleSet) {
	all := map[int32]bool{}
	for path := range t.Sums {
		for p := path; p >= 0 && !all[p]; p, _ = samples.PathStep(p) {
			all[p] = true
		}
	}
	paths := slices.Sorted(maps.Keys(all))
	for _, p := range slices.Backward(paths) { // callers have smaller numbers
		t.inclusive[p] += t.Sums[p]
		parent, _ := samples.PathStep(p)
		if t.below[parent] = append(t.below[parent], p); parent >= 0 {
			t.inclusive[parent] += t.inclusive[p]
		}
	}
	for _, below := range t.below {
		slices.SortFunc(below, func(a, b int32) int {
			return cmp.Or(cmp.Compare(t.inclusive[b], t.inclusive[a]), cmp.Compare(a, b))
		})
	}
}

// smallest returns the least value with which a part of a tree is written, so that at most so many are, and how many
// are left out.
func smallest(trees []*tree, most int) (least int64, left int) {
	var all []int64
	for _, t := range trees {
		all = slices.AppendSeq(all, maps.Values(t.inclusive))
	}
	if len(all) <= most {
		return 0, 0
	}
	slices.Sort(all)
	least = all[len(all)-most]
	if all[len(all)-most-1] == least { // not some of those that have as much
		least++
	}
	left, _ = slices.BinarySearch(all, least)
	return least, left
}

// writer writes a trace event by event.
type writer struct {
	*bufio.Writer
	samples *analysis.SampleSet
	value   analysis.SampleValue
	least   int64
	system  []analysis.PlacedEvent
	events  int
	err     error
}

func (w *writer) put(e event) {
	b, err := json.Marshal(e)
	if w.events > 0 {
		w.WriteString(",\n")
	}
	w.events++
	if _, failed := w.Write(b); w.err == nil {
		w.err = cmp.Or(err, failed)
	}
}

func (w *writer) trace(other map[string]any, processes []session.Process, sel analysis.Selection,
	collections []analysis.Collection, trees []*tree) error {
	head, err := json.Marshal(other)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "{\"displayTimeUnit\":\"ns\",\"otherData\":%s,\"traceEvents\":[\n", head)
	pids := map[session.ProcessID]int64{}
	for _, p := range processes {
		if pids[p.ID] = p.PID; sel.HasProcess(p.ID) {
			w.put(event{Phase: "M", PID: p.PID, Name: "process_name", Args: map[string]any{"name": p.Name}})
		}
	}
	w.collections(collections, pids)
	for _, t := range trees {
		w.tree(t)
		if w.err != nil {
			return w.err
		}
	}
	w.systemEvents()
	w.WriteString("\n]}\n")
	return cmp.Or(w.err, w.Flush())
}

// generationNames are those of counters.
var generationNames = [session.Generations]string{"gen0", "gen1", "gen2", "loh", "poh"}

func (w *writer) collections(collections []analysis.Collection, pids map[session.ProcessID]int64) {
	named := map[session.ProcessID]bool{}
	for i := range collections {
		c := &collections[i]
		pid := pids[c.Process]
		if !named[c.Process] {
			named[c.Process] = true
			w.put(event{Phase: "M", PID: pid, TID: collectionTrack, Name: "thread_name",
				Args: map[string]any{"name": "Garbage collections"}})
			w.put(event{Phase: "M", PID: pid, TID: collectionTrack, Name: "thread_sort_index",
				Args: map[string]any{"sort_index": -1}})
		}
		w.put(event{Phase: "X", PID: pid, TID: collectionTrack, Name: fmt.Sprintf("GC %d of generation %d", c.Number,
			c.Generation),
			Time: at(c.Begin), Took: at(c.Pause), Args: map[string]any{"number": c.Number, "generation": c.Generation,
				"induced": c.Induced}})
		if !c.Known {
			continue
		}
		before, after := map[string]any{}, map[string]any{}
		for g, name := range generationNames {
			before[name], after[name] = int64(c.Heap[g].Before.Bytes), int64(c.Heap[g].After.Bytes)
		}
		w.put(event{Phase: "C", PID: pid, TID: collectionTrack, Name: "heap", Time: at(c.Begin), Args: before})
		w.put(event{Phase: "C", PID: pid, TID: collectionTrack, Name: "heap", Time: at(c.Begin + c.Pause), Args: after})
	}
}

// tree writes the call tree of a thread, depth first and without recursion.
func (w *writer) tree(t *tree) {
	name := t.Label(t.Of.PID)
	w.put(event{Phase: "M", PID: t.Of.PID, TID: t.OSID, Name: "thread_name",
		Args: map[string]any{"name": fmt.Sprintf("%s: %s, summed up (not in the order of time)", name, w.value.Name)}})
	type place struct {
		path  int32
		begin int64
	}
	var stack []place
	push := func(parent int32, begin int64) {
		from := len(stack)
		for _, p := range t.below[parent] {
			if t.inclusive[p] >= w.least {
				stack = append(stack, place{p, begin})
			}
			begin += t.inclusive[p]
		}
		slices.Reverse(stack[from:]) // the last is the next
	}
	push(-1, 0)
	for len(stack) > 0 && w.err == nil {
		next := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		_, function := w.samples.PathStep(next.path)
		w.put(event{Phase: "X", PID: t.Of.PID, TID: t.OSID, Name: function.DisplayName(), Time: at(next.begin),
			Took: at(t.inclusive[next.path]),
			Args: map[string]any{"inclusive": t.inclusive[next.path], "exclusive": t.Sums[next.path]}})
		push(next.path, next.begin)
	}
}
