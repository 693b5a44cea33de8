package cli

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/clrprof/clrprof/internal/analysis"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/testkit/sessiontest"
)

// tiny is a module; scripts run elsewhere, so it is read before.
var tiny, _ = os.ReadFile("../dotnet/clrmeta/testdata/tiny.dll")

// garbagePercent is for the process of the tests, not for the commands that it starts. A third of what it did was to
// look for garbage: each command here opens a session, and leaves a heap of which little is in use.
const garbagePercent = 400

func TestMain(m *testing.M) {
	commands := map[string]func(){
		"clrprof":   func() { os.Exit(Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) },
		"manysites": func() { os.Exit(manySitesMain(os.Args[1:])) },
	}
	if commands[filepath.Base(os.Args[0])] == nil {
		debug.SetGCPercent(garbagePercent)
	}
	testscript.Main(m, commands)
}

// concurrent are executed commands that can do several things at a time, and that get so far: not those that end with
// 120 or 121, because of an argument or of a session.
var concurrent = regexp.MustCompile(`^(!? *exec|exits 12[2-9]) clrprof (run|view|top|ctl|mcp) `)

// isConcurrent says whether a script has such a command. What only shows help is none.
func isConcurrent(script []byte) bool {
	for line := range bytes.Lines(script) {
		if concurrent.Match(line) && !bytes.Contains(line, []byte("--help")) {
			return true
		}
	}
	return false
}

// scripts are all of them, or under the race detector, with which a process takes a second, those that it may tell
// something about.
func scripts(t *testing.T) (out []string) {
	t.Helper()
	all, err := filepath.Glob("testdata/script/*.txtar")
	if err != nil || len(all) == 0 {
		t.Fatalf("%d scripts: %v", len(all), err)
	}
	for _, path := range all {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !raceDetector || isConcurrent(text) {
			out = append(out, path)
		}
	}
	return out
}

func TestScript(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Files:               scripts(t),
		RequireExplicitExec: true,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"sample": sample, "exits": exits, "cut": cut, "oneline": oneline, "module": module,
			"arena": arena,
		},
	})
}

// sample NAME FILE [STATE] writes the sample session NAME to FILE, complete or as if its
// writer had been killed in STATE.
func sample(ts *testscript.TestScript, _ bool, args []string) {
	b := sessiontest.Samples[args[0]]
	if b == nil {
		ts.Fatalf("no sample %s", args[0])
	}
	path := ts.MkAbs(args[1])
	if len(args) > 2 {
		ts.Check(unfinished(b(), path, session.State(args[2])))
		return
	}
	ts.Check(writeComplete(b(), path))
}

func writeComplete(b *sessiontest.Builder, path string) error {
	if err := b.Write(path); err != nil {
		return err
	}
	w, err := session.Edit(path)
	if err != nil {
		return err
	}
	return errors.Join(analysis.Complete(w), w.Close())
}

// unfinished writes a session without what comes after the state.
func unfinished(b *sessiontest.Builder, path string, state session.State) error {
	if state != session.Resolved {
		b.SourceFiles, b.Lines = nil, nil
		for i := range b.Functions {
			b.Functions[i].Name, b.Functions[i].File, b.Functions[i].Line = "", 0, 0
		}
		for i := range b.Types {
			b.Types[i].Name = ""
		}
		for i := range b.Instructions {
			b.Instructions[i].Line, b.Instructions[i].ILOffset = 0, -1
		}
	}
	b.State = state
	return b.Write(path)
}

// seedArena is an arena that an agent made. A script has another working directory.
var seedArena, _ = filepath.Abs("../wire/testdata/agent.arena")

// arena FILE [POSITION] writes an arena to FILE; the byte at the position is another one.
func arena(ts *testscript.TestScript, _ bool, args []string) {
	b, err := os.ReadFile(seedArena)
	ts.Check(err)
	if len(args) > 1 {
		at, err := strconv.Atoi(args[1])
		ts.Check(err)
		b[at] ^= 0xFF
	}
	path := ts.MkAbs(args[0])
	ts.Check(os.MkdirAll(filepath.Dir(path), 0o700))
	ts.Check(os.WriteFile(path, b, 0o600))
}

// exits CODE COMMAND… runs a command and expects an exit code and an empty or one-line
// stderr; its output is in the files stdout and stderr.
func exits(ts *testscript.TestScript, _ bool, args []string) {
	err := ts.Exec(args[1], args[2:]...)
	code := "0"
	if err != nil {
		code = err.Error()
	}
	if code != args[0] && code != "exit status "+args[0] {
		ts.Fatalf("%v ended with %s, want %s", args[1:], code, args[0])
	}
}

// oneline fails unless stderr is one line that begins with "clrprof: ".
func oneline(ts *testscript.TestScript, _ bool, _ []string) {
	text := ts.ReadFile("stderr")
	if len(text) < 10 || text[:9] != "clrprof: " || slices.Index([]byte(text), '\n') != len(text)-1 {
		ts.Fatalf("stderr is not one line of clrprof: %q", text)
	}
}

// module FILE writes a small .NET module to FILE.
func module(ts *testscript.TestScript, _ bool, args []string) {
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), tiny, 0o600))
}

// cut FILE BYTES truncates a file.
func cut(ts *testscript.TestScript, _ bool, args []string) {
	n := int64(0)
	for _, r := range args[1] {
		n = 10*n + int64(r-'0')
	}
	ts.Check(os.Truncate(ts.MkAbs(args[0]), n))
}
