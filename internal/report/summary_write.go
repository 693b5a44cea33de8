package report

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"

	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
)

// Write writes the summary: JSON as one object with a list for each section, CSV and
// TSV as one table with the section in the first column.
func (s *Summary) Write(w io.Writer, f Format, o TextOptions) error {
	switch f {
	case FormatJSON:
		return s.writeJSON(w)
	case FormatCSV, FormatTSV:
		return writeSeparated(w, f, s.recordKeys(), s.eachRecord)
	case FormatMarkdown:
		return s.writeMarkdown(w, o)
	}
	return s.writeText(w, o)
}

func (s *Summary) writeText(w io.Writer, o TextOptions) error {
	out := bufio.NewWriter(w)
	for _, note := range s.Notes {
		fmt.Fprintln(out, wrap(Printable(note), o.Width))
	}
	s.writeFacts(out, o)
	if len(s.Findings) > 0 {
		fmt.Fprintf(out, "\n%s\n", o.style(styleBold, "Findings"))
		for _, finding := range s.Findings {
			fmt.Fprintln(out, indented(wrap("- "+Printable(finding), max(0, o.Width-2))))
		}
	}
	for _, section := range s.Sections {
		if !s.shows(section) {
			continue
		}
		if section.Key == "processes" && len(s.context.processes.list) < 2 || len(section.Table.Rows) == 0 {
			continue
		}
		fmt.Fprintf(out, "\n%s\n", o.style(styleBold, section.Title))
		section.Table.writeGrid(out, o)
	}
	for _, said := range []string{s.outside(), s.withoutSymbols()} {
		if said != "" {
			fmt.Fprintf(out, "\n%s\n", wrap(said, o.Width))
		}
	}
	if s.Lifetime != nil {
		writeSentences(out, s.Lifetime.Notes, o.Width)
	}
	if s.Timing != nil {
		writeSentences(out, s.Timing.Notes, o.Width)
	}
	for _, loss := range s.losses {
		fmt.Fprintln(out, o.style(styleBold, wrap(Printable(loss), o.Width)))
	}
	fmt.Fprintf(out, "\n%s\n", o.style(styleBold, "Next"))
	for _, next := range s.Next {
		fmt.Fprintf(out, "  %s\n", Printable(next))
	}
	return out.Flush()
}

// outside says what no user code did, or "".
func (s *Summary) outside() string {
	if s.allCode || s.Outside.IsZero() {
		return ""
	}
	return fmt.Sprintf("Outside of your code: %s (%s); --all-code shows it.", s.Outside.Bytes, q.PercentOf(s.Outside.Bytes, s.Total.Bytes))
}

// withoutSymbols says how much code has no symbols, or "".
func (s *Summary) withoutSymbols() string {
	if s.WithoutSymbols == 0 {
		return ""
	}
	const listed = 3
	names := strings.Join(s.NoSymbols[:min(listed, len(s.NoSymbols))], ", ")
	if more := len(s.NoSymbols) - listed; more > 0 {
		names += fmt.Sprintf(", … %s more", q.Count(more))
	}
	return fmt.Sprintf("%s of %s functions have no symbols, so no lines (%s).", s.WithoutSymbols, s.Functions, Printable(names))
}

// remarks are the sentences that a summary ends with, but for losses.
func (s *Summary) remarks() []string {
	out := []string{}
	for _, said := range []string{s.outside(), s.withoutSymbols()} {
		if said != "" {
			out = append(out, said)
		}
	}
	if s.Lifetime != nil {
		out = append(out, s.Lifetime.Notes...)
	}
	if s.Timing != nil {
		out = append(out, s.Timing.Notes...)
	}
	return out
}

// indented puts the lines of a paragraph below its first word.
func indented(s string) string { return strings.ReplaceAll(s, "\n", "\n  ") }

// shows reports whether text shows a section.
func (s *Summary) shows(section Section) bool {
	return !(s.allCode && section.mine || !s.allCode && section.all)
}

// writeSentences writes a paragraph, each sentence on lines of its own.
func writeSentences(out *bufio.Writer, sentences []string, width int) {
	fmt.Fprintln(out)
	for _, s := range sentences {
		fmt.Fprintln(out, wrap(s, width))
	}
}

// factIndent is where the values of facts begin.
const factIndent = 11

func (s *Summary) writeFacts(out *bufio.Writer, o TextOptions) {
	s.facts(func(key, format string, args ...any) {
		text := wrap(Printable(fmt.Sprintf(format, args...)), max(0, o.Width-factIndent))
		fmt.Fprintf(out, "%s%s\n", o.style(styleDim, pad(key, factIndent, false)), strings.ReplaceAll(text, "\n", "\n"+strings.Repeat(" ", factIndent)))
	})
}

// facts calls fact for each line that a summary begins with.
func (s *Summary) facts(fact func(key, format string, args ...any)) {
	fact("session", "%s", s.context.source.Session().Path())
	if command := s.command(); command != "" {
		fact("command", "%s", command)
	}
	if d := s.duration(); d > 0 {
		fact("duration", "%s", d)
	}
	if code := s.Info[session.KeyExitCode]; code != "" && code != "0" {
		fact("exit code", "%s of the command", code)
	}
	if n := len(s.context.processes.list); n == 1 {
		p := s.context.processes.list[0]
		fact("process", "%d %s, runtime %s, %s, %s", p.PID, p.Name, p.RuntimeVersion, counted(s.context.threadCount(0), "thread"), p.EndState)
	} else {
		fact("processes", "%d, with %s", n, counted(s.context.threadCount(0), "thread"))
	}
	if code := s.userModules(); code != "" {
		fact("your code", "%s", code)
	}
	s.timeFacts(fact)
	if s.context.hasMemory() {
		fact("allocated", "%s, %s", counted(s.Total.Allocations, "object"), bytesExactly(s.Total.Bytes))
	}
	s.lifetimeFacts(fact)
	var lost q.Amount
	events, uncounted := q.Count(0), false
	for _, l := range s.Losses {
		if l.IsMissing() {
			lost, events, uncounted = lost.Add(l.Amount), events+l.Events, uncounted || l.IsUncounted()
		}
	}
	switch {
	case len(s.losses) == 0:
		fact("losses", "0")
	case events == 0:
		fact("losses", "0, but not everything is exact (see the end)")
	case uncounted:
		fact("losses", "an unknown number of allocations (see the end)")
	default:
		fact("losses", "%s, %s in %s (see the end)", counted(lost.Allocations, "allocation"), bytesExactly(lost.Bytes), counted(events, "event"))
	}
}

// bytesExactly prints small numbers once and large ones with a unit and in full.
func bytesExactly(b q.Bytes) string {
	if b < 1024 && b > -1024 {
		return b.String()
	}
	return fmt.Sprintf("%s (%s)", b, b.Exact())
}

// writeJSON writes one object.
func (s *Summary) writeJSON(w io.Writer) error {
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, "{\n  \"session\": %s,\n  \"command\": %s,\n", appendString(nil, s.context.source.Session().Path()), appendString(nil, s.command()))
	fmt.Fprintf(out, "  \"duration_ns\": %d,\n", s.duration())
	if code, err := strconv.Atoi(s.Info[session.KeyExitCode]); err == nil {
		fmt.Fprintf(out, "  \"exit_code\": %d,\n", code)
	}
	if s.context.hasMemory() {
		fmt.Fprintf(out, "  \"allocations\": %d,\n  \"bytes\": %d,\n", s.Total.Allocations, s.Total.Bytes)
	}
	s.timeJSON(out)
	if err := s.lifetimeJSON(out); err != nil {
		return err
	}
	fmt.Fprintf(out, "  \"functions\": %d,\n  \"functions_without_symbols\": %d,\n  \"losses\": [", s.Functions, s.WithoutSymbols)
	for i, l := range s.Losses {
		fmt.Fprintf(out, "%s\n    {\"process_id\": %d, \"reason\": %s, \"events\": %d, \"allocations\": %d, \"bytes\": %d, \"missing\": %t}",
			pick(i > 0, ",", ""), s.context.processes.get(l.Process).PID, appendString(nil, l.Reason), l.Events, l.Allocations, l.Bytes, l.IsMissing())
	}
	out.WriteString(pick(len(s.Losses) > 0, "\n  ]", "]"))
	out.WriteString(",\n  \"findings\": [")
	for i, finding := range s.Findings {
		fmt.Fprintf(out, "%s\n    %s", pick(i > 0, ",", ""), appendString(nil, finding))
	}
	out.WriteString(pick(len(s.Findings) > 0, "\n  ]", "]"))
	for _, section := range s.Sections {
		fmt.Fprintf(out, ",\n  %s: ", appendString(nil, section.Key))
		if err := section.Table.writeJSON(out, "  "); err != nil {
			return err
		}
	}
	out.WriteString("\n}\n")
	return out.Flush()
}

// The columns of a summary as CSV. Functions have inclusive values in
// the section of inclusive bytes and in the hot path, exclusive ones in that of exclusive bytes.
const (
	recordIdentity = "section name module process_id "
	recordMemory   = "allocations allocations_percent bytes bytes_percent "
	recordTime     = "calls elapsed_inclusive elapsed_inclusive_percent elapsed_exclusive elapsed_exclusive_percent " +
		"application_inclusive application_inclusive_percent application_exclusive application_exclusive_percent"
)

func (s *Summary) recordKeys() []string {
	list := recordIdentity
	if s.context.hasMemory() {
		list += recordMemory
	}
	if s.context.hasTime() {
		list += recordTime
	}
	return keys(list)
}

// record prints the columns of values of a row.
func (s *Summary) record(r *Row) []string {
	var out []string
	for _, key := range s.recordKeys()[len(keys(recordIdentity)):] {
		c := allColumns[key]
		out = append(out, machineText(c, c.cell(s.context, r)))
	}
	return out
}

func (s *Summary) eachRecord(fn func([]string) error) error {
	total := Row{kind: rowFact, values: both(s.Total)}
	if s.Timing != nil {
		total.time = place(s.Timing.Total)
	}
	if err := fn(append([]string{"total", "", "", ""}, s.record(&total)...)); err != nil {
		return err
	}
	for _, section := range s.Sections {
		for i := range section.Table.Rows {
			row := section.Table.Rows[i]
			if row.kind == rowRest {
				continue
			}
			if section.Key == "functions_by_exclusive_bytes" {
				row.values.Inclusive = row.values.Exclusive
			}
			record := []string{section.Key}
			for _, key := range keys(recordIdentity)[1:] {
				c := allColumns[key]
				record = append(record, machineText(c, c.cell(s.context, &row)))
			}
			if err := fn(append(record, s.record(&row)...)); err != nil {
				return err
			}
		}
	}
	return s.eachLoss(fn)
}

func (s *Summary) eachLoss(fn func([]string) error) error {
	for _, l := range s.Losses {
		record := make([]string, len(s.recordKeys()))
		copy(record, []string{"loss", l.Reason, "", strconv.FormatInt(s.context.processes.get(l.Process).PID, 10)})
		if s.context.hasMemory() {
			record[4], record[6] = strconv.FormatInt(int64(l.Allocations), 10), strconv.FormatInt(int64(l.Bytes), 10)
		}
		if err := fn(record); err != nil {
			return err
		}
	}
	return nil
}
