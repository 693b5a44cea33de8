package text

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/clrprof/clrprof/internal/present/report"
	"github.com/clrprof/clrprof/internal/present/report/words"
	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/shell"
)

// summary is a summary that is being written.
type summary struct {
	*report.Summary
	shape shape
}

// WriteSummary writes a summary: with Options.Lines in the first of its shapes that has no more lines than that, or in
// the last one.
func WriteSummary(w io.Writer, of *report.Summary, o Options) error {
	s := summary{Summary: of, shape: shape{findings: len(of.Findings)}}
	if o.Markdown {
		return s.writeMarkdown(w, o)
	}
	if o.Lines > 0 {
		s.fit(o)
	}
	out := bufio.NewWriter(w)
	s.write(out, o)
	return out.Flush()
}

// shape is how much of a summary is written.
type shape struct {
	findings int  // at most
	rows     int  // of each list, at most; 0: all that it has
	brief    bool // without what says how the session was recorded, which the view header says
}

// shapes are the ways to make a summary shorter, those that lose least first.
var shapes = []shape{{mostFindings, 0, false}, {mostFindings, 6, false}, {mostFindings, 0, true},
	{mostFindings, 6, true}, {mostFindings, 5, true}, {mostFindings, 4, true}, {mostFindings, 3, true},
	{report.SurelyRead, 3, true}, {report.SurelyRead, 2, true}}

// fit chooses the shape.
func (s *summary) fit(o Options) {
	o.Color = false // escape sequences take no room
	for _, s.shape = range shapes {
		var b bytes.Buffer
		out := bufio.NewWriter(&b)
		s.write(out, o)
		if out.Flush(); drawnLines(b.String(), o.Width) <= o.Lines {
			return
		}
	}
}

// drawnLines counts the lines of a terminal that a text takes: a line that is too long for it takes several.
func drawnLines(text string, width int) int {
	n := 0
	for line := range strings.Lines(text) {
		n++
		if width > 0 {
			n += max(0, Width(strings.TrimSuffix(line, "\n"))-1) / width
		}
	}
	return n
}

// write writes the summary in its shape.
func (s summary) write(out *bufio.Writer, o Options) {
	before := 0
	for _, note := range s.Notes {
		if !slices.Contains(afterFindings, note.Kind) {
			fmt.Fprintln(out, wrap(Printable(words.Note(note)), o.Width))
			before++
		}
	}
	if before > 0 && len(s.Findings) > 0 {
		fmt.Fprintln(out)
	}
	s.writeFindings(out, o)
	s.writeFacts(out, o)
	remarks := s.remarks()
	if hidden := s.writeSections(out, o); len(hidden) > 0 {
		remarks = append(remarks, notShown(hidden))
	}
	if len(remarks) > 0 {
		fmt.Fprintf(out, "\n%s\n", wrap(Printable(strings.Join(remarks, " ")), o.Width))
	}
	for _, loss := range s.Losses {
		fmt.Fprintln(out, o.style(styleBold, wrap(Printable(words.Note(loss)), o.Width)))
	}
	if len(s.Next) > 0 {
		fmt.Fprintf(out, "\n%s\n", o.style(styleBold, "Next"))
	}
	for _, next := range s.Next[:min(len(s.Next), mostNext)] {
		fmt.Fprintf(out, "  %s\n", Printable(s.command(next)))
	}
}

// afterFindings are the kinds of notes that a summary ends with: the first line of one should be what it is about.
var afterFindings = []report.NoteKind{report.NoteProbes, report.NoteSlept, report.NoteStolen,
	report.NoteLeftRunning}

// writeSections writes the lists and returns the titles of the columns for which there was no room.
func (s summary) writeSections(out *bufio.Writer, o Options) (hidden []string) {
	for _, section := range s.Sections {
		if !s.writes(section) {
			continue
		}
		fmt.Fprintf(out, "\n%s\n", o.style(styleBold, section.Title))
		list := section.Table
		if s.shape.rows > 0 && !section.HotPath {
			list = list.First(s.shape.rows)
		}
		for _, title := range (table{list}).writeGrid(out, o) {
			if !slices.Contains(hidden, title) {
				hidden = append(hidden, title)
			}
		}
	}
	return hidden
}

// What a screen has room for.
const (
	mostFindings = 5
	mostNext     = 3
)

// writeFindings writes what stands out, the weightiest first.
func (s summary) writeFindings(out *bufio.Writer, o Options) {
	if len(s.Findings) == 0 {
		return
	}
	fmt.Fprintln(out, o.style(styleBold, "Findings"))
	shown := s.Findings[:min(len(s.Findings), s.shape.findings)]
	for _, finding := range shown {
		fmt.Fprintln(out, indented(wrap("- "+Printable(words.Note(finding)), max(0, o.Width-2))))
	}
	if more := len(s.Findings) - len(shown); more > 0 {
		fmt.Fprintf(out, "  … %d more: clrprof report %s --top 8\n", more, shell.Quote(s.Path))
	}
	fmt.Fprintln(out)
}

// outside says what no user code did, or "".
func (s summary) outside() string {
	if s.Outside.IsZero() {
		return ""
	}
	return fmt.Sprintf("Outside of your code: %s (%s); --all-code shows it.", s.Outside.Bytes,
		q.PercentOf(s.Outside.Bytes, s.Total.Bytes))
}

// withoutSymbols says how much code has no symbols, or "".
func (s summary) withoutSymbols() string {
	if s.WithoutSymbols == 0 {
		return ""
	}
	const listed = 3
	names := strings.Join(s.NoSymbols[:min(listed, len(s.NoSymbols))], ", ")
	if more := len(s.NoSymbols) - listed; more > 0 {
		names += fmt.Sprintf(", … %s more", q.Count(more))
	}
	mine := ""
	if s.MineHasSymbols {
		mine = "; all of your code has lines"
	}
	return fmt.Sprintf("%s of %s functions have no lines, because there are no symbols of %s%s.", s.WithoutSymbols,
		s.Functions, Printable(names), mine)
}

// Remarks are the sentences that a summary ends with, but for losses.
func Remarks(of *report.Summary) []string {
	said, how := summary{Summary: of}.allRemarks()
	return append(said, how...)
}

// howRecorded are the kinds of notes that say how a session was recorded, not what it shows.
var howRecorded = []report.NoteKind{report.NoteRecorded, report.NoteWaits, report.NoteInProcesses,
	report.NoteAlive, report.NoteProbes}

// allRemarks are the sentences about what is shown, and those that say how it was recorded.
func (s summary) allRemarks() (said, how []string) {
	said, how = []string{}, []string{}
	if outside := s.outside(); outside != "" {
		said = append(said, outside)
	}
	var notes []report.Note
	if s.Lifetime != nil {
		notes = append(notes, s.Lifetime.Notes...)
	}
	if s.Timing != nil {
		notes = append(notes, s.Timing.Notes...)
	}
	for _, note := range notes {
		if slices.Contains(howRecorded, note.Kind) {
			how = append(how, words.Note(note))
		} else {
			said = append(said, words.Note(note))
		}
	}
	if without := s.withoutSymbols(); without != "" {
		how = append(how, without)
	}
	return said, how
}

// remarks are Remarks, and the notes that are of less weight than findings.
func (s summary) remarks() []string {
	said, how := s.allRemarks()
	for _, note := range s.Notes {
		switch {
		case note.Kind == report.NoteProbes:
			how = append(how, words.Note(note))
		case slices.Contains(afterFindings, note.Kind):
			said = append(said, words.Note(note))
		}
	}
	if s.shape.brief && len(how) > 0 {
		how = []string{fmt.Sprintf("How it was recorded: clrprof report %s header.", shell.Quote(s.Path))}
	}
	return append(said, how...)
}

// command is the command that tells more.
func (s summary) command(next report.Next) string {
	path := shell.Quote(s.Path)
	switch next.Kind {
	case report.NextPage:
		return "clrprof view " + path + "   # in a browser"
	case report.NextTimes:
		return strings.TrimSpace("clrprof run --time -- " + shell.Line(s.Command))
	case report.NextSnapshot:
		return strings.TrimSpace("clrprof run --snapshot end -- "+shell.Line(s.Command)) +
			"   # what holds what is alive"
	case report.NextView:
	}
	out := "clrprof report " + path + " " + next.View
	if next.Argument != "" {
		out += " " + shell.Quote(next.Argument)
	}
	if next.Logical {
		out += " --async logical"
	}
	if next.Findings > 0 {
		out += "   # " + counted(next.Findings, "finding")
	}
	return out
}

// indented puts the lines of a paragraph below its first word.
func indented(s string) string { return strings.ReplaceAll(s, "\n", "\n  ") }

// writes reports whether a person sees a section.
func (s summary) writes(x report.Section) bool { return x.Shown && !x.Single && len(x.Table.Rows) > 0 }

// Facts that say how a session was recorded.
const (
	factProbes  = "probes"
	factApp     = "app time"
	factLeftOut = "left out"
)

// factIndent is where the values of facts begin.
const factIndent = 11

func (s summary) writeFacts(out *bufio.Writer, o Options) {
	for _, f := range Facts(s.Summary) {
		if s.shape.brief && (f[0] == factProbes || f[0] == factLeftOut || f[0] == factApp) {
			continue // the view header has it
		}
		text := wrap(Printable(f[1]), max(0, o.Width-factIndent))
		fmt.Fprintf(out, "%s%s\n", o.style(styleDim, pad(f[0], factIndent, false)),
			strings.ReplaceAll(text, "\n", "\n"+strings.Repeat(" ", factIndent)))
	}
}

// Facts are the lines that a summary begins with: what each is about, and what is said of it.
func Facts(of *report.Summary) [][2]string {
	var out [][2]string
	summary{Summary: of}.facts(func(key, format string, args ...any) {
		out = append(out, [2]string{key, fmt.Sprintf(format, args...)})
	})
	return out
}

// threads are how many threads are counted, and for what: of the others the session knows nothing.
func (s summary) threads() string { return counted(s.Threads, "thread") + " that " + s.Did }

// facts calls fact for each line that a summary begins with.
func (s summary) facts(fact func(key, format string, args ...any)) {
	fact("session", "%s", s.Path)
	if command := shell.Line(s.Command); command != "" {
		fact("command", "%s", command)
	}
	if s.Duration > 0 {
		fact("duration", "%s", s.Duration)
	}
	if code := s.Info[session.KeyExitCode]; code != "" && code != "0" {
		fact("exit code", "%s of the command", code)
	}
	if n := len(s.Processes); n == 1 {
		p := &s.Processes[0]
		fact("process", "%d %s, runtime %s, %s, %s", p.PID, p.Name, p.RuntimeVersion, s.threads(), p.EndState)
	} else {
		fact("processes", "%d, with %s", n, s.threads())
	}
	if code := s.userCode(); code != "" {
		fact("your code", "%s", code)
	}
	if c := s.Compiled; c.IsSaid() {
		again := ""
		if c.Again > 0 {
			again = fmt.Sprintf("; %s once more in the background, %s", c.Again, c.AgainTook)
		}
		fact("compiled", "%s while it ran, %s CPU in %s%s", counted(c.Methods, "method"), c.Took, c.Ran, again)
	}
	s.timeFacts(fact)
	if s.HasMemory {
		s.allocatedFact(fact)
	}
	s.lifetimeFacts(fact)
	s.lossFacts(fact)
}

// allocatedFact says how much was allocated.
func (s summary) allocatedFact(fact func(key, format string, args ...any)) {
	if s.Few(s.Total) {
		fact("allocated", fewSamples)
		return
	}
	exactly := bytesExactly(s.Total.Bytes)
	if s.Estimated {
		exactly = s.Total.Bytes.String()
	}
	fact("allocated", "%s%s, %s%s", s.about(), counted(s.Total.Allocations, "object"), s.about(), exactly)
}

// about is what stands before numbers that are estimates if any are.
func (s summary) about() string { return pick(s.Estimated, aboutSign, "") }

// lossFacts says how much is lost.
func (s summary) lossFacts(fact func(key, format string, args ...any)) {
	var lost q.Amount
	events, uncounted := q.Count(0), false
	for _, l := range s.Lost {
		if l.IsMissing() {
			lost, events, uncounted = lost.Add(l.Amount), events+l.Events, uncounted || l.IsUncounted()
		}
	}
	switch {
	case len(s.Losses) == 0:
		fact("losses", "0")
	case events == 0:
		fact("losses", "none; %s (see the end)", s.inexact())
	case uncounted:
		fact("losses", "an unknown number of allocations (see the end)")
	default:
		fact("losses", "%s, %s in %s (see the end)", counted(lost.Allocations, "allocation"), bytesExactly(lost.Bytes),
			counted(events, "event"))
	}
}

// mostInexact bounds how many reasons the line of losses names: the end has all of them.
const mostInexact = 2

// inexact says which values are not exact, where nothing is missing.
func (s summary) inexact() string {
	var said, values []string
	for _, n := range s.Losses {
		switch n.Kind {
		case report.NoteFolded:
			said = append(said, fmt.Sprintf("%s of the calls have no path in the call tree, functions are exact", n.Facts[1]))
		case report.NoteLoss:
			touches, _, _ := strings.Cut(n.Facts[0].(session.Loss).Touches(), ":")
			touches, _, _ = strings.Cut(touches, ";")
			touches, _, _ = strings.Cut(touches, " that ")
			if !slices.Contains(values, touches) {
				values = append(values, touches)
			}
		}
	}
	if more := len(values) - mostInexact; more > 0 {
		values = append(values[:mostInexact], fmt.Sprintf("%d more", more))
	}
	if len(values) > 0 {
		said = append(said, "inexact: "+strings.Join(values, "; "))
	}
	return strings.Join(said, "; ")
}

// bytesExactly prints small numbers once and large ones with a unit and in full.
func bytesExactly(b q.Bytes) string {
	if b < 1024 && b > -1024 {
		return b.String()
	}
	return fmt.Sprintf("%s (%s)", b, b.Exact())
}
