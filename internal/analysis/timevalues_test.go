package analysis

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/clrprof/clrprof/internal/differ"
	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
)

// TestTimeValues: what is packed comes back, whatever a damaged session holds.
func TestTimeValues(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	number := func() int64 {
		switch random.IntN(6) {
		case 0:
			return 0
		case 1:
			return math.MinInt64
		case 2:
			return math.MaxInt64
		}
		return int64(random.Uint64()) >> random.IntN(64)
	}
	timings := []session.TimingID{1, 2, 3, 7, 9}
	slices := []session.SliceID{1, 2, 5}
	values := timeValues{timings: index[session.TimingID]{len(timings), timings},
		slices: index[session.SliceID]{len(slices), slices}}
	var want []session.TimingValue
	for range 10_000 {
		r := session.TimingValue{Slice: append(slices, 0)[random.IntN(4)], Timing: timings[random.IntN(5)],
			Calls: q.Count(number()),
			Ended: q.Count(number()), Made: q.Count(number()), Elapsed: q.Nanoseconds(number()),
			Waited: q.Nanoseconds(number())}
		if random.IntN(2) == 0 {
			r.Waits = q.Waits{Intervals: q.Count(number()), Voluntary: q.Count(number()), Preempted: q.Count(number()),
				Faults: q.Count(number()), Reads: q.Count(number()), OffCPU: q.Nanoseconds(number())}
		}
		want = append(want, r)
		values.add(&r)
	}
	if values.wrong != nil {
		t.Fatal(values.wrong)
	}
	var got []session.TimingValue
	values.each(func(slice, timing int32, row *session.TimingValue) {
		if timings[timing] != row.Timing || slice != none && slices[slice] != row.Slice ||
			(slice == none) != (row.Slice == 0) {
			t.Errorf("slice %d is at %d, timing %d at %d", row.Slice, slice, row.Timing, timing)
		}
		got = append(got, *row)
	})
	if d := differ.Of(want, got); d != "" {
		t.Errorf("(-put +got):\n%.2000s", d)
	}
}

// TestTimeValuesReferences: a row must have a timing, and a slice that exists, if any.
func TestTimeValuesReferences(t *testing.T) {
	for _, tt := range []struct {
		row session.TimingValue
		bad bool
	}{
		{session.TimingValue{Slice: 1, Timing: 1}, false},
		{session.TimingValue{Timing: 1}, false},
		{session.TimingValue{Slice: 1}, true},
		{session.TimingValue{Slice: 1, Timing: 2}, true},
		{session.TimingValue{Slice: 2, Timing: 1}, true},
		{session.TimingValue{Slice: -1, Timing: 1}, true},
	} {
		values := timeValues{timings: index[session.TimingID]{rows: 1}, slices: index[session.SliceID]{rows: 1}}
		values.add(&tt.row)
		if err := values.wrong; errors.Is(err, session.ErrCorrupt) != tt.bad || (err != nil) != tt.bad {
			t.Errorf("%+v: %v", tt.row, err)
		}
	}
}
