package symbols_test

import (
	"encoding/hex"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/clrprof/clrprof/internal/dotnettest"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/symbols"
)

// names compiles testdata/Names.cs.
func names(t *testing.T, o dotnettest.Options) (*dotnettest.Install, string) {
	t.Helper()
	in := dotnettest.Need(t)
	o.Name, o.Unsafe = "Names", true
	dll, err := in.Compile([]string{"testdata/Names.cs", "testdata/Frames.cs"}, "", o)
	if err != nil {
		t.Fatal(err)
	}
	return in, dll
}

// reflected runs Names and returns its methods as the agent would record them.
func reflected(t *testing.T, rt dotnettest.Runtime, dll string) []session.Function {
	t.Helper()
	cmd := rt.Command(dll)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var functions []session.Function
	for line := range strings.Lines(string(out)) {
		f := strings.Split(strings.TrimSpace(line), "\t")
		if len(f) != 4 {
			t.Fatalf("unexpected output %q", line)
		}
		token, err := strconv.ParseUint(f[0], 16, 32)
		if err != nil {
			t.Fatal(err)
		}
		signature, err := hex.DecodeString(f[3])
		if err != nil {
			t.Fatal(err)
		}
		functions = append(functions, session.Function{
			ID: session.FunctionID(len(functions) + 1), Module: 1, Kind: session.FunctionMethod,
			Token: session.Token(token), RawType: f[1], RawName: f[2], Signature: signature,
		})
	}
	return functions
}

func TestShowNames(t *testing.T) {
	in, dll := names(t, dotnettest.Options{})
	functions := reflected(t, in.Net9(), dll)
	out := symbols.Resolve(symbols.Input{
		Modules:   []session.Module{{ID: 1, Path: dll}},
		Functions: functions,
	}, symbols.OpenFile, nil)
	fmt.Println(out.Modules, out.Summary)
	for _, f := range out.Functions {
		fmt.Println(f.RawType, f.RawName, "\n\t", f.Name, f.File, f.Line)
	}
}
