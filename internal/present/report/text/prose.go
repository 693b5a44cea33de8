package text

import (
	"bufio"
	"fmt"
	"strings"

	"github.com/clrprof/clrprof/internal/present/report"
	"github.com/clrprof/clrprof/internal/present/report/words"
)

// paragraph is what is said of rows that belong together.
type paragraph struct {
	title string
	said  []string // of each row
	after []string // of all of them
}

// paragraphs says the rows of a table in prose, or in one sentence that there are none.
func (t table) paragraphs() (list []paragraph, none string) {
	if t.Prose == report.ProseLosses {
		return t.losses(), "Nothing is missing or inexact."
	}
	return t.findings(), "No rule is broken."
}

// findings are those of a rule together, with what to do.
func (t table) findings() []paragraph {
	var out []paragraph
	for i := range t.Rows {
		rule, said := t.Broken(i)
		if i > 0 {
			if before, _ := t.Broken(i - 1); before == rule {
				last := &out[len(out)-1]
				last.said = append(last.said, said)
				continue
			}
		}
		out = append(out, paragraph{title: fmt.Sprintf("%s (%s, %s)", rule.Title, rule.ID, rule.Severity),
			said: []string{said}, after: []string{rule.Advice}})
	}
	return out
}

// losses are those of a reason together, with what they mean.
func (t table) losses() []paragraph {
	var out []paragraph
	for i := range t.Rows {
		l, pid, process := t.Loss(i)
		said := words.LossAmount(l)
		if l.Process != 0 {
			said += fmt.Sprintf(", in process %d %s", pid, process)
		}
		if i > 0 {
			if before, _, _ := t.Loss(i - 1); before.Reason == l.Reason {
				last := &out[len(out)-1]
				last.said = append(last.said, said)
				continue
			}
		}
		out = append(out, paragraph{title: fmt.Sprintf("%s (%s)", l.Reason, pick(l.IsMissing(), "missing", "inexact")),
			said: []string{said},
			after: []string{"Why: " + l.Meaning() + ".", "Touches: " + l.Touches() + ".",
				"What to do: " + l.Advice()}})
	}
	return out
}

// writeProse writes the rows as paragraphs.
func (t table) writeProse(out *bufio.Writer, o Options) {
	list, none := t.paragraphs()
	if len(list) == 0 {
		fmt.Fprintln(out, none)
		return
	}
	for i, p := range list {
		if i > 0 {
			fmt.Fprintln(out)
		}
		fmt.Fprintln(out, o.style(styleBold, wrap(Printable(p.title), o.Width)))
		for _, said := range p.said {
			fmt.Fprintln(out, "  "+indented(indented(wrap("- "+Printable(said), max(0, o.Width-4)))))
		}
		for _, said := range p.after {
			fmt.Fprintln(out, "  "+indented(wrap(said, max(0, o.Width-2))))
		}
	}
}

// writeMarkdownProse writes the rows as paragraphs and lists of Markdown.
func (t table) writeMarkdownProse(out *bufio.Writer) {
	list, none := t.paragraphs()
	if len(list) == 0 {
		fmt.Fprintln(out, none)
		return
	}
	for i, p := range list {
		if i > 0 {
			fmt.Fprintln(out)
		}
		fmt.Fprintf(out, "**%s**\n\n", Markdown(p.title))
		for _, said := range p.said {
			fmt.Fprintf(out, "- %s\n", Markdown(said))
		}
		for _, said := range p.after {
			fmt.Fprintf(out, "\n%s\n", Markdown(said))
		}
	}
}

// writeFacts writes keys, and beside each what is said of it, of which nothing is cut.
func (t table) writeFacts(out *bufio.Writer, o Options) {
	key, value := t.Columns[0], t.Columns[1]
	indent := Width(key.Title)
	for row := range t.Rows {
		indent = max(indent, Width(t.text(row, key, o.Unit)))
	}
	indent = min(indent+len(gap), o.Width/2)
	line := func(name, said, style string) {
		said = wrap(said, max(0, o.Width-indent))
		fmt.Fprintf(out, "%s%s\n", o.style(style, pad(name, indent, false)),
			o.style(style, strings.ReplaceAll(said, "\n", "\n"+strings.Repeat(" ", indent))))
	}
	line(key.Title, value.Title, styleBold)
	for row := range t.Rows {
		line(t.text(row, key, o.Unit), t.text(row, value, o.Unit), "")
	}
}
