package encode

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"strconv"

	"github.com/clrprof/clrprof/internal/present/report"
	"github.com/clrprof/clrprof/internal/present/report/words"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/shell"
)

// WriteSummary writes a summary: JSON as one object with a list for each section, CSV and TSV as one table with the
// section in the first column.
func WriteSummary(w io.Writer, s *report.Summary, f Format) error {
	if f == JSON {
		return writeSummary(w, s)
	}
	columns := s.RecordColumns()
	header, estimated := make([]string, len(columns)), []int(nil)
	for i, c := range columns {
		if header[i] = c.Key; s.Estimated && (c.Kind == report.Count || c.Kind == report.Bytes) {
			estimated = append(estimated, i)
		}
	}
	for _, i := range estimated {
		header = append(header, estimateKeys(columns[i:i+1])...)
	}
	return writeSeparated(w, f, header, func(fn func([]string) error) error {
		err := s.EachRecord(func(cells []report.Cell) error {
			record := make([]string, len(cells), len(header))
			for i, cell := range cells {
				record[i] = CellText(columns[i], cell)
			}
			for _, i := range estimated {
				record = appendEstimateText(record, cells[i].Estimate)
			}
			return fn(record)
		})
		if err != nil {
			return err
		}
		return eachLoss(s, len(header), fn)
	})
}

// writeSummary writes a summary as one object.
func writeSummary(w io.Writer, s *report.Summary) error {
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, "{\n  \"session\": %s,\n  \"command\": %s,\n", appendString(nil, s.Path),
		appendString(nil, shell.Line(s.Command)))
	fmt.Fprintf(out, "  \"duration_ns\": %d,\n", s.Duration)
	if code, err := strconv.Atoi(s.Info[session.KeyExitCode]); err == nil {
		fmt.Fprintf(out, "  \"exit_code\": %d,\n", code)
	}
	writeAllocated(out, s)
	if c := s.Compiled; c != nil {
		fmt.Fprintf(out, "  \"compiled_methods\": %d,\n  \"compiled_ns\": %d,\n  \"recompiled_methods\": %d,\n"+
			"  \"recompiled_ns\": %d,\n  \"compiled_missed\": %d,\n", c.Methods, c.Took, c.Again, c.AgainTook, c.Missed)
	}
	writeTiming(out, s)
	writeLifetime(out, s)
	fmt.Fprintf(out, "  \"functions\": %d,\n  \"functions_without_symbols\": %d,\n  \"losses\": [", s.Functions,
		s.WithoutSymbols)
	for i, l := range s.Lost {
		fmt.Fprintf(out, "%s\n    {\"process_id\": %d, \"reason\": %s, \"events\": %d, \"allocations\": %d, "+
			"\"bytes\": %d, \"missing\": %t}",
			pick(i > 0, ",", ""), s.PID(l.Process), appendString(nil, l.Reason), l.Events, l.Allocations, l.Bytes,
			l.IsMissing())
	}
	out.WriteString(pick(len(s.Lost) > 0, "\n  ]", "]"))
	out.WriteString(",\n  \"findings\": [")
	for i, finding := range s.Findings {
		fmt.Fprintf(out, "%s\n    %s", pick(i > 0, ",", ""), appendString(nil, words.Note(finding)))
	}
	out.WriteString(pick(len(s.Findings) > 0, "\n  ]", "]"))
	out.WriteString(",\n  \"finding_shares\": [")
	for i, part := range s.Explained {
		fmt.Fprintf(out, "%s\n    {\"percent\": %s, \"of\": %s}", pick(i > 0, ",", ""),
			percentText(part.Share), appendString(nil, string(part.Of)))
	}
	out.WriteString(pick(len(s.Findings) > 0, "\n  ]", "]"))
	for _, section := range s.Sections {
		fmt.Fprintf(out, ",\n  %s: ", appendString(nil, section.Key))
		if err := writeRows(out, section.Table, "  "); err != nil {
			return err
		}
	}
	out.WriteString("\n}\n")
	return out.Flush()
}

// writeAllocated writes how much was allocated, and if that is an estimate, where it lies in 95 of 100 recordings.
func writeAllocated(out *bufio.Writer, s *report.Summary) {
	switch {
	case !s.HasMemory:
	case s.Few(s.Total):
		fmt.Fprintf(out, "  \"allocations\": null,\n  \"bytes\": null,\n  \"estimated\": true,\n  \"samples\": %d,\n",
			s.Total.Sampled.Samples)
	case s.Estimated && s.Total.Sampled.Samples > 0:
		objects, bytes := s.Total.AllocationsInterval(), s.Total.BytesInterval()
		fmt.Fprintf(out, "  \"allocations\": %d,\n  \"bytes\": %d,\n  \"estimated\": true,\n  \"samples\": %d,\n  "+
			"\"interval_95\": {\"allocations\": %s, \"bytes\": %s},\n", s.Total.Allocations, s.Total.Bytes,
			s.Total.Sampled.Samples, appendInterval(nil, &objects), appendInterval(nil, &bytes))
	default:
		fmt.Fprintf(out, "  \"allocations\": %d,\n  \"bytes\": %d,\n", s.Total.Allocations, s.Total.Bytes)
	}
}

// writeTiming writes the keys about times.
func writeTiming(out *bufio.Writer, s *report.Summary) {
	t := s.Timing
	if t == nil {
		return
	}
	all := t.Total.Inclusive
	fmt.Fprintf(out, "  \"elapsed\": %d,\n  \"application\": %d,\n  \"cpu\": %d,\n  \"waited\": %d,\n  \"calls\": "+
		"%d,\n  \"running\": %d,\n  \"calls_per_second\": %d,\n",
		t.Elapsed(), all.Application, all.CPU, t.Waited(), t.Total.Calls, t.Total.Running, t.PerSecond)
	fmt.Fprintf(out, "  \"wait_intervals\": %d,\n  \"voluntary\": %d,\n  \"preempted\": %d,\n  \"faults\": %d,\n  "+
		"\"reads\": %d,\n  \"off_cpu\": %d,\n  \"blocked\": %d,\n  \"ready\": %d,\n",
		all.Intervals, all.Voluntary, all.Preempted, all.Faults, all.Reads, all.OffCPU, all.Blocked, all.Ready)
	fmt.Fprintf(out, "  \"gc_pauses\": %d,\n  \"gc_paused\": %d,\n  \"gc_longest\": %d,\n", t.GCPauses, t.GCPaused,
		t.GCLongest)
	fmt.Fprintf(out, "  \"probe_overhead\": %d,\n  \"probe_overhead_percent\": %s,\n  "+
		"\"probe_uncertainty\": %s,\n  \"timed\": [", all.Overhead, percentText(t.Overhead()),
		uncertainText(float64(t.Uncertain)))
	for i, p := range t.Processes {
		fmt.Fprintf(out, "%s\n    {\"process_id\": %d, \"instrument\": %s, \"clock\": %s, \"ticks_per_second\": %d, "+
			"\"mechanism\": %s, \"gap_ns\": %d, \"inside_ns\": %g, \"outside_ns\": %g, \"cold_inside_ns\": %g, "+
			"\"cold_outside_ns\": %g, \"agent_time_ns\": %d, \"probes\": %s, \"uncertain_ns\": %s, \"measured\": %d, "+
			"\"least_ns\": %g, \"most_ns\": %g}",
			pick(i > 0, ",", ""), s.PID(p.Process), appendString(nil, p.Instrument), appendString(nil, p.Clock),
			p.TicksPerSec,
			appendString(nil, p.Mechanism), p.Gap, finite(p.Inside), finite(p.Outside), finite(p.ColdInside),
			finite(p.ColdOutside), p.Agent,
			appendString(nil, p.Probes), uncertainText(finite(p.Uncertain)), p.Measured, finite(p.Least),
			finite(p.Most))
	}
	out.WriteString("\n  ],\n")
}

// uncertainText is by how much times may be wrong; null: a session of an earlier clrprof does not say it.
func uncertainText(ns float64) string {
	if ns == 0 {
		return "null"
	}
	return strconv.FormatFloat(ns, 'f', -1, 64)
}

// finite replaces what JSON has no number for, in a damaged session.
func finite(x float64) float64 {
	if x != x || cmp.Compare(x, -1e300) < 0 || x > 1e300 {
		return 0
	}
	return x
}

// writeLifetime writes the keys about lifetimes; nil: there are none.
func writeLifetime(out *bufio.Writer, s *report.Summary) {
	l := s.Lifetime
	if l == nil {
		return
	}
	fmt.Fprintf(out, "  \"gcs\": %d,\n  \"gen0_gcs\": %d,\n  \"gen1_gcs\": %d,\n  \"gen2_gcs\": %d,\n  \"pause_ns\": "+
		"%d,\n  \"longest_pause_ns\": %d,\n",
		l.All(), l.Collections[0], l.Collections[1], l.Collections[2], l.Pause, l.Longest)
	for _, end := range l.Ends() {
		if s.Few(end.Amount) {
			fmt.Fprintf(out, "  \"%s_instances\": null,\n  \"%s_bytes\": null,\n", end.Key, end.Key)
			continue
		}
		fmt.Fprintf(out, "  \"%s_instances\": %d,\n  \"%s_bytes\": %d,\n", end.Key, end.Allocations, end.Key, end.Bytes)
	}
	fmt.Fprintf(out, "  \"left_out_allocations\": %d,\n  \"left_out_bytes\": %d,\n  \"walked_gcs\": %d,\n",
		l.LeftOut.Allocations, l.LeftOut.Bytes, l.Walked)
	waste := strconv.FormatInt(int64(l.Waste().Bytes), 10)
	if s.Few(l.Waste()) {
		waste = "null"
	}
	fmt.Fprintf(out, "  \"promotion_waste_bytes\": %s,\n  \"alive_means\": \"%s\",\n  \"background_gc\": false,\n",
		waste, pick(l.AliveKnown, "reachable at end", "not collected at end"))
}

// eachLoss calls fn with the record of each loss.
func eachLoss(s *report.Summary, columns int, fn func([]string) error) error {
	for _, l := range s.Lost {
		record := make([]string, columns)
		copy(record, []string{"loss", l.Reason, "", strconv.FormatInt(s.PID(l.Process), 10)})
		if s.HasMemory {
			record[4], record[6] = strconv.FormatInt(int64(l.Allocations), 10), strconv.FormatInt(int64(l.Bytes), 10)
		}
		if err := fn(record); err != nil {
			return err
		}
	}
	return nil
}

func pick(condition bool, yes, no string) string {
	if condition {
		return yes
	}
	return no
}
