package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
)

// pipelineSystem is a system that runs a sample pipeline.
type pipelineSystem struct {
	file     string // below samples/orderbook
	baseline string // the file that the system keeps by branch
	oneShell bool   // all lines run in one shell
	flags    []string
	own, pr  []string // the environment of a run for the branch itself, and of one for a pull request
}

var pipelineSystems = map[string]pipelineSystem{
	"GitHub": {"pipeline.yml", "baseline.clrprof", false, []string{"-e"},
		[]string{"EVENT=push"}, []string{"EVENT=pull_request"}},
	"GitLab": {"pipeline.gitlab.yml", "baseline.clrprof", true, []string{"-e", "-o", "pipefail"},
		[]string{"KEEP=pull-push"}, []string{"KEEP=pull"}},
	"Azure": {"pipeline.azure.yml", "baseline/baseline.clrprof", false, nil,
		[]string{"BUILD_REASON=IndividualCI"}, []string{"BUILD_REASON=PullRequest"}},
}

// pipelineStep is the shell's part of a step.
type pipelineStep struct{ condition, text string }

var (
	stepKey    = regexp.MustCompile(`^\s*(?:- )?(if|run|bash): (.*)$`)
	scriptKey  = regexp.MustCompile(`^  (before_script|script):$`)
	scriptLine = regexp.MustCompile(`^    - (.*)$`)
)

// readSteps reads the steps of a pipeline that have lines for a shell, in their order: as much of YAML as the samples use.
func readSteps(t *testing.T, path string) []pipelineStep {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var out []pipelineStep
	lines, condition, script := strings.Split(string(text), "\n"), "", false
	for i := 0; i < len(lines); i++ {
		line := lines[i]
		indent := len(line) - len(strings.TrimLeft(line, " "))
		if strings.HasPrefix(strings.TrimLeft(line, " "), "- ") && !script {
			condition = ""
		}
		if indent <= 2 && line != "" {
			script = scriptKey.MatchString(line)
		}
		if m := scriptLine.FindStringSubmatch(line); m != nil && script {
			out = append(out, pipelineStep{text: m[1]})
			continue
		}
		m := stepKey.FindStringSubmatch(line)
		switch {
		case m == nil:
		case m[1] == "if":
			condition = m[2]
		case m[2] != "|":
			out = append(out, pipelineStep{condition, m[2]})
		default:
			var block strings.Builder
			key := strings.Index(line, m[1]+":") // the block is what stands further right
			for ; i+1 < len(lines) && strings.HasPrefix(lines[i+1], strings.Repeat(" ", key+1)); i++ {
				block.WriteString(strings.TrimSpace(lines[i+1]) + "\n")
			}
			out = append(out, pipelineStep{condition, block.String()})
		}
	}
	return out
}

// standIns replace commands that a test must not run: git clones a clrprof whose Makefile "builds" the one under test,
// and apt-get installs nothing.
var standIns = map[string]string{
	"git": `#!/bin/sh
for last; do :; done
mkdir -p "$last/bin" && printf 'build:\n\tcp "$$CLRPROF_UNDER_TEST" bin/clrprof\n' >"$last/Makefile"
`,
	"apt-get": "#!/bin/sh\n",
}

// pipelineRun is a run of a pipeline in a directory.
type pipelineRun struct {
	system pipelineSystem
	dir    string
	env    []string
	path   []string // added to PATH by steps
	output strings.Builder
}

// step runs a step as the system does, and reports whether it passed.
func (r *pipelineRun) step(t *testing.T, text string) bool {
	t.Helper()
	added, summary := filepath.Join(r.dir, "home", "path"), filepath.Join(r.dir, "home", "summary")
	cmd := exec.Command("bash", append(r.system.flags, "-c", text)...)
	cmd.Dir, cmd.Env = r.dir, append(r.env, "GITHUB_PATH="+added, "GITHUB_STEP_SUMMARY="+summary,
		"RUNNER_TEMP="+filepath.Join(r.dir, "home"), "AGENT_TEMPDIRECTORY="+filepath.Join(r.dir, "home"))
	for _, kv := range r.env {
		if path, found := strings.CutPrefix(kv, "PATH="); found {
			cmd.Env = append(cmd.Env, "PATH="+strings.Join(append(r.path, path), ":"))
		}
	}
	out, err := cmd.CombinedOutput()
	r.output.Write(out)
	for line := range strings.Lines(string(out)) {
		if dir, found := strings.CutPrefix(line, "##vso[task.prependpath]"); found {
			r.path = append(r.path, strings.TrimSpace(dir))
		}
	}
	if more, err := os.ReadFile(added); err == nil {
		r.path = strings.Fields(string(more))
	}
	return err == nil
}

// runPipeline runs the steps of a pipeline on the sample, changed, with what the system keeps as the baseline in kept,
// and returns what it printed and whether it passed. A run for the branch itself keeps a new baseline.
func runPipeline(t *testing.T, system pipelineSystem, kept, from, to string, forBranch bool) (string, bool) {
	t.Helper()
	p := newProject(t, nil)
	if err := os.CopyFS(p.dir, os.DirFS("../samples/orderbook")); err != nil {
		t.Fatal(err)
	}
	source := filepath.Join(p.dir, "Program.cs")
	text, err := os.ReadFile(source)
	if err != nil || !strings.Contains(string(text), from) {
		t.Fatal(err)
	}
	if err := os.WriteFile(source, []byte(strings.Replace(string(text), from, to, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	home := filepath.Join(p.dir, "home")
	env := append(p.sdk.Env(home, system.pr...), "CLRPROF_UNDER_TEST="+binary)
	if forBranch {
		env = append(p.sdk.Env(home, system.own...), "CLRPROF_UNDER_TEST="+binary)
	}
	stands := t.TempDir()
	for name, script := range standIns {
		if err := os.WriteFile(filepath.Join(stands, name), []byte(script), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	baseline := filepath.Join(p.dir, system.baseline)
	if data, err := os.ReadFile(kept); err == nil {
		if err := os.MkdirAll(filepath.Dir(baseline), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(baseline, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r := &pipelineRun{system: system, dir: p.dir, env: env, path: []string{stands}}
	passed := r.steps(t, readSteps(t, filepath.Join("../samples/orderbook", system.file)), forBranch)
	if forBranch && passed {
		if err := copyFile(baseline, kept); err != nil {
			t.Errorf("no baseline is kept: %v\n%s", err, r.output.String())
		}
	}
	return r.output.String(), passed
}

// steps runs steps until one fails.
func (r *pipelineRun) steps(t *testing.T, list []pipelineStep, forBranch bool) bool {
	t.Helper()
	if r.system.oneShell {
		var all strings.Builder
		for _, s := range list {
			all.WriteString(s.text + "\n")
		}
		return r.step(t, all.String())
	}
	for _, s := range list {
		switch s.condition {
		case "":
		case "github.event_name == 'push'":
			if !forBranch {
				continue
			}
		default:
			t.Fatalf("unknown condition %q", s.condition)
		}
		stands := r.path[0]
		if !r.step(t, s.text) {
			return false
		}
		if len(r.path) == 0 || r.path[len(r.path)-1] != stands { // git stays the stand-in, behind what steps added
			r.path = append(r.path, stands)
		}
	}
	return true
}

// TestSamplePipelines runs the shell's lines of each sample pipeline in their order: the first run, without a baseline,
// passes and keeps one; the next for the same code passes; one for dearer code fails, and names the line.
func TestSamplePipelines(t *testing.T) {
	t.Parallel()
	dotnettest.NotQuick(t, "it runs real builds")
	for name, system := range pipelineSystems {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			kept := filepath.Join(t.TempDir(), "kept")
			const first = "var exchange = new Exchange(Symbols);"
			if out, passed := runPipeline(t, system, kept, first, first, true); !passed {
				t.Fatalf("the first run fails:\n%s", out)
			}
			out, passed := runPipeline(t, system, kept, first, first, false)
			if !passed || strings.Contains(out, "There is no baseline") {
				t.Errorf("the same code fails, or is not compared:\n%s", out)
			}
			out, passed = runPipeline(t, system, kept, first, first+" GC.KeepAlive(new byte[8_000_000]);", false)
			source, err := os.ReadFile("../samples/orderbook/Program.cs")
			if err != nil {
				t.Fatal(err)
			}
			before, _, _ := strings.Cut(string(source), first)
			line := strings.Count(before, "\n") + 1
			// Where .NET inlines a little else, other lines of Main have more or less, too: the line that has most is named
			// behind the function.
			at := regexp.MustCompile(fmt.Sprintf(`Most of the growth: Program\.Main.* Program\.cs:%d[,)]`, line))
			if name == "GitHub" {
				at = regexp.MustCompile(fmt.Sprintf(`::error file=Program\.cs,line=%d,`, line))
			}
			if passed || !strings.Contains(out, "no more than before") || !at.MatchString(out) {
				t.Errorf("dearer code passes (%v), or %s is not found:\n%s", passed, at, out)
			}
		})
	}
}
