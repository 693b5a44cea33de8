package text

import (
	"bufio"
	"fmt"
)

// writeFindings writes findings as prose: those of a rule together, with what to do.
func (t table) writeFindings(out *bufio.Writer, o Options) {
	if len(t.Rows) == 0 {
		fmt.Fprintln(out, "No rule is broken.")
		return
	}
	sameRule := func(i, k int) bool {
		a, _ := t.Broken(i)
		b, _ := t.Broken(k)
		return a == b
	}
	for i := range t.Rows {
		rule, said := t.Broken(i)
		if i == 0 || !sameRule(i-1, i) {
			if i > 0 {
				fmt.Fprintln(out)
			}
			fmt.Fprintln(out,
				o.style(styleBold, wrap(fmt.Sprintf("%s (%s, %s)", rule.Title, rule.ID, rule.Severity), o.Width)))
		}
		fmt.Fprintln(out, "  "+indented(indented(wrap("- "+Printable(said), max(0, o.Width-4)))))
		if i+1 == len(t.Rows) || !sameRule(i, i+1) {
			fmt.Fprintln(out, "  "+indented(wrap(rule.Advice, max(0, o.Width-2))))
		}
	}
}
