package symbols_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/session/symbols"
	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
)

// frame is what the runtime says about a stack frame.
type frame struct {
	token        session.Token
	il           int64
	file         string
	line, column int64
}

// frames runs "Names lines".
func frames(t *testing.T, rt dotnettest.Runtime, dll string) []frame {
	t.Helper()
	cmd := rt.Command(dll, "lines")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	return parseFrames(t, bytes.NewReader(out))
}

// parseFrames reads what "Names lines" prints.
func parseFrames(t *testing.T, r io.Reader) (fs []frame) {
	t.Helper()
	scanner := bufio.NewScanner(r)
	for scanner.Scan() {
		line := scanner.Text()
		var f frame
		parts := strings.Split(strings.TrimSpace(line), "\t")
		if len(parts) != 5 {
			t.Fatalf("unexpected output %q", line)
		}
		f.file = parts[2]
		if _, err := fmt.Sscanf(parts[0]+" "+parts[1]+" "+parts[3]+" "+parts[4], "%x %d %d %d", &f.token, &f.il,
			&f.line, &f.column); err != nil {
			t.Fatal(err)
		}
		fs = append(fs, f)
	}
	return fs
}

// TestLinesEqualStackTraces resolves the IL offsets of stack frames and compares
// file, line and column with what the runtime reads from the PDB itself.
func TestLinesEqualStackTraces(t *testing.T) {
	for _, o := range []dotnettest.Options{
		{}, {NoOptimize: true}, {Debug: dotnettest.DebugEmbedded}, {Debug: dotnettest.DebugEmbedded, NoOptimize: true},
	} {
		in, dll := names(t, o)
		for _, rt := range in.Runtimes() {
			t.Run(fmt.Sprintf("%s/%s,%v", rt.Name, o.Debug, o.NoOptimize), func(t *testing.T) {
				compareFrames(t, dll, frames(t, rt, dll))
			})
		}
	}
}

func compareFrames(t *testing.T, dll string, want []frame) {
	in := symbols.Input{Modules: []session.Module{{ID: 1, Path: dll}}}
	for i, f := range want {
		id := session.FunctionID(i + 1)
		in.Functions = append(in.Functions, session.Function{ID: id, Module: 1, Kind: session.FunctionMethod,
			Token: f.token})
		// A map of one entry gives every native offset this IL offset.
		in.Bodies = append(in.Bodies, session.Body{
			ID: session.BodyID(id), Function: id,
			ILMap: session.EncodeILMap([]session.ILPoint{{Native: 0, IL: uint32(f.il)}}),
		})
		in.Instructions = append(in.Instructions, session.Instruction{
			ID: session.InstructionID(id), Function: id, Body: session.BodyID(id), NativeOffset: 1,
		})
	}
	out := symbols.Resolve(in, symbols.OpenFile, nil)
	var have []frame
	for i, n := range out.Instructions {
		f := frame{token: out.Functions[i].Token, il: n.ILOffset}
		if n.Line != 0 {
			line := out.Lines[n.Line-1]
			f.file, f.line, f.column = out.SourceFiles[line.File-1].Path, line.LineBegin, line.ColumnBegin
			if want[i].file == "" && line.LineBegin == out.Functions[i].Line { // of a stub, the runtime says nothing
				f = want[i]
			}
		}
		have = append(have, f)
	}
	if diff := cmp.Diff(want, have, cmp.AllowUnexported(frame{})); diff != "" {
		t.Errorf("(-runtime +resolved)\n%s", diff)
	}
	lines := map[string]bool{}
	for _, f := range have {
		lines[fmt.Sprint(f.file, f.line)] = true
	}
	t.Logf("%d frames on %d lines", len(have), len(lines))
	if len(lines) < 40 {
		t.Errorf("only %d lines: the program does not do its work", len(lines))
	}
	if !slices.ContainsFunc(have, func(f frame) bool { return f.file == "/elsewhere/Third.cs" && f.line == 7 }) {
		t.Error("no frame in a second document")
	}
}
