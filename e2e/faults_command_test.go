package e2e

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
)

// script writes an executable file in the sandbox.
func (s *sandbox) script(name, text string, mode os.FileMode) string {
	s.t.Helper()
	path := filepath.Join(s.root, name)
	if err := errors.Join(os.WriteFile(path, []byte(text), 0o600), os.Chmod(path, mode)); err != nil {
		s.t.Fatal(err)
	}
	return path
}

// TestWrongCommands: what is wrong is said in one line with a code of its own, and no session is left.
func TestWrongCommands(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	for _, tt := range []struct {
		name  string
		args  []string
		env   []string
		code  int
		words []string
	}{
		{"no command", []string{"run"}, nil, codeUsage, []string{"COMMAND", "--help"}},
		{"no command after --", []string{"run", "--"}, nil, codeUsage, []string{"COMMAND"}},
		{"unknown flag", []string{"run", "--no-such-flag", "true"}, nil, codeUsage, []string{"no-such-flag", "--help"}},
		{"limit too small", []string{"run", "--memory-limit", "1K", "true"}, nil, codeUsage,
			[]string{"--memory-limit", "4M"}},
		{"limit is no number", []string{"run", "--memory-limit", "much", "true"}, nil, codeUsage,
			[]string{"--memory-limit"}},
		{"depth out of range", []string{"run", "--max-stack-depth", "70000", "true"}, nil, codeUsage,
			[]string{"65536"}},
		{"not found", []string{"run", "no-such-command-anywhere"}, nil, codeNoTarget,
			[]string{"no-such-command-anywhere", "not found"}},
		{"no such file", []string{"run", "./nothing"}, nil, codeNoTarget, []string{"./nothing", "no such file"}},
		{"empty", []string{"run", ""}, nil, codeNoTarget, []string{"cannot start"}},
		{"a directory", []string{"run", s.root}, nil, codeNoTarget, []string{s.root, "directory"}},
		{"not executable", []string{"run", s.script("plain", "true\n", 0o600)}, nil, codeNoTarget,
			[]string{"permission denied"}},
		{"no interpreter", []string{"run", s.script("broken", "#!/no/such/interpreter\n", 0o700)}, nil, codeNoTarget,
			[]string{"no such file"}},
		{"a program without .NET", []string{"run", "true"}, nil, codeNoRuntime,
			[]string{"no .NET runtime loaded the agent", "NativeAOT"}},
		{"a script without .NET", []string{"run", s.script("script", "#!/bin/sh\nexit 0\n", 0o700)}, nil, codeNoRuntime,
			[]string{"the script started no .NET"}},
		{"a program without .NET that fails", []string{"run", "sh", "-c", "exit 3"}, nil, 3,
			[]string{"no .NET runtime loaded the agent"}},
		{"a program without .NET that is killed", []string{"run", "sh", "-c", "kill -KILL $$"}, nil, 137,
			[]string{"no .NET runtime loaded the agent"}},
		{"another profiler", []string{"run", "true"},
			[]string{"CORECLR_ENABLE_PROFILING=1", "CORECLR_PROFILER={846F5F1C-F9AE-4B07-969E-05C26BC060D8}"},
			codeNoTarget,
			[]string{"another profiler", "{846F5F1C-F9AE-4B07-969E-05C26BC060D8}", "CORECLR_ENABLE_PROFILING"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cmd := s.command(tt.args...)
			cmd.Env = append(cmd.Env, tt.env...)
			r := s.finish(cmd)
			oneLine(t, r, tt.words...)
			if r.exit != tt.code || r.stdout != "" {
				t.Errorf("exit code %d, want %d; standard output %q", r.exit, tt.code, r.stdout)
			}
			if left := list(t, s.out); len(left) != 0 {
				t.Errorf("left: %v", left)
			}
		})
	}
}

// TestNotProfiled: a .NET program that may not be profiled, and a profiler that is set but not enabled.
func TestNotProfiled(t *testing.T) {
	t.Parallel()
	in := dotnettest.Need(t)
	for _, tt := range []struct {
		runtime  dotnettest.Runtime
		env      []string
		recorded bool
	}{
		{in.Newest(), []string{"DOTNET_EnableDiagnostics=0"}, false},
		{in.Newest(), []string{"DOTNET_EnableDiagnostics_Profiler=0"}, false},
		{in.Newest(), []string{"COMPlus_EnableDiagnostics=0"}, false},
		{in.Net31(), []string{"COMPlus_EnableDiagnostics=0"}, true}, // there it is about debuggers only
		{in.Newest(), []string{"CORECLR_ENABLE_PROFILING=0", "CORECLR_PROFILER={846F5F1C-F9AE-4B07-969E-05C26BC060D8}"},
			true},
		{in.Net31(), []string{"CORECLR_ENABLE_PROFILING=1", "CORECLR_PROFILER={8B2F1E5A-6C3D-4E9B-9A57-C1B0F2D34E61}",
			"CLRPROF_ARENAS=/gone"}, true},
	} {
		if dotnettest.Quick() && tt.runtime.Major() < 5 {
			continue // see dotnettest.Guest
		}
		s := newSandbox(t)
		command := s.target(tt.runtime, "Children", "child", "1")
		s.env = append(s.env, tt.env...)
		r := s.record(command)
		if !strings.Contains(r.stdout, `"truth":"end"`) {
			t.Errorf("%v: the target says %q", tt.env, r.stdout)
		}
		if tt.recorded {
			if r.exit != 0 {
				t.Fatalf("%v: exit code %d: %s", tt.env, r.exit, r.stderr)
			}
			checkSession(t, r.session)
			compareTruth(t, r, tt.runtime)
			continue
		}
		oneLine(t, r, "no .NET runtime loaded the agent", tt.env[0]+" forbids profilers")
		if left := list(t, s.out); r.exit != codeNoRuntime || len(left) != 0 {
			t.Errorf("%v: exit code %d, left %v", tt.env, r.exit, left)
		}
	}
}

// TestNested: a clrprof that another one runs leaves the command to the outer one.
func TestNested(t *testing.T) {
	t.Parallel()
	in := dotnettest.Need(t)
	s := newSandbox(t)
	inner := append([]string{binary, "run", "-o", "inner.clrprof"}, s.target(in.Newest(), "Exits", "return")...)
	r := s.record(inner)
	lines := strings.Split(r.stderr, "\n")
	if len(lines) != 3 || !strings.Contains(lines[0], "another clrprof is already recording") ||
		!strings.Contains(lines[1], "no .NET runtime loaded the agent") {
		t.Errorf("it says %q", r.stderr)
	}
	if left := list(t, s.out); r.exit != codeNoTarget || r.stdout != "" || len(left) != 0 {
		t.Errorf("exit code %d, left %v, the target says %q", r.exit, left, r.stdout)
	}
}

// TestArguments: what follows the command is the command's, to the letter.
func TestArguments(t *testing.T) {
	t.Parallel()
	in := dotnettest.Need(t)
	s := newSandbox(t)
	odd := []string{"-o", "x", "--", "--json", "", "a b", "ü\t'\"\\", "-f", "$HOME", "*", "%p"}
	echo := append(s.target(in.Newest(), "Echo", "args"), odd...)
	want := strings.Join(odd, "\n") + "\n"
	for _, flags := range [][]string{{"run", "--no-report", "-f", "-o", "s.clrprof"},
		{"run", "--no-report", "-f", "-o", "s.clrprof", "--"}} {
		r := s.run(append(flags, echo...)...)
		if d := cmp.Diff(want, r.stdout); r.exit != 0 || d != "" {
			t.Errorf("%v: exit code %d: %s%s", flags, r.exit, r.stderr, d)
		}
	}
	checkSession(t, filepath.Join(s.out, "s.clrprof"))
	if d := cmp.Diff([]string{"s.clrprof"}, list(t, s.out)); d != "" {
		t.Error(d)
	}
}

// TestStreams: standard input and output are the target's own, whatever they are.
func TestStreams(t *testing.T) {
	t.Parallel()
	in := dotnettest.Need(t)
	s := newSandbox(t)
	cmd := s.command(append([]string{"run", "--no-report", "-o", "s.clrprof", "--"},
		s.target(in.Newest(), "Echo", "cat")...)...)
	input := strings.Repeat("a\x00b\r\n\xff", 100_000)
	cmd.Stdin = strings.NewReader(input)
	if r := s.finish(cmd); r.exit != 0 || r.stdout != input {
		t.Errorf("exit code %d, %d bytes of %d come back: %s", r.exit, len(r.stdout), len(input), r.stderr)
	}
	r := s.record(s.target(in.Newest(), "Echo", "exit", "42", "x y"), "-f")
	if r.exit != 42 || r.stdout != "x y\n" || r.stderr != "error: x y\nclrprof: session s.clrprof\n" {
		t.Errorf("exit code %d, %q, %q", r.exit, r.stdout, r.stderr)
	}
	// A reader that has gone, as in `clrprof run … | head`, is the target's affair too.
	plain := s.target(in.Newest(), "Echo", "exit", "4", "x")
	pipeline := func(command []string) result {
		sh := s.command()
		sh.Path, sh.Args = "/bin/bash", append([]string{"bash", "-c", `"$@" | true; exit ${PIPESTATUS[0]}`, "bash"},
			command...)
		return s.finish(sh)
	}
	without, with := pipeline(plain), pipeline(append([]string{binary, "run", "--no-report", "-f", "-o", "s.clrprof",
		"--"}, plain...))
	if without.exit != with.exit {
		t.Errorf("without a reader: exit code %d, without clrprof %d: %s", with.exit, without.exit, with.stderr)
	}
}
