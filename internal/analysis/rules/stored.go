package rules

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/clrprof/clrprof/internal/analysis"
	"github.com/clrprof/clrprof/internal/session"
)

// currentEdition is the edition of the rules: what rules of another one found in a session is not what these find. It
// becomes one more whenever a session can be judged otherwise than before.
const currentEdition = 11

// Complete completes a session as analysis.CompleteWith does, and with what the rules find in it. It tells how far it
// is, in percent, and takes the sums of timings from who recorded them; both may be nil.
func Complete(w *session.Writer, tell func(percent int), counted analysis.Counted) error {
	c := analysis.Completion{Tell: tell, Counted: counted}
	c.Also = func(src *analysis.Source, to *session.Derived) error {
		if sampled, err := src.Session().IsSampled(); err != nil || sampled {
			return err // findings are of what was counted
		}
		x, err := judgeAll(src)
		if err == nil {
			to.RulesJudged, to.Findings = x.rows()
		}
		return err
	}
	return analysis.CompleteWith(w, c)
}

// judged is what all rules say of a session.
type judged struct {
	findings []Finding
	hidden   map[string]int  // by the id of a rule that was judged: findings beyond the limit
	lacks    map[data]string // as facts
}

// judgeAll looks at a session.
func judgeAll(src *analysis.Source) (*judged, error) {
	f, err := gather(src, (*facts).wanted)
	if err != nil {
		return nil, fmt.Errorf("session %s: judging by rules: %w", src.Session().Path(), err)
	}
	return f.judge(), nil
}

// rows are what is stored.
func (j *judged) rows() (rules []session.RuleJudged, findings []session.Finding) {
	for _, id := range slices.Sorted(maps.Keys(j.hidden)) {
		rules = append(rules, session.RuleJudged{Rule: id, Edition: currentEdition, Hidden: int64(j.hidden[id])})
	}
	for i := range j.findings {
		f := &j.findings[i]
		row := session.Finding{Position: int64(i) + 1, Rule: f.Rule.ID, FromFunction: f.From.Function,
			FromLine: f.From.Line, Function: f.Function, Type: f.Type, Amount: f.Amount, Calls: f.Calls,
			Waited: f.Waited, Waits: f.Waits, Text: f.Text, OfType: f.OfType}
		findings = append(findings, row)
	}
	return rules, findings
}

// stored returns what was found when the session was completed; nil: nothing is stored, or by other rules.
func stored(s *session.Session) (*judged, error) {
	rows, err := s.RulesJudged()
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	lacks, err := lacksOf(s)
	if err != nil {
		return nil, err
	}
	out := &judged{hidden: map[string]int{}, lacks: lacks}
	for _, r := range rows {
		if r.Edition != currentEdition {
			return nil, nil
		}
		out.hidden[r.Rule] = int(r.Hidden)
	}
	findings, err := s.Findings()
	if err == nil {
		err = checkReferences(s, findings)
	}
	if err != nil {
		return nil, err
	}
	for _, r := range findings {
		at := slices.IndexFunc(all, func(x Rule) bool { return x.ID == r.Rule })
		if at < 0 {
			return nil, fmt.Errorf("session %s: %w: a finding of rule %.40q", s.Path(), session.ErrCorrupt, r.Rule)
		}
		f := Finding{Rule: &all[at], From: analysis.Place{Function: r.FromFunction, Line: r.FromLine},
			Function: r.Function, Type: r.Type, Amount: r.Amount, Calls: r.Calls, Waited: r.Waited, Waits: r.Waits,
			Text: r.Text, OfType: r.OfType, says: all[at].find.says}
		if f.says == nil && f.Text == "" {
			return nil, fmt.Errorf("session %s: %w: a finding of rule %.40q has no text", s.Path(),
				session.ErrCorrupt, r.Rule)
		}
		out.findings = append(out.findings, f)
	}
	return out, nil
}

// checkReferences checks that what findings name exists: rules look it up when they say what was found.
func checkReferences(s *session.Session, findings []session.Finding) error {
	functions, err := s.Functions()
	if err != nil {
		return err
	}
	lines, err := s.Lines()
	if err != nil {
		return err
	}
	types, err := s.Types()
	if err != nil {
		return err
	}
	for _, r := range findings {
		switch {
		case !refers(functions, r.Function, func(f *session.Function) session.FunctionID { return f.ID }),
			!refers(functions, r.FromFunction, func(f *session.Function) session.FunctionID { return f.ID }),
			!refers(lines, r.FromLine, func(l *session.Line) session.LineID { return l.ID }),
			!refers(types, r.Type, func(t *session.Type) session.TypeID { return t.ID }):
			return fmt.Errorf("session %s: %w: a finding of rule %.40q names what does not exist", s.Path(),
				session.ErrCorrupt, r.Rule)
		}
	}
	return nil
}

// refers reports whether an id is 0 or that of a row; rows are in the order of their ids.
func refers[ID cmp.Ordered, Row any](rows []Row, id ID, of func(*Row) ID) bool {
	var none ID
	_, found := slices.BinarySearchFunc(rows, id, func(r Row, id ID) int { return cmp.Compare(of(&r), id) })
	return found || id == none
}

// Check compares what is stored of a session with what these rules find.
func Check(s *session.Session) ([]analysis.Violation, error) {
	have, err := stored(s)
	if err != nil || have == nil {
		return nil, err
	}
	src, err := analysis.Computed(s)
	if err != nil {
		return nil, err
	}
	want, err := judgeAll(src)
	if err != nil {
		return nil, err
	}
	rules, findings := want.rows()
	storedRules, storedFindings := have.rows()
	var out []analysis.Violation
	differs := func(table string, have, want any) {
		out = append(out, analysis.Violation{Rule: "stored",
			Detail: fmt.Sprintf("derived table %s is %+v, want %+v", table, have, want)})
	}
	if !slices.Equal(rules, storedRules) {
		differs("rule_judged", storedRules, rules)
	}
	if !slices.Equal(findings, storedFindings) {
		differs("finding", storedFindings, findings)
	}
	return out, nil
}
