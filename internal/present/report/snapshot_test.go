package report

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/clrprof/clrprof/internal/analysis"
	"github.com/clrprof/clrprof/internal/testkit/sessiontest"
)

func TestSnapshotOfUnknownType(t *testing.T) {
	s := complete(t, sessiontest.Heap(), filepath.Join(t.TempDir(), "s"))
	for _, argument := range []string{"Nothing", "Shop"} {
		view, err := FindView("snapshot")
		if err != nil {
			t.Fatal(err)
		}
		src, err := analysis.Open(s, analysis.Selection{})
		if err != nil {
			t.Fatal(err)
		}
		var unknown *UnknownError
		if _, err := view.Build(src, Options{Argument: argument}); !errors.As(err, &unknown) ||
			unknown.Ambiguous != (argument == "Shop") {
			t.Errorf("%s: %v", argument, err)
		}
	}
}
