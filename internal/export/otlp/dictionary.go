package otlp

import (
	"cmp"

	"github.com/clrprof/clrprof/internal/analysis"
	"github.com/clrprof/clrprof/internal/export/protobuf"
	"github.com/clrprof/clrprof/internal/session"
)

// dictionary returns the tables that profiles refer to. The first row of each is an empty one.
func (c *writer) dictionary() []byte {
	var m protobuf.Message
	frames := c.samples.Frames()
	m.Element(dictionaryLocation, nil)
	for i := range frames {
		f := &frames[i]
		var line, location protobuf.Message
		line.Int(lineFunction, c.function(f))
		line.Int(lineLine, f.Line)
		line.Int(lineColumn, f.Column)
		location.Int(locationMapping, c.mapping(f.Module))
		location.Uint(locationAddress, uint64(f.Address))
		location.Element(locationLines, line)
		m.Element(dictionaryLocation, location)
	}
	m.Element(dictionaryLink, nil)
	var locations []int64
	for _, node := range c.stackNode {
		locations = locations[:0]
		for n := node; n >= 0; n = c.samples.Parent(n) {
			locations = append(locations, int64(c.samples.Frame(n))+1)
		}
		var stack protobuf.Message
		protobuf.Packed(&stack, stackLocations, locations)
		m.Element(dictionaryStack, stack)
	}
	for _, table := range []struct {
		field protobuf.Field
		rows  [][]byte
	}{
		{dictionaryMapping, c.mappings.Rows}, {dictionaryFunction, c.functions.Rows},
		{dictionaryAttribute, c.attributes.Rows}, {dictionaryString, c.strings.Rows},
	} {
		for _, row := range table.rows {
			m.Element(table.field, row)
		}
	}
	return m
}

func (c *writer) function(of *analysis.SampleFrame) int64 {
	f := of.Function
	return c.functions.Number(f.ID, func() []byte {
		var m protobuf.Message
		m.Int(functionName, c.strings.Of(f.DisplayName()))
		m.Int(functionSystem, c.strings.Of(of.Function.MetadataName()))
		m.Int(functionFile, c.strings.Of(of.File))
		m.Int(functionStart, f.Line)
		return m
	})
}

func (c *writer) mapping(m *session.Module) int64 {
	return c.mappings.Number(m.ID, func() []byte {
		var out protobuf.Message
		out.Int(mappingFile, c.strings.Of(cmp.Or(m.Path, m.Name)))
		return out
	})
}
