// Package pprof writes a session in the format of pprof (profile.proto,
// github.com/google/pprof), which go tool pprof, speedscope, Grafana and others read.
//
// Every site becomes a sample: its stack, leaf first, with the values allocations
// (count) and bytes (bytes) and the labels type, thread and process. With lifetimes it also has,
// for each generation in which objects died and for those alive, two more: gen0_objects, gen0_bytes, …,
// alive_objects, alive_bytes. A location is an
// instruction of the session; its mapping is the module. Nothing is rounded or
// merged, so a total, flat or cumulative value in pprof equals the one in the views.
//
// With times, every node on which a thread spent time becomes a sample too, with the values calls (count), elapsed and
// application (nanoseconds): the exclusive time of the node, without what the probes added. Its last location is a call
// site, for the time before that call, or the line of the function itself, for the time after its last one.
//
// The output depends on nothing but the session and what is selected of it, which is said in a comment of the profile.
package pprof

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	"github.com/google/pprof/profile"

	"github.com/clrprof/clrprof/internal/analysis"
	"github.com/clrprof/clrprof/internal/session"
)

// Write writes the part of s that is selected to w, compressed with gzip as
// the format demands. Errors are those of reading s, of the selection, and of w.
func Write(w io.Writer, s *session.Session, sel analysis.Selection) error {
	p, err := Convert(s, sel)
	if err != nil {
		return err
	}
	if err := p.Write(w); err != nil {
		return fmt.Errorf("writing a pprof profile: %w", err)
	}
	return nil
}

// converter holds the rows that pprof objects are made for.
type converter struct {
	mappings  map[session.ModuleID]*profile.Mapping
	functions map[session.FunctionID]*profile.Function
	profile   *profile.Profile
}

// Convert makes a profile of the part of s that is selected.
func Convert(s *session.Session, sel analysis.Selection) (*profile.Profile, error) {
	samples, err := analysis.Samples(s, sel)
	if err != nil {
		return nil, err
	}
	c := &converter{map[session.ModuleID]*profile.Mapping{}, map[session.FunctionID]*profile.Function{},
		&profile.Profile{Period: 1, Comments: samples.Notes}} // every allocation, every call
	for _, v := range samples.Values {
		c.profile.SampleType = append(c.profile.SampleType, &profile.ValueType{Type: v.Name, Unit: v.Unit})
	}
	c.profile.PeriodType, c.profile.DefaultSampleType = c.profile.SampleType[0], samples.Values[samples.Default].Name
	if err := c.addInfo(s); err != nil {
		return nil, err
	}
	err = samples.Each(func(sample *analysis.Sample) error {
		c.addSample(samples, sample)
		return nil
	})
	if err != nil {
		return nil, err
	}
	if err := c.profile.CheckValid(); err != nil {
		return nil, fmt.Errorf("session %s: making a pprof profile: %w", s.Path(), err)
	}
	return c.profile, nil
}

func (c *converter) addInfo(s *session.Session) error {
	info, err := s.Info()
	if err != nil {
		return err
	}
	if created, err := time.Parse(time.RFC3339, info[session.KeyCreated]); err == nil {
		c.profile.TimeNanos = created.UnixNano()
	}
	if n, err := strconv.ParseInt(info[session.KeyDuration], 10, 64); err == nil {
		c.profile.DurationNanos = n
	}
	return nil
}

func (c *converter) addSample(samples *analysis.SampleSet, from *analysis.Sample) {
	sample := &profile.Sample{Value: slices.Clone(from.Values), Label: map[string][]string{}, NumLabel: map[string][]int64{}}
	for _, n := range from.Stack {
		for int(n) >= len(c.profile.Location) { // frames are numbered as samples come to use them
			c.addLocation(&samples.Frames()[len(c.profile.Location)])
		}
		sample.Location = append(sample.Location, c.profile.Location[n])
	}
	name := from.Thread.Name
	if name == "" {
		name = fmt.Sprintf("thread %d", from.Thread.OSID)
	}
	sample.Label["thread"] = []string{name}
	sample.Label["process"] = []string{from.Process.Name}
	if from.Type != "" {
		sample.Label["type"] = []string{from.Type}
	}
	sample.NumLabel["thread_id"] = []int64{from.Thread.OSID}
	sample.NumLabel["process_id"] = []int64{from.Process.PID}
	c.profile.Sample = append(c.profile.Sample, sample)
}

func (c *converter) addLocation(f *analysis.SampleFrame) {
	c.profile.Location = append(c.profile.Location, &profile.Location{
		ID: uint64(len(c.profile.Location) + 1), Mapping: c.mapping(f.Module), Address: uint64(f.Address),
		Line: []profile.Line{{Function: c.function(f), Line: f.Line, Column: f.Column}},
	})
}

func (c *converter) function(of *analysis.SampleFrame) *profile.Function {
	f := of.Function
	if known := c.functions[f.ID]; known != nil {
		return known
	}
	system := f.RawName
	if f.RawType != "" {
		system = f.RawType + "." + f.RawName
	}
	out := &profile.Function{
		ID: uint64(len(c.profile.Function) + 1), Name: f.DisplayName(), SystemName: system, Filename: of.File, StartLine: f.Line,
	}
	c.functions[f.ID] = out
	c.profile.Function = append(c.profile.Function, out)
	return out
}

// mapping returns the mapping of a module; nil for functions without one. Modules
// have no address range here: a body's code is not in the module's file.
func (c *converter) mapping(m *session.Module) *profile.Mapping {
	if m.ID == 0 {
		return nil
	}
	if known := c.mappings[m.ID]; known != nil {
		return known
	}
	file := m.Path
	if file == "" {
		file = m.Name
	}
	out := &profile.Mapping{
		ID: uint64(len(c.profile.Mapping) + 1), File: file, BuildID: m.MVID,
		HasFunctions: true, HasFilenames: true, HasLineNumbers: true, HasInlineFrames: true,
	}
	c.mappings[m.ID] = out
	c.profile.Mapping = append(c.profile.Mapping, out)
	return out
}
