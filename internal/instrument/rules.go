package instrument

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf16"
)

// The agent has room for so many patterns of such a length, in UTF-16 units.
const (
	MaxPatterns = 64
	MaxPattern  = 256
)

// Rules are the user's patterns. The zero Rules keep everything.
type Rules struct {
	include, exclude []pattern
}

// pattern is one pattern, as it was given and compiled.
type pattern struct {
	text  string
	match *regexp.Regexp
}

// NewRules makes rules of include and exclude patterns. Any text is a pattern.
func NewRules(include, exclude []string) Rules {
	return Rules{compile(include), compile(exclude)}
}

func compile(patterns []string) []pattern {
	var out []pattern
	for _, p := range patterns {
		quoted := strings.ReplaceAll(regexp.QuoteMeta(lower(p)), `\*`, `.*`)
		out = append(out, pattern{p, regexp.MustCompile(`(?s)^(?:` + quoted + `)$`)})
	}
	return out
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

// Empty says whether everything is kept.
func (r Rules) Empty() bool { return len(r.include) == 0 && len(r.exclude) == 0 }

// Lines are the rules for the agent, each with its sign: "+pattern" or "-pattern".
func (r Rules) Lines() []string {
	var out []string
	for _, p := range r.include {
		out = append(out, "+"+p.text)
	}
	for _, p := range r.exclude {
		out = append(out, "-"+p.text)
	}
	return out
}

// Check refuses patterns that the agent could not read: too many, too long, empty, or with a line end or a zero.
func (r Rules) Check() error {
	lines := r.Lines()
	if len(lines) > MaxPatterns {
		return fmt.Errorf("%d patterns: at most %d are possible", len(lines), MaxPatterns)
	}
	for _, line := range lines {
		p := line[1:]
		if n := len(utf16.Encode([]rune(p))); n == 0 || n > MaxPattern || strings.ContainsAny(p, "\n\x00") {
			return fmt.Errorf("%q is not a pattern of names: want 1 to %d characters on one line", p, MaxPattern)
		}
	}
	return nil
}

// Keeps says whether a function is recorded as far as patterns go: module is the file name, typ the declaring type and
// method the method, as in metadata.
func (r Rules) Keeps(module, typ, method string) bool {
	if r.Empty() {
		return true
	}
	names := Names(module, typ, method)
	return matching(r.exclude, names) == "" && (len(r.include) == 0 || matching(r.include, names) != "")
}

// extension is the length of .dll and .exe.
const extension = 4

// Names are what patterns are compared with: the module's file name with and without .dll, the namespace, the type,
// the type around nested ones, and the type with the method: Shop.dll, Shop, Shop.Data, Shop.Data.Orders/Row,
// Shop.Data.Orders, Shop.Data.Orders/Row.Load. Code without metadata has fewer, perhaps none.
func Names(module, typ, method string) []string {
	var out []string
	add := func(name string) {
		if name != "" {
			out = append(out, lower(name))
		}
	}
	add(module)
	if n := len(module) - extension; n >= 0 && module[n] == '.' {
		add(module[:n])
	}
	outer, _, _ := strings.Cut(typ, "/")
	if i := strings.LastIndexByte(outer, '.'); i >= 0 {
		add(outer[:i])
	}
	add(typ)
	if outer != typ {
		add(outer)
	}
	switch {
	case typ == "":
		add(method)
	case method != "":
		add(typ + "." + method)
	}
	return out
}

// matching returns the first pattern that matches one of the names, "" if none does.
func matching(patterns []pattern, names []string) string {
	for _, p := range patterns {
		for _, n := range names {
			if p.match.MatchString(n) {
				return p.text
			}
		}
	}
	return ""
}
