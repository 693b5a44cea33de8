package collapsed

import (
	"bytes"
	"errors"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/clrprof/clrprof/internal/analysis"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/testkit/sessiontest"
)

func open(t *testing.T, b *sessiontest.Builder) *session.Session {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s.clrprof")
	if err := b.Write(path); err != nil {
		t.Fatal(err)
	}
	s, err := session.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// read adds up what a file says of functions, as tools that read it do.
func read(t *testing.T, text string) (exclusive, inclusive map[string]int64, total int64) {
	t.Helper()
	exclusive, inclusive = map[string]int64{}, map[string]int64{}
	for line := range strings.Lines(text) {
		at := strings.LastIndexByte(line, ' ')
		n, err := strconv.ParseInt(strings.TrimSuffix(line[at+1:], "\n"), 10, 64)
		if err != nil || n <= 0 {
			t.Fatalf("%q: %v", line, err)
		}
		frames, seen := strings.Split(line[:at], ";"), map[string]bool{}
		exclusive[frames[len(frames)-1]] += n
		for _, f := range frames {
			if !seen[f] {
				seen[f] = true
				inclusive[f] += n
			}
		}
		total += n
	}
	return exclusive, inclusive, total
}

// TestFunctions reads files back: what they say of functions, and in all, is what the session does.
func TestFunctions(t *testing.T) {
	for seed := range uint64(20) {
		b := sessiontest.Random(seed)
		for i := range b.Functions { // of one name, they are one function to other tools
			b.Functions[i].Name = "F" + strconv.Itoa(i) + "; of\nM()"
		}
		s := open(t, b)
		src, err := analysis.Open(s, analysis.Selection{})
		if err != nil {
			t.Fatal(err)
		}
		functions, err := src.Functions()
		if err != nil {
			t.Fatal(err)
		}
		all, err := src.Total()
		if err != nil {
			t.Fatal(err)
		}
		for value, of := range map[string]func(session.FunctionValue) (exclusive, inclusive int64){
			"bytes": func(v session.FunctionValue) (int64, int64) {
				return int64(v.Exclusive.Bytes), int64(v.Inclusive.Bytes)
			},
			"allocations": func(v session.FunctionValue) (int64, int64) {
				return int64(v.Exclusive.Allocations), int64(v.Inclusive.Allocations)
			},
		} {
			exclusive, inclusive := map[string]int64{}, map[string]int64{}
			for _, v := range functions {
				name := "F" + strconv.Itoa(int(v.Function)-1) + ": of M()"
				e, i := of(v)
				if inclusive[name] = i; e > 0 {
					exclusive[name] = e
				}
			}
			if len(b.Processes) > 1 {
				processes, err := src.Processes()
				if err != nil {
					t.Fatal(err)
				}
				for _, p := range processes {
					process := b.Processes[p.Process-1]
					n := int64(p.Bytes)
					if value == "allocations" {
						n = int64(p.Allocations)
					}
					inclusive[process.Name+" ("+strconv.FormatInt(process.PID, 10)+")"] = n
				}
			}
			var first, second bytes.Buffer
			if err := errors.Join(Write(&first, s, analysis.Selection{}, value),
				Write(&second, s, analysis.Selection{}, value)); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(first.Bytes(), second.Bytes()) {
				t.Error("two files differ")
			}
			haveExclusive, haveInclusive, total := read(t, first.String())
			if diff := cmp.Diff(exclusive, haveExclusive, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("seed %d: %s exclusive (-session +file):\n%s", seed, value, diff)
			}
			if diff := cmp.Diff(inclusive, haveInclusive, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("seed %d: %s inclusive (-session +file):\n%s", seed, value, diff)
			}
			if want := map[string]int64{"bytes": int64(all.Bytes),
				"allocations": int64(all.Allocations)}[value]; total != want {
				t.Errorf("seed %d: %d %s, the session has %d", seed, total, value, want)
			}
		}
	}
}

// TestValues: each value adds up to what a session of times and one of lifetimes have; the default is what to look
// at first.
func TestValues(t *testing.T) {
	timed, aging := open(t, sessiontest.Timed()), open(t, sessiontest.Aging())
	src, err := analysis.Open(timed, analysis.Selection{})
	if err != nil {
		t.Fatal(err)
	}
	whole, err := src.TotalTime()
	if err != nil {
		t.Fatal(err)
	}
	elapsed := int64(whole.Inclusive.Elapsed)
	for _, c := range []struct {
		s     *session.Session
		value string
		want  int64
	}{
		{timed, "", elapsed}, {timed, "elapsed", elapsed}, {timed, "calls", int64(whole.Calls)},
		{timed, "cpu", int64(whole.Inclusive.CPU)},
		{aging, "", 277_824}, {aging, "gen2_objects", 30}, {aging, "gen2_bytes", 1440},
	} {
		var out bytes.Buffer
		if err := Write(&out, c.s, analysis.Selection{}, c.value); err != nil {
			t.Fatal(err)
		}
		if _, _, total := read(t, out.String()); total != c.want {
			t.Errorf("%s: %d, want %d", c.value, total, c.want)
		}
	}
	var term *analysis.TermError
	if err := Write(&bytes.Buffer{}, aging, analysis.Selection{}, "elapsed"); !errors.As(err, &term) {
		t.Error(err)
	}
	if err := Write(&bytes.Buffer{}, aging, analysis.Selection{From: 1e9}, "alive_bytes"); !errors.Is(err,
		analysis.ErrDifference) {
		t.Error(err)
	}
}
