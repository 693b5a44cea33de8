package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/clrprof/clrprof/internal/analysis"
	"github.com/clrprof/clrprof/internal/analysis/rules"
)

// ComparedViews returns the names of the views that can be compared, the default first.
func ComparedViews() []string { return append(analysis.ComparedViews(), analysis.ComparedRules) }

// Compare is analysis.Compare, and compares the findings of rules, too.
func Compare(from, to []*analysis.Source, view, column string) (*analysis.Comparison, error) {
	if view == analysis.ComparedRules {
		return compareRules(from, to, column)
	}
	return analysis.Compare(from, to, view, column)
}

// ruleColumn is a column of findings that can be compared.
type ruleColumn struct {
	key, unit string
	of        func(*rules.Finding) int64
	objects   bool // it is of objects, which may be sampled
}

var comparedRuleColumns = []ruleColumn{
	{"findings", "count", func(*rules.Finding) int64 { return 1 }, false},
	{"bytes", "bytes", func(f *rules.Finding) int64 { return int64(f.Amount.Bytes) }, true},
	{"instances", "count", func(f *rules.Finding) int64 { return int64(f.Amount.Allocations) }, true},
	{"calls", "count", func(f *rules.Finding) int64 { return int64(f.Calls) }, false},
	{"waited_ns", "nanoseconds", func(f *rules.Finding) int64 { return int64(f.Waited) }, false},
}

// compareRules compares the findings of those rules that all sessions can be judged by: one that is missing because its
// data was not recorded is not gone.
func compareRules(from, to []*analysis.Source, column string) (*analysis.Comparison, error) {
	var of *ruleColumn
	var names []string
	for i := range comparedRuleColumns {
		c := &comparedRuleColumns[i]
		if names = append(names, c.key); c.key == cmp.Or(column, comparedRuleColumns[0].key) {
			of = c
		}
	}
	if of == nil {
		return nil, Unknown("column", column, names)
	}
	var results []*rules.Result
	unjudged := map[string]bool{}
	for _, src := range slices.Concat(from, to) {
		result, err := rules.Judge(src, nil)
		if err != nil {
			return nil, err
		}
		for _, u := range result.Unjudged {
			unjudged[u.Rule.ID] = true
		}
		results = append(results, result)
	}
	var sides [2][][]analysis.ComparedRow
	hidden := 0
	for i, src := range slices.Concat(from, to) {
		rows, err := comparedFindings(src, results[i], unjudged, of)
		if err != nil {
			return nil, err
		}
		hidden += results[i].Hidden
		side := 0
		if i >= len(from) {
			side = 1
		}
		sides[side] = append(sides[side], rows)
	}
	out := analysis.CompareRows(analysis.ComparedRules, of.key, of.unit, sides)
	var left []string
	for _, id := range rules.IDs() {
		if unjudged[id] {
			left = append(left, id)
		}
	}
	if len(left) > 0 {
		out.Notes = append(out.Notes, fmt.Sprintf("Not compared, because a session cannot be judged by them: %s.",
			strings.Join(left, ", ")))
	}
	if hidden > 0 {
		out.Notes = append(out.Notes, fmt.Sprintf("Of each rule the largest findings of a session are compared, "+
			"without %s.", counted(hidden, "smaller one")))
	}
	return out, nil
}

// comparedFindings are the rows of a session: a rule, and the function that breaks it with what that calls. Lines move,
// so they are no part of the key.
func comparedFindings(src *analysis.Source, result *rules.Result, without map[string]bool, of *ruleColumn,
) ([]analysis.ComparedRow, error) {
	names, err := rules.ReadNames(src)
	if err != nil {
		return nil, err
	}
	var out []analysis.ComparedRow
	for i := range result.Findings {
		f := &result.Findings[i]
		if without[f.Rule.ID] {
			continue
		}
		row := analysis.ComparedRow{Value: of.of(f), Change: analysis.Change{Name: f.Rule.ID + ": the whole program"}}
		if of.objects {
			row.Sampled = f.Amount.Sampled
		}
		if function := names.FunctionRow(f.From.Function); function != nil {
			row.Name = f.Rule.ID + ": " + function.DisplayName()
			row.File = names.File(function.File)
			if at, _ := names.Position(f.From); at != nil {
				row.Line = at.LineBegin
			}
		}
		if called := names.FunctionRow(f.Function); called != nil {
			row.Name += " by " + called.DisplayName()
		}
		row.Key = row.Name
		out = append(out, row)
	}
	return out, nil
}
