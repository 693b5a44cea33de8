package analysis

import (
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	"pgregory.net/rapid"

	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/testkit/differ"
	"github.com/clrprof/clrprof/internal/testkit/sessiontest"
)

// naiveLevels shows stacks one by one: user code, and so many levels of framework code around it.
type naiveLevels struct {
	b        *sessiontest.Builder
	levels   CodeLevels
	children map[session.NodeID][]session.NodeID
}

func (n *naiveLevels) isUser(id session.NodeID) bool {
	f := n.b.Functions[n.b.Nodes[id-1].Function-1]
	return f.Module != 0 && n.b.Modules[f.Module-1].Origin == "project"
}

// leads reports whether a node calls user code, within so many levels.
func (n *naiveLevels) leads(id session.NodeID, levels int) bool {
	for _, child := range n.children[id] {
		if levels > 0 && (n.isUser(child) || n.leads(child, levels-1)) {
			return true
		}
	}
	return false
}

// shown is what of a stack is shown, from the root.
func (n *naiveLevels) shown(node session.NodeID) string {
	var stack []session.NodeID // from the root
	for id := node; id != 0; id = n.b.Nodes[id-1].Parent {
		stack = append([]session.NodeID{id}, stack...)
	}
	text, below := "", -1 // levels below user code; -1: there is none above
	for i, id := range stack {
		switch {
		case n.isUser(id):
			below = 0
		case below >= 0:
			below++
		}
		if i == 0 || below >= 0 && below <= n.levels.Callees || n.leads(id, n.levels.Callers) {
			text += fmt.Sprint(" ", n.b.Nodes[id-1].Function)
		}
	}
	return text
}

// TestCodeLevels: whatever is shown around user code, each object counts for the innermost function of its stack that
// is shown, on the path of those that are, and objects and times add up to the whole.
func TestCodeLevels(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(rt *rapid.T) {
		b := sessiontest.Random(rapid.Uint64().Draw(rt, "seed"))
		drawOrigins(rt, b)
		s := open(rt, b, filepath.Join(dir, "a"))
		defer s.Close()
		levels := CodeLevels{rapid.IntRange(0, 4).Draw(rt, "callers"), rapid.IntRange(0, 4).Draw(rt, "callees")}
		selection, err := Terms{MyCode: true, CodeLevels: &levels}.Select(s)
		if errors.Is(err, ErrNoUserCode) {
			rt.Skip(err)
		}
		whole, mine := openSource(rt, s, Selection{}), openSource(rt, s, selection)
		n := &naiveLevels{b, levels, map[session.NodeID][]session.NodeID{}}
		for _, node := range b.Nodes {
			n.children[node.Parent] = append(n.children[node.Parent], node.ID)
		}
		want, got := map[string]q.Amount{}, map[string]q.Amount{}
		for _, row := range b.SiteValues {
			if path := n.shown(b.Sites[row.Site-1].Node); !row.Amount.IsZero() {
				want[path] = want[path].Add(row.Amount)
			}
		}
		paths, err := mine.Paths()
		if err != nil {
			rt.Fatal(err)
		}
		text := map[session.PathID]string{}
		for _, p := range paths { // parents first
			text[p.ID] = text[p.Parent] + fmt.Sprint(" ", p.Function)
			if !p.Exclusive.IsZero() {
				got[text[p.ID]] = got[text[p.ID]].Add(p.Exclusive)
			}
		}
		if diff := differ.Of(want, got); diff != "" {
			rt.Fatalf("%+v: %s", levels, diff)
		}
		all, err := whole.TotalTime()
		if err != nil {
			rt.Fatal(err)
		}
		times, err := mine.PathTimes()
		if err != nil {
			rt.Fatal(err)
		}
		var sum q.Time
		for _, p := range times {
			sum = sum.Add(p.Exclusive)
		}
		if sum != all.Exclusive {
			rt.Fatalf("%+v: times add up to %+v, want %+v", levels, sum, all.Exclusive)
		}
	})
}

func openSource(t *rapid.T, s *session.Session, sel Selection) *Source {
	v, err := Open(s, sel)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// TestCodeLevelNotes: what is shown is said in a sentence.
func TestCodeLevelNotes(t *testing.T) {
	for levels, want := range map[CodeLevels]string{
		{0, 0}: "Your code alone: what the framework did counts for the function of yours that called it.",
		{0, 1}: "Your code and what it calls: what the framework did beyond that counts for the function that your code " +
			"called.",
		{0, 2}: "Your code and 2 levels of what it calls: what the framework did beyond that counts for the nearest caller " +
			"that is shown.",
		{1, 0}: "Your code and 1 level of what calls it: what the framework did beyond that counts for the nearest caller " +
			"that is shown.",
		{3, 1}: "Your code, 1 level of what it calls, and 3 levels of what calls it: what the framework did beyond that " +
			"counts for the nearest caller that is shown.",
	} {
		if got := levels.note(); got != want {
			t.Errorf("%+v: %q, want %q", levels, got, want)
		}
	}
}
