package e2e

import (
	"os"
	"strings"
	"testing"

	"github.com/clrprof/clrprof/internal/session"

	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
)

// TestHotReload: a library can be changed while it runs, as it can without clrprof, and its calls are recorded before
// and after, by hooks. What needs probes in its code is reported not to be there.
func TestHotReload(t *testing.T) {
	t.Parallel()
	dotnettest.NotQuick(t, "it runs real builds")
	source, err := os.ReadFile("../testdata/targets/HotReload/Program.cs")
	if err != nil {
		t.Fatal(err)
	}
	p := newProject(t, map[string]string{"Program.cs": string(source)})
	references := "<ItemGroup>"
	for _, name := range []string{"Microsoft.CodeAnalysis", "Microsoft.CodeAnalysis.CSharp"} {
		references += `<Reference Include="` + p.sdk.Dir() + "/Roslyn/bincore/" + name + `.dll"/>`
	}
	project := strings.Replace(consoleProject, "</Project>", references+"</ItemGroup></Project>", 1)
	if err := os.WriteFile(p.dir+"/app.csproj", []byte(project), 0o644); err != nil {
		t.Fatal(err)
	}
	p.build("Debug")
	const want = "before 2000\nafter 3000\nafter 3000\nafter 3000\n"
	for _, flags := range [][]string{{"--memory"}, {"--memory", "--meter", "Shop.*"}, {"--time", "--memory"}, {"--time",
		"--mark-at", "Changed.Text"}} {
		t.Run(strings.Join(flags, " "), func(t *testing.T) {
			cmd := p.dotnet("bin/Debug/net10.0/app.dll")
			cmd.Env = append(cmd.Env, "DOTNET_MODIFIABLE_ASSEMBLIES=debug")
			r := record(t, cmd, flags...)
			if r.exit != 0 || r.stdout != want {
				t.Fatalf("exit code %d, it says %q\n%s", r.exit, r.stdout, r.stderr)
			}
			if flags[0] == "--memory" {
				checkTables(t, r.session)
				return
			}
			soundTime(t, r.session)
			compareCallsByName(t, r, "f.raw_type = 'Changed'", map[string]int64{"Sum": 4, "Text": 4000, "Added": 3000})
			for _, process := range need(t, openSession(t, r.session).ProcessTimes) {
				if process.Probes != session.ProbesHooks {
					t.Errorf("calls are seen by %s", process.Probes)
				}
			}
			losses := query[struct{ Reason string }](t, r.session, "SELECT reason FROM loss")
			if marked := len(flags) > 2; marked != (len(losses) == 1) || marked && losses[0].Reason != session.LossNotProbed {
				t.Errorf("lost: %v", losses)
			}
		})
	}
}
