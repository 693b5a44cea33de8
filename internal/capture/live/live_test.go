package live

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/session/symbols"
)

func amount(objects, bytes int) Sums {
	return Sums{Amount: quantity.Amount{Allocations: quantity.Count(objects), Bytes: quantity.Bytes(bytes)}}
}

// publish makes a state out of the bytes of each function; the types have the same.
func publish(t testing.TB, f *Feed, time int, last bool, bytes ...int) {
	t.Helper()
	s := &State{Time: quantity.Nanoseconds(time)}
	for _, b := range bytes {
		s.Functions = append(s.Functions, amount(b/8, b))
	}
	s.Types = s.Functions
	if err := f.Publish(s, last); err != nil {
		t.Fatal(err)
	}
	if last {
		f.Close()
	}
}

func next(t testing.TB, w *Watcher) Message {
	t.Helper()
	e, err := w.Next(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	var m Message
	if err := json.Unmarshal(e.JSON, &m); err != nil {
		t.Fatal(err)
	}
	if m.ID != e.ID || m.Event != e.Event {
		t.Errorf("%d %s says that it is %d %s", e.ID, e.Event, m.ID, m.Event)
	}
	return m
}

func begin(t testing.TB, f *Feed, after uint64) *Watcher {
	t.Helper()
	w, err := f.Watch(after)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func expect(t *testing.T, m Message, event string, id uint64, bytes, total quantity.Bytes) {
	t.Helper()
	if m.Event != event || m.ID != id || m.New.Bytes != bytes || m.Total.Bytes != total {
		t.Errorf("%s %d of %d, %d in all; want %s %d of %d, %d in all", m.Event, m.ID, m.New.Bytes, m.Total.Bytes,
			event, id, bytes, total)
	}
}

func TestWatch(t *testing.T) {
	f := NewFeed()
	f.Describe(&symbols.Input{Functions: []session.Function{{ID: 1, Kind: session.FunctionPseudo, RawName: "(f)"}}})
	if f.Wanted() {
		t.Error("nobody watches")
	}
	a := begin(t, f, 0)
	<-f.Wake()
	publish(t, f, 10, false, 0, 80)
	m := next(t, a)
	expect(t, m, Start, 1, 80, 80)
	if len(m.Functions.Rows) != 1 || m.Functions.Rows[0].Name != "(f)" || m.Functions.Rows[0].ID != 1 {
		t.Errorf("%+v", m.Functions)
	}
	f.AddGC(GC{Number: 1})
	b := begin(t, f, 0) // what is there is enough for it
	m = next(t, b)
	expect(t, m, Start, 1, 80, 80)
	if len(m.GCs.Rows) != 0 || m.GCs.Total != 0 {
		t.Errorf("a collection that is not published yet: %+v", m.GCs)
	}
	publish(t, f, 20, false, 0, 80, 16)
	for _, w := range []*Watcher{a, b} {
		m = next(t, w)
		expect(t, m, Tick, 2, 16, 96)
		if m.Begin != 10 || m.End != 20 || len(m.GCs.Rows) != 1 || len(m.Functions.Rows) != 1 ||
			m.Functions.Rows[0].ID != 2 {
			t.Errorf("%+v", m)
		}
	}
	a.Close()
	publish(t, f, 30, true, 0, 88, 16)
	expect(t, next(t, b), End, 3, 8, 104)
	if _, err := b.Next(context.Background()); !errors.Is(err, io.EOF) {
		t.Errorf("after the end: %v", err)
	}
	late := begin(t, f, 0)
	expect(t, next(t, late), End, 3, 104, 104)
	if _, err := late.Next(context.Background()); !errors.Is(err, io.EOF) {
		t.Errorf("after the end: %v", err)
	}
}

// TestResume: who comes back gets what is missing, or begins anew if that is gone.
func TestResume(t *testing.T) {
	f := NewFeed()
	w := begin(t, f, 0)
	for i := range MaxKept + 2 {
		publish(t, f, i+1, false, 8*(i+1))
	}
	expect(t, next(t, w), Start, MaxKept+2, 8*(MaxKept+2), 8*(MaxKept+2)) // it was too slow
	expect(t, next(t, begin(t, f, MaxKept)), Tick, MaxKept+1, 8, 8*(MaxKept+1))
	expect(t, next(t, begin(t, f, 2)), Tick, 3, 8, 24)
	expect(t, next(t, begin(t, f, 1)), Start, MaxKept+2, 8*(MaxKept+2), 8*(MaxKept+2))
	expect(t, next(t, begin(t, f, 9999)), Start, MaxKept+2, 8*(MaxKept+2), 8*(MaxKept+2))
}

// TestAgain: who comes after a time in which nobody watched gets a state of now, not of then.
func TestAgain(t *testing.T) {
	f := NewFeed()
	w := begin(t, f, 0)
	publish(t, f, 1, false, 8)
	w.Close()
	<-f.Wake()
	w = begin(t, f, 0)
	<-f.Wake()
	canceled, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := w.Next(canceled); !errors.Is(err, context.Canceled) {
		t.Errorf("an old state: %v", err)
	}
	publish(t, f, 2, false, 80)
	expect(t, next(t, w), Start, 2, 80, 80)
}

func TestTooMany(t *testing.T) {
	f := NewFeed()
	for range MaxWatchers {
		begin(t, f, 0)
	}
	if _, err := f.Watch(0); !errors.Is(err, ErrTooMany) {
		t.Errorf("%v", err)
	}
}

// TestMarks: each mark is reported once, to who comes later those before the last message, of too many the last ones.
func TestMarks(t *testing.T) {
	f := NewFeed()
	w := begin(t, f, 0)
	f.AddMark(Mark{At: 1, Name: "one"})
	publish(t, f, 1, false)
	if m := next(t, w); len(m.Marks.Rows) != 1 || m.Marks.Rows[0].Name != "one" || m.Marks.Total != 1 {
		t.Errorf("%+v", m.Marks)
	}
	f.AddMark(Mark{At: 2, Name: "two"})
	publish(t, f, 2, false)
	f.AddMark(Mark{At: 3, Name: "three"})
	late := begin(t, f, 0)
	if m := next(t, late); len(m.Marks.Rows) != 2 || m.Marks.Rows[1].Name != "two" || m.Marks.Total != 2 {
		t.Errorf("who comes later gets %+v", m.Marks)
	}
	for i := range 3*MaxMarks + 5 {
		f.AddMark(Mark{At: quantity.Nanoseconds(4 + i)})
	}
	publish(t, f, 3, false)
	next(t, w)
	for _, m := range []Message{next(t, w), next(t, late)} {
		if n := len(m.Marks.Rows); n != MaxMarks || m.Marks.LeftOut != 2*MaxMarks+6 || m.Marks.Total != 3*MaxMarks+8 ||
			m.Marks.Rows[n-1].At != 3*MaxMarks+8 {
			t.Errorf("%d rows, %d left out of %d", n, m.Marks.LeftOut, m.Marks.Total)
		}
	}
}

// TestPauses: each begin and end is reported once, to who comes later all of them.
func TestPauses(t *testing.T) {
	f := NewFeed()
	w := begin(t, f, 0)
	f.AddPause(Pause{ID: 1, Level: session.LevelGlobal, Begin: 1})
	publish(t, f, 2, false)
	if m := next(t, w); len(m.Pauses.Rows) != 1 || m.Pauses.Rows[0].Ended {
		t.Errorf("%+v", m.Pauses)
	}
	f.AddPause(Pause{ID: 1, Level: session.LevelGlobal, Begin: 1, End: 3, Ended: true})
	publish(t, f, 4, false)
	m := next(t, w)
	if len(m.Pauses.Rows) != 1 || !m.Pauses.Rows[0].Ended || m.Pauses.Rows[0].End != 3 || m.Pauses.Total != 2 {
		t.Errorf("%+v", m.Pauses)
	}
	if m := next(t, begin(t, f, 0)); len(m.Pauses.Rows) != 2 {
		t.Errorf("who comes later gets %+v", m.Pauses)
	}
}

// TestCounters: who watches gets the counters that were sampled since the last message, with what they are in the
// session; who comes later all of them; of too many so many, and how many are left out.
func TestCounters(t *testing.T) {
	f := NewFeed()
	w := begin(t, f, 0)
	sum := session.Counter{ID: 1, Name: "process.cpu_user", Unit: "ns", IsSum: true, Meaning: "time"}
	level := session.Counter{ID: 3, Name: "process.resident", Unit: "bytes"}
	f.AddCounters([]session.Counter{level, sum, {ID: 15, Name: "group.throttled", IsSum: true}})
	f.AddCounterValues([]session.CounterValue{{Time: 10, Process: 1, Counter: 1, Value: 5},
		{Time: 10, Process: 1, Counter: 3, Value: 100}, {Time: 10, Process: 1, Counter: 15, Value: 7}})
	publish(t, f, 11, false)
	tell := func(m Message) (out []float64) {
		for _, c := range m.Counters.Rows {
			out = append(out, float64(c.At), c.Value)
		}
		return out
	}
	if have := tell(next(t, w)); !slices.Equal(have, []float64{10, 5, 10, 100}) {
		t.Errorf("at first %v", have)
	}
	// A second process; what the group counts is reported now, as far as it grew.
	f.AddCounterValues([]session.CounterValue{{Time: 20, Process: 1, Counter: 3, Value: 90},
		{Time: 20, Process: 2, Counter: 3, Value: 50}, {Time: 20, Process: 1, Counter: 15, Value: 9}})
	publish(t, f, 21, false)
	m := next(t, w)
	if have := tell(m); !slices.Equal(have, []float64{20, 140, 20, 2}) || m.Counters.Rows[0].Name != level.Name {
		t.Errorf("then %v", have)
	}
	publish(t, f, 30, false)
	if have := tell(next(t, w)); have != nil {
		t.Errorf("without a sample %v", have)
	}
	if have := tell(next(t, begin(t, f, 0))); !slices.Equal(have, []float64{10, 5, 20, 140, 20, 2}) {
		t.Errorf("who comes later gets %v", have)
	}
	many := make([]session.Counter, maxCounters)
	for i := range many {
		many[i].ID = int64(1000 + i)
	}
	f.AddCounters(many)
	f.AddCounters(many)
	publish(t, f, 40, false)
	if m := next(t, w); m.Counters.LeftOut != 3 {
		t.Errorf("%d are left out, want 3", m.Counters.LeftOut)
	}
}

// TestCollections: of too many the last ones are reported, and how many are not.
func TestCollections(t *testing.T) {
	f := NewFeed()
	w := begin(t, f, 0)
	publish(t, f, 1, false)
	next(t, w)
	for i := range MaxGCs + 3 {
		f.AddGC(GC{Number: int64(i + 1)})
	}
	publish(t, f, 2, false)
	m := next(t, w)
	if n := len(m.GCs.Rows); n != MaxGCs || m.GCs.LeftOut != 3 || m.GCs.Total != MaxGCs+3 ||
		m.GCs.Rows[n-1].Number != MaxGCs+3 {
		t.Errorf("%d rows, %d left out of %d", n, m.GCs.LeftOut, m.GCs.Total)
	}
}

// TestLeftOut: whatever changes, the rows of a table and its rest are what changed, and the rows are those that changed
// most.
func TestLeftOut(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sum := rapid.Custom(func(t *rapid.T) Sums {
			s := amount(rapid.IntRange(0, 3).Draw(t, "objects"), rapid.IntRange(0, 5).Draw(t, "bytes"))
			s.Calls = quantity.Count(rapid.IntRange(0, 3).Draw(t, "calls"))
			return s
		})
		before := rapid.SliceOfN(sum, 0, 30).Draw(t, "before")
		news := rapid.SliceOfN(sum, len(before), 40).Draw(t, "new")
		now := make([]Sums, len(news))
		var all Sums
		for i := range now {
			now[i] = news[i]
			if i < len(before) {
				now[i] = now[i].Add(before[i])
			}
			all = all.Add(news[i])
		}
		most := rapid.IntRange(1, 20).Draw(t, "most")
		rows, rest := difference(now, before, rapid.Bool().Draw(t, "calls"), most)
		left := rest.New.sums()
		seen := map[int]bool{}
		for _, row := range rows {
			if row.new != news[row.id] || row.total != now[row.id] || seen[row.id] || row.new.IsZero() {
				t.Fatalf("%+v", row)
			}
			seen[row.id] = true
			left = left.Add(row.new)
		}
		if left != all || len(rows) > most {
			t.Fatalf("%d rows add up to %+v, not %+v", len(rows), left, all)
		}
		if rest.Rows > 0 && len(rows) != most {
			t.Fatalf("%d rows are left out, and there are %d", rest.Rows, len(rows))
		}
	})
}

// TestView: what one sees is the same whenever one came, and rates are what was new in the window.
func TestView(t *testing.T) {
	f := NewFeed()
	w := begin(t, f, 0)
	var v View
	second := int(1e9)
	bytes := 0
	for i := range 10 {
		bytes += 1000 * (i + 1)
		publish(t, f, (i+1)*second, false, 0, bytes)
		m := next(t, w)
		v.Apply(&m)
	}
	e := v.Functions.Rows[1]
	if e.Total.Bytes != quantity.Bytes(bytes) || v.Last.Total.Bytes != quantity.Bytes(bytes) {
		t.Errorf("%+v of %d", e, bytes)
	}
	want := quantity.Bytes((9000 + 10000) / 2) // of the two seconds that end with the last
	if rate := v.RateOf(e).Bytes; rate != want || v.Rate().Bytes != want || v.Span() != quantity.Nanoseconds(2*second) {
		t.Errorf("%d and %d in %s, want %d", rate, v.Rate().Bytes, v.Span(), want)
	}
}
