package cli

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/clrprof/clrprof/internal/session/sessiontest"
)

// canceledLater is a context that is done when something is written, but not yet when something is read.
type canceledLater struct{ context.Context }

func (canceledLater) Err() error { return context.Canceled }

// TestExportInterrupted: an export that is interrupted, while it reads or while it writes, leaves no file and ends
// as a shell would say.
func TestExportInterrupted(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "shop.clrprof")
	if err := writeComplete(sessiontest.Shop(), path); err != nil {
		t.Fatal(err)
	}
	reading, cancel := context.WithCancel(context.Background())
	cancel()
	writing := canceledLater{context.Background()}
	for _, c := range []struct {
		format string
		ctx    context.Context
	}{
		{"pprof", reading}, {"speedscope", reading}, {"collapsed", reading}, {"sqlite", reading}, {"parquet", reading},
		{"pprof", writing}, {"speedscope", writing}, {"collapsed", writing}, // libraries write the others
	} {
		out := filepath.Join(dir, "out")
		x := exportFlags{format: c.format, output: out}
		err := x.run(c.ctx, &environment{stdout: &bytes.Buffer{}, stderr: &bytes.Buffer{}}, path)
		if !errors.Is(err, context.Canceled) || codeOf(err) != exitInterrupted {
			t.Errorf("%s: %v, code %d", c.format, err, codeOf(err))
		}
		if _, err := os.Stat(out); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: there is a file: %v", c.format, err)
		}
	}
}
