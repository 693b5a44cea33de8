package e2e

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
)

// deliveries are the ways in which programs are delivered, with their properties.
var deliveries = []struct {
	name       string
	properties []string
}{
	{"precompiled", []string{"SelfContained=false", "PublishReadyToRun=true"}},
	{"single file", []string{"SelfContained=true", "PublishSingleFile=true", "DebugType=embedded"}},
	{"single file compressed", []string{"SelfContained=true", "PublishSingleFile=true",
		"EnableCompressionInSingleFile=true", "DebugType=embedded"}},
	{"single file trimmed", []string{"SelfContained=true", "PublishSingleFile=true", "PublishTrimmed=true",
		"TrimMode=partial", "DebugType=embedded"}},
}

// delivered returns the executable of a target, delivered in that way.
func delivered(t *testing.T, target string, properties []string) *exec.Cmd {
	t.Helper()
	return deliveredWith(t, target, nil, properties)
}

// deliveredWith is delivered for a target that has the sources of others in it.
func deliveredWith(t *testing.T, target string, others, properties []string) *exec.Cmd {
	t.Helper()
	in, sdk := dotnettest.NeedSDK(t)
	const targets = "../testdata/targets/"
	sources := []string{targets + target, targets + "Truth.cs", targets + "Calls.cs"}
	for _, other := range others {
		sources = append(sources, targets+other)
	}
	exe, err := in.Publish(sdk, target, sources, properties...)
	if err != nil {
		t.Fatal(err)
	}
	return &exec.Cmd{Path: exe, Args: []string{exe}, Env: dotnettest.NeedRuntimes(t, sdk.Major())[0].Env()}
}

// TestPublished profiles programs as they are delivered: precompiled, trimmed, and in one file, whose assemblies are no
// files on disk. What is said of them is as right, and as readable, as of any other.
func TestPublished(t *testing.T) {
	t.Parallel()
	dotnettest.NotQuick(t, "it publishes programs")
	_, sdk := dotnettest.NeedSDK(t)
	runtime := dotnettest.NeedRuntimes(t, sdk.Major())[0]
	for _, tt := range deliveries {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := mustRecord(t, delivered(t, "Shapes", tt.properties))
			reported := r
			// it asks for types when it first uses them: the runtime's objects are on those lines, too
			if tt.name == "precompiled" {
				reported = withoutLines(r)
			}
			compareTruth(t, reported, runtime)
			checkReadable(t, r.session, "Shapes.dll")
		})
	}
}

// checkReadable asserts that all functions have parameters, and those of the program lines: but for the initialiser of
// a closure, which the compiler makes from nothing.
func checkReadable(t *testing.T, path, module string) {
	t.Helper()
	for _, f := range query[struct{ Name, Module string }](t, path,
		"SELECT f.name, coalesce(m.name, '') AS module FROM function f LEFT JOIN module m ON m.id = f.module_id "+
			"WHERE f.kind = 'method' "+
			"AND f.name NOT LIKE '%<closure>..cctor()' AND (f.name LIKE '%(?)%' OR m.name = '"+module+
			"' AND f.line = 0 OR f.name = '')") {
		if !strings.HasPrefix(f.Name, "IL_STUB") {
			t.Errorf("%s in %s has no parameters or no line", f.Name, f.Module)
		}
	}
	if n := query[struct{ N int }](t, path,
		"SELECT count(*) AS n FROM function f JOIN module m ON m.id = f.module_id WHERE f.line > 0 AND m.name = '"+
			module+"'")[0].N; n < 50 {
		t.Errorf("%d functions of %s have lines", n, module)
	}
}
