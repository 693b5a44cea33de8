package instrument

import (
	"fmt"
	"strings"
	"unicode/utf16"

	"github.com/clrprof/clrprof/internal/pattern"
)

// The agent has room for so many patterns of such a length, in UTF-16 units.
const (
	MaxPatterns = 64
	MaxPattern  = 256
)

// Rules are the user's patterns. The zero Rules keep everything.
type Rules struct{ pattern.Rules }

// NewRules makes rules of include and exclude patterns, in which only `*` is special: the agent knows no regular
// expressions. Any text is a pattern.
func NewRules(include, exclude []string) Rules {
	return Rules{pattern.Rules{Include: compile(include), Exclude: compile(exclude)}}
}

func compile(patterns []string) []pattern.Pattern {
	var out []pattern.Pattern
	for _, p := range patterns {
		out = append(out, pattern.Wildcard(p))
	}
	return out
}

// Empty says whether everything is kept.
func (r Rules) Empty() bool { return r.IsZero() }

// Lines are the rules for the agent, each with its sign: "+pattern" or "-pattern".
func (r Rules) Lines() []string {
	var out []string
	for _, p := range r.Include {
		out = append(out, "+"+p.String())
	}
	for _, p := range r.Exclude {
		out = append(out, "-"+p.String())
	}
	return out
}

// Check refuses patterns that the agent could not read: too many, too long, empty, with a line end or a zero, and
// regular expressions.
func (r Rules) Check() error {
	lines := r.Lines()
	if len(lines) > MaxPatterns {
		return fmt.Errorf("%d patterns: at most %d are possible", len(lines), MaxPatterns)
	}
	for _, line := range lines {
		p := line[1:]
		if pattern.IsExpression(p) {
			return fmt.Errorf("%s is a regular expression, which only reports and exports take: here only * has a "+
				"meaning, any characters", p)
		}
		if n := len(utf16.Encode([]rune(p))); n == 0 || n > MaxPattern || strings.ContainsAny(p, "\n\x00") {
			return fmt.Errorf("%q is not a pattern of names: want 1 to %d characters on one line", p, MaxPattern)
		}
	}
	return nil
}

// Readable are those of the rules that the agent can read.
func (r Rules) Readable() Rules {
	one := func(patterns []pattern.Pattern) (out []pattern.Pattern) {
		for _, p := range patterns {
			if (Rules{pattern.Rules{Include: []pattern.Pattern{p}}}).Check() == nil {
				out = append(out, p)
			}
		}
		return out
	}
	r.Include, r.Exclude = one(r.Include), one(r.Exclude)
	r.Include = r.Include[:min(len(r.Include), MaxPatterns)]
	r.Exclude = r.Exclude[:min(len(r.Exclude), MaxPatterns-len(r.Include))]
	return r
}

// Keeps says whether a function is recorded as far as patterns go: module is the file name, typ the declaring type and
// method the method, as in metadata.
func (r Rules) Keeps(module, typ, method string) bool {
	return r.Empty() || r.Keep(pattern.FunctionNames(module, typ, method))
}
