package report

import (
	"testing"

	"github.com/clrprof/clrprof/internal/analysis"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/testkit/analysistest"
	"github.com/clrprof/clrprof/internal/testkit/sessiontest"
)

// complete writes b to path, derives everything, checks it and opens it.
func complete(t testing.TB, b *sessiontest.Builder, path string) *session.Session {
	t.Helper()
	s := analysistest.Open(t, b, path)
	if found, err := analysis.Check(s); err != nil || len(found) > 0 {
		t.Fatal(found, err)
	}
	return s
}

func mapsKeys[K comparable, V any](m map[K]V) func(func(K) bool) {
	return func(yield func(K) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}
