package vsperf

import (
	"bufio"
	"encoding/xml"
	"fmt"
	"strings"
)

// attributes shortens titles to names of attributes.
var attributes = strings.NewReplacer("Inclusive", "Incl", "Exclusive", "Excl", "%", "Percent", "Process ID", "PID",
	"Function Line Number", "LineNumber", " ", "")

// attribute is the name of a column in XML.
func attribute(title string) string { return attributes.Replace(title) }

func (r *Report) writeXML(out *bufio.Writer) {
	out.WriteString(xml.Header)
	estimated := ""
	if r.table.IsEstimated() {
		estimated = ` Estimated="true"` // numbers of objects and bytes are: by samples
	}
	fmt.Fprintf(out, "<PerfReport>\n<%sSummary%s>\n", r.kind.Name, estimated)
	r.each(func() { out.WriteString("<" + r.kind.Name) }, func() {
		out.WriteString(" />\n")
	}, func(c column, s string, _ bool) {
		if s == "" {
			return
		}
		out.WriteString(" " + attribute(c.title) + `="`)
		xml.EscapeText(out, []byte(s)) // it replaces what XML cannot hold; out keeps its error
		out.WriteString(`"`)
	})
	fmt.Fprintf(out, "</%sSummary>\n</PerfReport>\n", r.kind.Name)
}
