package e2e

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
	"github.com/clrprof/clrprof/internal/wire"
)

// TestHelpers: a program that boxes and casts in every way has frames and calls of the core library, but none of the
// helpers that the runtime has there, whatever is recorded. TestTruth compares for whom the objects count.
func TestHelpers(t *testing.T) {
	t.Parallel()
	in := dotnettest.Need(t)
	for i, tt := range []struct {
		name  string
		flags []string
		least int // functions of the core library
	}{
		{"memory", []string{"--memory"}, 10},
		{"all", []string{"--time", "--instrument", "all"}, 100},
		{"time", []string{"--time"}, 10},
		{"pattern", []string{"--time", "--memory", "--include", "System.*"}, 100},
	} {
		runtimes := in.Runtimes()
		if i > 1 { // of what the two before have a part
			runtimes = dotnettest.OneInTurn(runtimes, i)
		}
		for _, runtime := range runtimes {
			t.Run(tt.name+"/"+runtime.Name, func(t *testing.T) {
				t.Parallel()
				cmd := runtime.Command(dotnettest.Target(t, "Boxes", dotnettest.Options{}), "500")
				cmd.Env = append(cmd.Env, tier0.env...) // what is optimized inlines some of them
				r := recordOnce(t, cmd, tt.flags...)
				if r.exit != 0 {
					t.Fatalf("exit code %d\n%s%s", r.exit, r.stdout, r.stderr)
				}
				functions := query[struct {
					Type   string `json:"raw_type"`
					Method string `json:"raw_name"`
				}](t, r.session,
					`SELECT DISTINCT f.raw_type, f.raw_name FROM node n JOIN function f ON f.id = n.function_id
					JOIN module m ON m.id = f.module_id WHERE m.name = 'System.Private.CoreLib.dll'`)
				for _, f := range functions {
					if wire.IsHelper(f.Type, f.Method) {
						t.Errorf("%s.%s has a node", f.Type, f.Method)
					}
				}
				if len(functions) < tt.least {
					t.Errorf("%d functions of the core library, want at least %d", len(functions), tt.least)
				}
			})
		}
	}
}

// TestUnreported: where .NET 10 cannot be made to report boxes the program runs on undisturbed, and every view says
// what is missing.
func TestUnreported(t *testing.T) {
	t.Parallel()
	library := filepath.Join(t.TempDir(), "readonly.so")
	if text, err := exec.Command("gcc", "-Wall", "-shared", "-fPIC", "-o", library,
		"testdata/readonly.c").CombinedOutput(); err != nil {
		t.Fatalf("gcc: %v\n%s", err, text)
	}
	for _, runtime := range dotnettest.NeedRuntimes(t, 10) {
		t.Run(runtime.Name, func(t *testing.T) {
			cmd := runtime.Command(dotnettest.Target(t, "Boxes", dotnettest.Options{}), "500")
			cmd.Env = append(cmd.Env, "LD_PRELOAD="+library)
			r := recordOnce(t, cmd)
			if r.exit != 0 {
				t.Fatalf("exit code %d\n%s%s", r.exit, r.stdout, r.stderr)
			}
			losses := query[struct {
				Missing int `json:"missing"`
			}](t, r.session, "SELECT missing FROM losses WHERE reason = 'unreported'")
			if len(losses) != 1 || losses[0].Missing != 1 {
				t.Errorf("losses: %+v", losses)
			}
			for _, view := range []string{"summary", "functions", "types", "calltree", "lines"} {
				if text := run(t, "report", r.session, view).stdout; !strings.Contains(text,
					"an unknown number of allocations: this .NET does not report most boxes") {
					t.Errorf("%s does not say what is lost:\n%s", view, text)
				}
			}
		})
	}
}
