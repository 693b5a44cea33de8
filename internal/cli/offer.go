package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/clrprof/clrprof/internal/pattern"
	"github.com/clrprof/clrprof/internal/present/report"
	"github.com/clrprof/clrprof/internal/session"
)

// mostOffered is how many names a shell is given: it lists them all, and nobody reads more.
const mostOffered = 500

// nameLists are what a shell can be offered of a session: names of things, as they can be given on the command line.
var nameLists = map[string]func(*session.Session) ([]string, error){
	"function": func(s *session.Session) ([]string, error) {
		return namesOf(s.Functions, func(f *session.Function) string {
			return report.WithoutParameters(f.DisplayName())
		})
	},
	"type": func(s *session.Session) ([]string, error) {
		return namesOf(s.Types, func(t *session.Type) string { return t.Name })
	},
	"module": func(s *session.Session) ([]string, error) {
		return namesOf(s.Modules, func(m *session.Module) string { return m.Name })
	},
	"namespace": func(s *session.Session) ([]string, error) {
		return namesOf(s.Functions, func(f *session.Function) string {
			return pattern.Namespace(f.RawType)
		})
	},
	"process": func(s *session.Session) ([]string, error) {
		return namesOf(s.Processes, func(p *session.Process) string { return p.Name })
	},
	"thread": func(s *session.Session) ([]string, error) {
		return namesOf(s.Threads, func(t *session.Thread) string { return t.Name })
	},
	"mark": func(s *session.Session) ([]string, error) {
		return namesOf(s.Marks, func(m *session.Mark) string { return m.Name })
	},
}

// isWhole are the lists of names of which the last parts alone mean nothing.
var isWhole = map[string]bool{
	"module": true, "namespace": true, "process": true, "thread": true, "mark": true,
}

// namesOf returns the names of rows, each once and in order.
func namesOf[T any](read func() ([]T, error), name func(*T) string) ([]string, error) {
	rows, err := read()
	if err != nil {
		return nil, err
	}
	list := make([]string, 0, len(rows))
	for i := range rows {
		if n := name(&rows[i]); n != "" {
			list = append(list, n)
		}
	}
	slices.Sort(list)
	return slices.Compact(list), nil
}

// offer returns the names of things of a session that begin as it was typed, or of functions and types whose last parts
// do: AuditTrail.Append of Shop.AuditTrail.Append. A session that cannot be read has none: a shell has no place for
// errors.
func offer(path, what, typed string) ([]string, cobra.ShellCompDirective) {
	list, known := nameLists[what]
	if !known {
		return nil, cobra.ShellCompDirectiveDefault
	}
	s, err := session.Open(path)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	defer s.Close()
	all, err := list(s)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var out []string
	for _, name := range all {
		n, ok := beginning(name, typed)
		if ok && !slices.Contains(out, n) && (n == name || !isWhole[what]) {
			out = append(out, n)
		}
		if len(out) == mostOffered {
			break
		}
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}

// beginning returns the longest part of a name, up to its end, that begins as it was typed.
func beginning(name, typed string) (string, bool) {
	for rest := name; ; {
		if strings.HasPrefix(rest, typed) {
			return rest, true
		}
		dot := strings.IndexByte(rest, '.')
		if dot < 0 || strings.ContainsAny(rest[:dot], "<(") {
			return "", false
		}
		rest = rest[dot+1:]
	}
}

// offerMarks lets a shell offer the names of marks for a flag that takes a span between two: first A.., then A..B.
func offerMarks(cmd *cobra.Command, flag string) {
	// the only error is a flag that does not exist, which the tests of completion would show
	_ = cmd.RegisterFlagCompletionFunc(flag,
		func(_ *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
			if len(args) == 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			from, to, hasFrom := strings.Cut(typed, "..")
			if hasFrom {
				names, directive := offer(args[0], "mark", to)
				for i := range names {
					names[i] = from + ".." + names[i]
				}
				return names, directive
			}
			names, directive := offer(args[0], "mark", typed)
			names = slices.DeleteFunc(names, func(n string) bool { return strings.Contains(n, "..") }) // B begins there
			for i := range names {
				names[i] += ".."
			}
			return names, directive | cobra.ShellCompDirectiveNoSpace
		})
}

// offerArgument offers what a view takes as its argument.
func offerArgument(path, view, typed string) ([]string, cobra.ShellCompDirective) {
	v, err := report.FindView(view)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return offer(path, strings.ToLower(strings.Trim(v.Argument, "[]")), typed)
}

// offerNames lets a shell offer names of the session that is on the command line for flags that take them.
func offerNames(cmd *cobra.Command, flags map[string]string) {
	for flag, what := range flags {
		// the only error is a flag that does not exist, which the tests of completion would show
		_ = cmd.RegisterFlagCompletionFunc(flag,
			func(_ *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
				if len(args) == 0 {
					return nil, cobra.ShellCompDirectiveNoFileComp
				}
				return offer(args[0], what, typed)
			})
	}
}
