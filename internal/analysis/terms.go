package analysis

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/clrprof/clrprof/internal/dotnet/usercode"
	"github.com/clrprof/clrprof/internal/pattern"
	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
)

// Terms say a Selection in a user's words, which mean the same in every session. Lists hold patterns (see package
// pattern), of which those that begin with ! exclude; processes and threads can also be numbers: that of the
// operating system, or #N for the unique id.
type Terms struct {
	From, To   q.Nanoseconds
	GCs        GCSpan
	Processes  []string
	Threads    []string
	Modules    []string // of the function that allocated or took the time
	Namespaces []string // likewise
	Functions  []string // likewise: any name that run --include compares, and the one that is shown, or how that ends
	Types      []string // of what was allocated: its name, or how that ends
	Focus      []string // functions that were on the stack
	Hide       []string // functions that are left out of stacks
	Filter     string   // clauses put together with and, or, not and parentheses: see parseFilter
	FilterName string   // of the file that it is in; "": none
	Marks      string   // A..B of the marks that From and To were made of; "": they were not
	MayMiss    bool     // patterns of functions and types may match nothing
	MyCode     bool     // stacks are shown with user code and what it calls alone
	// CodeLevels is how much framework code MyCode shows; nil: DefaultCodeLevels.
	CodeLevels *CodeLevels

	fromMarks, toMarks []string // marks that the filter wants what is selected to be between
}

// TermError says that a term means nothing in the session, or more than one thing.
type TermError struct {
	What, Text string
	Names      []string // of all there are, or, if it is Ambiguous, of those that it could mean
	Ambiguous  bool
}

// Error returns one line.
func (e *TermError) Error() string {
	if e.Ambiguous {
		return fmt.Sprintf("%s %s is ambiguous: %s", e.What, e.Text, strings.Join(e.Names, ", "))
	}
	return fmt.Sprintf("no %s is %s", e.What, e.Text)
}

// namedTerms are terms of one kind that are names.
type namedTerms struct {
	texts           []string
	include, others string // how to say what is included, and what is excluded
}

func (t Terms) named() []namedTerms {
	return []namedTerms{
		{t.Modules, "modules ", "modules other than "}, {t.Namespaces, "namespaces ", "namespaces other than "},
		{t.Functions, "functions ", "functions other than "}, {t.Types, "types ", "types other than "},
		{t.Focus, "stacks with ", "stacks without "},
	}
}

func (k namedTerms) words() []string {
	var include, exclude, out []string
	for _, text := range k.texts {
		if rest, not := strings.CutPrefix(text, "!"); not {
			exclude = append(exclude, rest)
		} else {
			include = append(include, text)
		}
	}
	if len(include) > 0 {
		out = append(out, k.include+strings.Join(include, " or "))
	}
	if len(exclude) > 0 {
		out = append(out, k.others+strings.Join(exclude, " or "))
	}
	return out
}

// Select compiles the terms for a session. Errors are a *TermError, pattern.ErrNoPattern, ErrNoUserCode, those of
// Selection.Fit, and of reading s.
func (t Terms) Select(s *session.Session) (Selection, error) {
	said, filter := t, &filterTerm{how: "and"}
	if t.Filter != "" {
		term, err := parseFilter(t.Filter)
		if err == nil {
			filter.parts = []*filterTerm{term}
			err = t.takeOutermost(filter)
		}
		if err == nil {
			err = t.limitMarks(s)
		}
		if err != nil {
			return Selection{}, err
		}
	}
	out := Selection{From: t.From, To: t.To, GCs: t.GCs, terms: said}
	slices, err := s.Slices()
	if err != nil {
		return out, err
	}
	if out, err = out.Fit(slices); err != nil {
		return out, err
	}
	if err := t.selectProcesses(s, &out); err != nil {
		return out, err
	}
	if err := t.selectThreads(s, &out); err != nil {
		return out, err
	}
	if err := t.selectFunctions(s, &out); err != nil {
		return out, err
	}
	if err := t.selectMyCode(s, &out); err != nil {
		return out, err
	}
	if err := t.selectTypes(s, &out); err != nil {
		return out, err
	}
	return out, t.selectFilter(s, filter, &out)
}

// selectMyCode checks that there is user code.
func (t Terms) selectMyCode(s *session.Session, out *Selection) error {
	if !t.MyCode {
		return nil
	}
	found, err := HasUserCode(s)
	switch {
	case err != nil:
		return err
	case found:
		levels := DefaultCodeLevels
		if t.CodeLevels != nil {
			levels = *t.CodeLevels
		}
		out.code = &levels
	case !t.MayMiss:
		return ErrNoUserCode
	}
	return nil
}

// HasUserCode reports whether a module of a session is user code.
func HasUserCode(s *session.Session) (bool, error) {
	modules, err := s.Modules()
	return slices.ContainsFunc(modules, func(m session.Module) bool { return usercode.Origin(m.Origin).IsUser() }), err
}

func (t Terms) selectProcesses(s *session.Session, out *Selection) error {
	if len(t.Processes) == 0 {
		return nil
	}
	rows, err := s.Processes()
	if err != nil {
		return err
	}
	out.Processes, err = pick("process", t.Processes, rows, func(p *session.Process) (session.ProcessID, int64,
		string) {
		return p.ID, p.PID, p.Name
	})
	return err
}

func (t Terms) selectThreads(s *session.Session, out *Selection) error {
	if len(t.Threads) == 0 {
		return nil
	}
	rows, err := s.Threads()
	if err != nil {
		return err
	}
	processes, err := s.Processes()
	if err != nil {
		return err
	}
	threadName := threadNamer(processes)
	rows = slices.DeleteFunc(rows, func(r session.Thread) bool { return !out.HasProcess(r.Process) })
	out.Threads, err = pick("thread", t.Threads, rows, func(r *session.Thread) (session.ThreadID, int64, string) {
		return r.ID, r.OSID, threadName(r)
	})
	return err
}

// pick returns the ids of the rows that the terms choose: by number, unique id, or a pattern of names.
func pick[ID ~int64 | ~uint32, Row any](what string, terms []string, rows []Row,
	of func(*Row) (id ID, number int64, name string)) ([]ID, error) {
	included, excluded, includes := map[ID]bool{}, map[ID]bool{}, false
	for _, term := range terms {
		text, exclude := strings.CutPrefix(term, "!")
		match, isNumber, err := termMatch(text)
		if err != nil {
			return nil, err
		}
		to := included
		if exclude {
			to = excluded
		}
		includes = includes || !exclude
		var found, all []string
		for i := range rows {
			id, number, name := of(&rows[i])
			if all = append(all, strconv.FormatInt(number, 10)); !isNumber {
				all[i] = name
			}
			if match(int64(id), number, name) {
				found = append(found, fmt.Sprintf("#%d", id))
				to[id] = true
			}
		}
		switch {
		case len(found) == 0:
			return nil, &TermError{What: what, Text: text, Names: all}
		case isNumber && len(found) > 1:
			return nil, &TermError{What: what, Text: text, Names: found, Ambiguous: true}
		}
	}
	var out []ID
	for i := range rows {
		if id, _, _ := of(&rows[i]); (included[id] || !includes) && !excluded[id] {
			out = append(out, id)
		}
	}
	if len(out) == 0 {
		return nil, &TermError{What: what, Text: strings.Join(terms, " ")}
	}
	return out, nil
}

// termMatch compiles a term of a process or a thread.
func termMatch(text string) (match func(id, number int64, name string) bool, isNumber bool, err error) {
	digits, unique := strings.CutPrefix(text, "#")
	if wanted, err := strconv.ParseInt(digits, 10, 64); err == nil {
		return func(id, number int64, _ string) bool {
			return unique && id == wanted || !unique && number == wanted
		}, true, nil
	}
	p, err := pattern.Compile(text)
	return func(_, _ int64, name string) bool { return p.Match(pattern.NamesOf(name)) }, false, err
}

// matcher matches the names of one kind of thing, and knows which of its patterns matched any.
type matcher struct {
	what  string
	rules pattern.Rules
	used  map[string]bool
	ends  map[string]pattern.Pattern // instead of some patterns: how the names end that are shown
	miss  bool                       // patterns may match nothing
}

func (t Terms) matcher(what string, texts []string) (*matcher, error) {
	rules, err := pattern.CompileRules(texts)
	return &matcher{what, rules, map[string]bool{}, map[string]pattern.Pattern{}, t.MayMiss}, err
}

// matches says whether a pattern that includes matches, and one that excludes. shown are the names that are shown, if
// shorten was called.
func (m *matcher) matches(n, shown pattern.Names) (include, exclude bool) {
	is := func(p pattern.Pattern) bool {
		end, short := m.ends[p.String()]
		found := short && end.Match(shown) || !short && p.Match(n)
		m.used[p.String()] = m.used[p.String()] || found
		return found
	}
	for _, p := range m.rules.Include {
		include = is(p) || include
	}
	for _, p := range m.rules.Exclude {
		exclude = is(p) || exclude
	}
	return include, exclude
}

func (m *matcher) keep(n, shown pattern.Names) bool {
	include, exclude := m.matches(n, shown)
	return (include || len(m.rules.Include) == 0) && !exclude
}

// shorten makes patterns that are names, and match none of n names, mean how those end that are shown: text shows
// Shop.Order.Sum(Item) as Order.Sum(Item).
func (m *matcher) shorten(n int, names func(int) pattern.Names) {
	for _, p := range slices.Concat(m.rules.Include, m.rules.Exclude) {
		end, isName := p.End()
		for i := 0; i < n && isName; i++ {
			isName = !p.Match(names(i))
		}
		if isName {
			m.ends[p.String()] = end
		}
	}
}

// check refuses patterns that matched nothing, of which the user may have meant one of the names.
func (m *matcher) check(names func() []string) error {
	for _, p := range slices.Concat(m.rules.Include, m.rules.Exclude) {
		if !m.used[p.String()] && !m.miss {
			return &TermError{What: m.what, Text: p.String(), Names: names()}
		}
	}
	return nil
}

// noModule is the name of the module of functions that have none.
const noModule = "(no module)"

// functionMatchers compiles the terms that choose functions: by module, namespace and name, those on the stack, and
// those that are hidden. given: there are some.
func (t Terms) functionMatchers() (out [5]*matcher, given bool, err error) {
	for i, kind := range []struct {
		what  string
		texts []string
	}{
		{"module", t.Modules}, {"namespace", t.Namespaces}, {"function", t.Functions},
		{"function", t.Focus}, {"function", t.Hide},
	} {
		if out[i], err = t.matcher(kind.what, kind.texts); err != nil {
			return out, given, err
		}
		given = given || len(kind.texts) > 0
	}
	return out, given, nil
}

func (t Terms) selectFunctions(s *session.Session, out *Selection) error {
	matchers, given, err := t.functionMatchers()
	if err != nil || !given {
		return err
	}
	rows, err := s.Functions()
	if err != nil {
		return err
	}
	moduleRows, err := s.Modules()
	if err != nil {
		return err
	}
	modules, namespaces, functions, focus, hide := matchers[0], matchers[1], matchers[2], matchers[3], matchers[4]
	moduleNames := map[session.ModuleID]string{}
	for _, m := range moduleRows {
		moduleNames[m.ID] = m.Name
		modules.matches(pattern.ModuleNames(m.Name), pattern.Names{}) // also one without functions is one that there is
	}
	names := make([]pattern.Names, len(rows))
	for i := range rows {
		names[i] = functionNames(&rows[i], moduleNames[rows[i].Module])
	}
	for _, m := range []*matcher{functions, focus, hide} {
		m.shorten(len(rows), func(i int) pattern.Names { return names[i] })
	}
	for _, set := range []*map[session.FunctionID]bool{&out.own, &out.with, &out.without, &out.hidden} {
		*set = map[session.FunctionID]bool{}
	}
	for i := range rows {
		f := &rows[i]
		module := moduleNames[f.Module]
		if module == "" {
			module = noModule
		}
		shown, none := shownNames(f), pattern.Names{}
		inModule, own := modules.keep(pattern.ModuleNames(module), none), functions.keep(names[i], shown)
		inNamespace := namespaces.keep(pattern.NamesOf(pattern.Namespace(f.RawType)), none)
		if inModule && inNamespace && own {
			out.own[f.ID] = true
		}
		out.with[f.ID], out.without[f.ID] = focus.matches(names[i], shown)
		out.hidden[f.ID] = !hide.rules.IsZero() && hide.keep(names[i], shown)
	}
	if modules.rules.IsZero() && namespaces.rules.IsZero() && functions.rules.IsZero() {
		out.own = nil
	}
	if len(focus.rules.Include) == 0 {
		out.with = nil
	}
	if len(focus.rules.Exclude) == 0 {
		out.without = nil
	}
	if hide.rules.IsZero() {
		out.hidden = nil
	}
	for i, m := range matchers {
		if err := m.check(func() []string { return candidates(i, rows, moduleRows) }); err != nil {
			return err
		}
	}
	return nil
}

// candidates are the names that terms of a kind could have meant.
func candidates(kind int, functions []session.Function, modules []session.Module) []string {
	seen := map[string]bool{}
	for i := range modules {
		if kind == 0 {
			seen[modules[i].Name] = true
		}
	}
	for i := range functions {
		switch f := &functions[i]; kind {
		case 0:
		case 1:
			seen[pattern.Namespace(f.RawType)] = true
		default:
			names := shownNames(f).List()
			seen[names[len(names)-1]] = true
		}
	}
	delete(seen, "")
	out := make([]string, 0, len(seen))
	for name := range seen {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

// functionNames are all names of a function: those that run --include compares, and those that are shown.
func functionNames(f *session.Function, module string) pattern.Names {
	return pattern.FunctionNames(module, f.RawType, f.RawName).And(shownNames(f).List()...)
}

// shownNames are the name of a function that is shown, without what says that it is the body of a method that the
// compiler took apart, such as [async], and without its parameters: who names the method means both.
func shownNames(f *session.Function) pattern.Names {
	shown := f.DisplayName()
	method, _ := WrittenName(shown)
	return pattern.NamesOf(shown, method, withoutParameters(method))
}

// withoutParameters cuts the parameters off a name that is shown; pseudo functions begin with a parenthesis.
func withoutParameters(name string) string {
	if !strings.HasSuffix(name, ")") {
		return name
	}
	depth := 0
	for i := len(name) - 1; i > 0; i-- {
		switch name[i] {
		case ')':
			depth++
		case '(':
			if depth--; depth == 0 {
				return name[:i]
			}
		}
	}
	return name
}

func (t Terms) selectTypes(s *session.Session, out *Selection) error {
	m, err := t.matcher("type", t.Types)
	if err != nil || len(t.Types) == 0 {
		return err
	}
	rows, err := s.Types()
	if err != nil {
		return err
	}
	index := newIndex(rows, func(r *session.Type) session.TypeID { return r.ID })
	get := func(id session.TypeID) *session.Type {
		if at, ok := index.find(id); ok && at >= 0 {
			return &rows[at]
		}
		return new(session.Type)
	}
	names := make([]pattern.Names, len(rows))
	for i := range rows {
		names[i] = pattern.NamesOf(session.TypeDisplayName(rows[i].ID, get), rows[i].RawName)
	}
	m.shorten(len(rows), func(i int) pattern.Names { return names[i] })
	out.types = map[session.TypeID]bool{}
	for i := range rows {
		if m.keep(names[i], names[i]) {
			out.types[rows[i].ID] = true
		}
	}
	return m.check(func() []string {
		var names []string
		for i := range rows {
			names = append(names, session.TypeDisplayName(rows[i].ID, get))
		}
		return names
	})
}
