package text

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/clrprof/clrprof/internal/present/report"
	"github.com/clrprof/clrprof/internal/present/report/words"
)

// markdownText makes a text fit for a cell or a paragraph of GitHub's Markdown.
var markdownText = strings.NewReplacer("\\", "\\\\", "|", "\\|", "<", "&lt;", ">", "&gt;", "*", "\\*", "_", "\\_", "`",
	"\\`",
	"[", "\\[", "#", "\\#")

// Markdown makes a text a paragraph of Markdown.
func Markdown(s string) string { return markdownText.Replace(Printable(s)) }

// codeSpan makes a name a span of code; pipes would end the cell of a table, also there.
func codeSpan(s string) string {
	if s == "" {
		return ""
	}
	s = strings.ReplaceAll(s, "|", "\\|")
	if strings.Contains(s, "`") {
		return "`` " + s + " ``"
	}
	return "`" + s + "`"
}

// cutNote says that there are more rows, or nothing.
func (t table) cutNote() []string {
	left := t.Left()
	if left == 0 {
		return nil
	}
	all, _ := t.InAll()
	return []string{fmt.Sprintf("Cut: %d of %d rows are left out by --limit.", left, all)}
}

// writeMarkdown writes a table with the columns of text, for comments on pull requests and summaries of pipelines.
func (t table) writeMarkdown(w io.Writer, o Options) error {
	out := bufio.NewWriter(w)
	for _, note := range t.Notes {
		fmt.Fprintf(out, "%s\n\n", markdownText.Replace(Printable(words.Note(note))))
	}
	if t.Prose == report.ProseFindings || t.Prose == report.ProseLosses {
		t.writeMarkdownProse(out)
	} else {
		t.writeMarkdownGrid(out, o)
	}
	for _, said := range append(words.Notes(t.Losses), t.cutNote()...) {
		fmt.Fprintf(out, "\n**%s**\n", markdownText.Replace(Printable(said)))
	}
	return out.Flush()
}

func (t table) writeMarkdownGrid(out *bufio.Writer, o Options) {
	o.Width, o.Color = 0, false
	l := t.lay(len(t.TextColumns), o)
	line := func(cells []string) { fmt.Fprintf(out, "| %s |\n", strings.Join(cells, " | ")) }
	var titles, rule []string
	for _, c := range l.columns {
		titles = append(titles, markdownText.Replace(c.Title))
		rule = append(rule, pick(c.Kind.IsNumeric(), "---:", "---"))
	}
	line(titles)
	line(rule)
	for row, cells := range l.cells {
		made := make([]string, len(cells))
		for i, cell := range cells {
			made[i] = cell
			if l.columns[i].Kind == report.Name {
				made[i] = codeSpan(cell)
			} else if !l.columns[i].Kind.IsNumeric() {
				made[i] = markdownText.Replace(cell)
			}
			if i == l.name {
				if t.IsRest(row) {
					made[i] = markdownText.Replace(t.restText(row))
				}
				made[i] = strings.ReplaceAll(l.prefixes[row], " ", "\u00a0") + made[i] // others are folded
			}
		}
		line(made)
	}
}

// writeMarkdown writes the summary: findings first, then a table for each section.
func (s summary) writeMarkdown(w io.Writer, o Options) error {
	out := bufio.NewWriter(w)
	o.Width, o.Color = 0, false
	paragraph := func(text string) { fmt.Fprintf(out, "%s\n\n", markdownText.Replace(Printable(text))) }
	for _, note := range s.Notes {
		paragraph(words.Note(note))
	}
	for _, finding := range s.Findings {
		fmt.Fprintf(out, "- %s\n", markdownText.Replace(Printable(words.Note(finding))))
	}
	out.WriteString("\n```text\n")
	s.writeFacts(out, o)
	out.WriteString("```\n")
	for _, section := range s.Sections {
		if !s.writes(section) {
			continue
		}
		fmt.Fprintf(out, "\n### %s\n\n", markdownText.Replace(section.Title))
		table{section.Table}.writeMarkdownGrid(out, o)
	}
	out.WriteString("\n")
	for _, said := range Remarks(s.Summary) {
		paragraph(said)
	}
	for _, loss := range s.Losses {
		fmt.Fprintf(out, "**%s**\n\n", markdownText.Replace(Printable(words.Note(loss))))
	}
	return out.Flush()
}
