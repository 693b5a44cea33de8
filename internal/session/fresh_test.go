package session

import (
	"path/filepath"
	"slices"
	"testing"

	q "github.com/clrprof/clrprof/internal/quantity"
)

// TestChunksOfABatch: what a batch writes is there for who reads within it, in the order in which it was written,
// however the memory of the rows is used meanwhile. A table that is replaced has nothing of what was written before.
func TestChunksOfABatch(t *testing.T) {
	w, err := Create(filepath.Join(t.TempDir(), "a.clrprof"), false)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	var want []TimingValue
	rows := make([]TimingValue, 100)
	write := func(slice SliceID) error {
		for i := range rows {
			rows[i] = TimingValue{Slice: slice, Timing: TimingID(i + 1), Elapsed: q.Nanoseconds(slice) << i % 50}
		}
		want = append(want, rows...)
		return w.InsertTimingValues(rows)
	}
	if err := w.Batch(func() error {
		for slice := range SliceID(3 * mostFresh) {
			if err := write(slice + 1); err != nil {
				return err
			}
			if err := w.InsertTimings([]Timing{{ID: TimingID(slice + 1)}}); err != nil {
				return err
			}
			if got, err := w.TimingValues(); err != nil || !slices.Equal(got, want) {
				t.Errorf("%d rows of %d: %v", len(got), len(want), err)
			}
		}
		if err := write(100); err != nil {
			return err
		}
		return rewrite(w, timingValueTable, want[:1])
	}); err != nil {
		t.Fatal(err)
	}
	if got, err := w.TimingValues(); err != nil || !slices.Equal(got, want[:1]) {
		t.Errorf("%d rows after they were replaced by one: %v", len(got), err)
	}
}

// TestBadChunkOfABatch: a batch with rows that are refused fails as a whole, and the next one is not concerned.
func TestBadChunkOfABatch(t *testing.T) {
	w, err := Create(filepath.Join(t.TempDir(), "a.clrprof"), false)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if err := w.Batch(func() error {
		if err := w.InsertTimings([]Timing{{ID: 7}}); err != nil {
			return err
		}
		return w.InsertTimings([]Timing{{ID: 6}})
	}); err == nil {
		t.Error("ids that do not rise were accepted")
	}
	if err := w.InsertTimings([]Timing{{ID: 1}, {ID: 2}}); err != nil {
		t.Fatal(err)
	}
	if got, err := w.Timings(); err != nil || len(got) != 2 {
		t.Errorf("%v, %v", got, err)
	}
}
