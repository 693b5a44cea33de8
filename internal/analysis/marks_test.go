package analysis

import (
	"errors"
	"testing"

	"pgregory.net/rapid"

	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
)

// TestPaused compares the time in which a process was paused with what looking at each moment says.
func TestPaused(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := &session.Process{ID: 1, Begin: q.Nanoseconds(rapid.IntRange(0, 20).Draw(t, "begin"))}
		p.End = p.Begin + q.Nanoseconds(rapid.IntRange(0, 40).Draw(t, "length"))
		var pauses []session.Pause
		for range rapid.IntRange(0, 6).Draw(t, "pauses") {
			x := session.Pause{
				Level: rapid.SampledFrom([]string{session.LevelGlobal, session.LevelProcess,
					session.LevelThread}).Draw(t, "level"),
				Process: session.ProcessID(rapid.IntRange(1, 2).Draw(t, "process")),
				Begin:   q.Nanoseconds(rapid.IntRange(0, 60).Draw(t, "from"))}
			x.End = x.Begin + q.Nanoseconds(rapid.IntRange(0, 30).Draw(t, "for"))
			pauses = append(pauses, x)
		}
		want := q.Nanoseconds(0)
		for at := p.Begin; at < p.End; at++ {
			for _, x := range pauses {
				if x.Begin <= at && at < x.End && (x.Level == session.LevelGlobal || x.Level == session.LevelProcess &&
					x.Process == p.ID) {
					want++
					break
				}
			}
		}
		if got := Paused(pauses, p); got != want {
			t.Fatalf("paused for %d, want %d", got, want)
		}
	})
}

// TestFindMark: a mark is found by its name or by its id.
func TestFindMark(t *testing.T) {
	list := []session.Mark{{ID: 7, Name: "load"}, {ID: 3, Name: "load end"}, {ID: 9, Name: "#3"}}
	for text, want := range map[string]session.MarkID{"load": 7, "load end": 3, "#9": 9, "#3": 3} {
		if m, err := findMark(list, text); err != nil || m.ID != want {
			t.Errorf("%s: %d, %v", text, m.ID, err)
		}
	}
	var term *TermError
	if _, err := findMark(list, "#0"); !errors.As(err, &term) || len(term.Names) != 3 {
		t.Errorf("#0: %v", err)
	}
}
