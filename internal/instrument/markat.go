package instrument

import (
	"fmt"
	"strings"

	"github.com/clrprof/clrprof/internal/pattern"
)

// MarkAt says at which functions moments are marked: at their calls, or at their returns.
type MarkAt struct {
	Pattern pattern.Pattern
	Returns bool
}

// Where a mark is made, behind the last colon.
const (
	markBefore = "before"
	markAfter  = "after"
)

// ParseMarkAt reads PATTERN, PATTERN:before or PATTERN:after.
func ParseMarkAt(text string) (MarkAt, error) {
	name, where := text, markBefore
	if i := strings.LastIndexByte(text, ':'); i >= 0 {
		name, where = text[:i], text[i+1:]
	}
	if name == "" || where != markBefore && where != markAfter {
		return MarkAt{}, fmt.Errorf("%q: want PATTERN, PATTERN:%s or PATTERN:%s, such as Shop.Orders.Load:%s", text,
			markBefore, markAfter, markAfter)
	}
	return MarkAt{pattern.Wildcard(name), where == markAfter}, nil
}

// ParseMarks reads patterns of functions that are to be marked, and refuses what the agent could not read.
func ParseMarks(texts []string) ([]MarkAt, error) {
	var out []MarkAt
	var rules Rules
	for _, text := range texts {
		m, err := ParseMarkAt(text)
		if err != nil {
			return nil, err
		}
		out = append(out, m)
		rules.Include = append(rules.Include, m.Pattern)
	}
	return out, rules.Check()
}

// String is the pattern and where it marks, as it can be given.
func (m MarkAt) String() string {
	if m.Returns {
		return m.Pattern.String() + ":" + markAfter
	}
	return m.Pattern.String()
}

// Matches says whether functions of this name are marked: module is the file name, typ the declaring type and method
// the method, as in metadata.
func (m MarkAt) Matches(module, typ, method string) bool {
	return m.Pattern.Match(pattern.FunctionNames(module, typ, method))
}

// MarkLines are patterns for the agent: +PATTERN marks at calls, -PATTERN at returns.
func MarkLines(marks []MarkAt) []string {
	var out []string
	for _, m := range marks {
		sign := "+"
		if m.Returns {
			sign = "-"
		}
		out = append(out, sign+m.Pattern.String())
	}
	return out
}
