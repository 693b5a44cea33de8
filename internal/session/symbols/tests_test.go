package symbols_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clrprof/clrprof/internal/dotnet/clrmeta"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/session/symbols"
	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
)

// TestTests: a method is a test by the name of an attribute, or of one that the attribute extends; the state machine of
// an async test is one, too.
func TestTests(t *testing.T) {
	dll, err := dotnettest.Need(t).Compile([]string{"testdata/Tests.cs"}, "", dotnettest.Options{})
	if err != nil {
		t.Fatal(err)
	}
	in := symbols.Input{Modules: []session.Module{{ID: 1, Name: "Tests.dll", Path: dll}}}
	meta := openImage(t, dll).Metadata()
	for row := uint32(1); row <= meta.Rows(clrmeta.TableMethodDef); row++ {
		token := clrmeta.MakeToken(clrmeta.TableMethodDef, row)
		method, err := meta.Method(token)
		if err != nil {
			t.Fatal(err)
		}
		in.Functions = append(in.Functions, session.Function{ID: session.FunctionID(row), Module: 1,
			Token: session.Token(token), Kind: session.FunctionMethod, RawName: method.Name})
	}
	got := map[string]string{}
	for _, f := range symbols.Resolve(in, symbols.OpenFile, nil).Functions {
		if f.Test != "" {
			got[f.Name] = f.Test
		}
	}
	const ms = "Microsoft.VisualStudio.TestTools.UnitTesting."
	want := map[string]string{
		"Mine.Cases.Fact()": "Xunit.FactAttribute", "Mine.Cases.Theory()": "Xunit.TheoryAttribute",
		"Mine.Cases.Waits()": "Xunit.FactAttribute", "Mine.Cases.Waits() [async]": "Xunit.FactAttribute",
		"Mine.Cases.Test()": "NUnit.Framework.TestAttribute", "Mine.Cases.TestCase()": "NUnit.Framework.TestCaseAttribute",
		"Mine.Cases.TestMethod()": ms + "TestMethodAttribute", "Mine.Cases.DataTestMethod()": ms + "DataTestMethodAttribute",
		"Mine.Cases.Slow()":  "Mine.SlowAttribute",
		"Mine.Cases.Inner()": "Mine.Outer/InnerAttribute",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("tests (-want +got):\n%s", d)
	}
}
