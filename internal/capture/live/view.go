package live

import (
	"math"
	"slices"

	"github.com/clrprof/clrprof/internal/quantity"
)

const (
	// window is the time over which rates are taken: shorter ones jump.
	window quantity.Nanoseconds = 2_000_000_000

	// MaxEntries is how many rows of a kind a View keeps; more functions do not allocate in most programs.
	MaxEntries = 10_000
)

// View adds up messages for somebody who looks at them.
type View struct {
	Last      Message // without its rows
	Functions Entries
	Types     Entries
	GCs       []GC // the last MaxGCs
	recent    []Message
}

// Entries are the rows of one kind by id, as far as messages said them.
type Entries struct {
	Rows    map[int64]*Entry
	LeftOut int // rows that there was no room for
}

// Entry is a row with what it did lately.
type Entry struct {
	Row
	recent Sums // in the window
}

// Apply takes the next message. A start replaces all that there was.
func (v *View) Apply(m *Message) {
	if m.Begin == 0 || v.Functions.Rows == nil {
		*v = View{Functions: newEntries(), Types: newEntries()}
	}
	v.GCs = append(v.GCs, m.GCs.Rows...)
	v.GCs = v.GCs[max(0, len(v.GCs)-MaxGCs):]
	isRate := m.Begin > 0
	v.Functions.add(&m.Functions, isRate)
	v.Types.add(&m.Types, isRate)
	if isRate {
		v.recent = append(v.recent, *m)
	}
	for len(v.recent) > 1 && v.recent[0].Begin < m.End-window {
		v.Functions.forget(&v.recent[0].Functions)
		v.Types.forget(&v.recent[0].Types)
		v.recent = slices.Delete(v.recent, 0, 1)
	}
	v.Last = *m
	v.Last.Functions.Rows, v.Last.Types.Rows, v.Last.GCs.Rows, v.Last.Marks.Rows = nil, nil, nil, nil
	v.Last.Pauses.Rows, v.Last.Counters.Rows = nil, nil
}

// Span is the time that rates are taken over, 0 if there is none yet.
func (v *View) Span() quantity.Nanoseconds {
	if len(v.recent) == 0 {
		return 0
	}
	return v.Last.End - v.recent[0].Begin
}

// Rate is what the whole program does in a second.
func (v *View) Rate() Numbers {
	var sum Sums
	for i := range v.recent {
		sum = sum.Add(v.recent[i].New.sums())
	}
	return perSecond(sum, v.Span())
}

// RateOf is what an entry does in a second.
func (v *View) RateOf(e *Entry) Numbers { return perSecond(e.recent, v.Span()) }

func perSecond(s Sums, span quantity.Nanoseconds) Numbers {
	if span <= 0 {
		return Numbers{}
	}
	rate := func(n int64) int64 { return int64(math.Round(float64(n) / float64(span) * 1e9)) }
	return Numbers{quantity.Count(rate(int64(s.Allocations))), quantity.Bytes(rate(int64(s.Bytes))),
		quantity.Count(rate(int64(s.Calls)))}
}

func newEntries() Entries { return Entries{Rows: map[int64]*Entry{}} }

func (e *Entries) add(t *Table, isRate bool) {
	for _, row := range t.Rows {
		entry := e.Rows[row.ID]
		if entry == nil && len(e.Rows) >= MaxEntries {
			e.LeftOut++
			continue
		}
		if entry == nil {
			entry = &Entry{}
			e.Rows[row.ID] = entry
		}
		entry.Row = row
		if isRate {
			entry.recent = entry.recent.Add(row.New.sums())
		}
	}
}

func (e *Entries) forget(t *Table) {
	for _, row := range t.Rows {
		if entry := e.Rows[row.ID]; entry != nil {
			entry.recent = entry.recent.Sub(row.New.sums())
		}
	}
}
