// Package pattern compares names of modules, namespaces, types and functions with patterns that a user writes.
//
// A pattern is one of two:
//
//   - Shop.*: it matches a whole name, without regard to the case of ASCII letters. `*` stands for any characters, dots
//     too; nothing else is special. The agent, which is C, reads these as well.
//   - /^Shop\.(Cart|Order)s?$/: a regular expression of Go's (RE2), between slashes. It matches anywhere in a name
//     unless it says ^ and $, and without regard to case unless it says (?-i).
//
// In a list of patterns one that begins with ! excludes what it matches.
package pattern

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
)

// Pattern is a pattern, compiled. The zero Pattern matches nothing.
type Pattern struct {
	text  string
	match *regexp.Regexp // nil: parts say what it matches
	parts []string       // what stands before, between and after the `*` of a name in small letters
}

// ErrNoPattern means that a text is no pattern.
var ErrNoPattern = errors.New("not a pattern")

// Compile compiles a pattern of either kind. The error is one sentence, and wraps ErrNoPattern.
func Compile(text string) (Pattern, error) {
	if text == "" || text == "//" {
		return Pattern{}, fmt.Errorf("%q is %w: it is empty", text, ErrNoPattern)
	}
	if !IsExpression(text) {
		return Wildcard(text), nil
	}
	match, err := regexp.Compile("(?i)" + text[1:len(text)-1])
	if err != nil {
		why := err.Error()
		if e := (*syntax.Error)(nil); errors.As(err, &e) {
			why = e.Code.String()
		}
		return Pattern{}, fmt.Errorf("%s is %w: as a regular expression it has %s", text, ErrNoPattern, why)
	}
	return Pattern{text: text, match: match}, nil
}

// IsExpression reports whether a text stands between slashes, as a regular expression does.
func IsExpression(text string) bool {
	return len(text) > 1 && text[0] == '/' && text[len(text)-1] == '/'
}

// Wildcard compiles a pattern in which only `*` is special. Any text is one.
func Wildcard(text string) Pattern {
	return Pattern{text: text, parts: strings.Split(lower(text), "*")}
}

// matchParts reports whether a name begins with the first of the parts, ends with the last, and has the others one
// after the other in between. It takes each where it is found first: what follows has most room then.
func matchParts(parts []string, name string) bool {
	name, begins := strings.CutPrefix(name, parts[0])
	if len(parts) == 1 || !begins {
		return begins && name == ""
	}
	last := len(parts) - 1
	name, ends := strings.CutSuffix(name, parts[last])
	for _, part := range parts[1:last] {
		_, after, found := strings.Cut(name, part)
		if !found {
			return false
		}
		name = after
	}
	return ends
}

// lower makes ASCII letters small: as the agent does, which knows no others.
func lower(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'A' && r <= 'Z' {
			r += 'a' - 'A'
		}
		return r
	}, s)
}

// String returns the pattern as it was given.
func (p Pattern) String() string { return p.text }

// Match reports whether the pattern matches one of the names.
func (p Pattern) Match(n Names) bool {
	if p.match != nil {
		return slices.ContainsFunc(n.given, p.match.MatchString)
	}
	return len(p.parts) > 0 &&
		slices.ContainsFunc(n.lower, func(name string) bool { return matchParts(p.parts, name) })
}

// End returns a pattern that means the same text at the end of a name, behind a dot: Order.Sum of Shop.Order.Sum.
// false: the pattern is not a name, as it has `*` or is a regular expression.
func (p Pattern) End() (Pattern, bool) {
	if len(p.parts) != 1 {
		return p, false
	}
	return Pattern{text: p.text, parts: []string{"", "." + p.parts[0]}}, true
}

// First returns the first of the patterns that matches one of the names, as it was given; "" if none does.
func First(patterns []Pattern, n Names) string {
	for _, p := range patterns {
		if p.Match(n) {
			return p.text
		}
	}
	return ""
}

// Rules are patterns that include and patterns that exclude. The zero Rules keep everything.
type Rules struct{ Include, Exclude []Pattern }

// CompileRules compiles patterns of which those that begin with ! exclude. The error is that of Compile.
func CompileRules(texts []string) (Rules, error) {
	var r Rules
	for _, text := range texts {
		rest, exclude := strings.CutPrefix(text, "!")
		p, err := Compile(rest)
		if err != nil {
			return Rules{}, err
		}
		if exclude {
			r.Exclude = append(r.Exclude, p)
		} else {
			r.Include = append(r.Include, p)
		}
	}
	return r, nil
}

// IsZero reports whether everything is kept.
func (r Rules) IsZero() bool { return len(r.Include) == 0 && len(r.Exclude) == 0 }

// Keep reports whether something of these names is kept: no pattern excludes it and, if there are some that include,
// one of them does.
func (r Rules) Keep(n Names) bool {
	return (len(r.Include) == 0 || First(r.Include, n) != "") && First(r.Exclude, n) == ""
}
