package collect

import (
	"regexp"
	"strings"
)

// Filter chooses whose frames are recorded. A frame that is left out does not lose its allocations: they count for
// the nearest caller that is kept, or for the pseudo function "(excluded)".
type Filter struct {
	include, exclude []*regexp.Regexp
}

// NewFilter makes a filter of patterns. A pattern is a module's file name, with or without .dll, a namespace or a
// type's full name; `*` stands for any characters. Without include patterns everything is included; an exclude
// pattern wins over an include pattern.
func NewFilter(include, exclude []string) Filter {
	return Filter{compile(include), compile(exclude)}
}

func compile(patterns []string) []*regexp.Regexp {
	var out []*regexp.Regexp
	for _, p := range patterns {
		quoted := strings.ReplaceAll(regexp.QuoteMeta(p), `\*`, `.*`)
		out = append(out, regexp.MustCompile(`(?is)^(?:`+quoted+`)$`))
	}
	return out
}

// Empty says whether everything is kept.
func (f Filter) Empty() bool { return len(f.include) == 0 && len(f.exclude) == 0 }

// Keeps says whether a function's frames are recorded: module is the file name, typ the declaring type as in metadata.
func (f Filter) Keeps(module, typ string) bool {
	if f.Empty() {
		return true
	}
	names := []string{module, strings.TrimSuffix(module, ".dll")}
	if typ != "" {
		outer, _, _ := strings.Cut(typ, "/")
		namespace := ""
		if i := strings.LastIndexByte(outer, '.'); i >= 0 {
			namespace = outer[:i]
		}
		names = append(names, typ, outer, namespace)
	}
	return !matches(f.exclude, names) && (len(f.include) == 0 || matches(f.include, names))
}

func matches(patterns []*regexp.Regexp, names []string) bool {
	for _, p := range patterns {
		for _, n := range names {
			if n != "" && p.MatchString(n) {
				return true
			}
		}
	}
	return false
}
