package export_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clrprof/clrprof/internal/analysis"
	"github.com/clrprof/clrprof/internal/export/chrome"
	"github.com/clrprof/clrprof/internal/export/firefox"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/testkit/analysistest"
	"github.com/clrprof/clrprof/internal/testkit/sessiontest"
)

// drawn is a system event as a file has it. Times are in nanoseconds, as text: formats have them as parts of others.
type drawn struct {
	Thread, Begin, End, Why, Function, Place, Called string
	Amounts                                          map[string]int64
}

// drawnOf is what a file must have of a session's events.
func drawnOf(t *testing.T, s *session.Session, sel analysis.Selection) []drawn {
	t.Helper()
	src, err := analysis.Open(s, sel)
	if err != nil {
		t.Fatal(err)
	}
	events, err := src.SystemEvents()
	if err != nil {
		t.Fatal(err)
	}
	threads, _ := s.Threads()
	functions, _ := s.Functions()
	lines, _ := s.Lines()
	files, _ := s.SourceFiles()
	out, until := []drawn{}, map[session.ThreadID]int64{}
	for i := range events {
		e := &events[i]
		begin := int64(e.Begin())
		if late := until[e.Thread] - begin; late == 1 {
			begin++
		} else if late > 1 {
			t.Fatalf("%+v begins in another one", e)
		}
		until[e.Thread] = int64(e.End)
		f := functions[e.At.Function-1]
		d := drawn{Thread: threads[e.Thread-1].Name, Begin: fmt.Sprint(begin), End: fmt.Sprint(int64(e.End)),
			Why: e.Reason(), Function: f.DisplayName(), Called: e.SystemCalls(), Amounts: map[string]int64{}}
		if e.At.Line != 0 {
			d.Place = fmt.Sprintf("%s:%d", files[f.File-1].Path, lines[e.At.Line-1].LineBegin)
		}
		for key, n := range map[string]int64{"voluntary": int64(e.Voluntary), "preempted": int64(e.Preempted),
			"minor_faults": int64(e.MinorFaults), "major_faults": int64(e.MajorFaults), "reads": int64(e.Reads),
			"writes": int64(e.Writes), "calls": int64(e.Calls), "migrations": int64(e.Migrations),
			"blocked": int64(e.Blocked), "ready": int64(e.Ready), "length": int64(e.Length)} {
			if n != 0 {
				d.Amounts[key] = n
			}
		}
		out = append(out, d)
	}
	return sortDrawn(out)
}

func sortDrawn(all []drawn) []drawn {
	slices.SortFunc(all, func(a, b drawn) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	return all
}

// fill takes the arguments of an event, which have texts and amounts.
func (d *drawn) fill(t *testing.T, args map[string]any) {
	t.Helper()
	d.Amounts = map[string]int64{}
	for key, v := range args {
		switch text := fmt.Sprint(v); key {
		case "function":
			d.Function = text
		case "place":
			d.Place = text
		case "text":
			d.Why = text
		case "system_calls":
			d.Called = text
		case "type":
		default:
			n, err := strconv.ParseInt(text, 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			d.Amounts[key] = n
		}
	}
}

func drawnChrome(t *testing.T, file []byte) []drawn {
	t.Helper()
	readChrome(t, file, "elapsed")
	out, tracks, until, others := []drawn{}, map[int64]string{}, map[int64]int64{}, map[int64]bool{}
	for _, e := range chromeEvents(t, file) {
		track := *e.TID
		if e.Kind != "system" {
			if name, ok := e.Args["name"].(string); ok {
				tracks[track], _, _ = strings.Cut(name, ": what the operating system did")
			}
			others[track] = others[track] || e.Phase == "X"
			continue
		}
		begin, end := e.span(t)
		if begin < until[track] || others[track] {
			t.Errorf("%+v overlaps what is before it on its track", e)
		}
		until[track] = end
		x := drawn{Thread: tracks[track], Begin: fmt.Sprint(begin), End: fmt.Sprint(end), Why: e.Name}
		x.fill(t, e.Args)
		out = append(out, x)
	}
	return sortDrawn(out)
}

func drawnFirefox(t *testing.T, file []byte) []drawn {
	t.Helper()
	readFirefox(t, file, "elapsed")
	var p firefoxProfile
	d := json.NewDecoder(bytes.NewReader(file))
	d.UseNumber()
	if err := d.Decode(&p); err != nil {
		t.Fatal(err)
	}
	out := []drawn{}
	for _, thread := range p.Threads {
		m := &thread.Markers
		for i, data := range m.Data {
			if data["type"] != "clrprofSystem" {
				continue
			}
			x := drawn{Thread: thread.Name, Begin: fmt.Sprintf("%.0f", m.StartTime[i]*1e6),
				End: fmt.Sprintf("%.0f", m.EndTime[i]*1e6)}
			x.fill(t, data)
			out = append(out, x)
		}
	}
	return sortDrawn(out)
}

// TestSystemEvents: the files have what the operating system did, thread by thread, and of a selection what the view
// events has of it, whatever value is written. Events of a thread that overlap by the nanosecond to which their times
// are rounded do not in a file.
func TestSystemEvents(t *testing.T) {
	b := sessiontest.Acted()
	b.SystemEvents[3].Length = 99_900_001 // it begins a nanosecond before another one ends
	s := analysistest.Open(t, b, filepath.Join(t.TempDir(), "s.clrprof"))
	work, err := analysis.Terms{Functions: []string{"Clock.Program.Work*"}}.Select(s)
	if err != nil {
		t.Fatal(err)
	}
	some := false
	for name, sel := range map[string]analysis.Selection{"all": {}, "thread": {Threads: []session.ThreadID{2}}, "function": work,
		"span": {From: 500_000_000, To: 650_000_000}, "none": {From: 999_000_000}} {
		want := drawnOf(t, s, sel)
		some = some || name != "all" && len(want) > 0 && len(want) < len(drawnOf(t, s, analysis.Selection{}))
		for _, value := range []string{"elapsed", "calls"} {
			var asChrome, asFirefox bytes.Buffer
			if err := chrome.Write(&asChrome, s, sel, value); err != nil {
				t.Fatal(err)
			}
			if err := firefox.Write(&asFirefox, s, sel, value); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, drawnChrome(t, asChrome.Bytes())); diff != "" {
				t.Errorf("chrome, %s of %s (-session +file):\n%s", value, name, diff)
			}
			if diff := cmp.Diff(want, drawnFirefox(t, asFirefox.Bytes())); diff != "" {
				t.Errorf("firefox, %s of %s (-session +file):\n%s", value, name, diff)
			}
		}
	}
	if !some {
		t.Error("no selection has some of the events")
	}
}
