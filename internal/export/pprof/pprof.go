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
// Samples are written as they come, without the library's objects: of a million sites these take ten times as long and
// gigabytes. The tests read the files back with the library, and with go tool pprof.
//
// The output depends on nothing but the session and what is selected of it, which is said in a comment of the profile.
package pprof

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/klauspost/compress/gzip"

	"github.com/clrprof/clrprof/internal/analysis"
	"github.com/clrprof/clrprof/internal/export/protobuf"
	"github.com/clrprof/clrprof/internal/session"
)

// Names are names of kinds of values.
type Names string

// The names that values can have.
const (
	Clrprof Names = "clrprof" // as everywhere in clrprof: allocations, bytes, alive_bytes, elapsed
	Dotnet  Names = "dotnet"  // as other profilers of .NET name them: alloc_samples, alloc_size, inuse_space, wall
	Go      Names = "go"      // as Go's own profiles do: alloc_objects, alloc_space, inuse_space
)

// AllNames returns all Names, the default first.
func AllNames() []Names { return []Names{Clrprof, Dotnet, Go} }

// others are the names of values that have another name elsewhere.
var others = map[Names]map[string]string{
	Dotnet: {"allocations": "alloc_samples", "bytes": "alloc_size", "alive_objects": "inuse_objects",
		"alive_bytes": "inuse_space", "elapsed": "wall"},
	Go: {"allocations": "alloc_objects", "bytes": "alloc_space", "alive_objects": "inuse_objects",
		"alive_bytes": "inuse_space"},
}

// Labels are the labels that samples can have, in their order.
func Labels() []string { return []string{"process", "thread", "process_id", "thread_id", "type"} }

// Options say how a profile is written.
type Options struct {
	Names  Names
	Labels []string // of Labels; nil: all. Servers keep a series for each value of a label
	Values []string // of the values that a session has, by clrprof's names; those that it lacks are left out. nil: all
	First  string   // of Values, the one to look at first; "": the session's default
	Notes  []string // sentences for the comments of the profile, after those of the selection
}

func (o Options) has(label string) bool { return o.Labels == nil || slices.Contains(o.Labels, label) }

// columns returns the positions of the values that are written, and which of these is looked at first.
func (o Options) columns(samples *analysis.SampleSet) (columns []int, first int) {
	for i, v := range samples.Values {
		if o.Values != nil && !slices.Contains(o.Values, v.Name) {
			continue
		}
		if v.Name == o.First || o.First == "" && i == samples.Default {
			first = len(columns)
		}
		columns = append(columns, i)
	}
	return columns, first
}

func (n Names) of(value string) string { return cmp.Or(others[n][value], value) }

// Numbers of the fields of profile.proto.
const (
	profileSampleType, profileSample, profileMapping, profileLocation, profileFunction, profileString = 1, 2, 3, 4, 5, 6
	profileTime, profileDuration, profilePeriodType                                                   = 9, 10, 11
	profilePeriod, profileComment, profileDefault                                                     = 12, 13, 14

	valueType, valueUnit                                                           = 1, 2
	sampleLocation, sampleValue, sampleLabel                                       = 1, 2, 3
	labelKey, labelString, labelNumber                                             = 1, 2, 3
	mappingID, mappingFile, mappingBuildID, mappingHasFunctions, mappingHasInlines = 1, 5, 6, 7, 10
	locationID, locationMapping, locationAddress, locationLine                     = 1, 2, 3, 4
	lineFunction, lineLine, lineColumn                                             = 1, 2, 3
	functionID, functionName, functionSystem, functionFile, functionLine           = 1, 2, 3, 4, 5
)

// ErrNoValues means that a session has none of the values that were asked for.
var ErrNoValues = errors.New("the session has none of these values")

// compression is gzip's level: the next ones take twice as long for a tenth less.
const compression = 3

// Write writes the part of s that is selected to w, compressed with gzip as
// the format demands. Errors are those of reading s, of the selection, and of w.
func Write(w io.Writer, s *session.Session, sel analysis.Selection, o Options) error {
	samples, err := analysis.Samples(s, sel)
	if err != nil {
		return err
	}
	z, err := gzip.NewWriterLevel(w, compression)
	if err != nil {
		return fmt.Errorf("writing a pprof profile: %w", err)
	}
	p := &writer{out: bufio.NewWriterSize(z, 1<<16), samples: samples, strings: protobuf.NewStrings(),
		mappings: protobuf.NewTable[session.ModuleID](1), functions: protobuf.NewTable[session.FunctionID](1),
		threads: map[session.ThreadID][]byte{}, types: map[session.TypeID][]byte{}, options: o}
	var first int
	if p.columns, first = o.columns(samples); len(p.columns) == 0 {
		return fmt.Errorf("writing a pprof profile: %w: %s", ErrNoValues, strings.Join(o.Values, ", "))
	}
	p.values = make([]int64, len(p.columns))
	p.header(first)
	if err := samples.Each(p.sample); err != nil {
		return fmt.Errorf("writing a pprof profile: %w", err)
	}
	processes, err := s.Processes()
	if err != nil {
		return fmt.Errorf("writing a pprof profile: %w", err)
	}
	p.program(processes)
	p.tables()
	if err := p.out.Flush(); err != nil {
		return fmt.Errorf("writing a pprof profile: %w", err)
	}
	if err := z.Close(); err != nil {
		return fmt.Errorf("writing a pprof profile: %w", err)
	}
	return nil
}

// writer writes a profile. Of what is written only the tables are kept.
type writer struct {
	out       *bufio.Writer
	options   Options
	samples   *analysis.SampleSet
	strings   *protobuf.Strings
	mappings  *protobuf.Table[session.ModuleID]
	functions *protobuf.Table[session.FunctionID]
	threads   map[session.ThreadID][]byte // the labels of samples of a thread
	types     map[session.TypeID][]byte   // and of a type
	columns   []int                       // positions of the values that are written
	values    []int64                     // of the sample that is being written
	stack     []int64                     // locations of the last sample
	node      int32                       // and its stack
	message   protobuf.Message            // the sample that is being written
	label     protobuf.Message
	field     protobuf.Message
}

// put writes a field of the profile. Errors are kept by the writer below until it is flushed.
func (p *writer) put(number protobuf.Field, message []byte) error {
	p.field = p.field[:0]
	p.field.Element(number, message)
	_, err := p.out.Write(p.field)
	return err
}

// header writes what the profile says of all samples; first is the position among the written values of the one to look
// at first.
func (p *writer) header(first int) {
	names := p.options.Names
	var values []analysis.SampleValue
	for _, i := range p.columns {
		values = append(values, p.samples.Values[i])
	}
	of := func(v analysis.SampleValue) []byte {
		var m protobuf.Message
		m.Int(valueType, p.strings.Of(names.of(v.Name)))
		m.Int(valueUnit, p.strings.Of(v.Unit))
		return m
	}
	var m protobuf.Message
	for _, v := range values {
		m.Element(profileSampleType, of(v))
	}
	if began := p.samples.Began; !began.IsZero() {
		m.Int(profileTime, began.UnixNano())
	}
	m.Int(profileDuration, int64(p.samples.Duration))
	period := values[0]
	if names == Go && period.Name == "allocations" {
		period = analysis.SampleValue{Name: "space", Unit: "bytes"}
	}
	m.Element(profilePeriodType, of(period))
	m.Int(profilePeriod, 1) // every allocation, every call
	var comments []int64
	for _, note := range slices.Concat(p.samples.Notes, p.options.Notes) {
		comments = append(comments, p.strings.Of(note))
	}
	protobuf.Packed(&m, profileComment, comments)
	m.Int(profileDefault, p.strings.Of(names.of(values[first].Name)))
	p.out.Write(m)
}

func (p *writer) sample(from *analysis.Sample) error {
	if from.Node != p.node || len(p.stack) == 0 {
		p.node, p.stack = from.Node, p.stack[:0]
		for _, frame := range from.Stack {
			p.stack = append(p.stack, int64(frame)+1)
		}
	}
	p.message = p.message[:0]
	protobuf.Packed(&p.message, sampleLocation, p.stack)
	for i, column := range p.columns {
		p.values[i] = from.Values[column]
	}
	protobuf.Packed(&p.message, sampleValue, p.values)
	labels, known := p.threads[from.Thread.ID]
	if !known {
		labels = p.threadLabels(from)
		p.threads[from.Thread.ID] = labels
	}
	p.message = append(p.message, labels...)
	if from.Type != "" {
		label, known := p.types[from.TypeID]
		if !known {
			p.stringLabel((*protobuf.Message)(&label), "type", from.Type)
			p.types[from.TypeID] = label
		}
		p.message = append(p.message, label...)
	}
	return p.put(profileSample, p.message)
}

func (p *writer) threadLabels(of *analysis.Sample) []byte {
	var m protobuf.Message
	p.stringLabel(&m, "process", of.Process.Name)
	p.stringLabel(&m, "thread", of.Thread.Label(of.Process.PID))
	p.numberLabel(&m, "process_id", of.Process.PID)
	p.numberLabel(&m, "thread_id", of.Thread.OSID)
	return m
}

func (p *writer) stringLabel(to *protobuf.Message, key, value string) {
	if !p.options.has(key) {
		return
	}
	p.label = p.label[:0]
	p.label.Int(labelKey, p.strings.Of(key))
	p.label.Int(labelString, p.strings.Of(value))
	to.Element(sampleLabel, p.label)
}

func (p *writer) numberLabel(to *protobuf.Message, key string, value int64) {
	if !p.options.has(key) {
		return
	}
	p.label = p.label[:0]
	p.label.Int(labelKey, p.strings.Of(key))
	p.label.Int(labelNumber, value)
	to.Element(sampleLabel, p.label)
}

// program makes the first mapping that of the program, the module that a process is called after: pprof says File of
// the first one.
func (p *writer) program(processes []session.Process) {
	for i := range processes {
		for _, f := range p.samples.Frames() {
			if of := &processes[i]; f.Module.Process == of.ID && f.Module.Name == of.Name+".dll" {
				p.mapping(f.Module)
				return
			}
		}
	}
}

// tables writes what samples refer to; an error of the output comes again when it is flushed.
func (p *writer) tables() {
	frames := p.samples.Frames()
	for i := range frames {
		f := &frames[i]
		var line, m protobuf.Message
		line.Int(lineFunction, p.function(f))
		line.Int(lineLine, f.Line)
		line.Int(lineColumn, f.Column)
		m.Int(locationID, int64(i)+1)
		m.Int(locationMapping, p.mapping(f.Module))
		m.Uint(locationAddress, uint64(f.Address))
		m.Element(locationLine, line)
		p.put(profileLocation, m)
	}
	for _, f := range p.functions.Rows {
		p.put(profileFunction, f)
	}
	for _, m := range p.mappings.Rows {
		p.put(profileMapping, m)
	}
	for _, s := range p.strings.Rows {
		p.put(profileString, s)
	}
}

func (p *writer) function(of *analysis.SampleFrame) int64 {
	f := of.Function
	return p.functions.Number(f.ID, func() []byte {
		var m protobuf.Message
		m.Int(functionID, int64(len(p.functions.Rows))+1)
		m.Int(functionName, p.strings.Of(f.DisplayName()))
		m.Int(functionSystem, p.strings.Of(of.Function.MetadataName()))
		m.Int(functionFile, p.strings.Of(of.File))
		m.Int(functionLine, f.Line)
		return m
	})
}

// mapping returns the number of the mapping of a module; 0 for functions without one. Modules
// have no address range here: a body's code is not in the module's file.
func (p *writer) mapping(m *session.Module) int64 {
	if m.ID == 0 {
		return 0
	}
	return p.mappings.Number(m.ID, func() []byte {
		var out protobuf.Message
		out.Int(mappingID, int64(len(p.mappings.Rows))+1)
		out.Int(mappingFile, p.strings.Of(cmp.Or(m.Path, m.Name)))
		out.Int(mappingBuildID, p.strings.Of(m.MVID))
		for has := mappingHasFunctions; has <= mappingHasInlines; has++ {
			out.Bool(protobuf.Field(has), true)
		}
		return out
	})
}
