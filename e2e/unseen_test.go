package e2e

import (
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
)

// TestUnseen: .NET processes that no agent tells of are named with the reason, also if they live for a tenth of a second.
func TestUnseen(t *testing.T) {
	t.Parallel()
	in := dotnettest.Need(t)
	target := dotnettest.Target(t, "Cleared", dotnettest.Options{})
	shell := func(runtime dotnettest.Runtime, script string) *exec.Cmd {
		of := runtime.Command(target, "child")
		cmd := exec.Command("sh", append([]string{"-c", script, "sh"}, of.Args...)...)
		cmd.Env = of.Env
		return cmd
	}
	for i, of := range []struct {
		name, script, reason string
		root                 bool
	}{
		{"cleared", "", "no_variables", false},
		{"elsewhere", "", "no_variables", false}, // the runtime is in no folder that clrprof knows at the start
		{"env", `env -i DOTNET_ROOT="$DOTNET_ROOT" "$@"; "$@" >/dev/null`, "no_variables", false},
		{"forbidden", `DOTNET_EnableDiagnostics=0 "$@"; "$@" >/dev/null`, "not_loaded", false},
		{"sandbox", `unshare -m sh -c 'mount -t tmpfs none /dev/shm; "$@"' sh "$@"; "$@" >/dev/null`, "no_folder", true},
	} {
		for _, runtime := range dotnettest.OneInTurn(in.Runtimes(), i) {
			t.Run(of.name+" "+runtime.Name, func(t *testing.T) {
				t.Parallel()
				if of.root && os.Getuid() != 0 {
					t.Skip("only root may mount")
				}
				cmd := runtime.Command(target)
				if of.script != "" {
					cmd = shell(runtime, of.script)
				}
				if of.name == "elsewhere" {
					cmd.Env = slices.DeleteFunc(cmd.Env, func(s string) bool { return strings.HasPrefix(s, "DOTNET_ROOT") })
				}
				r := record(t, cmd, "--memory")
				said := regexp.MustCompile(`child 1000 (\d+)`).FindStringSubmatch(r.stdout)
				if r.exit != 0 || said == nil {
					t.Fatalf("exit code %d: %s%s", r.exit, r.stdout, r.stderr)
				}
				type row struct{ PID, Reason string }
				got := query[row](t, r.session, `SELECT CAST(p.pid AS TEXT) AS pid, l.reason AS reason
					FROM loss l JOIN process p ON p.id = l.process_id WHERE p.name = 'Cleared'`)
				if len(got) != 1 || got[0] != (row{said[1], of.reason}) {
					t.Errorf("%+v, want process %s, %s", got, said[1], of.reason)
				}
				want := "1 process of .NET was not recorded, and nothing that it did is shown here: Cleared (" + said[1]
				if first := run(t, "report", r.session).stdout; !strings.HasPrefix(first, want) {
					t.Errorf("the summary does not begin with %q:\n%s", want, first)
				}
			})
		}
	}
}
