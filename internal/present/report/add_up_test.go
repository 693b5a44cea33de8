package report

import (
	"cmp"
	"slices"
	"testing"

	"github.com/clrprof/clrprof/internal/analysis"
	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/testkit/sessiontest"
)

// TestRowsAddUp: in each list that divides all objects, the rows, with those for what is without a line, add up to the
// total, in bytes and in objects; also where only the first rows are shown.
func TestRowsAddUp(t *testing.T) {
	for name, sample := range sessiontest.Samples {
		r := readerOf(t, sample())
		if !r.own().hasMemory() {
			continue
		}
		total := r.own().shown
		for _, view := range []struct {
			View
			bytes, objects string
		}{{functionsView, "exclusive_bytes", "exclusive_allocations"},
			{linesView, "exclusive_bytes", "exclusive_allocations"},
			{modulesView, "exclusive_bytes", "exclusive_allocations"}, {typesView, "bytes", "instances"},
			{threadsView, "bytes", "allocations"}, {processesView, "bytes", "allocations"}} {
			for _, top := range []int{0, 2} {
				table, err := r.Build(view.View, Options{Top: top, Depth: 1})
				if err != nil {
					t.Fatal(name, view.Name, err)
				}
				column := func(key string) *Column {
					i := slices.IndexFunc(table.Columns, func(c Column) bool { return c.Key == key })
					if i < 0 {
						t.Fatalf("%s, %s: no column %s", name, view.Name, key)
					}
					return &table.Columns[i]
				}
				var sum q.Amount
				for i := range table.Rows {
					row := &table.Rows[i]
					if row.kind == rowRest {
						sum = sum.Add(row.hidden.amount)
						continue
					}
					if row.level > 0 {
						continue
					}
					sum.Bytes += q.Bytes(table.Cell(i, *column(view.bytes)).Number)
					sum.Allocations += q.Count(table.Cell(i, *column(view.objects)).Number)
				}
				if sum != total {
					t.Errorf("%s, %s, top %d: the rows are %v, want %v", name, view.Name, top, sum, total)
				}
			}
		}
	}
}

// systemCase is what samples of the operating system say of a program.
type systemCase struct {
	cpu, private int64
	want         []NoteKind
	collects     int // how often the program asks for a collection
	times        bool
	idle         int64 // of the machine
	garbage      q.Bytes
	sampled      q.Nanoseconds // when; 0: at the end
}

const (
	unknown = -1
	never   = -1
)

// TestSystem: a summary says that a program mostly waits, and that its memory is not on the heap, from samples of the
// operating system, and only if they say so. It proposes a recording with times, once, where these would say what
// nothing does.
func TestSystem(t *testing.T) {
	for name, tt := range map[string]systemCase{
		"waits":           {200e6, 10e6, []NoteKind{FindingIdle}, 0, true, 900e6, 0, 0},
		"others work":     {200e6, 10e6, []NoteKind{FindingIdleOrBusy}, 0, true, 300e6, 0, 0},
		"not known":       {200e6, 10e6, []NoteKind{FindingIdleOrBusy}, 0, true, unknown, 0, 0}, // what the machine did
		"works":           {900e6, 10e6, nil, 0, true, 0, 0, 0},
		"works little":    {400e6, 10e6, nil, 0, true, 0, 0, 0}, // and nothing else is known of it
		"collects":        {400e6, 10e6, []NoteKind{FindingRule}, 6, true, 0, 0, 0},
		"native memory":   {400e6, 300e6, []NoteKind{FindingNative}, 0, true, 0, 0, 0}, // its calls have the places
		"works in native": {900e6, 300e6, []NoteKind{FindingNative}, 0, true, 0, 0, 0},
		"memory of heaps": {900e6, 60e6, nil, 0, true, 0, 0, 0},
		"young garbage":   {900e6, 100e6, nil, 0, true, 0, 80e6, 0}, // that a collection found is on the heap until then
		"half is sampled": {20e6, 10e6, nil, 0, true, 900e6, 0, 450e6},
		"too short":       {0, 0, nil, 0, true, 0, 0, never},
	} {
		r := made(t, systemSession(tt))
		s, err := r.Summarize(Options{Top: 5})
		if err != nil {
			t.Fatal(err)
		}
		if _, kinds := findings(t, r); !slices.Equal(kinds, tt.want) {
			t.Errorf("%s: findings %v, want %v", name, kinds, tt.want)
		}
		proposed := 0
		for _, n := range s.Next {
			if n.Kind == NextTimes {
				proposed++
			}
		}
		if want := map[bool]int{true: 1}[tt.times]; proposed != want {
			t.Errorf("%s: proposes times %d times, want %d", name, proposed, want)
		}
	}
}

// systemSession is a session of a program that runs for a second and allocates one object.
func systemSession(tt systemCase) *sessiontest.Builder {
	b := sessiontest.New()
	p := b.Process("System", 700)
	thread, app := b.Thread(p, "main"), b.Module(p, "System.dll", true)
	b.Modules[app-1].Origin = "project"
	b.Followed(p, false)
	b.Allocate(1, thread, b.Type(app, "Thing"), 1, 100, sessiontest.Frame{
		Function: b.Function(app, "Program.Main()", "/src/Program.cs", 10), Line: 11})
	gc := b.Collect(p, 2, false, 500_000_000, 1_000_000)
	b.GCHeaps = append(b.GCHeaps, session.GCHeap{GC: gc, Generation: 2,
		Before: q.Amount{Allocations: 2, Bytes: 100 + tt.garbage}, After: q.Amount{Allocations: 1, Bytes: 100}})
	for i := range tt.collects {
		b.Collect(p, 0, true, q.Nanoseconds(600_000_000+i*10_000_000), 8_000_000)
	}
	if tt.sampled == never {
		return b
	}
	at := cmp.Or(tt.sampled, 1_000_000_000)
	for i, c := range []string{"process.cpu_user", "process.cpu_system", "process.private"} {
		id := int64(i) + 1
		b.Counters = append(b.Counters, session.Counter{ID: id, Name: c})
		value := []int64{tt.cpu / 2, tt.cpu / 2, tt.private}[i]
		b.CounterValues = append(b.CounterValues, session.CounterValue{Time: at, Process: p, Counter: id, Value: value})
	}
	b.Counters = append(b.Counters, session.Counter{ID: 9, Name: "machine.cpu_idle", Unit: "ns", IsSum: true})
	if tt.idle != unknown {
		b.CounterValues = append(b.CounterValues, session.CounterValue{Time: 1, Counter: 9, Value: 7e9})
	}
	b.CounterValues = append(b.CounterValues, session.CounterValue{Time: at + 1, Counter: 9, Value: 7e9 + tt.idle})
	return b
}

// TestSaysMore: times are proposed where a program works and allocates too little for that, and where nothing is known
// of one that ran long enough; not where its objects are what there is to say.
func TestSaysMore(t *testing.T) {
	found := []Note{{Kind: FindingAllocations}}
	for name, tt := range map[string]struct {
		x    analysis.Sampled
		made q.Bytes
		ran  q.Nanoseconds
		has  []Note
		want bool
	}{
		"works and allocates little": {analysis.Sampled{CPU: 1e9, Span: 1e9}, 2e6, 1e9, found, true},
		"works and allocates much":   {analysis.Sampled{CPU: 1e9, Span: 1e9}, 2e9, 1e9, found, false},
		"works, nothing found":       {analysis.Sampled{CPU: 1e9, Span: 1e9}, 2e9, 1e9, nil, true},
		"not sampled, long":          {analysis.Sampled{}, 2e5, 3e8, nil, true},
		"not sampled, with objects":  {analysis.Sampled{}, 2e6, 3e8, nil, false},
		"not sampled, short":         {analysis.Sampled{}, 2e5, 1e8, nil, false},
		"not sampled, found":         {analysis.Sampled{}, 2e5, 3e8, found, false},
	} {
		b := sessiontest.New()
		b.Processes[b.Process("Work", 700)-1].End = tt.ran
		r := made(t, b)
		s := &Summary{context: r.own(), Findings: tt.has, Total: q.Amount{Bytes: tt.made}}
		s.Processes = s.context.processes.list
		if have := s.saysMore(tt.x); have != tt.want {
			t.Errorf("%s: %v, want %v", name, have, tt.want)
		}
	}
}
