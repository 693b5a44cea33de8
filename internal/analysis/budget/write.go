package budget

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/clrprof/clrprof/internal/dotnet/sourceroot"
	"github.com/clrprof/clrprof/internal/printable"
)

// Formats returns the formats that Write knows: for a person, for programs, for test results, for the annotations of a
// pull request and for its summary.
func Formats() []string { return []string{"text", "json", "junit", "github", "markdown"} }

// maxAnnotations is how many annotations GitHub shows of a step; the rest is said in one.
const maxAnnotations = 9

// Around is what is written with verdicts.
type Around struct {
	Notes []string // which part of the session they are about
	Root  string   // of the repository: where files in annotations are relative to; see sourceroot.Relative
}

// Write writes verdicts in one of Formats.
func Write(w io.Writer, format string, verdicts []Verdict, around Around) error {
	only := strings.Join(around.Notes, " ")
	if format != "json" && format != "junit" { // which escape all
		only = printable.Text(only)
	}
	switch format {
	case "json":
		return writeJSON(w, verdicts, only)
	case "junit":
		return writeJUnit(w, verdicts, only)
	case "github":
		return writeAnnotations(w, verdicts, only, around.Root)
	case "markdown":
		return writeMarkdown(w, verdicts, only)
	}
	return writeText(w, verdicts, only)
}

// Count returns how many verdicts have a state.
func Count(verdicts []Verdict, state State) int {
	n := 0
	for _, v := range verdicts {
		if v.State == state {
			n++
		}
	}
	return n
}

func conclusion(verdicts []Verdict) string {
	text := fmt.Sprintf("%d held, %d broken", Count(verdicts, Held), Count(verdicts, Broken))
	if n := Count(verdicts, Unknown); n > 0 {
		text += fmt.Sprintf(", %d unknown", n)
	}
	return text
}

func writeText(w io.Writer, verdicts []Verdict, only string) error {
	if only != "" {
		if _, err := fmt.Fprintln(w, only); err != nil {
			return err
		}
	}
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, v := range verdicts {
		fmt.Fprintf(out, "%s\t%s\t%s\n", v.State, printable.Text(v.Title), printable.Text(v.Why))
	}
	if err := out.Flush(); err != nil {
		return err
	}
	if _, err := fmt.Fprintln(w, conclusion(verdicts)); err != nil {
		return err
	}
	for _, command := range commands(verdicts) {
		if _, err := fmt.Fprintf(w, "Next: %s\n", printable.Text(command)); err != nil {
			return err
		}
	}
	return nil
}

// maxCommands bounds the commands that are proposed: limits that break together mostly have one cause.
const maxCommands = 3

// commands are the commands that show more of what is broken, each once.
func commands(verdicts []Verdict) []string {
	var out []string
	for _, v := range verdicts {
		if v.Next != "" && !slices.Contains(out, v.Next) && len(out) < maxCommands {
			out = append(out, v.Next)
		}
	}
	return out
}

// verdictJSON is a verdict as programs read it.
type verdictJSON struct {
	Limit    string `json:"limit"`
	Metric   string `json:"metric"`
	State    State  `json:"state"`
	Value    *int64 `json:"value"` // null: an estimate by fewer than 10 samples
	Max      int64  `json:"max"`
	Baseline *int64 `json:"baseline"`
	Why      string `json:"why"`
	Only     string `json:"only,omitempty"`
	// Of several runs.
	Runs []int64 `json:"runs,omitempty"`
	// Where objects were sampled.
	Estimated    bool      `json:"estimated,omitempty"`
	Samples      *uint32   `json:"samples,omitempty"`
	Interval     *[2]int64 `json:"interval_95,omitempty"`
	BaseInterval *[2]int64 `json:"baseline_interval_95,omitempty"`
	BaselineRuns []int64   `json:"baseline_runs,omitempty"`
	// Of what is broken.
	Places []placeJSON `json:"places,omitempty"`
	Next   string      `json:"next,omitempty"`
}

// placeJSON is a place as programs read it.
type placeJSON struct {
	Function string   `json:"function"`
	File     string   `json:"file,omitempty"`
	Line     int64    `json:"line,omitempty"`
	Value    int64    `json:"value"`                // with a baseline: how much more
	AtLine   int64    `json:"line_value,omitempty"` // of it, at line; absent: all
	Types    []string `json:"types,omitempty"`
	By       string   `json:"by,omitempty"`
	Evidence string   `json:"evidence,omitempty"`
}

func placesJSON(list []Place) []placeJSON {
	var out []placeJSON
	for _, p := range list {
		out = append(out, placeJSON{p.Function, p.File, p.Line, p.Value, p.AtLine, p.Types, p.By, p.Evidence})
	}
	return out
}

func writeJSON(w io.Writer, verdicts []Verdict, only string) error {
	out := make([]verdictJSON, len(verdicts))
	for i, v := range verdicts {
		out[i] = verdictJSON{Limit: v.Title, Metric: v.Metric, State: v.State, Value: &verdicts[i].Value, Max: v.Limit,
			Why: v.Why, Only: only, Runs: v.Runs, BaselineRuns: v.BaseRuns, Places: placesJSON(v.Places), Next: v.Next}
		if v.HasBase {
			out[i].Baseline = &verdicts[i].Baseline
		}
		out[i].addEstimates(&v)
	}
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(out)
}

// addEstimates adds what is known of estimates, and takes away numbers of which too little is.
func (out *verdictJSON) addEstimates(v *Verdict) {
	interval := func(e *Estimate) *[2]int64 {
		if e == nil {
			return nil
		}
		return &[2]int64{e.Within.Low, e.Within.High}
	}
	if out.Estimated = v.Estimate != nil || v.BaseEstimate != nil; v.Estimate != nil {
		out.Samples = &v.Estimate.Samples
	}
	out.Interval, out.BaseInterval = interval(v.Estimate), interval(v.BaseEstimate)
	if v.Estimate.isFew() {
		out.Value = nil
	}
	if v.BaseEstimate.isFew() {
		out.Baseline = nil
	}
}

type junitSuite struct {
	XMLName  xml.Name `xml:"testsuite"`
	Name     string   `xml:"name,attr"`
	Tests    int      `xml:"tests,attr"`
	Failures int      `xml:"failures,attr"`
	Skipped  int      `xml:"skipped,attr"`
	// Properties is nil without properties: then there is no element.
	Properties *junitProperties `xml:"properties"`
	Cases      []junitCase      `xml:"testcase"`
}

type junitProperties struct {
	List []junitProperty `xml:"property"`
}

type junitProperty struct {
	Name  string `xml:"name,attr"`
	Value string `xml:"value,attr"`
}

type junitCase struct {
	Class   string        `xml:"classname,attr"`
	Name    string        `xml:"name,attr"`
	Failure *junitMessage `xml:"failure"`
	Skipped *junitMessage `xml:"skipped"`
	Output  string        `xml:"system-out,omitempty"`
}

type junitMessage struct {
	Message string `xml:"message,attr"`
	Body    string `xml:",chardata"`
}

// writeJUnit writes the XML that CI systems show as test results: a test for each limit.
func writeJUnit(w io.Writer, verdicts []Verdict, only string) error {
	suite := junitSuite{Name: "clrprof", Tests: len(verdicts), Failures: Count(verdicts, Broken),
		Skipped: Count(verdicts, Unknown)}
	if only != "" {
		suite.Properties = &junitProperties{[]junitProperty{{"only", only}}}
	}
	for _, v := range verdicts {
		c := junitCase{Class: "clrprof." + v.Metric, Name: v.Title}
		switch v.State {
		case Broken:
			c.Failure = &junitMessage{v.Why, v.body()}
		case Unknown:
			c.Skipped = &junitMessage{Message: v.Why}
		default:
			c.Output = v.Why
		}
		suite.Cases = append(suite.Cases, c)
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	encoder := xml.NewEncoder(w)
	encoder.Indent("", "  ")
	if err := encoder.Encode(suite); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

// body is what a person reads who opens a failed test: the places, and what to do next.
func (v *Verdict) body() string {
	var text strings.Builder
	for i := range v.Places {
		fmt.Fprintf(&text, "%s\n", v.Places[i].describe(v.unit))
	}
	if v.Next != "" {
		fmt.Fprintf(&text, "Next: %s\n", v.Next)
	}
	return text.String()
}

// escapeCommand makes a text safe within a workflow command: a name of the program must not begin another one.
var escapeCommand = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")

// escapeMessage does that for what stands after the properties of a command.
var escapeMessage = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")

// writeAnnotations writes workflow commands of GitHub: errors for what is broken, warnings for what is unknown.
func writeAnnotations(w io.Writer, verdicts []Verdict, only, root string) error {
	shown, hidden := 0, 0
	for _, state := range []State{Broken, Unknown} {
		for _, v := range verdicts {
			if v.State != state {
				continue
			}
			if shown++; shown > maxAnnotations {
				hidden++
				continue
			}
			command := map[State]string{Broken: "error", Unknown: "warning"}[state]
			title := escapeCommand.Replace(printable.Text("budget " + v.Title))
			why := escapeMessage.Replace(printable.Text(v.Why))
			if _, err := fmt.Fprintf(w, "::%s %stitle=%s::%s\n", command, v.annotated(root), title, why); err != nil {
				return err
			}
		}
	}
	more := ""
	if hidden > 0 {
		more = fmt.Sprintf("; %d are not listed", hidden)
	}
	if only != "" {
		more += ". " + escapeMessage.Replace(only)
	}
	_, err := fmt.Fprintf(w, "::notice title=clrprof::%s%s\n", conclusion(verdicts), more)
	return err
}

// annotated are the properties by which an annotation stands beside the code; "": it is not known where that is, or not
// in the repository.
func (v *Verdict) annotated(root string) string {
	if len(v.Places) == 0 || v.Places[0].Line == 0 {
		return ""
	}
	file, below := sourceroot.Relative(v.Places[0].File, root)
	if !below {
		return ""
	}
	return fmt.Sprintf("file=%s,line=%d,", escapeCommand.Replace(printable.Text(file)), v.Places[0].Line)
}

// writeMarkdown writes the table of a step summary, or of a comment.
func writeMarkdown(w io.Writer, verdicts []Verdict, only string) error {
	text := strings.Builder{}
	markup := strings.NewReplacer("|", "\\|", "<", "&lt;", "*", "\\*")
	escape := func(s string) string { return markup.Replace(printable.Text(s)) }
	fmt.Fprintf(&text, "### clrprof: %s\n\n", conclusion(verdicts))
	if only != "" {
		fmt.Fprintf(&text, "%s\n\n", escape(only))
	}
	text.WriteString("| | limit | value | at most | before |\n| --- | --- | ---: | ---: | ---: |\n")
	for _, v := range verdicts {
		before := ""
		if v.HasBase {
			before = v.said(v.Baseline, v.BaseEstimate)
		}
		value, most := v.said(v.Value, v.Estimate), v.Print(v.Limit)
		if v.State == Unknown && v.Limit == 0 || v.Metric == metricExit {
			value, most = v.Why, ""
		}
		fmt.Fprintf(&text, "| %s | %s | %s | %s | %s |\n", v.State, escape(v.Title), escape(value),
			most, before)
	}
	for i := range verdicts {
		writeMarkdownPlaces(&text, &verdicts[i], escape)
	}
	if next := commands(verdicts); len(next) > 0 {
		text.WriteString("\n")
		for _, command := range next {
			fmt.Fprintf(&text, "    %s\n", printable.Text(command))
		}
	}
	_, err := io.WriteString(w, text.String())
	return err
}

// writeMarkdownPlaces writes the places of what is broken.
func writeMarkdownPlaces(text *strings.Builder, v *Verdict, escape func(string) string) {
	if len(v.Places) == 0 {
		return
	}
	of := "of it"
	if v.HasBase {
		of = "of the growth"
	}
	fmt.Fprintf(text, "\n%s:\n\n| where | %s | |\n| --- | ---: | --- |\n", escape(v.Title), of)
	for i := range v.Places {
		p := &v.Places[i]
		value, what := v.Print(p.Value), strings.Join(p.Types, ", ")
		if p.By != "" {
			what = strings.TrimSpace(what + " by " + p.By)
		}
		if p.Evidence != "" {
			value, what = "", p.Evidence
		}
		where, most := p.where(v.unit)
		fmt.Fprintf(text, "| %s | %s | %s |\n", escape(where+most), value, escape(what))
	}
}
