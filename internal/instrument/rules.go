package instrument

import (
	"regexp"
	"strings"
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
		quoted := strings.ReplaceAll(regexp.QuoteMeta(p), `\*`, `.*`)
		out = append(out, pattern{p, regexp.MustCompile(`(?is)^(?:` + quoted + `)$`)})
	}
	return out
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

// Keeps says whether a function is recorded as far as patterns go: module is the file name, typ the declaring type and
// method the method, as in metadata.
func (r Rules) Keeps(module, typ, method string) bool {
	if r.Empty() {
		return true
	}
	names := Names(module, typ, method)
	return matching(r.exclude, names) == "" && (len(r.include) == 0 || matching(r.include, names) != "")
}

// Names are what patterns are compared with: the module's file name with and without .dll, the namespace, the type,
// the type around nested ones, and the type with the method: Shop.dll, Shop, Shop.Data, Shop.Data.Orders/Row,
// Shop.Data.Orders, Shop.Data.Orders/Row.Load. Code without metadata has fewer, perhaps none.
func Names(module, typ, method string) []string {
	var out []string
	add := func(name string) {
		if name != "" {
			out = append(out, name)
		}
	}
	add(module)
	add(strings.TrimSuffix(module, ".dll"))
	if typ == "" {
		return out
	}
	outer, _, _ := strings.Cut(typ, "/")
	if i := strings.LastIndexByte(outer, '.'); i >= 0 {
		add(outer[:i])
	}
	add(typ)
	add(outer)
	if method != "" {
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
