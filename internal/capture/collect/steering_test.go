package collect

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/clrprof/clrprof/internal/capture/launch"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/testkit/wiretest"
	"github.com/clrprof/clrprof/internal/wire"
)

// TestReportAtOnce: before the first slice a report has the processes that record, what they are called, and what of.
func TestReportAtOnce(t *testing.T) {
	r, a := newRecording(t), wiretest.New()
	a.Header.Data = wire.DataMemory | wire.DataLifetime
	a.Add(wire.Process{Executable: []byte("/usr/bin/dotnet"), CommandLine: []byte("dotnet\x00App.dll\x00")})
	if err := a.Write(filepath.Join(r.directory, "1-1"+launch.ArenaSuffix)); err != nil {
		t.Fatal(err)
	}
	report := r.Report()
	if len(report.Processes) != 1 || report.Processes[0].Name != "App" || report.Modes != session.ModeLifetime {
		t.Errorf("%+v", report)
	}
	if err := r.Sync(1e9); err != nil { // what was read before the slice is in it
		t.Fatal(err)
	}
	if rows, err := r.w.Processes(); err != nil || len(rows) != 1 || rows[0].Name != "App" {
		t.Errorf("%+v, %v", rows, err)
	}
}

// TestWhenItEnds: the time after which a recording ends runs from its beginning only if there is such a time, and it
// begins then.
func TestWhenItEnds(t *testing.T) {
	for name, tt := range map[string]struct {
		steering    Steering
		after, ends bool
	}{
		"nothing is asked for":       {Steering{}, false, false},
		"for a time":                 {Steering{For: time.Hour}, false, true},
		"for a time, once resumed":   {Steering{For: time.Hour, Paused: true}, false, false},
		"for a time, once started":   {Steering{For: time.Hour, Stopped: true}, false, false},
		"for a time, later":          {Steering{For: time.Hour, After: time.Hour}, true, false},
		"later, until all has ended": {Steering{After: time.Hour}, true, false},
	} {
		h := newController(tt.steering)
		if after, ends := h.after.Stop(), h.ends.Stop(); after != tt.after || ends != tt.ends {
			t.Errorf("%s: it waits for its begin: %v, want %v; for its end: %v, want %v", name, after, tt.after, ends, tt.ends)
		}
	}
}
