package e2e

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestInheritedSignals: a command ignores and blocks under clrprof just what it ignores and blocks without it, of all 64
// signals.
func TestInheritedSignals(t *testing.T) {
	t.Parallel()
	signals := filepath.Join(t.TempDir(), "signals")
	if text, err := exec.Command("gcc", "-Wall", "-Werror", "-o", signals, "testdata/signals.c").CombinedOutput(); err != nil {
		t.Fatalf("gcc: %v\n%s", err, text)
	}
	const all = ^uint64(0)
	sets := [][2]uint64{{}, {all, 0}, {0, all}, {all, all},
		{1<<(unix.SIGTERM-1) | 1<<(unix.SIGCHLD-1), 0}, {1 << (unix.SIGPIPE - 1), 0}, {0, 1 << (unix.SIGSEGV - 1)}}
	random := rand.New(rand.NewPCG(1, 2))
	for range 8 {
		sets = append(sets, [2]uint64{random.Uint64(), random.Uint64()}, [2]uint64{random.Uint64() & random.Uint64() & random.Uint64(), 0})
	}
	show := []string{"sed", "-n", "/^SigBlk/p;/^SigIgn/p", "/proc/self/status"}
	for _, set := range sets {
		args := []string{fmt.Sprintf("%x", set[0]), fmt.Sprintf("%x", set[1])}
		want, err := exec.Command(signals, append(args, show...)...).Output()
		if err != nil || len(want) == 0 {
			t.Fatalf("%x: %v, %q", set, err, want)
		}
		args = append(append(args, binary, "run", "-f", "-o", filepath.Join(t.TempDir(), "s.clrprof"), "--"), show...)
		cmd := exec.Command(signals, args...)
		have, _ := cmd.Output()
		if cmd.ProcessState.ExitCode() != 124 || string(have) != string(want) { // the command is no .NET program
			t.Errorf("%x: exit code %d, %q, want %q", set, cmd.ProcessState.ExitCode(), have, want)
		}
	}
}

// TestInheritedByShells: what nohup, trap and the background of a shell protect a command from, they protect it from
// under clrprof, whether it is sent to the command or to clrprof, which still waits for its end.
func TestInheritedByShells(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, script, command, want string
	}{
		{"trap", `trap '' TERM; "$@"`, `kill -TERM $$; kill -TERM $PPID; echo lived`, "lived\n"},
		{"trap of several", `trap '' TERM QUIT USR1 ALRM; "$@"`, `for s in TERM QUIT USR1 ALRM; do kill -$s $$; done; echo lived`,
			"lived\n"},
		{"nohup", `nohup "$@" 2>/dev/null`, `kill -HUP $$; kill -HUP $PPID; echo lived`, "lived\n"},
		{"background", `"$@" & wait`, `kill -INT $$; kill -QUIT $$; kill -INT $PPID; kill -QUIT $PPID; echo lived`, "lived\n"},
		{"not ignored", `"$@"`, `kill -TERM $$; echo lived`, ""},
		{"forwarded", `"$@"`, `trap 'echo told; exit' TERM; kill -TERM $PPID; while :; do :; done`, "told\n"},
		{"cannot be started", `trap '' TERM; "$1" "$2" "$3" "$4" "$5" -- /nowhere/at/all; echo $?`, "", "123\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			recorded := []string{binary, "run", "-f", "-o", filepath.Join(t.TempDir(), "s.clrprof"), "--", "sh", "-c", tt.command}
			out, err := exec.Command("sh", slices.Concat([]string{"-c", tt.script, "sh"}, recorded)...).Output()
			if string(out) != tt.want {
				t.Errorf("%q, %v, want %q", out, err, tt.want)
			}
		})
	}
	// A script without #! is run by the shell, with the same signals.
	t.Run("script", func(t *testing.T) {
		t.Parallel()
		script := filepath.Join(t.TempDir(), "script")
		if err := os.WriteFile(script, []byte("kill -TERM $$\necho lived\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command("sh", "-c", `trap '' TERM; "$@"`, "sh", binary, "run", "-f", "-o",
			filepath.Join(t.TempDir(), "s.clrprof"), "--", script).Output()
		if strings.TrimSpace(string(out)) != "lived" {
			t.Errorf("%q, %v", out, err)
		}
	})
}
