package pattern_test

import (
	"errors"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/clrprof/clrprof/internal/pattern"
)

func TestMatch(t *testing.T) {
	for _, c := range []struct {
		pattern, name string
		want          bool
	}{
		{"Shop", "Shop", true},
		{"shop", "SHOP", true},
		{"Shop", "Shop.Data", false},
		{"Shop.*", "Shop.Data.Orders", true},
		{"*", "", false}, // an empty name is none
		{"é", "É", false},
		{"a?c", "abc", false},
		{"/", "/", true}, // one slash is no expression
		{"/x", "/x", true},
		{"/data/", "Shop.Data.Orders", true},
		{"/^data/", "Shop.Data.Orders", false},
		{"/^shop\\.(data|cart)$/", "Shop.Data", true},
		{"/(?-i)data/", "Shop.Data", false},
		{"/(?-i)Data/", "Shop.Data", true},
		{"/é/", "É", true},
	} {
		p, err := pattern.Compile(c.pattern)
		if err != nil || p.String() != c.pattern {
			t.Errorf("%s: %v %v", c.pattern, p, err)
		}
		if have := p.Match(pattern.NamesOf(c.name)); have != c.want {
			t.Errorf("%s matches %q: %v", c.pattern, c.name, have)
		}
	}
	if (pattern.Pattern{}).Match(pattern.NamesOf("x")) {
		t.Error("the zero pattern matches")
	}
}

// TestErrors: what is no pattern is refused in one sentence, without the words of a library.
func TestErrors(t *testing.T) {
	for text, want := range map[string]string{
		"":      `"" is not a pattern: it is empty`,
		"//":    `"//" is not a pattern: it is empty`,
		"/(/":   `/(/ is not a pattern: as a regular expression it has missing closing )`,
		"/a**/": `/a**/ is not a pattern: as a regular expression it has invalid nested repetition operator`,
	} {
		_, err := pattern.Compile(text)
		if !errors.Is(err, pattern.ErrNoPattern) || err.Error() != want {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
		if _, err := pattern.CompileRules([]string{"x", "!" + text}); !errors.Is(err, pattern.ErrNoPattern) {
			t.Errorf("!%q: %v", text, err)
		}
	}
}

func TestRules(t *testing.T) {
	for _, c := range []struct {
		rules string
		names string
		want  bool
	}{
		{"", "A", true},
		{"A", "A B", true},
		{"A", "B", false},
		{"A B", "B", true},
		{"!A", "B", true},
		{"!A", "A B", false},
		{"!A", "", true}, // nothing to compare with
		{"A !B", "A", true},
		{"A !B", "A B", false},
		{"!/^a/ !B", "XA", true},
	} {
		r, err := pattern.CompileRules(strings.Fields(c.rules))
		if err != nil || r.IsZero() != (c.rules == "") {
			t.Errorf("%s: %v", c.rules, err)
		}
		if have := r.Keep(pattern.NamesOf(strings.Fields(c.names)...)); have != c.want {
			t.Errorf("%s keeps %s: %v", c.rules, c.names, have)
		}
	}
}

// TestComplement: a pattern and the same one with ! keep everything between them, and nothing twice.
func TestComplement(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`[ab.*]{1,6}`).Draw(t, "pattern")
		if rapid.Bool().Draw(t, "expression") {
			text = "/" + regexp.QuoteMeta(text) + "/"
		}
		names := pattern.NamesOf(rapid.SliceOfN(rapid.StringMatching(`[abAB.]{0,6}`), 0, 4).Draw(t, "names")...)
		in, err := pattern.CompileRules([]string{text})
		if err != nil {
			t.Fatal(err)
		}
		out, err := pattern.CompileRules([]string{"!" + text})
		if err != nil {
			t.Fatal(err)
		}
		if in.Keep(names) == out.Keep(names) {
			t.Fatalf("%s and its complement both say %v of %v", text, in.Keep(names), names)
		}
	})
}

func TestNames(t *testing.T) {
	for _, c := range []struct {
		module, typ, method string
		want                []string
	}{
		{"Shop.dll", "Shop.Data.Orders/Row", "Load", []string{"Shop.dll", "Shop", "Shop.Data", "Shop.Data.Orders/Row",
			"Shop.Data.Orders", "Shop.Data.Orders/Row.Load"}},
		{"app.exe", "T", "M", []string{"app.exe", "app", "T", "T.M"}},
		{"", "", "lambda", []string{"lambda"}},
		{"", "", "", nil},
	} {
		if diff := cmp.Diff(c.want, pattern.FunctionNames(c.module, c.typ, c.method).List()); diff != "" {
			t.Error(diff)
		}
	}
	if diff := cmp.Diff([]string{"a", "b"}, pattern.NamesOf("a").And("b", "").List()); diff != "" {
		t.Error(diff)
	}
}

// TestWildcard compares matching with what a regular expression says of which `*` is any characters.
func TestWildcard(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOfN(rapid.SampledFrom([]rune("ab.A*é")), 1, 7, -1).Draw(t, "pattern")
		quoted := strings.ReplaceAll(regexp.QuoteMeta(text), `\*`, `.*`)
		want := regexp.MustCompile("(?is)^(?:" + quoted + ")$")
		name := rapid.StringOfN(rapid.SampledFrom([]rune("ab.B\né")), 1, 7, -1).Draw(t, "name")
		if have := pattern.Wildcard(text).Match(pattern.NamesOf(name)); have != want.MatchString(name) {
			t.Fatalf("%q matches %q: %t", text, name, have)
		}
	})
}
