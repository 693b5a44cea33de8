package instrument

import (
	"github.com/clrprof/clrprof/internal/pattern"
	"github.com/clrprof/clrprof/internal/wire"
)

// MarkAt says at which point of the calls of which functions moments are marked.
type MarkAt struct {
	Pattern pattern.Pattern
	Point   int // wire.PointBefore and so on
}

// ParseMarks reads PATTERN, or PATTERN:before and so on, and refuses what the agent could not read.
func ParseMarks(texts []string) ([]MarkAt, error) {
	var out []MarkAt
	var rules Rules
	for _, text := range texts {
		p, chosen, err := parsePoints(text, points[:])
		if err != nil {
			return nil, err
		}
		out = append(out, MarkAt{p, chosen[0]})
		rules.Include = append(rules.Include, p)
	}
	return out, rules.Check()
}

// String is the pattern and where it marks, as it can be given.
func (m MarkAt) String() string {
	if m.Point == wire.PointBefore {
		return m.Pattern.String()
	}
	return m.Pattern.String() + ":" + points[m.Point]
}

// Matches says whether functions of this name are marked: module is the file name, typ the declaring type and method
// the method, as in metadata.
func (m MarkAt) Matches(module, typ, method string) bool {
	return m.Pattern.Match(pattern.FunctionNames(module, typ, method))
}

func (m MarkAt) action() action { return action{wire.ActionMark + m.Point, m.Pattern} }
