package session

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestLossKinds: each reason is explained, once.
func TestLossKinds(t *testing.T) {
	f, err := parser.ParseFile(token.NewFileSet(), "loss.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	ast.Inspect(f, func(n ast.Node) bool {
		spec, is := n.(*ast.ValueSpec)
		if !is || !strings.HasPrefix(spec.Names[0].Name, "Loss") {
			return true
		}
		reason, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, reason)
		return true
	})
	have := LossReasons()
	slices.Sort(want)
	slices.Sort(have)
	if d := cmp.Diff(want, have); d != "" {
		t.Errorf("reasons that are not explained (-), or explained and not there (+):\n%s", d)
	}
	for _, k := range lossKinds {
		if k.why == "" || k.touches == "" || k.advice == "" || strings.HasSuffix(k.why, ".") ||
			!strings.HasSuffix(k.advice, ".") {
			t.Errorf("%s: %+v", k.reason, k)
		}
	}
	if l := (Loss{Reason: "of_tomorrow"}); !l.IsMissing() || l.Unit() != "event" || l.Advice() == "" {
		t.Errorf("a reason that is not known: %t, %q, %q", l.IsMissing(), l.Unit(), l.Advice())
	}
}

// TestLossList: docs/session.md lists each reason as it is.
func TestLossList(t *testing.T) {
	const path, begin, end = "../../docs/session.md", "<!-- losses -->\n", "<!-- end of losses -->\n"
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(text), begin)
	_, after, ended := strings.Cut(rest, end)
	if !ok || !ended {
		t.Fatalf("%s has no %q and %q", path, begin, end)
	}
	want := before + begin + "\n| reason | meaning | missing | touches | what to do |\n| --- | --- | --- | --- | --- |\n"
	for _, k := range lossKinds {
		missing := "no"
		if k.missing {
			missing = "yes"
		}
		want += fmt.Sprintf("| `%s` | %s | %s | %s | %s |\n", k.reason, k.why, missing, k.touches, k.advice)
	}
	want += "\n" + end + after
	if *updateGolden {
		err = errors.Join(err, os.WriteFile(path, []byte(want), 0o644))
	} else if diff := cmp.Diff(want, string(text)); diff != "" {
		t.Errorf("%s (-want +have; -update writes it):\n%s", path, diff)
	}
	if err != nil {
		t.Fatal(err)
	}
}
