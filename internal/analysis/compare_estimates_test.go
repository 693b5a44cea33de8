package analysis

import (
	"fmt"
	"path/filepath"
	"testing"

	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/testkit/sessiontest"
)

// sampledTypes is a session in which so many samples of types were taken, each of an object of 100 bytes. Types whose
// names begin with Large have objects that were counted.
func sampledTypes(t *testing.T, samples map[string]q.Count) *Source {
	t.Helper()
	const weight = 1024
	b := sessiontest.New()
	p := b.Process("App", 7)
	b.Info[session.KeyObjects], b.Processes[p-1].Sampler = session.ObjectsLarge, session.SamplerRandom
	m, main := b.Module(p, "App.dll", true), b.Thread(p, "main")
	f := sessiontest.Frame{Function: b.Function(m, "App.Main()", "/src/App.cs", 10), Line: 12}
	for _, name := range []string{"Same", "Less", "More", "Few", "New", "Large"} {
		n, each := samples[name], q.Bytes(100)
		if n == 0 {
			continue
		}
		if name == "Large" {
			b.Allocate(1, main, b.Type(m, name), n, q.Bytes(n)*100_000, f)
			continue
		}
		site := b.Allocate(1, main, b.Type(m, name), n*weight, q.Bytes(n)*weight*each, f)
		b.Sites[site-1].Weight = weight
	}
	path := filepath.Join(t.TempDir(), "s.clrprof")
	if err := b.Write(path); err != nil {
		t.Fatal(err)
	}
	s, err := session.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	src, err := Open(s, Selection{})
	if err != nil {
		t.Fatal(err)
	}
	return src
}

// TestCompareEstimates: of values that samples stand for, a difference is one where their intervals are apart; what has
// fewer than ten samples, or none where others have some, has no number; what was counted is compared as ever.
func TestCompareEstimates(t *testing.T) {
	old := sampledTypes(t, map[string]q.Count{"Same": 100, "Less": 100, "More": 1000, "Large": 10})
	now := sampledTypes(t, map[string]q.Count{"Same": 110, "Less": 30, "More": 1300, "Few": 6, "New": 200, "Large": 11})
	for _, column := range []string{"bytes", "instances"} {
		c, err := Compare([]*Source{old}, []*Source{now}, "types", column)
		if err != nil || !c.Estimated {
			t.Fatal(c, err)
		}
		got := map[string]string{}
		for i := range c.Changes {
			x := c.At(i)
			sides, estimated := x.Estimated()
			got[x.Name] = fmt.Sprintln(x.Beyond(), estimated, sides[0].Few, sides[1].Few)
			if side := sides[1]; estimated && (x.New < side.Within.Low || x.New > side.Within.High) {
				t.Errorf("%s: %d is not in %v", x.Name, x.New, side.Within)
			}
		}
		for name, want := range map[string]string{"Same": "false true false false", "Less": "true true false false",
			"More": "true true false false", "Few": "false true true true", "New": "true true true false",
			"Large": "true false false false"} {
			if got[name] != want+"\n" {
				t.Errorf("%s of %s: %swant %s", column, name, got[name], want)
			}
		}
		if !c.WholeDiffers() {
			t.Errorf("%s: %d and %d do not differ", column, c.Old, c.New)
		}
	}
}
