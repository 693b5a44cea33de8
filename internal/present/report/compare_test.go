package report

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/clrprof/clrprof/internal/analysis"
	"github.com/clrprof/clrprof/internal/analysis/rules"
	"github.com/clrprof/clrprof/internal/testkit/sessiontest"
)

// TestCompareRules: findings of a program that breaks rules are gone in a session of one that does not, each with its
// function, and add up to what the rules find; rules that a session cannot be judged by are named and not compared.
func TestCompareRules(t *testing.T) {
	source := func(b *sessiontest.Builder) *analysis.Source {
		src, err := analysis.Open(complete(t, b, filepath.Join(t.TempDir(), "s")), analysis.Selection{})
		if err != nil {
			t.Fatal(err)
		}
		return src
	}
	broken, fine := source(sessiontest.Samples["broken"]()), source(sessiontest.Shop())
	one := func(src *analysis.Source) []*analysis.Source { return []*analysis.Source{src} }
	if c, err := Compare(one(broken), one(broken), "rules", ""); err != nil || len(c.Changes) != 0 {
		t.Fatalf("a session differs from itself: %v, %v", c, err)
	}
	c, err := Compare(one(broken), one(fine), "rules", "")
	if err != nil {
		t.Fatal(err)
	}
	lacks := map[string]bool{}
	want, is := 0, 0
	for _, src := range []*analysis.Source{broken, fine} {
		result, err := rules.Judge(src, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, u := range result.Unjudged {
			lacks[u.Rule.ID] = true
		}
	}
	result, err := rules.Judge(broken, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := range result.Findings {
		if !lacks[result.Findings[i].Rule.ID] {
			want++
		}
	}
	for i := range c.Changes {
		x := c.At(i)
		if is += int(x.Old); x.InNew || !strings.Contains(x.Name, ": ") || lacks[x.Name[:strings.Index(x.Name, ":")]] {
			t.Errorf("%+v", x)
		}
	}
	if is != want || want == 0 || len(lacks) == 0 || len(c.Notes) == 0 || !strings.HasPrefix(c.Notes[0],
		"Not compared, because a session cannot be judged by them: ") {
		t.Errorf("%d of %d findings, %v", is, want, c.Notes)
	}
	if _, err := Compare(one(broken), one(fine), "rules", "elapsed"); err == nil {
		t.Error("an unknown column is no error")
	}
}
