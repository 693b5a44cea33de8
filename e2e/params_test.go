package e2e

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
)

// forParams is what a function made for params, as the target Params knows it or the rule says it.
type forParams struct {
	Rule     string `json:"rule"`
	Function string `json:"function"`
	Objects  int64  `json:"objects"`
	Bytes    int64  `json:"bytes"`
}

// TestParams: the rule params finds each object that is made only because a method has params, and no other one.
func TestParams(t *testing.T) {
	t.Parallel()
	for i, w := range []way{
		{name: "tiered"},
		{name: "optimized", env: []string{"DOTNET_TieredCompilation=0"}},
		{name: "debug", options: dotnettest.Options{NoOptimize: true}},
	} {
		w.options.Framework = dotnettest.Net8
		for _, runtime := range dotnettest.OneInTurn(dotnettest.NeedRuntimes(t, 8), i) {
			t.Run(w.name+"/"+runtime.Name, func(t *testing.T) {
				t.Parallel()
				cmd := runtime.Command(dotnettest.Target(t, "Params", w.options))
				cmd.Env = append(cmd.Env, w.env...)
				r := mustRecord(t, cmd, "--memory")
				want, have := map[string]forParams{}, map[string]forParams{}
				for _, row := range truthRows[forParams](t, r.stdout, "params") {
					if row.Objects != 0 {
						want[row.Function] = row
					}
				}
				type finding struct {
					forParams
					Objects int64 `json:"instances"`
					Bytes   int64 `json:"bytes"`
				}
				for _, f := range view[finding](t, r.session, "rules") {
					if f.Rule != "params" {
						continue
					}
					name, _, _ := strings.Cut(f.Function, "(")
					name = strings.TrimPrefix(strings.TrimPrefix(name, "Params."), "Program.")
					sum := have[name]
					have[name] = forParams{"", name, sum.Objects + f.Objects, sum.Bytes + f.Bytes}
				}
				if diff := cmp.Diff(want, have); diff != "" {
					t.Errorf("for params (-truth +rule):\n%s", diff)
				}
			})
		}
	}
}
