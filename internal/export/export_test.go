package export_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/pprof/profile"
	profiles "go.opentelemetry.io/proto/otlp/profiles/v1development"
	"google.golang.org/protobuf/proto"

	"github.com/clrprof/clrprof/internal/analysis"
	"github.com/clrprof/clrprof/internal/export/callgrind"
	"github.com/clrprof/clrprof/internal/export/chrome"
	"github.com/clrprof/clrprof/internal/export/collapsed"
	"github.com/clrprof/clrprof/internal/export/firefox"
	"github.com/clrprof/clrprof/internal/export/otlp"
	"github.com/clrprof/clrprof/internal/export/pprof"
	"github.com/clrprof/clrprof/internal/export/speedscope"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/testkit/analysistest"
	"github.com/clrprof/clrprof/internal/testkit/sessiontest"
)

// sums are the sums of all kinds of values, by name; those that are zero are not there.
type sums map[string]int64

func (s sums) add(name string, v int64) {
	if s[name] += v; s[name] == 0 {
		delete(s, name)
	}
}

// format writes a session, of a format with one value that one, and reads back what the file adds up to.
type format struct {
	oneValue bool
	write    func(w io.Writer, s *session.Session, sel analysis.Selection, value string) error
	read     func(t *testing.T, file []byte, value string) sums
}

var formats = map[string]format{
	"pprof": {false, func(w io.Writer, s *session.Session, sel analysis.Selection, _ string) error {
		return pprof.Write(w, s, sel, pprof.Options{})
	}, readPprof},
	"otlp": {false, func(w io.Writer, s *session.Session, sel analysis.Selection, _ string) error {
		return otlp.Write(w, s, sel, "1.2.3")
	}, readOTLP},
	"callgrind": {false, func(w io.Writer, s *session.Session, sel analysis.Selection, _ string) error {
		return callgrind.Write(w, s, sel, "1.2.3")
	}, readCallgrind},
	"speedscope": {true, speedscope.Write, readSpeedscope},
	"collapsed":  {true, collapsed.Write, readCollapsed},
	"firefox":    {true, firefox.Write, readFirefox},
	"chrome":     {true, chrome.Write, readChrome},
}

// truth is what the session has in all, by way of the views.
func truth(t *testing.T, s *session.Session, sel analysis.Selection) sums {
	t.Helper()
	out := sums{}
	src, err := analysis.Open(s, sel)
	if err != nil {
		t.Fatal(err)
	}
	total, err := src.Total()
	if err != nil {
		t.Fatal(err)
	}
	out.add("allocations", int64(total.Allocations))
	out.add("bytes", int64(total.Bytes))
	lifetimes, err := src.Lifetimes()
	if err != nil && !errors.Is(err, analysis.ErrNoLifetime) {
		t.Fatal(err)
	}
	if err == nil {
		for g, name := range []string{"gen0", "gen1", "gen2", "loh", "poh"} {
			out.add(name+"_objects", int64(lifetimes.Total().Dead[g].Allocations))
			out.add(name+"_bytes", int64(lifetimes.Total().Dead[g].Bytes))
		}
		out.add("alive_objects", int64(lifetimes.Total().Alive().Allocations))
		out.add("alive_bytes", int64(lifetimes.Total().Alive().Bytes))
	}
	times, err := src.TotalTime()
	if err != nil {
		t.Fatal(err)
	}
	out.add("calls", int64(times.Calls))
	out.add("elapsed", int64(times.Exclusive.Elapsed))
	out.add("application", int64(times.Exclusive.Application))
	out.add("cpu", int64(times.Exclusive.CPU))
	return out
}

// TestSums: every format adds up to what the session has, of every kind of value, with and without a selection, and
// the same session gives the same bytes.
func TestSums(t *testing.T) {
	for name, b := range sessiontest.Various(6, 6) {
		s := analysistest.Open(t, b, filepath.Join(t.TempDir(), "s.clrprof"))
		selections := []analysis.Selection{{}}
		if len(b.Processes) > 0 {
			selections = append(selections,
				analysis.Selection{Processes: []session.ProcessID{b.Processes[len(b.Processes)-1].ID}})
		}
		if len(b.Functions) > 1 {
			terms := analysis.Terms{Hide: []string{b.Functions[1].Name}}
			if hide, err := terms.Select(s); err == nil {
				selections = append(selections, hide)
			}
		}
		for _, sel := range selections {
			compareSums(t, name, s, sel)
		}
	}
}

// TestRecordedSums: the same of sessions of real runtimes, whole and of what some functions did.
func TestRecordedSums(t *testing.T) {
	for _, name := range sessiontest.Recorded {
		s := openRecorded(t, name)
		terms := analysis.Terms{Functions: []string{"Shop.*"}}
		some, err := terms.Select(s)
		if err != nil {
			t.Fatal(err)
		}
		compareSums(t, name, s, analysis.Selection{})
		compareSums(t, name, s, some)
	}
}

// openRecorded opens a recorded session.
func openRecorded(t *testing.T, name string) *session.Session {
	t.Helper()
	path := filepath.Join(t.TempDir(), name+".clrprof")
	if err := sessiontest.WriteRecorded("../..", name, path); err != nil {
		t.Fatal(err)
	}
	return analysistest.OpenFile(t, path)
}

// compareSums fails if a format does not add up to what the session has, or gives other bytes the second time.
func compareSums(t *testing.T, name string, s *session.Session, sel analysis.Selection) {
	t.Helper()
	want := truth(t, s, sel)
	samples, err := analysis.Samples(s, sel)
	if err != nil {
		t.Fatal(err)
	}
	for kind, f := range formats {
		have := sums{}
		for i, v := range samples.Values {
			if i > 0 && !f.oneValue {
				break
			}
			var first, second bytes.Buffer
			if err := errors.Join(f.write(&first, s, sel, v.Name), f.write(&second, s, sel, v.Name)); err != nil {
				t.Fatalf("%s, %s, %s: %v", name, kind, v.Name, err)
			}
			if !bytes.Equal(first.Bytes(), second.Bytes()) {
				t.Errorf("%s, %s: two files differ", name, kind)
			}
			for value, sum := range f.read(t, first.Bytes(), v.Name) {
				have.add(value, sum)
			}
		}
		if diff := cmp.Diff(want, have); diff != "" {
			t.Errorf("%s, %s (-session +file):\n%s", name, kind, diff)
		}
	}
}

func readPprof(t *testing.T, file []byte, _ string) sums {
	p, err := profile.ParseData(file)
	if err != nil {
		t.Fatal(err)
	}
	out := sums{}
	for _, sample := range p.Sample {
		for i, v := range sample.Value {
			out.add(p.SampleType[i].Type, v)
		}
	}
	return out
}

// readCallgrind adds up what functions did themselves, and what the functions at the roots did with all that they
// called, which must be the same.
func readCallgrind(t *testing.T, file []byte, _ string) sums {
	var events []string
	self, roots, summary := sums{}, sums{}, sums{}
	isCall, isRoot := false, false
	for line := range strings.Lines(string(file)) {
		line = strings.TrimSuffix(line, "\n")
		to := self
		switch rest, isSummary := strings.CutPrefix(line, "summary: "); {
		case strings.HasPrefix(line, "events: "):
			events = strings.Fields(line)[1:]
		case strings.HasPrefix(line, "fn="):
			isRoot = strings.HasSuffix(line, callgrind.Root) || processName.MatchString(line)
		case strings.HasPrefix(line, "calls="):
			isCall = true
		case isSummary || line != "" && line[0] >= '0' && line[0] <= '9':
			if isSummary {
				to, line = summary, "0 "+rest
			} else if isRoot {
				to = roots
			} else if isCall {
				to = sums{}
			}
			isCall = false
			for i, v := range strings.Fields(line)[1:] {
				n, err := strconv.ParseInt(v, 10, 64)
				if err != nil || n < 0 {
					t.Fatalf("%s: %v", line, err)
				}
				to.add(events[i], n)
			}
		}
	}
	if diff := cmp.Diff(summary, roots); diff != "" {
		t.Errorf("the roots have (-summary +roots):\n%s", diff)
	}
	return self
}

// processName is the name of a function that stands for a process.
var processName = regexp.MustCompile(`^fn=\(\d+\) .* \(\d+\)$`)

func readCollapsed(t *testing.T, file []byte, value string) sums {
	out := sums{}
	for line := range strings.Lines(string(file)) {
		n, err := strconv.ParseInt(strings.TrimSpace(line[strings.LastIndexByte(line, ' '):]), 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		out.add(value, n)
	}
	return out
}

func readSpeedscope(t *testing.T, file []byte, value string) sums {
	var f struct {
		Profiles []struct {
			Name    string
			Weights []int64
		}
	}
	if err := json.Unmarshal(file, &f); err != nil {
		t.Fatal(err)
	}
	out := sums{}
	for _, w := range f.Profiles[0].Weights {
		out.add(f.Profiles[0].Name, w)
	}
	return out
}

// chromeEvent is an event of Chrome's format.
type chromeEvent struct {
	Phase    string `json:"ph"`
	Kind     string `json:"cat"`
	Name     string
	PID, TID *int64
	TS, Dur  json.Number
	Args     map[string]any
}

// span is from when to when it was, in nanoseconds: the file has microseconds with three decimals.
func (e *chromeEvent) span(t *testing.T) (begin, end int64) {
	t.Helper()
	nanos := func(n json.Number) int64 {
		v, err := strconv.ParseInt(strings.Replace(n.String(), ".", "", 1), 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	begin = nanos(e.TS)
	return begin, begin + nanos(e.Dur)
}

func chromeEvents(t *testing.T, file []byte) []chromeEvent {
	t.Helper()
	var f struct{ TraceEvents []chromeEvent }
	d := json.NewDecoder(bytes.NewReader(file))
	d.UseNumber()
	if err := d.Decode(&f); err != nil {
		t.Fatal(err)
	}
	return f.TraceEvents
}

// readChrome adds up what functions did themselves, and the widths of those without a caller, which must be the same.
func readChrome(t *testing.T, file []byte, value string) sums {
	out, wide, until := sums{}, int64(0), map[[2]int64][]int64{}
	for _, e := range chromeEvents(t, file) {
		if e.PID == nil || e.TID == nil || e.Name == "" && e.Phase != "X" {
			t.Fatalf("%+v", e)
		}
		if e.Phase != "X" || e.Args["exclusive"] == nil {
			continue
		}
		own, err := e.Args["exclusive"].(json.Number).Int64()
		if err != nil {
			t.Fatal(err)
		}
		out.add(value, own)
		track := [2]int64{*e.PID, *e.TID}
		begin, end := e.span(t)
		open := until[track]
		for len(open) > 0 && open[len(open)-1] <= begin {
			open = open[:len(open)-1]
		}
		if len(open) == 0 {
			wide += end - begin
		} else if end > open[len(open)-1] {
			t.Errorf("%s ends after what it is in", e.Name)
		}
		until[track] = append(open, end)
	}
	if wide != out[value] {
		t.Errorf("the trees are %d wide and have %d", wide, out[value])
	}
	return out
}

// readOTLP reads the message with the generated types, and checks what the format demands of its tables.
func readOTLP(t *testing.T, file []byte, _ string) sums {
	var m profiles.ProfilesData
	if err := proto.Unmarshal(file, &m); err != nil {
		t.Fatal(err)
	}
	d := m.Dictionary
	unique := map[string]bool{}
	for i, s := range d.StringTable {
		if unique[s] || (i == 0) != (s == "") {
			t.Errorf("string %d is %q", i, s)
		}
		unique[s] = true
	}
	for what, zero := range map[string]proto.Message{"mapping": d.MappingTable[0], "location": d.LocationTable[0],
		"function": d.FunctionTable[0],
		"link":     d.LinkTable[0], "attribute": d.AttributeTable[0], "stack": d.StackTable[0]} {
		if proto.Size(zero) != 0 {
			t.Errorf("the first %s is %v", what, zero)
		}
	}
	stacks := map[string]bool{}
	for i, s := range d.StackTable {
		if key := fmt.Sprint(s.LocationIndices); stacks[key] {
			t.Errorf("stack %d is there twice", i)
		} else {
			stacks[key] = true
		}
		for _, l := range s.LocationIndices {
			location := d.LocationTable[l]
			if d.StringTable[d.FunctionTable[location.Lines[0].FunctionIndex].NameStrindex] == "" ||
				int(location.MappingIndex) >= len(d.MappingTable) {
				t.Errorf("stack %d: location %v", i, location)
			}
		}
	}
	out := sums{}
	for _, r := range m.ResourceProfiles {
		if r.Resource.Attributes[0].Key != "service.name" || r.Resource.Attributes[0].Value.GetStringValue() == "" {
			t.Errorf("resource %v", r.Resource)
		}
		for _, p := range r.ScopeProfiles[0].Profiles {
			seen := map[string]bool{}
			for _, s := range p.Samples {
				key := fmt.Sprint(s.StackIndex, s.AttributeIndices)
				if seen[key] || len(s.Values) != 1 {
					t.Errorf("sample %s is there twice, or has values %v", key, s.Values)
				}
				seen[key] = true
				out.add(d.StringTable[p.SampleType.TypeStrindex], s.Values[0])
				for _, a := range s.AttributeIndices {
					if attribute := d.AttributeTable[a]; a == 0 || d.StringTable[attribute.KeyStrindex] == "" ||
						attribute.Value == nil {
						t.Errorf("attribute %d is %v", a, attribute)
					}
				}
			}
			if p.Period != 1 || d.StringTable[p.PeriodType.TypeStrindex] == "" {
				t.Errorf("period %d of %v", p.Period, p.PeriodType)
			}
		}
	}
	return out
}
