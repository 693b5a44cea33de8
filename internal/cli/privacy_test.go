package cli

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/session/secrets"
	"github.com/clrprof/clrprof/internal/testkit/sessiontest"
)

// TestPrivacyOfExports: which exports have arguments and the name of the host is what docs/privacy.md says.
func TestPrivacyOfExports(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "shop.clrprof")
	b := sessiontest.Shop()
	b.Info[session.KeyHost] = "the-host-of-it"
	for i := range b.Processes {
		b.Processes[i].Arguments = `["dotnet","the-argument-of-it","--password","the-secret-of-it"]`
	}
	if err := writeComplete(b, path); err != nil {
		t.Fatal(err)
	}
	for _, f := range exportFormats {
		if f.files != nil || f.reports != "" || f.name == "html" { // all tables; values of functions; packed views
			continue
		}
		out := filepath.Join(dir, "out")
		x := exportFlags{format: f.name, output: out, sampleTypes: "clrprof", reports: []string{allReports}}
		err := x.run(context.Background(), &environment{stdout: io.Discard, stderr: io.Discard}, path)
		if err != nil {
			t.Fatal(err)
		}
		written, err := os.ReadFile(out)
		if err != nil {
			t.Fatal(err)
		}
		if z, err := gzip.NewReader(bytes.NewReader(written)); err == nil {
			if written, err = io.ReadAll(z); err != nil {
				t.Fatal(err)
			}
		}
		has := func(text string) bool { return strings.Contains(string(written), text) }
		whole := f.name == "sqlite" || f.name == "json"
		if has("the-secret-of-it") {
			t.Errorf("%s: a secret", f.name)
		}
		if got := has("the-argument-of-it"); got != whole {
			t.Errorf("%s: arguments %t, want %t", f.name, got, whole)
		}
		if got, want := has("the-host-of-it"), whole || f.name == "otlp"; got != want {
			t.Errorf("%s: host %t, want %t", f.name, got, want)
		}
		if err := os.Remove(out); err != nil {
			t.Fatal(err)
		}
		if !whole {
			continue
		}
		x.arguments = secrets.Program
		if err = x.run(context.Background(), &environment{stdout: io.Discard, stderr: io.Discard}, path); err != nil {
			t.Fatal(err)
		}
		if written, err = os.ReadFile(out); err != nil || has("the-argument-of-it") {
			t.Errorf("%s --arguments program: arguments: %v", f.name, err)
		}
		if err := os.Remove(out); err != nil {
			t.Fatal(err)
		}
	}
}
