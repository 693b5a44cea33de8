package budget

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/testkit/analysistest"
	"github.com/clrprof/clrprof/internal/testkit/sessiontest"
)

// filling is a session in which a function allocates 100 bytes, a static constructor below it 50, and the array pool so
// many arrays of a byte each.
func filling(arrays int64) *sessiontest.Builder {
	b := sessiontest.New()
	p := b.Process("app", 7)
	own, framework, main := b.Module(p, "App.dll", true), b.Module(p, "System.dll", false), b.Thread(p, "main")
	work := sessiontest.Frame{Function: b.Function(own, "App.Program.Work()", "/src/App.cs", 10), Line: 12}
	static := sessiontest.Frame{Function: b.Function(own, "App.Table..cctor()", "/src/App.cs", 20), Line: 22}
	rent := sessiontest.Frame{Function: b.Function(framework, "System.Buffers.SharedArrayPool<byte>.Rent(int)", "", 0)}
	of := b.Type(framework, "byte[]")
	b.Allocate(1, main, of, 1, 100, work)
	b.Allocate(1, main, of, 1, 50, work, static)
	b.Allocate(1, main, of, quantity.Count(arrays), quantity.Bytes(arrays), work, rent)
	return b
}

// TestSteady: what fills once is left out and said; arrays of a pool are, unless they are more than it fills with.
func TestSteady(t *testing.T) {
	for _, tt := range []struct {
		arrays, value int64
		why           string
	}{{28, 100, "; without 78 B that fill once"},
		{29, 129, "; without 50 B that fill once; the array pool made 29 arrays"}} {
		b, err := Parse("[[limit]]\nmetric = \"bytes\"\nmax = \"1K\"\nsteady = true\n")
		if err != nil {
			t.Fatal(err)
		}
		got, err := b.Judge(t.Context(), []*session.Session{analysistest.Open(t, filling(tt.arrays), filepath.Join(t.TempDir(), "a"))}, nil)
		if err != nil {
			t.Fatal(err)
		}
		v := got[len(got)-1]
		if v.Value != tt.value || !strings.Contains(v.Why, tt.why) || v.Title != "bytes, without what fills once" {
			t.Errorf("%d arrays: %d, %s: %s", tt.arrays, v.Value, v.Title, v.Why)
		}
	}
}
