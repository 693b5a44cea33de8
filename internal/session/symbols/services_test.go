package symbols_test

import (
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clrprof/clrprof/internal/dotnet/clrmeta"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/session/symbols"
	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
)

// TestServices: the routes of methods of gRPC services, and of no others, also where one class is between a service
// and its base, and where groups are mapped.
func TestServices(t *testing.T) {
	install := dotnettest.Need(t)
	grpc, err := install.Compile([]string{"testdata/Grpc.cs"}, "", dotnettest.Options{Name: "Grpc.Core.Api", Library: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, debug := range []bool{false, true} {
		dll, err := install.Compile([]string{"testdata/Services.cs"}, "",
			dotnettest.Options{Name: "Services", References: []string{grpc}, NoOptimize: debug})
		if err != nil {
			t.Fatal(err)
		}
		in := symbols.Input{ReadCode: true, Modules: []session.Module{
			{ID: 1, Process: 1, Name: "Services.dll", Path: dll, Origin: "project"},
			{ID: 2, Process: 1, Name: "Grpc.Core.Api.dll", Path: grpc, Origin: "package"}}}
		for row := range openImage(t, dll).Metadata().Rows(clrmeta.TableMethodDef) {
			in.Functions = append(in.Functions, session.Function{ID: session.FunctionID(row + 1), Process: 1, Module: 1,
				Kind: session.FunctionMethod, Token: session.Token(clrmeta.MakeToken(clrmeta.TableMethodDef, row+1))})
		}
		have := map[int64]string{}
		for _, f := range symbols.Resolve(in, symbols.OpenFile, nil).Functions {
			if f.Route != "" {
				have[f.Line] = f.Route
			}
		}
		if diff := cmp.Diff(servicesWanted(t), have); diff != "" {
			t.Errorf("debug %v: routes by line (-want +have)\n%s", debug, diff)
		}
	}
}

// servicesWanted reads the comments of the source.
func servicesWanted(t *testing.T) map[int64]string {
	t.Helper()
	source, err := os.ReadFile("testdata/Services.cs")
	if err != nil {
		t.Fatal(err)
	}
	want := map[int64]string{}
	for i, line := range strings.Split(string(source), "\n") {
		if _, routes, ok := strings.Cut(line, "// POST "); ok {
			want[int64(i+1)] = "POST " + routes
		}
	}
	if routes := slices.Sorted(maps.Values(want)); len(routes) != 4 {
		t.Fatalf("the source has the routes %q", routes)
	}
	return want
}
