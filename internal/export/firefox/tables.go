package firefox

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/clrprof/clrprof/internal/analysis"
	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
)

// weightTypes are the kinds of weights that the reader prints with a unit.
var weightTypes = map[string]string{"bytes": "bytes", "nanoseconds": "tracing-ms", "count": "samples"}

// stack is a row of the table of stacks.
type stack struct{ prefix, frame int }

// frameKey tells a frame: the reader shows functions and lines, not instructions.
type frameKey struct {
	function session.FunctionID
	line     int64
}

// tables makes the samples of a thread and what they refer to. The last sample, without a stack, is at the end of the
// recording: readers show the time up to the last sample.
func (w *writer) tables(t *analysis.ThreadSums, until q.Nanoseconds) map[string]any {
	functions := map[session.FunctionID]int{}
	frames, stacks, numbers := map[frameKey]int{}, []stack{}, map[stack]int{}
	frameTable, funcTable := newFrames(), newFunctions()
	stackOf := map[int32]int{} // of nodes
	leaf := []any{}
	weights := []any{}
	for _, node := range slices.Sorted(maps.Keys(t.Sums)) {
		var todo []int32
		for n := node; n >= 0; n = w.samples.Parent(n) {
			if _, known := stackOf[n]; known {
				break
			}
			todo = append(todo, n)
		}
		for _, n := range slices.Backward(todo) {
			at := w.samples.Frame(n)
			f := &w.samples.Frames()[at]
			frame, known := frames[frameKey{f.Function.ID, f.Line}]
			if !known {
				frame = frameTable.add(w.function(funcTable, functions, f), f)
				frames[frameKey{f.Function.ID, f.Line}] = frame
			}
			key := stack{-1, frame}
			if above := w.samples.Parent(n); above >= 0 {
				key.prefix = stackOf[above]
			}
			number, known := numbers[key]
			if !known {
				number = len(stacks)
				stacks, numbers[key] = append(stacks, key), number
			}
			stackOf[n] = number
		}
		leaf = append(leaf, stackOf[node])
		weights = append(weights, w.weight(t.Sums[node]))
	}
	times := repeat(milliseconds(t.Begin), len(leaf))
	// what is shown ends here
	leaf, weights, times = append(leaf, nil), append(weights, 0), append(times, milliseconds(until))
	prefixes, stackFrames := make([]any, len(stacks)), make([]int, len(stacks))
	for i, s := range stacks {
		if stackFrames[i] = s.frame; s.prefix >= 0 {
			prefixes[i] = s.prefix
		}
	}
	empty := []any{}
	return map[string]any{
		"samples": map[string]any{"stack": leaf, "time": times, "weight": weights,
			"weightType": weightTypes[w.value.Unit], "length": len(leaf)},
		"stackTable":    map[string]any{"prefix": prefixes, "frame": stackFrames, "length": len(stacks)},
		"frameTable":    frameTable.table(),
		"funcTable":     funcTable.table(),
		"resourceTable": map[string]any{"lib": empty, "name": empty, "host": empty, "type": empty, "length": 0},
		"nativeSymbols": map[string]any{"libIndex": empty, "address": empty, "name": empty, "functionSize": empty,
			"length": 0},
	}
}

// weight is a value as the reader takes it: times are in milliseconds, of which all digits are written.
func (w *writer) weight(v int64) any {
	if w.value.Unit == "nanoseconds" {
		return jsonNumber(fmt.Sprintf("%d.%06d", v/1e6, v%1e6))
	}
	return v
}

// jsonNumber is written as it is.
type jsonNumber string

// MarshalJSON returns the number.
func (n jsonNumber) MarshalJSON() ([]byte, error) { return []byte(n), nil }

func (w *writer) function(to *functions, known map[session.FunctionID]int, f *analysis.SampleFrame) int {
	n, there := known[f.Function.ID]
	if !there {
		n = len(to.name)
		known[f.Function.ID] = n
		to.name = append(to.name, w.text(f.Function.DisplayName()))
		to.file = append(to.file, nil)
		to.line = append(to.line, nil)
		if f.File != "" {
			to.file[n] = w.text(f.File)
		}
		if f.Function.Line > 0 {
			to.line[n] = f.Function.Line
		}
	}
	return n
}

// functions is the table of functions.
type functions struct {
	name       []int
	file, line []any
}

func newFunctions() *functions { return &functions{[]int{}, []any{}, []any{}} }

func (f *functions) table() map[string]any {
	n := len(f.name)
	return map[string]any{"isJS": repeat(false, n), "relevantForJS": repeat(false, n), "name": f.name,
		"resource": repeat(-1, n),
		"fileName": f.file, "lineNumber": f.line, "columnNumber": repeat[any](nil, n), "length": n}
}

// frameRows is the table of frames.
type frameRows struct {
	function, category []int
	line, column       []any
}

func newFrames() *frameRows { return &frameRows{[]int{}, []int{}, []any{}, []any{}} }

func (t *frameRows) add(function int, f *analysis.SampleFrame) int {
	kind := categoryOther
	if f.File != "" {
		kind = categoryCode
	}
	var line, column any
	if f.Line > 0 {
		line = f.Line
		if f.Column > 0 {
			column = f.Column
		}
	}
	t.function, t.category = append(t.function, function), append(t.category, kind)
	t.line, t.column = append(t.line, line), append(t.column, column)
	return len(t.function) - 1
}

func (t *frameRows) table() map[string]any {
	n := len(t.function)
	return map[string]any{"address": repeat(-1, n), "inlineDepth": repeat(0, n), "category": t.category,
		"subcategory": repeat(0, n),
		"func":        t.function, "nativeSymbol": repeat[any](nil, n), "innerWindowID": repeat[any](nil, n),
		"line": t.line, "column": t.column, "length": n}
}

func repeat[T any](v T, n int) []T { return slices.Repeat([]T{v}, n) }

// counters makes a counter for each process whose heap is known: by how much it grew from collection to collection.
func (w *writer) counters(threads []analysis.ThreadSums, mains map[session.ProcessID]int,
	collections []analysis.Collection) []any {
	out := []any{}
	for i, t := range threads {
		if mains[t.Process] != i {
			continue
		}
		times, growth, before := []float64{}, []int64{}, int64(0)
		all := of(collections, t.Process)
		slices.SortStableFunc(all, func(a, b analysis.Collection) int {
			return cmp.Compare(a.Begin+a.Pause, b.Begin+b.Pause)
		})
		for k := range all {
			if all[k].Known {
				after := int64(all[k].After().Bytes)
				times, growth = append(times, milliseconds(all[k].Begin+all[k].Pause)), append(growth, after-before)
				before = after
			}
		}
		if len(times) > 0 {
			out = append(out, map[string]any{
				"name": "heap", "category": "Memory", "description": "Size of the heap after each collection",
				"pid": strconv.FormatInt(t.Of.PID, 10), "mainThreadIndex": i,
				"samples": map[string]any{"time": times, "count": growth, "length": len(times)},
			})
		}
	}
	return out
}
