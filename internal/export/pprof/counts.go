package pprof

import (
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/klauspost/compress/gzip"

	"github.com/clrprof/clrprof/internal/export/protobuf"
)

// WriteCounts writes a profile of things that have a name and no stack, such as the threads of a process: each name is
// a function without callers, with how many there are. The unit of the value is count. Names are in the order of their
// texts. Errors are those of w.
func WriteCounts(w io.Writer, value string, counts map[string]int64, notes []string) error {
	z, err := gzip.NewWriterLevel(w, compression)
	if err != nil {
		return fmt.Errorf("writing a pprof profile: %w", err)
	}
	texts := protobuf.NewStrings()
	var m, kind protobuf.Message
	kind.Int(valueType, texts.Of(value))
	kind.Int(valueUnit, texts.Of("count"))
	m.Element(profileSampleType, kind)
	m.Element(profilePeriodType, kind)
	m.Int(profilePeriod, 1)
	for i, name := range slices.Sorted(maps.Keys(counts)) {
		id := int64(i) + 1
		var sample, location, line, function protobuf.Message
		protobuf.Packed(&sample, sampleLocation, []int64{id})
		protobuf.Packed(&sample, sampleValue, []int64{counts[name]})
		line.Int(lineFunction, id)
		location.Int(locationID, id)
		location.Element(locationLine, line)
		function.Int(functionID, id)
		function.Int(functionName, texts.Of(name))
		m.Element(profileSample, sample)
		m.Element(profileLocation, location)
		m.Element(profileFunction, function)
	}
	var comments []int64
	for _, note := range notes {
		comments = append(comments, texts.Of(note))
	}
	protobuf.Packed(&m, profileComment, comments)
	for _, text := range texts.Rows {
		m.Element(profileString, text)
	}
	if _, err := z.Write(m); err != nil {
		return fmt.Errorf("writing a pprof profile: %w", err)
	}
	if err := z.Close(); err != nil {
		return fmt.Errorf("writing a pprof profile: %w", err)
	}
	return nil
}
