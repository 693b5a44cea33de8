package analysis

import (
	"errors"
	"testing"

	"github.com/clrprof/clrprof/internal/session"
)

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
		values := timed{index[session.TimingID]{rows: 1}, index[session.SliceID]{rows: 1}}
		err := values.check("timing_value", []int64{int64(tt.row.Slice)}, []int64{int64(tt.row.Timing)})
		if errors.Is(err, session.ErrCorrupt) != tt.bad || (err != nil) != tt.bad {
			t.Errorf("%+v: %v", tt.row, err)
		}
	}
}
