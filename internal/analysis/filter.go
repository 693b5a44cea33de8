package analysis

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// ErrFilter is wrapped by errors of filters that mean nothing.
var ErrFilter = errors.New("it is not a filter")

// Fields of the clauses of a filter.
const (
	fieldProcess   = "process"
	fieldThread    = "thread"
	fieldModule    = "module"
	fieldNamespace = "namespace"
	fieldFunction  = "function"
	fieldType      = "type"
	fieldFocus     = "focus"
	fieldTime      = "time"
	fieldMark      = "mark"
	fieldGC        = "gc"
)

var (
	filterFields = []string{fieldProcess, fieldThread, fieldModule, fieldNamespace, fieldFunction, fieldType,
		fieldFocus, fieldTime, fieldMark, fieldGC}
	filterOperators = []string{"=", "<>", "<", ">", "<=", ">="}
)

// most of a filter: more is written by no person.
const (
	mostClauses = 1000
	mostNested  = 100
)

// filterTerm is a filter or a part of it: a clause, or others put together.
type filterTerm struct {
	how   string // "and", "or", "not"; "": a clause
	parts []*filterTerm

	field, operator, value string
}

// String returns the term as it can be read again, on one line.
func (t *filterTerm) String() string {
	switch t.how {
	case "":
		return t.field + " " + t.operator + " " + quoted(t.value)
	case "not":
		return "not " + t.parts[0].inside("not")
	}
	var out []string
	for _, p := range t.parts {
		out = append(out, p.inside(t.how))
	}
	return strings.Join(out, " "+t.how+" ")
}

// inside returns the term as a part of another.
func (t *filterTerm) inside(how string) string {
	if t.how == "" || t.how == "not" || t.how == "and" && how == "or" {
		return t.String()
	}
	return "(" + t.String() + ")"
}

// quoted returns a value as a filter has it.
func quoted(value string) string {
	word, rest, err := filterWord(value)
	if err == nil && word == value && rest == "" && !strings.HasPrefix(value, `"`) {
		return value
	}
	return `"` + strings.ReplaceAll(value, `"`, `""`) + `"`
}

// filterReader reads a filter.
type filterReader struct {
	words   []filterToken
	clauses int
}

type filterToken struct {
	text string
	line int
	bare bool // it was not in quotes
}

// parseFilter reads a filter: clauses FIELD OPERATOR VALUE, put together with and, or, not and parentheses. A line that
// begins with # is a comment. The error wraps ErrFilter and says in which line it is.
func parseFilter(text string) (*filterTerm, error) {
	r := &filterReader{}
	for i, line := range strings.Split(text, "\n") {
		if strings.HasPrefix(strings.TrimSpace(line), "#") {
			continue
		}
		for rest := strings.TrimSpace(line); rest != ""; rest = strings.TrimLeftFunc(rest, unicode.IsSpace) {
			bare := !strings.HasPrefix(rest, `"`)
			word, after, err := filterWord(rest)
			if err != nil {
				return nil, fmt.Errorf("%w: line %d: %w", ErrFilter, i+1, err)
			}
			r.words, rest = append(r.words, filterToken{word, i + 1, bare}), after
		}
	}
	if len(r.words) == 0 {
		return nil, fmt.Errorf("%w: there is no clause in it", ErrFilter)
	}
	term, err := r.either(0)
	if err == nil && len(r.words) > 0 {
		err = r.wants(`"and" or "or"`)
	}
	return term, err
}

// filterWord cuts the first word off a line: in quotes, a parenthesis, an operator, or up to a space, to a parenthesis
// that nothing in the word opens, or to the operator after a field.
func filterWord(line string) (word, rest string, err error) {
	if after, ok := strings.CutPrefix(line, `"`); ok {
		var b strings.Builder
		for {
			part, more, closed := strings.Cut(after, `"`)
			if b.WriteString(part); !closed {
				return "", "", errors.New("a quotation mark is not closed")
			}
			if after, closed = strings.CutPrefix(more, `"`); !closed { // two are one
				return b.String(), more, nil
			}
			b.WriteByte('"')
		}
	}
	if line[0] == '(' || line[0] == ')' {
		return line[:1], line[1:], nil
	}
	for _, operator := range []string{"<>", "<=", ">=", "=", "<", ">"} {
		if after, ok := strings.CutPrefix(line, operator); ok {
			return operator, after, nil
		}
	}
	depth := 0
	for i, c := range line {
		switch {
		case unicode.IsSpace(c), c == ')' && depth == 0, strings.ContainsRune("=<>", c) &&
			slices.Contains(filterFields, strings.ToLower(line[:i])):
			return line[:i], line[i:], nil
		case c == '(':
			depth++
		case c == ')':
			depth--
		}
	}
	return line, "", nil
}

// wants is the error of what stands where something else must.
func (r *filterReader) wants(what string) error {
	if len(r.words) == 0 {
		return fmt.Errorf("%w: %s is missing at its end", ErrFilter, what)
	}
	return fmt.Errorf("%w: line %d: %s, not %q", ErrFilter, r.words[0].line, what, r.words[0].text)
}

// take takes the next word if it is this one.
func (r *filterReader) take(word string) bool {
	if len(r.words) == 0 || !r.words[0].bare || !strings.EqualFold(r.words[0].text, word) {
		return false
	}
	r.words = r.words[1:]
	return true
}

func (r *filterReader) either(depth int) (*filterTerm, error) {
	return r.joined("or", func() (*filterTerm, error) {
		return r.joined("and", func() (*filterTerm, error) { return r.unit(depth) })
	})
}

func (r *filterReader) joined(how string, part func() (*filterTerm, error)) (*filterTerm, error) {
	first, err := part()
	out := &filterTerm{how: how, parts: []*filterTerm{first}}
	for err == nil && r.take(how) {
		var next *filterTerm
		next, err = part()
		out.parts = append(out.parts, next)
	}
	if len(out.parts) == 1 {
		return first, err
	}
	return out, err
}

func (r *filterReader) unit(depth int) (*filterTerm, error) {
	if depth > mostNested {
		return nil, fmt.Errorf("%w: more than %d parentheses within each other", ErrFilter, mostNested)
	}
	if r.take("not") {
		part, err := r.unit(depth + 1)
		return &filterTerm{how: "not", parts: []*filterTerm{part}}, err
	}
	if r.take("(") {
		part, err := r.either(depth + 1)
		if err == nil && !r.take(")") {
			err = r.wants("a closing parenthesis")
		}
		return part, err
	}
	return r.clause()
}

func (r *filterReader) clause() (*filterTerm, error) {
	if r.clauses++; r.clauses > mostClauses {
		return nil, fmt.Errorf("%w: more than %d clauses", ErrFilter, mostClauses)
	}
	out := &filterTerm{}
	for _, part := range []struct {
		to    *string
		of    []string
		wants string
	}{{&out.field, filterFields, "a field (" + strings.Join(filterFields, ", ") + ")"},
		{&out.operator, filterOperators, "an operator (" + strings.Join(filterOperators, " ") + ")"},
		{&out.value, nil, "a value"}} {
		if len(r.words) == 0 || part.of != nil &&
			(!r.words[0].bare || !slices.Contains(part.of, strings.ToLower(r.words[0].text))) {
			return nil, r.wants(part.wants)
		}
		if *part.to = r.words[0].text; part.of != nil {
			*part.to = strings.ToLower(r.words[0].text)
		}
		if part.of == nil && (*part.to == "" || r.words[0].bare && (*part.to == "(" || *part.to == ")")) {
			return nil, r.wants(part.wants)
		}
		r.words = r.words[1:]
	}
	return out, out.check()
}

// isOrder reports whether the operator compares numbers.
func (t *filterTerm) isOrder() bool { return t.operator != "=" && t.operator != "<>" }

// check refuses operators that a field has not.
func (t *filterTerm) check() error {
	switch {
	case t.field == fieldTime:
		if _, err := time.ParseDuration(t.value); err != nil || !t.isOrder() {
			return fmt.Errorf("%w: %s: time goes with < > <= >= and a time since the start, such as 1.5s", ErrFilter, t)
		}
	case t.field == fieldMark:
		if !t.isOrder() {
			return fmt.Errorf("%w: %s: mark goes with < > <= >= and the name of a mark, or #ID", ErrFilter, t)
		}
	case t.field == fieldGC:
		return t.checkGC()
	case t.isOrder() && t.field != fieldProcess && t.field != fieldThread:
		return fmt.Errorf("%w: %s: a %s has no order: it goes with = and <>", ErrFilter, t, t.field)
	case t.isOrder():
		if _, err := strconv.ParseInt(t.value, 10, 64); err != nil {
			return fmt.Errorf("%w: %s: what %s compares is a number", ErrFilter, t, t.operator)
		}
	}
	return nil
}

// CheckFilter reports whether a filter can be read, and returns it on one line.
func CheckFilter(text string) (string, error) {
	t, err := parseFilter(text)
	if err == nil {
		err = (&Terms{}).takeOutermost(&filterTerm{how: "and", parts: []*filterTerm{t}})
	}
	if err != nil {
		return "", err
	}
	return t.String(), nil
}

// JoinFilters returns the filter that lets through what all of some filters do. Those that are "" let everything
// through.
func JoinFilters(filters ...string) string {
	var out []string
	for _, f := range filters {
		if f != "" {
			out = append(out, f)
		}
	}
	if len(out) < 2 {
		return strings.Join(out, "")
	}
	return "(\n" + strings.Join(out, "\n) and (\n") + "\n)" // lines of their own: one can be a comment
}

// conjuncts are the terms that must all hold for the term to hold, none of which is made of such ones.
func (t *filterTerm) conjuncts() []*filterTerm {
	if t.how != "and" {
		return []*filterTerm{t}
	}
	var out []*filterTerm
	for _, p := range t.parts {
		out = append(out, p.conjuncts()...) // as deep as mostNested
	}
	return out
}

// takeInto makes the clause a term, if it can be and there is none.
func (t *filterTerm) takeInto(terms *[]string) bool {
	if len(*terms) > 0 || t.isOrder() || strings.HasPrefix(t.value, "!") {
		return false
	}
	*terms = []string{map[string]string{"<>": "!"}[t.operator] + t.value}
	return true
}

// has reports whether a clause is about a field.
func (t *filterTerm) has(field string) bool {
	return t.how == "" && t.field == field || slices.ContainsFunc(t.parts, func(p *filterTerm) bool {
		return p.has(field)
	})
}

// ordered reports whether a number is as a clause with < > <= >= wants it.
func (t *filterTerm) ordered(number int64) bool {
	value, _ := strconv.ParseInt(t.value, 10, 64) // it was checked
	switch c := cmp.Compare(number, value); t.operator {
	case "<":
		return c < 0
	case "<=":
		return c <= 0
	case ">":
		return c > 0
	default:
		return c >= 0
	}
}
