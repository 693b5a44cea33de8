package analysis

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/testkit/differ"
	"github.com/clrprof/clrprof/internal/testkit/sessiontest"
)

func TestFilterText(t *testing.T) {
	for text, want := range map[string]string{
		"function = Shop.*": "function = Shop.*",
		"# mine\nmodule = Shop.dll\n  and type <> \"a b\"": `module = Shop.dll and type <> "a b"`,
		"function=A.B(int, string)":                        "",
		"function = \"A.B(int, string)\"":                  `function = "A.B(int, string)"`,
		"function = A.B(int)":                              "function = A.B(int)",
		"(type = A or type = B) and module = C":            "(type = A or type = B) and module = C",
		"type = A or type = B and module = C":              "type = A or type = B and module = C",
		"not (type = A or type = B)":                       "not (type = A or type = B)",
		"NOT Type = A AND (process < 7)":                   "not type = A and process < 7",
		"process = #3 and thread >= 12":                    "process = #3 and thread >= 12",
		"time >= 1.5s and time < 2m":                       "time >= 1.5s and time < 2m",
		`function = "say ""no"""`:                          `function = "say ""no"""`,
		"function = List<int>.Add":                         "function = List<int>.Add",
		`type = "<>c"`:                                     `type = "<>c"`,
		"":                                                 "",
		"function":                                         "",
		"function = ":                                      "",
		"function Shop":                                    "",
		`type="A" and focus<>B`:                            "type = A and focus <> B",
		"color = red":                                      "",
		"function < A":                                     "",
		"process < first":                                  "",
		"time = 1s":                                        "",
		"time < soon":                                      "",
		"type = A or time < 1s":                            "",
		"(mark >= load and type = A) and mark < \"all done\"": `(mark >= load and type = A) and mark < "all done"`,
		"mark = load":                     "",
		"mark <> load":                    "",
		"type = A or mark < load":         "",
		"not mark < load":                 "",
		"GC > 3 and (type = A and gc<=7)": "gc > 3 and (type = A and gc <= 7)",
		"gc = 5":                          "gc = 5",
		"gc <> 5":                         "",
		"gc > 0":                          "gc > 0",
		"gc < 1":                          "",
		"gc <= 0":                         "",
		"gc >= -1":                        "",
		"gc < second":                     "",
		"gc > 7 and gc < 5":               "",
		"gc > 7 or type = A":              "",
		"not gc > 7":                      "",
		"gc > 3 and time > 1s":            "",
		"gc > 3 and mark < load":          "",
		"not time < 1s":                   "",
		"time > 2s and time < 1s":         "",
		"type = A type = B":               "",
		"(type = A":                       "",
		"type = A)":                       "",
		`type = "A`:                       "",
		"type = A and":                    "",
		strings.Repeat("(", 200) + "type = A" + strings.Repeat(")", 200): "",
		strings.Repeat("type = A or ", mostClauses) + "type = B":         "",
		"not not type = A": "not not type = A",
	} {
		have, err := CheckFilter(text)
		if have != want || (err == nil) == (want == "") || err != nil && !errors.Is(err, ErrFilter) {
			t.Errorf("%.60q: %q, %v, want %q", text, have, err, want)
		}
		if err == nil {
			if again, err := CheckFilter(have); again != have || err != nil {
				t.Errorf("%q is read as %q, %v", have, again, err)
			}
		}
	}
}

// FuzzFilter: what is read and printed is read as the same again.
func FuzzFilter(f *testing.F) {
	f.Add(`not (type = "a ""b""" or focus <> A.B(int)) and process > 3`)
	f.Fuzz(func(t *testing.T, text string) {
		one, err := CheckFilter(text)
		if err != nil {
			return
		}
		if again, err := CheckFilter(one); err != nil || again != one {
			t.Fatalf("%q is %q, and that %q, %v", text, one, again, err)
		}
	})
}

// drawFilter draws a filter of clauses that a session has something for.
func drawFilter(t *rapid.T, s *session.Session) string {
	var d Data
	if err := d.read(s); err != nil {
		t.Fatal(err)
	}
	clause := func() string {
		field := rapid.SampledFrom(filterFields[:len(filterFields)-len(spans)]).Draw(t, "field")
		operator := rapid.SampledFrom(filterOperators[:2]).Draw(t, "operator")
		value := "*"
		switch field {
		case fieldProcess:
			value = fmt.Sprint(rapid.SampledFrom(d.Processes).Draw(t, "process").PID)
			operator = rapid.SampledFrom(filterOperators).Draw(t, "order")
		case fieldThread:
			value = fmt.Sprint("#", rapid.SampledFrom(d.Threads).Draw(t, "thread").ID)
		case fieldModule:
			value = d.Modules[rapid.IntRange(0, len(d.Modules)-1).Draw(t, "module")].Name
		case fieldFunction, fieldFocus:
			value = withoutParameters(
				d.Functions[rapid.IntRange(0, len(d.Functions)-1).Draw(t, "function")].DisplayName())
		case fieldType:
			value = rapid.SampledFrom(d.Types).Draw(t, "type").Name
		}
		return field + " " + operator + " " + `"` + strings.ReplaceAll(value, `"`, `""`) + `"`
	}
	out := clause()
	for range rapid.IntRange(0, 4).Draw(t, "more") {
		how := rapid.SampledFrom([]string{"and", "or"}).Draw(t, "how")
		not := rapid.SampledFrom([]string{"", "not "}).Draw(t, "not")
		out = fmt.Sprintf("%s(%s) %s %s", not, out, how, clause())
	}
	return out
}

// TestFilterComplement: what a filter lets through and what it does not add up to the whole.
func TestFilterComplement(t *testing.T) {
	dir := t.TempDir()
	divided := 0
	until(t, func() bool { return divided > 0 }, func(rt *rapid.T) {
		s := open(rt, drawSession(rt), filepath.Join(dir, "a"))
		defer s.Close()
		d, err := Load(s)
		if err != nil || len(d.Functions) == 0 || len(d.Types) == 0 {
			rt.Skip(err)
		}
		text := drawFilter(rt, s)
		want, have := totalsOf(rt, d), newTotals()
		for _, filter := range []string{text, "not (" + text + ")"} {
			sel, err := Terms{Filter: filter, MayMiss: true}.Select(s)
			var term *TermError
			if errors.As(err, &term) { // no process or thread is left, and that is refused
				if term.What != fieldProcess && term.What != fieldThread {
					rt.Fatal(err)
				}
				rt.Skip(err)
			}
			if err != nil {
				rt.Fatal(filter, err)
			}
			if !sel.HasTimes() {
				want.times = nil // there are none by type
			}
			one := totalsOf(rt, part(rt, d, sel))
			if filter == text && len(one.amounts) > 0 && len(one.amounts) < len(want.amounts) {
				divided++
			}
			have = have.add(one)
		}
		compareTotals(rt, text, want, have)
	})
	if divided == 0 {
		t.Error("no filter divided a session")
	}
}

// TestFilterIsTerms: a filter of one clause selects what the term of that kind does.
func TestFilterIsTerms(t *testing.T) {
	eachComplement(t, func() bool { return true }, func(rt *rapid.T, s *session.Session, d *Data, _ string, c complement) {
		for _, terms := range c.parts {
			var clauses []string
			for field, texts := range map[string][]string{fieldModule: terms.Modules, fieldNamespace: terms.Namespaces,
				fieldFunction: terms.Functions,
				fieldType:     terms.Types, fieldFocus: terms.Focus} {
				for _, text := range texts {
					rest, not := strings.CutPrefix(text, "!")
					clauses = append(clauses, field+map[bool]string{true: "<>", false: "="}[not]+`"`+rest+`"`)
				}
			}
			want, err := terms.Select(s)
			if len(clauses) == 0 || err != nil {
				continue
			}
			have, err := Terms{Filter: strings.Join(clauses, " and ")}.Select(s)
			if err != nil {
				rt.Fatal(err)
			}
			if diff := differ.Of(totalsOf(rt, part(rt, d, want)), totalsOf(rt, part(rt, d, have)),
				cmp.AllowUnexported(totals{}), cmpopts.EquateEmpty()); diff != "" {
				rt.Fatalf("%v (-terms +filter):\n%s", clauses, diff)
			}
		}
	})
}

// TestShortNames: functions and types can be named as text shows them. A name that there is means itself alone, a
// method also means what the compiler made of it, and a module's file is none of a function's names.
func TestShortNames(t *testing.T) {
	s := open(t, sessiontest.Tested(), filepath.Join(t.TempDir(), "tested"))
	defer s.Close()
	rows, err := s.Functions()
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string][]string{
		"Saves":                      {"Shop.Tests.OrderTests.Saves()", "Shop.Tests.OrderTests.Saves() [async]"},
		"OrderTests.saves":           {"Shop.Tests.OrderTests.Saves()", "Shop.Tests.OrderTests.Saves() [async]"},
		"Shop.Tests.OrderTests.Load": {"Shop.Tests.OrderTests.Load()", "Shop.Tests.OrderTests.Load() [async]"},
		"OrderTests.Slow()":          {"Shop.Tests.OrderTests.Slow()"},
		"Tests.dll":                  nil,
		"rderTests.Slow":             nil,
	} {
		for _, field := range []string{"function", "focus"} {
			sel, err := Terms{Filter: field + ` = "` + text + `"`}.Select(s)
			if (err == nil) != (want != nil) {
				t.Errorf("%s %s: %v", field, text, err)
			}
			var have []string
			for i := range rows {
				if err == nil && sel.filter.parts[0].functions[rows[i].ID] {
					have = append(have, rows[i].Name)
				}
			}
			if diff := cmp.Diff(want, have); diff != "" {
				t.Errorf("%s %s (-want +have):\n%s", field, text, diff)
			}
		}
	}
	for text, want := range map[string]bool{"Order": true, "Shop.Order": true, "order": true, "rder": false} {
		if _, err := (Terms{Types: []string{text}}).Select(s); (err == nil) != want {
			t.Errorf("type %s: %v", text, err)
		}
	}
}

// TestAnd: a part and itself are the part, a part and its complement are nothing, also where both have a list of one
// kind.
func TestAnd(t *testing.T) {
	tried := map[string]int{}
	eachComplement(t, func() bool { return len(tried) >= 9 }, func(rt *rapid.T, s *session.Session, d *Data, kind string, c complement) {
		for i, one := range c.parts {
			sel, err := one.Select(s)
			if err != nil { // all are excluded
				continue
			}
			want := totalsOf(rt, part(rt, d, sel))
			for j, other := range c.parts {
				both := one.And(other)
				both.MayMiss = true
				sel, err := both.Select(s)
				if err != nil && i == j {
					rt.Fatalf("%s: %v", kind, err)
				}
				if err != nil {
					continue
				}
				have := newTotals().add(totalsOf(rt, part(rt, d, sel)))
				if i == j {
					compareTotals(rt, kind, want, have)
				} else if len(have.amounts) > 0 && kind != "time" && kind != "gc" { // spans are never empty
					rt.Fatalf("%s: both %v and %v hold for %v", kind, one, other, have.amounts)
				}
				tried[kind]++
			}
		}
	})
	if len(tried) < 9 {
		t.Error("tried:", tried)
	}
}
