package e2e

import (
	"bytes"
	"flag"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
)

var updateGuides = flag.Bool("update", false, "write what commands print into docs/guides and samples/README.md")

// guides is where they are; the first one builds the samples that all of them use.
const guides, firstGuide = "../docs/guides", "README.md"

// TestGuides runs the commands of docs/guides in a shell, in a folder with the samples, and compares what they print with
// the guides. Words must be equal; numbers may differ from run to run as far as sameNumber allows. TestShop has the exact
// numbers of the samples.
func TestGuides(t *testing.T) {
	t.Parallel()
	if !dotnettest.EveryRuntime() {
		t.Skip(dotnettest.LeftToAll + "it builds the samples and runs real services")
	}
	_, sdk := dotnettest.NeedSDK(t)
	folder := t.TempDir()
	if err := os.CopyFS(filepath.Join(folder, "samples"), os.DirFS("../samples")); err != nil {
		t.Fatal(err)
	}
	paths, err := filepath.Glob(filepath.Join(guides, "*.md"))
	if err != nil || len(paths) < 2 {
		t.Fatalf("guides: %v, %v", paths, err)
	}
	first := filepath.Join(guides, firstGuide)
	paths = append([]string{first}, slices.DeleteFunc(paths, func(p string) bool { return p == first })...)
	env := guideEnv(sdk, t.TempDir())
	for _, path := range paths {
		ok := t.Run(strings.TrimSuffix(filepath.Base(path), ".md"), func(t *testing.T) {
			playGuide(t, path, folder, env)
		})
		if !ok && path == first {
			return
		}
	}
}

// guideEnv is the environment of a reader of guides, with clrprof on the PATH.
func guideEnv(sdk dotnettest.SDK, home string) []string {
	env := sdk.Env(home, "NO_COLOR=1", "COLUMNS=100")
	for i, kv := range env {
		if rest, isPath := strings.CutPrefix(kv, "PATH="); isPath {
			env[i] = "PATH=" + filepath.Dir(binary) + ":" + rest
		}
	}
	return env
}

// TestSamples runs the commands of samples/README.md as TestGuides runs those of guides.
func TestSamples(t *testing.T) {
	t.Parallel()
	dotnettest.NotQuick(t, "it builds the samples, and has BenchmarkDotNet build its own")
	_, sdk := dotnettest.NeedSDK(t)
	folder := t.TempDir()
	for _, name := range []string{"samples", "integrations"} {
		if err := os.CopyFS(filepath.Join(folder, name), os.DirFS("../"+name)); err != nil {
			t.Fatal(err)
		}
	}
	playGuide(t, "../samples/README.md", folder, guideEnv(sdk, t.TempDir()))
}

// playGuide runs the commands of a guide in a folder, and compares what they print, or writes it.
func playGuide(t *testing.T, path, folder string, env []string) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text := string(b)
	if n := strings.Count(text, "\n"); n > maxGuideLines {
		t.Errorf("%d lines, limit %d", n, maxGuideLines)
	}
	commands := guideCommands(t, text)
	outputs := playShell(t, commands, folder, env)
	if *updateGuides {
		if err := os.WriteFile(path, []byte(fillGuide(text, outputs)), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	for i, said := range guideOutputs(text) {
		if difference := differs(said, outputs[i]); difference != "" {
			t.Errorf("$ %s\n%s\nit prints:\n%s", commands[i], difference, outputs[i])
		}
	}
}

// maxGuideLines is how long a guide may be: one reads it while the program waits.
const maxGuideLines = 80

// guideCommands returns the commands of a guide: lines after "$ " in console blocks. Blocks of other languages are files or
// code; blocks of a shell are an error, since their commands would not be run.
func guideCommands(t *testing.T, text string) (commands []string) {
	t.Helper()
	eachGuideLine(text, func(line, language string) {
		if language == "sh" || language == "bash" {
			t.Errorf("%q is not run: use a block of the language console", line)
		}
		if command, ok := strings.CutPrefix(line, "$ "); ok && language == "console" {
			commands = append(commands, strings.TrimSuffix(command, "\n"))
		}
	})
	if len(commands) == 0 {
		t.Fatal("there is no command")
	}
	return commands
}

// guideOutputs returns what a guide says that its commands print.
func guideOutputs(text string) (outputs []string) {
	eachGuideLine(text, func(line, language string) {
		switch {
		case language != "console":
		case strings.HasPrefix(line, "$ "):
			outputs = append(outputs, "")
		default:
			outputs[len(outputs)-1] += line
		}
	})
	return outputs
}

// fillGuide returns a guide with other outputs.
func fillGuide(text string, outputs []string) string {
	var b strings.Builder
	at, inside := 0, ""
	for line := range strings.Lines(text) {
		switch {
		case strings.HasPrefix(line, "```") && inside != "":
			inside = ""
		case strings.HasPrefix(line, "```"):
			inside = strings.TrimSpace(line[3:])
		case inside == "console" && strings.HasPrefix(line, "$ "):
			line += outputs[at]
			at++
		case inside == "console":
			continue
		}
		b.WriteString(line)
	}
	return b.String()
}

// eachGuideLine calls a function for each line of the blocks of a document, with the language of the block.
func eachGuideLine(text string, do func(line, language string)) {
	inside := ""
	for line := range strings.Lines(text) {
		switch {
		case strings.HasPrefix(line, "```") && inside != "":
			inside = ""
		case strings.HasPrefix(line, "```"):
			inside = strings.TrimSpace(line[3:])
		case inside != "":
			do(line, inside)
		}
	}
}

// playShell has one shell run all commands, since some refer to what others started, and returns what each printed, with its
// exit code if that is not 0. What it started and left is ended with it.
func playShell(t *testing.T, commands []string, folder string, env []string) []string {
	t.Helper()
	out := t.TempDir()
	var script strings.Builder
	script.WriteString("trap 'kill $(jobs -p) 2>/dev/null' EXIT\n")
	for i, command := range commands {
		fmt.Fprintf(&script, "exec >%s/%d 2>&1\n%s\ncode=$?; [ $code = 0 ] || echo \"[exit $code]\"\n", out, i, command)
	}
	cmd := exec.Command("bash")
	cmd.Dir, cmd.Env, cmd.Stdin = folder, env, strings.NewReader(script.String())
	if said, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("the shell: %v\n%s", err, said)
	}
	outputs := make([]string, len(commands))
	for i := range commands {
		b, err := os.ReadFile(filepath.Join(out, strconv.Itoa(i)))
		if err != nil {
			t.Fatal(err)
		}
		var lines bytes.Buffer
		for line := range strings.Lines(string(b)) { // documents have no spaces at ends of lines
			lines.WriteString(strings.TrimRight(line, " \n") + "\n")
		}
		outputs[i] = lines.String()
	}
	return outputs
}

// numberIn finds numbers with their units.
var numberIn = regexp.MustCompile(`[0-9][0-9,]*(?:\.[0-9]+)?(?: (?:[KMG]iB|B|ns|µs|ms|s|min|%)\b| %)?`)

// processIn finds process ids, which are others each time.
var processIn = regexp.MustCompile(`\b(process|ctl|running:) [0-9]+`)

// differs says how two outputs differ: in the texts between their numbers, or in numbers that are too far from each other.
// How wide columns are, and where lines of text end, depends on the numbers.
func differs(said, printed string) string {
	said, printed = processIn.ReplaceAllString(said, "$1 PID"), processIn.ReplaceAllString(printed, "$1 PID")
	want, got := words(said), words(printed)
	for i := range max(len(want), len(got)) {
		if i >= min(len(want), len(got)) || want[i] != got[i] {
			return fmt.Sprintf("the guide says %q, it prints %q", around(want, i), around(got, i))
		}
	}
	have := numberIn.FindAllString(printed, -1)
	for i, number := range numberIn.FindAllString(said, -1) {
		if !sameNumber(number, have[i]) {
			return fmt.Sprintf("the guide says %s where it prints %s, the number %d", number, have[i], i+1)
		}
	}
	return ""
}

// words are those of a text, without numbers.
func words(text string) []string { return strings.Fields(numberIn.ReplaceAllString(text, "#")) }

// around are some words about one of them.
func around(all []string, i int) string {
	return strings.Join(all[min(max(0, i-5), len(all)):min(i+5, len(all))], " ")
}

// sameNumber reports whether a run may say the one number where another said the other. How long something takes depends on
// the machine: times may be any. Amounts, which differ by what the pool's threads do, are within a half, or three; shares
// within ten points.
func sameNumber(a, b string) bool {
	x, unit := parseNumber(a)
	y, other := parseNumber(b)
	if unit != other && unit != "" && other != "" && isTime(unit) != isTime(other) {
		return false
	}
	if isTime(unit) || isTime(other) {
		return true
	}
	return math.Abs(x-y) <= max(3, 0.5*max(x, y)) || strings.Contains(a, ".") && math.Abs(x-y) <= 10 && unit != "B"
}

func isTime(unit string) bool { return slices.Contains([]string{"ns", "µs", "ms", "s", "min"}, unit) }

// parseNumber returns a number, of bytes in bytes.
func parseNumber(s string) (value float64, unit string) {
	digits, unit, _ := strings.Cut(s, " ")
	value, _ = strconv.ParseFloat(strings.ReplaceAll(digits, ",", ""), 64) // the pattern has nothing else
	if power := strings.Index("KMG", strings.TrimSuffix(unit, "iB")); power >= 0 && strings.HasSuffix(unit, "iB") {
		return value * math.Pow(1024, float64(power+1)), "B"
	}
	return value, unit
}

// TestGuideNumbers: what the comparison of guides takes for the same, and what not.
func TestGuideNumbers(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want bool
	}{
		{"1.00 MiB  12 x", "1,100.00 KiB 13 x", true}, // the same amount
		{"1.00 MiB  12 x", "1.00 MiB  12 y", false},
		{"1.00 MiB  12.00  Cart.Add", "1.10 MiB   9.10  Cart.Add", true},
		{"1,000.00 KiB Cart", "1.01 MiB Cart", true},
		{"1.00 MiB  12.00  Cart.Add", "3.00 MiB  12.00  Cart.Add", false},
		{"900 objects", "300 objects", false},
		{"900 objects", "903 objects", true},
		{"12.00 ms Cart", "900.00 ns Cart", true},
		{"one\ntwo", "one", false},
	} {
		if got := differs(tt.a, tt.b) == ""; got != tt.want {
			t.Errorf("%q, %q: %s", tt.a, tt.b, differs(tt.a, tt.b))
		}
	}
}
