package e2e

import (
	"bufio"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
)

// oracle builds the agent with the variants of agent/test/oracle.c.
func oracle(t *testing.T) string {
	t.Helper()
	dir := dotnettest.Native(t, "make", "-s", "-C", "..", "oracle", "ORACLE="+dotnettest.NativeOut+"/oracle.so")
	return filepath.Join(dir, "oracle.so")
}

// withOracle makes a command run with a variant of the agent.
func withOracle(t *testing.T, cmd *exec.Cmd, variant string, env ...string) {
	t.Helper()
	cmd.Env = append(append(cmd.Env, "CLRPROF_AGENT="+oracle(t), "CLRPROF_VARIANT="+variant), env...)
}

// Classes of differences between our stacks and DoStackSnapshot's, all explained in docs/design/0002-stacks.md.
const (
	pinvokeBegun   = "P/Invoke in precompiled code" // their place is the call before
	handlerPlace   = "handler of an exception: place"
	handlerTwice   = "handler of an exception: twice"
	handlingHidden = "handling of exceptions"
	fault          = "fault"
)

// TestStacks compares stacks of allocations with DoStackSnapshot's. Each difference must be of a known class. Programs
// that are no tests of reflection or of exceptions are equal in at least 99.9 %. Without precompiled code (tier0) there
// must be none of the difference that it makes, of which .NET 10 has more than others: more helpers are P/Invokes
// there.
func TestStacks(t *testing.T) {
	t.Parallel()
	in := dotnettest.Need(t)
	sample, err := in.Compile([]string{filepath.Join("..", "samples", "orderbook")}, "", dotnettest.Options{})
	if err != nil {
		t.Fatal(err)
	}
	target := func(name string) string { return dotnettest.Target(t, name, dotnettest.Options{}) }
	both := []way{tiered, optimized}
	for i, tt := range []struct {
		dll     string
		args    []string
		every   string  // how many allocations a comparison is made for
		equal   float64 // at least
		equal10 float64 // the same on .NET 10, with precompiled code
		ways    []way
	}{
		// a third of its functions are clones, delegates, throws
		{target("Shapes"), nil, "1", 0.9, 0.85, []way{tiered, optimized, tier0}},
		{sample, nil, "10", 0.999, 0.999, both},
		{target("Threads"), []string{"8", "5000"}, "1", 0.999, 0.99, both},
		{target("Totals"), []string{"1000"}, "1", 0.98, 0.94, both},                 // reflection of the serializer
		{target("Tiering"), []string{"5000", "300"}, "1", 0.9, 0.9, both},           // handlers of exceptions
		{target("Native"), nil, "1", 0.995, 0.985, []way{tiered, optimized, tier0}}, // native code calls back
		// few objects: most are made by reflection
		{target("StaticInit"), nil, "1", 0.9, 0.75, both},
		{target("Dynamic"), nil, "1", 0.8, 0.65, []way{tiered, optimized, tier0}},
	} {
		if i > 0 && !dotnettest.Drawn(i, casesEvery) {
			continue
		}
		for j, w := range tt.ways {
			for _, runtime := range crossedInTurn(in, i, j) {
				name := strings.TrimSuffix(filepath.Base(tt.dll), ".dll")
				t.Run(name+"/"+w.name+"/"+runtime.Name, func(t *testing.T) {
					t.Parallel()
					cmd := runtime.Command(tt.dll, tt.args...)
					cmd.Env = append(cmd.Env, w.env...)
					path := filepath.Join(t.TempDir(), "comparison")
					withOracle(t, cmd, "compare", "CLRPROF_COMPARISON="+path, "CLRPROF_EVERY="+tt.every)
					r := mustRecord(t, cmd, "--memory") // the variants know nothing of lifetime
					equal := tt.equal
					if runtime.Major() >= 10 && w.name != tier0.name {
						equal = tt.equal10
					}
					classes := compareStacks(t, path, newHandlers(t, r.session), equal)
					if w.name == tier0.name && classes[pinvokeBegun] != 0 {
						t.Errorf("there are differences of precompiled code, which is not used")
					}
				})
			}
		}
	}
}

// TestStacksPublished does so for programs as they are delivered: the runtime is a part of a single file.
func TestStacksPublished(t *testing.T) {
	t.Parallel()
	dotnettest.NotQuick(t, "it publishes programs")
	for _, tt := range deliveries {
		t.Run(tt.name, func(t *testing.T) {
			cmd := delivered(t, "Shapes", tt.properties)
			path := filepath.Join(t.TempDir(), "comparison")
			withOracle(t, cmd, "compare", "CLRPROF_COMPARISON="+path, "CLRPROF_EVERY=1")
			r := mustRecord(t, cmd, "--memory")
			compareStacks(t, path, newHandlers(t, r.session), 0.75) // of precompiled P/Invokes the places differ
		})
	}
}

// frame is a frame of a stack, as the oracle writes it.
type frame struct {
	function, ip uint64
	called       uint64 // what the call before ip calls, if through a cell
	name         string
}

func (f frame) String() string { return fmt.Sprintf("%s+%x", f.name, f.ip) }

func parseFrames(t *testing.T, fields []string) []frame {
	t.Helper()
	var out []frame
	for _, field := range fields {
		parts := strings.SplitN(field, ":", 5)
		var numbers [3]uint64
		for i := range numbers {
			n, err := strconv.ParseUint(parts[i], 16, 64)
			if err != nil {
				t.Fatalf("%q: %v", field, err)
			}
			numbers[i] = n
		}
		out = append(out, frame{numbers[0], numbers[1], numbers[2], parts[4]})
	}
	return out
}

// compareStacks reads what the oracle wrote and finds the class of each difference.
func compareStacks(t *testing.T, path string, h handlers, least float64) map[string]int {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	c := classifier{handlers: h}
	classes := map[string]int{}
	shown, equal, different, none, dynamic := 0, 0, 0, 0, 0
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<26)
	for lines.Scan() {
		if n, err := fmt.Sscanf(lines.Text(), "equal %d different %d none %d dynamic %d", &equal, &different, &none,
			&dynamic); n == 4 && err == nil {
			continue
		}
		fields := strings.Split(lines.Text(), "\t")
		at := slices.Index(fields, "theirs")
		found, err := c.classes(parseFrames(t, fields[1:at]), parseFrames(t, fields[at+1:]))
		if err != nil && classes["unexplained"] < 5 {
			t.Errorf("%v\n%s", err, lines.Text())
		}
		if err != nil {
			found = []string{"unexplained"}
		}
		for _, name := range found {
			classes[name]++
		}
		shown++
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	if shown != different {
		t.Errorf("%d of %d differences are shown: raise MAX_SHOWN", shown, different)
	}
	share := float64(equal) / float64(equal+different)
	if equal == 0 || share < least {
		t.Errorf("%d stacks are equal, %d differ: %.3f %%, want %.3f %%", equal, different, 100*share, 100*least)
	}
	t.Logf("%d equal, %d different (%.4f %% equal), %d without managed frames, %d with dynamic functions", equal,
		different, 100*share, none, dynamic)
	for _, name := range slices.Sorted(maps.Keys(classes)) {
		t.Logf("%8d %s", classes[name], name)
	}
	return classes
}

// classifier explains differences. The helper of the runtime that begins a P/Invoke is one function in a process; the
// first difference of that kind tells which.
type classifier struct {
	handlers     handlers
	pinvokeBegin uint64
}

// classes goes through two stacks from the leaf on and names the class of each difference.
func (c *classifier) classes(ours, theirs []frame) ([]string, error) {
	found := map[string]bool{}
	for len(ours) > 0 || len(theirs) > 0 {
		switch {
		case len(ours) > 0 && len(theirs) > 0 && ours[0].function == theirs[0].function:
			if ours[0].ip != theirs[0].ip {
				class := c.place(ours[0], theirs[0])
				if class == "" {
					return nil, fmt.Errorf("of one function %v, but %v", ours[0], theirs[0])
				}
				found[class] = true
			}
			repeated := len(theirs) > 1 && theirs[1].function == theirs[0].function
			if repeated && c.handlers.contains(ours[0].ip) && (len(ours) == 1 || ours[1].function != ours[0].function) {
				// The handler and its function, where we have the handler alone.
				found[handlerTwice] = true
				theirs = theirs[1:]
			}
			ours, theirs = ours[1:], theirs[1:]
		case len(ours) > 0 && strings.HasPrefix(ours[0].name, "System.Runtime.EH."):
			found[handlingHidden] = true
			ours = ours[1:]
		default:
			return nil, fmt.Errorf("ours goes on with %v, theirs with %v", ours, theirs)
		}
	}
	return slices.Sorted(maps.Keys(found)), nil
}

// place is the class of two places in one function, "" if it is of none.
func (c *classifier) place(ours, theirs frame) string {
	switch {
	case ours.ip == theirs.ip+1:
		return fault
	case c.handlers.contains(ours.ip):
		return handlerPlace
	case theirs.called != 0 && (c.pinvokeBegin == 0 || c.pinvokeBegin == theirs.called) && theirs.ip < ours.ip:
		c.pinvokeBegin = theirs.called
		return pinvokeBegun
	}
	return ""
}

// handlers knows which instructions are in handlers of exceptions: catch, finally and filter blocks are compiled as
// functions of their own behind their function, each with a prologue in the map from native to IL offsets.
type handlers map[uint64]bool

func newHandlers(t *testing.T, path string) handlers {
	t.Helper()
	h := handlers{}
	s := openSession(t, path)
	points := map[session.BodyID][]session.ILPoint{}
	for _, b := range need(t, s.Bodies) {
		m, err := session.DecodeILMap(b.ILMap)
		if err != nil {
			t.Fatal(err)
		}
		points[b.ID] = m
	}
	for _, i := range need(t, s.Instructions) {
		prologues := 0
		for _, p := range points[i.Body] {
			if p.IL == session.ILProlog && int64(p.Native) < i.NativeOffset {
				prologues++
			}
		}
		h[uint64(i.Address)] = prologues > 1
	}
	return h
}

func (h handlers) contains(ip uint64) bool { return h[ip] }
