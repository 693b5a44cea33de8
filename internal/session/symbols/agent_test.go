package symbols_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/session/symbols"
	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
)

// TestRecordedCallsEqualStackTraces records the program that prints its own
// stack frames with clrprof, and looks for each printed frame among the
// instructions: method, IL offset, file, line and column. So it is the one test
// in which native offsets and their maps are real.
//
// The program allocates in each frame that it prints, so none can be missing.
// Runtimes before 5 do not subtract 1 from return addresses and print the
// statement after the call; only 9.0 is compared.
//
// The runtime knows nothing but its map, in which a call can be in the statement
// before its own. What was called gives two of them their own lines.
func TestRecordedCallsEqualStackTraces(t *testing.T) {
	in, dll := names(t, dotnettest.Options{})
	rt := in.Net9()
	dir := t.TempDir()
	clrprof, path := filepath.Join(dir, "clrprof"), filepath.Join(dir, "x.clrprof")
	if out, err := exec.Command("go", "build", "-o", clrprof, "../../../cmd/clrprof").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	args := append([]string{"run", "--no-report", "-o", path, "--"}, rt.Args(dll, "lines")...)
	cmd := exec.Command(clrprof, args...)
	cmd.Env = rt.Env()
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	want := parseFrames(t, bytes.NewReader(out))
	have, known := recordedFrames(t, path, dll, false), recordedFrames(t, path, dll, true)
	for _, f := range want {
		if !have[f] {
			t.Errorf("not recorded: %+v", f)
		}
		if moved, is := movedFrames[[2]int64{f.line, f.column}]; is {
			f.il, f.line, f.column = moved.il, moved.line, moved.column
		}
		if !known[f] {
			t.Errorf("not recorded by what was called: %+v", f)
		}
	}
	if len(want) < 50 {
		t.Errorf("the program printed only %d frames", len(want))
	}
}

// movedFrames are the places of calls of Here in two loops of Frames.cs, by those that the map has: C# leaves the
// loop's variable on the stack.
var movedFrames = map[[2]int64]frame{
	{32, 18}: {il: 169, line: 32, column: 40},
	{33, 24}: {il: 257, line: 33, column: 42},
}

// recordedFrames returns the instructions in a module, as clrprof resolves them, with or without what was called there.
func recordedFrames(t *testing.T, path, dll string, calls bool) map[frame]bool {
	t.Helper()
	s, err := session.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	in, err := symbols.Read(s)
	if err != nil {
		t.Fatal(err)
	}
	if !calls {
		in.CalledFrom = nil
	}
	out := symbols.Resolve(in, symbols.OpenFile, nil)
	functions := map[session.FunctionID]session.Function{}
	for _, f := range out.Functions {
		functions[f.ID] = f
	}
	modules := map[session.ModuleID]string{}
	for _, m := range in.Modules {
		modules[m.ID] = m.Path
	}
	frames := map[frame]bool{}
	for _, n := range out.Instructions {
		f := functions[n.Function]
		if modules[f.Module] != dll {
			continue
		}
		if n.ILOffset < 0 {
			t.Errorf("%s at %d: not mapped", f.Name, n.NativeOffset)
		}
		have := frame{token: f.Token, il: n.ILOffset}
		if n.Line != 0 {
			line := out.Lines[n.Line-1]
			if line.LineBegin == f.Line { // of a stub, the runtime says nothing, and clrprof where the method begins
				frames[have] = true
			}
			have.file, have.line, have.column = out.SourceFiles[line.File-1].Path, line.LineBegin, line.ColumnBegin
		}
		frames[have] = true
	}
	if len(frames) == 0 {
		t.Fatalf("nothing recorded in %s", dll)
	}
	return frames
}
