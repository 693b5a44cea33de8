package pprof

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/google/pprof/profile"

	"github.com/clrprof/clrprof/internal/analysis"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/testkit/analysistest"
	"github.com/clrprof/clrprof/internal/testkit/sessiontest"
)

func open(t *testing.T, b *sessiontest.Builder) *session.Session {
	t.Helper()
	return analysistest.Open(t, b, filepath.Join(t.TempDir(), "s.clrprof"))
}

// flatCum is what pprof calls exclusive and inclusive.
type flatCum struct{ Flat, Cum int64 }

// topOf runs go tool pprof -top and returns its rows by name.
func topOf(t *testing.T, path, index, unit string) map[string]flatCum {
	t.Helper()
	cmd := exec.Command("go", "tool", "pprof", "-top", "-nodecount=0", "-nodefraction=0", "-edgefraction=0",
		"-sample_index="+index, "-unit="+unit, path)
	cmd.Env = append(os.Environ(), "PPROF_TMPDIR="+t.TempDir())
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	_, table, ok := strings.Cut(string(out), "cum%\n")
	if !ok {
		t.Fatalf("no table in %s", out)
	}
	number := func(s string) int64 {
		n, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSuffix(s, "B"), "ns"), 10, 64)
		if err != nil {
			t.Fatalf("%v in %s", err, table)
		}
		return n
	}
	rows := map[string]flatCum{}
	for line := range strings.Lines(table) {
		f := strings.Fields(line)
		rows[strings.Join(f[5:], " ")] = flatCum{number(f[0]), number(f[3])}
	}
	return rows
}

// TestTopEqualsFunctions opens the profile with go tool pprof and compares flat and
// cumulative values with the exclusive and inclusive ones of the functions.
func TestTopEqualsFunctions(t *testing.T) {
	several := sessiontest.Several()
	for i := range several.Functions { // pprof adds up functions of the same name
		several.Functions[i].Name += fmt.Sprint(" of process ", several.Functions[i].Process)
	}
	for name, b := range map[string]*sessiontest.Builder{"shop": sessiontest.Shop(), "deep": sessiontest.Deep(),
		"several": several} {
		s := open(t, b)
		path := filepath.Join(t.TempDir(), "p.pb.gz")
		f, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(Write(f, s, analysis.Selection{}, Options{}), f.Close()); err != nil {
			t.Fatal(err)
		}
		values, err := s.FunctionValues()
		if err != nil {
			t.Fatal(err)
		}
		bytes, allocations := map[string]flatCum{}, map[string]flatCum{}
		for _, v := range values {
			function := b.Functions[v.Function-1].Name
			bytes[function] = flatCum{int64(v.Exclusive.Bytes), int64(v.Inclusive.Bytes)}
			allocations[function] = flatCum{int64(v.Exclusive.Allocations), int64(v.Inclusive.Allocations)}
		}
		if diff := cmp.Diff(bytes, topOf(t, path, "bytes", "B")); diff != "" {
			t.Errorf("%s: bytes (-views +pprof):\n%s", name, diff)
		}
		if diff := cmp.Diff(allocations, topOf(t, path, "allocations", "count")); diff != "" {
			t.Errorf("%s: allocations (-views +pprof):\n%s", name, diff)
		}
	}
}

// TestProgram: the program is the first mapping, whatever ran first.
func TestProgram(t *testing.T) {
	b := sessiontest.New()
	process := b.Process("Shop", 7)
	thread, core, shop := b.Thread(process, "main"), b.Module(process, "Core.dll", false),
		b.Module(process, "Shop.dll", true)
	start := sessiontest.Frame{Function: b.Function(core, "Start()", "", 0)}
	b.Allocate(1, thread, b.Type(core, "string"), 1, 24, start)
	b.Allocate(1, thread, b.Type(core, "string"), 1, 24, start, sessiontest.Frame{Function: b.Function(shop, "Main()", "", 0)})
	var out bytes.Buffer
	if err := Write(&out, open(t, b), analysis.Selection{}, Options{}); err != nil {
		t.Fatal(err)
	}
	p, err := profile.Parse(&out)
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Mapping) != 2 || !strings.HasSuffix(p.Mapping[0].File, "Shop.dll") {
		t.Errorf("mappings %v", p.Mapping)
	}
}

// TestProfile reads the written bytes back and compares every sum with the session.
func TestProfile(t *testing.T) {
	for seed := range uint64(20) {
		b := sessiontest.Random(seed)
		s := open(t, b)
		var first, second bytes.Buffer
		if err := errors.Join(Write(&first, s, analysis.Selection{}, Options{}),
			Write(&second, s, analysis.Selection{}, Options{})); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(first.Bytes(), second.Bytes()) {
			t.Error("two writes differ")
		}
		p, err := profile.Parse(&first)
		if err != nil {
			t.Fatal(err)
		}
		want, got := map[string]int64{}, map[string]int64{}
		for _, v := range b.SiteValues {
			site := b.Sites[v.Site-1]
			thread := b.Threads[site.Thread-1]
			keys := []string{"total", "type " + b.Types[site.Type-1].Name, "thread " + thread.Name,
				fmt.Sprint("tid ", thread.OSID),
				"process " + b.Processes[thread.Process-1].Name, fmt.Sprint("pid ", b.Processes[thread.Process-1].PID)}
			if line := b.Instructions; b.Nodes[site.Node-1].Instruction != 0 {
				if at := line[b.Nodes[site.Node-1].Instruction-1].Line; at != 0 {
					l := b.Lines[at-1]
					keys = append(keys, fmt.Sprint(b.SourceFiles[l.File-1].Path, ":", l.LineBegin))
				}
			}
			for _, key := range keys {
				want[key] += int64(v.Bytes)<<20 + int64(v.Allocations)
			}
		}
		for _, sample := range p.Sample {
			keys := []string{"total", "type " + sample.Label["type"][0], "thread " + sample.Label["thread"][0],
				fmt.Sprint("tid ", sample.NumLabel["thread_id"][0]),
				"process " + sample.Label["process"][0], fmt.Sprint("pid ", sample.NumLabel["process_id"][0])}
			if line := sample.Location[0].Line[0]; line.Line != 0 {
				keys = append(keys, fmt.Sprint(line.Function.Filename, ":", line.Line))
			}
			for _, key := range keys {
				got[key] += sample.Value[1]<<20 + sample.Value[0]
			}
		}
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("seed %d (-session +profile):\n%s", seed, diff)
		}
	}
}

func TestFilterAndErrors(t *testing.T) {
	s := open(t, sessiontest.Several())
	p, err := convert(t, s, analysis.Selection{Processes: []session.ProcessID{2}, From: 1e9, To: 2e9})
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Sample) != 1 || p.Sample[0].Value[0] != 40 || p.TimeNanos == 0 || p.DurationNanos != 1e9 {
		t.Errorf("%v", p)
	}
	if _, err := convert(t, s, analysis.Selection{Threads: []session.ThreadID{77}}); !errors.Is(err,
		analysis.ErrNoThread) {
		t.Error(err)
	}
	if p, err := convert(t, open(t, sessiontest.Empty()), analysis.Selection{}); err != nil || len(p.Sample) != 0 {
		t.Error(p, err)
	}
}
