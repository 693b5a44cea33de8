// Package otlp writes a session as profiles of OpenTelemetry: one ExportProfilesServiceRequest of
// opentelemetry.proto.collector.profiles.v1development, which has the same bytes as a ProfilesData, as protobuf. It is
// that of opentelemetry-proto 1.11; the signal is still called development there. A collector takes it with POST at
// /v1development/profiles.
//
// Each process is a resource, and each kind of value a Profile, the one to look at first before the others. Samples are
// those of package pprof: their attributes are thread.id, thread.name, and clrprof.type, what was allocated. Those of
// the same stack and attributes are added up, as the format demands.
//
// Attributes of resources have plain keys: the references to the table of strings that the format allows too are read
// by few receivers.
//
// The output depends on nothing but the session, what is selected of it, which the attribute clrprof.selection of each
// Profile says, and the version.
package otlp

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"slices"

	"github.com/clrprof/clrprof/internal/analysis"
	"github.com/clrprof/clrprof/internal/export/protobuf"
	"github.com/clrprof/clrprof/internal/session"
)

// Numbers of the fields of profiles.proto, common.proto and resource.proto.
const (
	requestResource, requestDictionary = 1, 2
	resourceProfilesResource           = 1
	resourceProfilesScopes             = 2
	scopeProfilesScope                 = 1
	scopeProfilesProfiles              = 2
	scopeName, scopeVersion            = 1, 2
	resourceAttributes                 = 1
	keyValueKey, keyValueValue         = 1, 2
	anyString, anyInt                  = 1, 3

	dictionaryMapping, dictionaryLocation, dictionaryFunction, dictionaryLink = 1, 2, 3, 4
	dictionaryString, dictionaryAttribute, dictionaryStack                    = 5, 6, 7

	profileType, profileSamples, profileTime, profileDuration = 1, 2, 3, 4
	profilePeriodType, profilePeriod, profileAttributes       = 5, 6, 11
	valueType, valueUnit                                      = 1, 2
	sampleStack, sampleAttributes, sampleValues               = 1, 2, 4
	stackLocations                                            = 1
	locationMapping, locationAddress, locationLines           = 1, 2, 3
	lineFunction, lineLine, lineColumn                        = 1, 2, 3
	functionName, functionSystem, functionFile, functionStart = 1, 2, 3, 4
	mappingFile                                               = 4
	attributeKey, attributeValue                              = 1, 2
)

// Write writes the part of s that is selected. version is that of clrprof. Errors are those of reading s, of the
// selection, and of w.
func Write(w io.Writer, s *session.Session, sel analysis.Selection, version string) error {
	samples, err := analysis.Samples(s, sel)
	if err != nil {
		return err
	}
	info, err := s.Info()
	if err != nil {
		return err
	}
	c := newWriter(samples, version, info[session.KeyHost])
	if err := samples.Each(c.add); err != nil {
		return err
	}
	out := bufio.NewWriterSize(w, 1<<16)
	for _, id := range c.order {
		if err := c.resource(out, c.processes[id]); err != nil {
			return fmt.Errorf("writing OTLP profiles: %w", err)
		}
	}
	var m protobuf.Message
	m.Element(requestDictionary, c.dictionary())
	out.Write(m)
	if err := out.Flush(); err != nil {
		return fmt.Errorf("writing OTLP profiles: %w", err)
	}
	return nil
}

// entry is a sample of one kind of value.
type entry struct {
	stack, attributes int32 // numbers
	value             int64
}

// process has the samples of a process, by kind of value.
type process struct {
	*session.Process
	values [][]entry
}

// stackKey tells a stack: by the one below its leaf, and the frame of the leaf.
type stackKey struct {
	parent int64
	frame  int32
}

// attributesKey tells the attributes of a sample.
type attributesKey struct {
	thread session.ThreadID
	typ    string
}

// attributeKeyValue tells an attribute.
type attributeKeyValue struct {
	key, text string
	number    int64
}

type writer struct {
	samples    *analysis.SampleSet
	version    string
	host       string
	processes  map[session.ProcessID]*process
	order      []session.ProcessID // as they come
	strings    *protobuf.Strings
	mappings   *protobuf.Table[session.ModuleID]
	functions  *protobuf.Table[session.FunctionID]
	attributes *protobuf.Table[attributeKeyValue]
	sets       map[attributesKey]int32 // numbers of setRows
	setRows    [][]int64               // numbers of attributes
	stackOf    []int32                 // of nodes: the number of their stack; 0: not known yet
	stacks     map[stackKey]int32
	stackNode  []int32 // a node of each stack
}

func newWriter(samples *analysis.SampleSet, version, host string) *writer {
	c := &writer{samples: samples, version: version, host: host, processes: map[session.ProcessID]*process{},
		strings: protobuf.NewStrings(), mappings: protobuf.NewTable[session.ModuleID](0),
		functions:  protobuf.NewTable[session.FunctionID](0),
		attributes: protobuf.NewTable[attributeKeyValue](0), sets: map[attributesKey]int32{},
		stackOf: make([]int32, samples.Nodes()), stacks: map[stackKey]int32{}, stackNode: []int32{-1}}
	empty := func() []byte { return nil } // the first row of each table is an empty one
	c.mappings.Number(0, empty)
	c.functions.Number(0, empty)
	c.attributes.Number(attributeKeyValue{}, empty)
	return c
}

func (c *writer) add(from *analysis.Sample) error {
	p := c.processes[from.Process.ID]
	if p == nil {
		p = &process{from.Process, make([][]entry, len(c.samples.Values))}
		c.processes[p.ID] = p
		c.order = append(c.order, p.ID)
	}
	at := entry{stack: c.stack(from.Node), attributes: c.attributeSet(from)}
	for i, v := range from.Values {
		if v != 0 {
			at.value = v
			p.values[i] = append(p.values[i], at)
		}
	}
	return nil
}

// stack returns the number of the stack of a node. Nodes have one stack if what lay between them is hidden.
func (c *writer) stack(node int32) int32 {
	var todo []int32
	for n := node; n >= 0 && c.stackOf[n] == 0; n = c.samples.Parent(n) {
		todo = append(todo, n)
	}
	for _, n := range slices.Backward(todo) {
		key := stackKey{frame: c.samples.Frame(n)}
		if above := c.samples.Parent(n); above >= 0 {
			key.parent = int64(c.stackOf[above])
		}
		number, known := c.stacks[key]
		if !known {
			number = int32(len(c.stackNode))
			c.stacks[key], c.stackNode = number, append(c.stackNode, n)
		}
		c.stackOf[n] = number
	}
	if node < 0 {
		return 0
	}
	return c.stackOf[node]
}

func (c *writer) attributeSet(of *analysis.Sample) int32 {
	key := attributesKey{of.Thread.ID, of.Type}
	n, known := c.sets[key]
	if !known {
		n = int32(len(c.setRows))
		c.sets[key] = n
		row := []int64{c.attribute(attributeKeyValue{key: "thread.id", number: of.Thread.OSID})}
		for _, text := range []attributeKeyValue{{key: "thread.name", text: of.Thread.Name},
			{key: "clrprof.type", text: of.Type}} {
			if text.text != "" {
				row = append(row, c.attribute(text))
			}
		}
		c.setRows = append(c.setRows, row)
	}
	return n
}

func (c *writer) attribute(a attributeKeyValue) int64 {
	return c.attributes.Number(a, func() []byte {
		var m protobuf.Message
		m.Int(attributeKey, c.strings.Of(a.key))
		m.Element(attributeValue, anyValue(a))
		return m
	})
}

func anyValue(a attributeKeyValue) []byte {
	var value protobuf.Message
	if a.text != "" {
		value.String(anyString, a.text)
	} else {
		value.Int(anyInt, a.number)
	}
	return value
}

// resource writes the profiles of a process. What is large is encoded once: the messages around it are written by
// parts.
func (c *writer) resource(out io.Writer, p *process) error {
	var resource, scope protobuf.Message
	for _, a := range []attributeKeyValue{
		{key: "service.name", text: cmp.Or(p.Name, "unknown_service")},
		{key: "process.pid", number: p.PID},
		{key: "process.executable.path", text: p.Path},
		{key: "process.runtime.name", text: ".NET"},
		{key: "process.runtime.version", text: p.RuntimeVersion},
		{key: "host.name", text: c.host},
	} {
		if a.text != "" || a.number != 0 {
			var kv protobuf.Message
			kv.String(keyValueKey, a.key)
			kv.Element(keyValueValue, anyValue(a))
			resource.Element(resourceAttributes, kv)
		}
	}
	scope.String(scopeName, "clrprof")
	scope.String(scopeVersion, c.version)
	var profiles [][]byte
	first := c.samples.Default
	for _, i := range append([]int{first}, others(len(p.values), first)...) {
		if i == first || len(p.values[i]) > 0 {
			profiles = append(profiles, c.profile(i, p.values[i]))
		}
		p.values[i] = nil // the others need memory too
	}
	inScopes := protobuf.ElementSize(scopeProfilesScope, len(scope))
	for _, profile := range profiles {
		inScopes += protobuf.ElementSize(scopeProfilesProfiles, len(profile))
	}
	var m protobuf.Message
	m.Begin(requestResource, protobuf.ElementSize(resourceProfilesResource, len(resource))+
		protobuf.ElementSize(resourceProfilesScopes, inScopes))
	m.Element(resourceProfilesResource, resource)
	m.Begin(resourceProfilesScopes, inScopes)
	m.Element(scopeProfilesScope, scope)
	for _, profile := range profiles {
		m.Begin(scopeProfilesProfiles, len(profile))
		if _, err := out.Write(m); err != nil {
			return err
		}
		if _, err := out.Write(profile); err != nil {
			return err
		}
		m = m[:0]
	}
	return nil
}

// others are the numbers below n but one.
func others(n, but int) []int {
	var out []int
	for i := range n {
		if i != but {
			out = append(out, i)
		}
	}
	return out
}

// profile returns the Profile of a kind of value.
func (c *writer) profile(value int, entries []entry) []byte {
	v := c.samples.Values[value]
	var m, sample protobuf.Message
	m.Element(profileType, c.valueType(v.Name, v.Unit))
	slices.SortFunc(entries, func(a, b entry) int {
		return cmp.Or(cmp.Compare(a.stack, b.stack), cmp.Compare(a.attributes, b.attributes))
	})
	for i := 0; i < len(entries); {
		sum := entries[i]
		for i++; i < len(entries) && entries[i].stack == sum.stack && entries[i].attributes == sum.attributes; i++ {
			sum.value += entries[i].value
		}
		sample = sample[:0]
		sample.Int(sampleStack, int64(sum.stack))
		protobuf.Packed(&sample, sampleAttributes, c.setRows[sum.attributes])
		protobuf.Packed(&sample, sampleValues, []int64{sum.value})
		m.Element(profileSamples, sample)
	}
	if !c.samples.Began.IsZero() {
		m.Fixed64(profileTime, uint64(c.samples.Began.UnixNano()))
	}
	m.Int(profileDuration, int64(c.samples.Duration))
	kind, unit := "memory", "bytes" // receivers name profiles by it
	if c.samples.IsTime(value) {
		kind, unit = "wall", "nanoseconds"
	}
	m.Element(profilePeriodType, c.valueType(kind, unit))
	m.Int(profilePeriod, 1) // every allocation, every call
	var attributes []int64
	for _, note := range c.samples.Notes {
		attributes = append(attributes, c.attribute(attributeKeyValue{key: "clrprof.selection", text: note}))
	}
	protobuf.Packed(&m, profileAttributes, attributes)
	return m
}

func (c *writer) valueType(kind, unit string) []byte {
	var m protobuf.Message
	m.Int(valueType, c.strings.Of(kind))
	m.Int(valueUnit, c.strings.Of(unit))
	return m
}
