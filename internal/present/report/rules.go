package report

import (
	"fmt"
	"slices"

	"github.com/clrprof/clrprof/internal/analysis"
	"github.com/clrprof/clrprof/internal/analysis/rules"
	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
)

// rulesView shows the findings of rules.
var rulesView = View{
	Name:   "rules",
	Short:  "what the program does that is expensive, and what to do instead",
	Text:   Options{Top: 40},
	Judges: true,
	places: true,
	columns: keys("rule severity evidence from source_file line_begin function object_type called instances bytes " +
		"finding_calls waited_ns title advice process_id process_name"),
	text:  keys("rule severity evidence from"),
	build: buildRules,
	timed: timedView{
		text: keys("rule severity evidence from"), both: keys("rule severity evidence from"),
	},
}

// findingRow is what a row of the view rules says beside its place.
type findingRow struct {
	*rules.Finding
	evidence string
}

// Type and Function make a context the names of findings: short ones, as in sentences.
func (c *context) Type(id session.TypeID) string { return c.shortTypeName(id) }

// Function is the name of a function without parameters.
func (c *context) Function(id session.FunctionID) string { return c.frameName(id) }

// Place is the name of a place, as in sentences.
func (c *context) Place(p analysis.Place) string { return c.placeText(p) }

// Holder is the name of the static field that retains most objects of a type from a place, and how many bytes of them.
func (c *context) Holder(from analysis.Place, id session.TypeID) (string, q.Bytes) {
	f, bytes := c.holders.Holder(from, id)
	if f == nil {
		return "", 0
	}
	return c.shortStaticName(f), bytes
}

var ruleColumns = []Column{
	{Key: "rule", Title: "Rule", Kind: Text, cell: finding(func(f *findingRow) Cell { return textCell(f.Rule.ID) })},
	{Key: "severity", Title: "Severity", Kind: Text, cell: finding(func(f *findingRow) Cell {
		return textCell(string(f.Rule.Severity))
	})},
	{Key: "evidence", Title: "Evidence", Kind: Name, cell: finding(func(f *findingRow) Cell {
		return textCell(f.evidence)
	})},
	{Key: "object_type", Title: "Type", Kind: Name, cell: when(func(r *Row) bool {
		return r.typ != 0
	}, text(func(c *context, r *Row) string { return c.typeName(r.typ) }))},
	{Key: "called", Title: "Called", Kind: Name, cell: when(func(r *Row) bool { return r.finding.Function != 0 },
		text(func(c *context, r *Row) string { return c.functionName(r.finding.Function) }))},
	{Key: "waited_ns", Title: "Waited", Kind: Duration, cell: finding(func(f *findingRow) Cell {
		return numberCell(f.Waited)
	})},
	{Key: "finding_calls", Title: "Calls", Kind: Count, cell: finding(func(f *findingRow) Cell {
		cell := numberCell(f.Calls)
		if samples := f.Amount.Sampled.Samples; samples > 0 { // they are some of the objects
			cell.Estimate = &Estimate{Samples: samples}
		}
		return cell
	})},
	{Key: "title", Title: "Title", Kind: Name, cell: finding(func(f *findingRow) Cell {
		return textCell(f.Rule.Title)
	})},
	{Key: "advice", Title: "Advice", Kind: Name, Cut: CutEnd, cell: text(func(_ *context, r *Row) string {
		if r.loss != nil {
			return r.loss.Advice()
		}
		return r.finding.Rule.Advice
	})},
}

func finding(cell func(*findingRow) Cell) func(*context, *Row) Cell {
	return func(_ *context, r *Row) Cell { return cell(r.finding) }
}

// judge returns the findings of the rules that are not disabled, as rows.
func (c *context) judge(o *Options) ([]Row, *rules.Result, error) {
	result, err := rules.JudgeBetween(c.source, o.Disabled, o.between)
	if err != nil {
		return nil, nil, err
	}
	if err := c.readLines(); err != nil {
		return nil, nil, err
	}
	if c.holders, err = c.source.Holders(); err != nil {
		return nil, nil, err
	}
	var rows []Row
	for i := range result.Findings {
		f := &result.Findings[i]
		row := Row{kind: rowFinding, typ: f.Type, function: f.From.Function, line: f.From.Line, from: f.From,
			values:  both(f.Amount),
			process: c.functions.get(f.From.Function).Process, finding: &findingRow{f, f.Evidence(c)}}
		rows = append(rows, row)
	}
	return rows, result, nil
}

func buildRules(b *builder) error {
	rows, result, err := b.judge(&b.options)
	if err != nil {
		return err
	}
	if b.options.Sort != "" {
		b.sorted(rows)
	}
	more := result.Hidden
	if top := b.options.Top; top > 0 && len(rows) > top {
		more += len(rows) - top
		rows = rows[:top]
	}
	b.table.Rows = rows
	if more > 0 {
		b.next(NoteLessWeight, Things{more, "finding"})
	}
	b.table.Notes = append(b.table.Notes, unjudged(result)...)
	if len(b.options.Disabled) > 0 {
		b.note(NoteDisabled, List(b.options.Disabled))
	}
	if len(b.options.Columns) == 0 && b.options.Sort == "" {
		b.table.Prose = ProseFindings
	}
	return nil
}

// unjudged says which rules the session cannot be judged by.
func unjudged(result *rules.Result) []Note {
	ids := map[string][]string{}
	var needs []string
	var out []Note
	for _, u := range result.Unjudged {
		if ids[u.Needs] == nil {
			needs = append(needs, u.Needs)
		}
		ids[u.Needs] = append(ids[u.Needs], u.Rule.ID)
	}
	for _, need := range needs {
		out = append(out, note(NoteNotJudged, need, List(ids[need])))
	}
	return out
}

// said is a finding in a sentence.
func (c *context) said(r *Row) string {
	if r.from == (analysis.Place{}) || r.finding.IsWhole() {
		return r.finding.evidence + "."
	}
	return c.placeText(r.from) + ": " + r.finding.evidence + "."
}

// broken are the rules that a program breaks, as a summary tells them: of each the gravest finding, in the words of the
// view rules.
type broken struct {
	rows  []Row // of the rules that are not disabled
	said  map[string]bool
	waits map[waitAt]bool // what rules about waiting found, also those that are disabled
	// how many findings of a rule are not among the rows, because it has too many
	hidden map[string]int
}

// waitAt is a place in user code, and the function that is called there and waits.
type waitAt struct {
	from     analysis.Place
	function session.FunctionID
}

// judgeAll applies the rules for a summary.
func (s *Summary) judgeAll(o Options) (*broken, error) {
	disabled := o.Disabled
	o.Disabled = nil
	rows, result, err := s.context.judge(&o)
	if err != nil {
		return nil, err
	}
	out := &broken{said: map[string]bool{}, waits: map[waitAt]bool{}, hidden: result.HiddenOf}
	for i := range rows {
		f := rows[i].finding
		if f.Rule.Waiting {
			out.waits[waitAt{f.From, f.Finding.Function}] = true
		}
		if !slices.Contains(disabled, f.Rule.ID) {
			out.rows = append(out.rows, rows[i])
		}
	}
	s.broken = len(out.rows)
	return out, nil
}

// findRules tells the gravest finding of each warning that is a part of a cost worth the room. Waits of a rule in
// several places are one finding: each is a cause of its own, and all of them together are what somebody waits for.
func (s *Summary) findRules(b *broken) {
	for i := range b.rows {
		f := b.rows[i].finding
		if f.Rule.Severity != rules.Warning || b.said[f.Rule.ID] {
			continue
		}
		part, said := s.partOf(f.Finding), s.context.said(&b.rows[i])
		if places := b.of(f.Rule); f.Rule.Waiting && len(places) > 1 {
			part, said = s.waitedIn(places, b.hidden[f.Rule.ID])
		}
		if part.Share.Float() < rules.LeastPercent {
			continue
		}
		b.said[f.Rule.ID] = true
		s.wantsTimes = s.wantsTimes || f.WantsTimes()
		s.asksWhoHolds = s.asksWhoHolds || f.Rule.AsksWhoHolds
		of := string(part.Of)
		if f.Rule.Each > 0 {
			of += ", by estimate"
		}
		s.findShare(&b.rows[i], part, FindingRule, f.Rule.Title, said, f.Rule.ID, part.Share, of)
	}
	s.unsaid = slices.ContainsFunc(b.rows, func(r Row) bool {
		return r.finding.Rule.Severity == rules.Warning && !b.said[r.finding.Rule.ID]
	})
}

// of are the findings of a rule, the gravest first.
func (b *broken) of(rule *rules.Rule) (out []*Row) {
	for i := range b.rows {
		if b.rows[i].finding.Rule == rule {
			out = append(out, &b.rows[i])
		}
	}
	return out
}

// mostWaitPlaces is how many places of waits one finding names.
const mostWaitPlaces = 6

// waitedIn is what part of the elapsed time several findings of a rule about waits are, and their places in a sentence;
// hidden is how many more the rule has.
func (s *Summary) waitedIn(places []*Row, hidden int) (Explains, string) {
	all := rules.Finding{Rule: places[0].finding.Rule}
	var named List
	for _, r := range places {
		f := r.finding
		all.Waited += f.Waited
		if len(named) < mostWaitPlaces {
			named = append(named, fmt.Sprintf("%s %s (%s)", s.context.placeText(r.from), f.Waited,
				s.context.frameName(f.Finding.Function)))
		}
	}
	of := "in all"
	if hidden > 0 {
		of = fmt.Sprintf("in the %d where it is most", len(places))
	}
	if more := len(places) + hidden - len(named); more > 0 {
		named = append(named, fmt.Sprintf("… %s more", q.Count(more)))
	}
	return s.partOf(&all), fmt.Sprintf("off the processor in %s, for %s %s: %s.",
		Things{len(places) + hidden, "place"}, all.Waited, of, named)
}

// partOf is what part of its cost a finding of a rule is.
func (s *Summary) partOf(f *rules.Finding) Explains {
	out := Explains{Of: f.Rule.Of}
	switch f.Rule.Of {
	case rules.OfBytes:
		out.Share = q.PercentOf(f.Amount.Bytes, s.Total.Bytes)
	case rules.OfAlive:
		if s.Lifetime != nil {
			out.Share = q.PercentOf(f.Amount.Bytes, s.Lifetime.Lifetime.Alive().Bytes)
		}
	case rules.OfElapsed:
		if s.Timing != nil {
			out.Share = q.PercentOf(f.Waited, s.paidElapsed())
		}
	case rules.OfDuration:
		cost := f.Waited
		if f.Rule.Each > 0 {
			cost = q.Nanoseconds(f.Calls) * f.Rule.Each
		}
		out.Share = q.PercentOf(cost, s.duration())
	case rules.OfCPU:
	}
	return out
}

// duration is how long the processes ran that are shown, without clrprof's part of the pauses.
func (s *Summary) duration() q.Nanoseconds {
	if s.Lifetime == nil {
		return s.ran()
	}
	return max(0, s.ran()-s.Lifetime.Agent)
}

// ran is how long the processes ran that are shown.
func (s *Summary) ran() q.Nanoseconds {
	sum := q.Nanoseconds(0)
	for i := range s.Processes {
		if p := &s.Processes[i]; s.context.source.Selection().HasProcess(p.ID) {
			sum += s.context.span(p.ID)
		}
	}
	return sum
}
