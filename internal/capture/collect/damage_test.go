package collect_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/clrprof/clrprof/internal/analysis"
	"github.com/clrprof/clrprof/internal/capture/collect"
	"github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/testkit/wiretest"
	"github.com/clrprof/clrprof/internal/wire"
)

// consistent reports whether a session does not contradict itself.
func consistent(s *session.Session) (bool, error) {
	found, err := analysis.Check(s)
	return len(found) == 0, err
}

// recovered recovers the files of a folder, in which the first is a process that is whole, and opens the session, which
// must have all of that process, and not contradict itself if the others are found to be damaged.
func recovered(t *testing.T, arenas ...[]byte) *session.Session {
	t.Helper()
	root := t.TempDir()
	dir, path := filepath.Join(root, "arenas"), filepath.Join(root, "s.clrprof")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for i, b := range append([][]byte{wholeArena(t)}, arenas...) {
		name := filepath.Join(dir, fmt.Sprintf("%d-%x.arena", wiretest.NoPID+i, 1000+i))
		if err := os.WriteFile(name, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	found, err := collect.Recover(dir, path, false, nil, consistent)
	if err != nil {
		t.Fatal(err)
	}
	if err := found.Session.Close(); err != nil {
		t.Fatal(err)
	}
	s, err := session.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	// A number that is another one than was counted, and could have been, nobody can tell from one that was.
	if violations, err := analysis.Check(s); err != nil || len(violations) > 0 && found.Damaged > 0 {
		t.Errorf("the session contradicts itself: %v, %v", violations, err)
	}
	losses := get[session.Loss](t)(s.Losses())
	if slices.ContainsFunc(losses, func(l session.Loss) bool { return l.Process == 1 }) {
		t.Errorf("the process that is whole has lost something: %+v", losses)
	}
	if have := amountOf(t, s, 1); have != (quantity.Amount{Allocations: 3, Bytes: 96}) {
		t.Errorf("the process that is whole has %+v", have)
	}
	_, err = os.Stat(dir)
	if kept := err == nil; kept != (found.Damaged > 0) {
		t.Errorf("%d damaged processes, the directory is kept: %t", found.Damaged, kept)
	}
	return s
}

func wholeArena(t *testing.T) []byte {
	t.Helper()
	b, err := small().Compact()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// amountOf is what a process allocated.
func amountOf(t *testing.T, s *session.Session, process session.ProcessID) quantity.Amount {
	t.Helper()
	threads := map[session.ThreadID]bool{}
	for _, x := range get[session.Thread](t)(s.Threads()) {
		threads[x.ID] = x.Process == process
	}
	sites := map[session.SiteID]bool{}
	for _, x := range get[session.Site](t)(s.Sites()) {
		sites[x.ID] = threads[x.Thread]
	}
	var sum quantity.Amount
	for _, v := range get[session.SiteValue](t)(s.SiteValues()) {
		if sites[v.Site] {
			sum = sum.Add(v.Amount)
		}
	}
	return sum
}

// described is what a session has of the second process, in words: its functions on stacks, types and threads.
func described(t *testing.T, s *session.Session) (functions, types, threads []string) {
	t.Helper()
	for _, f := range get[session.Function](t)(s.Functions()) {
		if f.Process == 2 {
			functions = append(functions, f.RawName)
		}
	}
	for _, x := range get[session.Type](t)(s.Types()) {
		if x.Process == 2 {
			types = append(types, x.Kind+" "+x.RawName)
		}
	}
	for _, x := range get[session.Thread](t)(s.Threads()) {
		if x.Process == 2 {
			threads = append(threads, x.Name)
		}
	}
	return functions, types, threads
}

// TestRecoverDamaged: one thing that is wrong is one thing that is lost.
func TestRecoverDamaged(t *testing.T) {
	all := quantity.Amount{Allocations: 7, Bytes: 256}
	damaged, unknown := session.LossDamaged, session.LossTypeUnknown
	for _, c := range []struct {
		name      string
		change    func(a *wiretest.Arena)
		left      quantity.Amount
		losses    []string
		functions []string
		types     []string
	}{
		{"nothing", func(*wiretest.Arena) {}, all, nil, nil, nil},
		{"record of an unknown kind", func(a *wiretest.Arena) { a.Log = append(a.Log, 8, 0, 0, 0, 99, 0, 0, 0) }, all,
			[]string{damaged}, nil, nil},
		{"half a record", func(a *wiretest.Arena) { a.Log = append(a.Log, 8, 0, 0, 0) }, all, []string{damaged}, nil, nil},
		{"first record has an impossible length", func(a *wiretest.Arena) { a.Log[0] = 3 }, all, []string{damaged}, nil,
			nil},
		{"type", func(a *wiretest.Arena) { spoil(t, a, wire.KindType) }, all, []string{damaged, unknown}, nil,
			[]string{"unknown "}},
		{"thread", func(a *wiretest.Arena) { spoil(t, a, wire.KindThread) }, all, []string{damaged}, nil, nil},
		{"function", func(a *wiretest.Arena) { spoil(t, a, wire.KindFunction) }, all, []string{damaged},
			[]string{session.NameDamaged}, nil},
		{"body", func(a *wiretest.Arena) { spoil(t, a, wire.KindBody) }, all, []string{damaged}, nil, nil},
		{"instruction", func(a *wiretest.Arena) { a.IPs[wire.IPFirst].Function = 55 }, all, []string{damaged},
			[]string{"Run", session.NameDamaged}, nil},
		{"node with a later parent", func(a *wiretest.Arena) { a.Nodes[1].Parent = math.MaxUint32 }, all,
			[]string{damaged, session.LossStackTruncated}, []string{"Run", session.NameTruncated}, nil},
		{"node with an unknown instruction", func(a *wiretest.Arena) { a.Nodes[1].IP = 55 }, all, []string{damaged},
			[]string{"Run", session.NameDamaged}, nil},
		{"site at an unknown node", func(a *wiretest.Arena) { a.Sites[0].Node = math.MaxUint32 }, all,
			[]string{damaged, session.LossStackTruncated}, []string{"Run", session.NameTruncated}, nil},
		{"site of an unknown thread", func(a *wiretest.Arena) { a.Sites[0].Thread = 55 }, all, []string{damaged}, nil, nil},
		{"site of an unknown type", func(a *wiretest.Arena) { a.Sites[0].Type = 55 }, all, []string{damaged, unknown}, nil,
			[]string{"class N.Outer`1/Inner", "unknown "}},
		{"more objects than there are", func(a *wiretest.Arena) { a.Sites[0].Objects = math.MaxUint64 },
			quantity.Amount{Allocations: 4, Bytes: 160}, []string{damaged}, nil, nil},
		{"more losses than there are", func(a *wiretest.Arena) { a.Header.Losses[0].Events = math.MaxUint64 }, all,
			[]string{damaged}, nil, nil},
		{"more interactions than kinds", func(a *wiretest.Arena) {
			a.Interactions = []wire.Interaction{{Kind: 77, Started: 1, Node: 1}}
		}, all, []string{damaged}, nil, nil},
		{"of another version", func(a *wiretest.Arena) { a.Header.Version++ }, quantity.Amount{},
			[]string{session.LossDamagedProcess}, []string{}, []string{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := small()
			a.Site(1, a.Node(1, a.IP(0x4008, 1, 1)), 1, 4, 160)
			c.change(a)
			s := recoveredWith(t, a, c.losses)
			if have := amountOf(t, s, 2); have != c.left {
				t.Errorf("%+v are left, want %+v", have, c.left)
			}
			functions, types, _ := described(t, s)
			if c.functions == nil {
				c.functions = []string{"Run"}
			}
			if c.types == nil {
				c.types = []string{"class N.Outer`1/Inner"}
			}
			equal(t, "functions", functions, c.functions)
			equal(t, "types", types, c.types)
		})
	}
}

// spoil makes the first record of a kind one of a kind that nobody knows.
func spoil(t *testing.T, a *wiretest.Arena, kind wire.Kind) {
	t.Helper()
	for at := 0; at < len(a.Log); at += int(binary.LittleEndian.Uint32(a.Log[at:])) {
		if wire.Kind(binary.LittleEndian.Uint32(a.Log[at+4:])) == kind {
			binary.LittleEndian.PutUint32(a.Log[at+4:], 77)
			return
		}
	}
	t.Fatalf("no record of kind %d", kind)
}

// recoveredWith recovers an arena and compares the reasons of the session's losses.
func recoveredWith(t *testing.T, a *wiretest.Arena, losses []string) *session.Session {
	t.Helper()
	b, err := a.Compact()
	if err != nil {
		t.Fatal(err)
	}
	s := recovered(t, b)
	var reasons []string
	for _, l := range get[session.Loss](t)(s.Losses()) {
		reasons = append(reasons, l.Reason)
	}
	equal(t, "losses", reasons, losses)
	return s
}

// TestRecoverDamagedTimes: a timing that is wrong is lost with what cannot be right in it, and all of them if nothing
// can be made of them.
func TestRecoverDamagedTimes(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(a *wiretest.Arena)
		losses []string
		calls  quantity.Count
	}{
		{"nothing", func(*wiretest.Arena) {}, nil, 8},
		{"parent", func(a *wiretest.Arena) { a.Timings[1].Parent = 77 }, []string{session.LossDamaged}, 8},
		{"function", func(a *wiretest.Arena) { a.Timings[1].Function = 77 }, []string{session.LossDamaged}, 8},
		{"counter", func(a *wiretest.Arena) { a.Timings[1].Calls = math.MaxUint64 }, []string{session.LossDamaged}, 3},
		{"waits", func(a *wiretest.Arena) { a.Timings[1].TailWaits = 77 }, []string{session.LossDamaged}, 8},
		{"acted", func(a *wiretest.Arena) { a.Timings[1].Acted = 77 }, []string{session.LossDamaged}, 8},
		{"activations", func(a *wiretest.Arena) { a.Clocks[0].Depth = 1 << 31 }, []string{session.LossDamaged}, 8},
		{"event", func(a *wiretest.Arena) { a.SystemEvents = []wire.SystemEvent{{Timing: 77, Named: 9}} },
			[]string{session.LossDamaged}, 8},
		{"clock", func(a *wiretest.Arena) { a.Header.TicksPerSec = 0 }, []string{session.LossDamagedTimes}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := runningArena()
			c.change(a)
			s := recoveredWith(t, a, c.losses)
			calls := quantity.Count(0)
			for _, v := range get[session.TimingValue](t)(s.TimingValues()) {
				calls += v.Calls
			}
			if calls != c.calls {
				t.Errorf("%d calls, want %d", calls, c.calls)
			}
		})
	}
}

// TestRecoverNothing: what cannot be read at all stays where it is.
func TestRecoverNothing(t *testing.T) {
	root := t.TempDir()
	dir, path := filepath.Join(root, "arenas"), filepath.Join(root, "s.clrprof")
	b := wholeArena(t)
	b[0]++
	at := filepath.Join(dir, "40000000-3e8.arena")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(at, b, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := collect.Recover(dir, path, false, nil, consistent); err == nil {
		t.Error("there is a session")
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("there is a file")
	}
	if _, err := os.Stat(at); err != nil {
		t.Error(err)
	}
}

// TestRecoverAnyDamage: whatever word of an arena is wrong, there is a session, which has all of the other process.
func TestRecoverAnyDamage(t *testing.T) {
	real, err := os.ReadFile("../../wire/testdata/agent.arena")
	if err != nil {
		t.Fatal(err)
	}
	timed := runningArena()
	tree(timed)
	timedBytes, err := timed.Compact()
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(36, 11))
	for _, b := range [][]byte{real, timedBytes} {
		h, err := wire.DecodeHeader(b)
		if err != nil {
			t.Fatal(err)
		}
		for region, entry := range h.Regions {
			for range min(4, entry.Used/8) {
				at := entry.Offset + 8*random.Uint64N(entry.Used/8)
				value := []uint64{0, math.MaxUint64, random.Uint64(), 1 << random.Uint64N(64)}[random.IntN(4)]
				changed := slices.Clone(b)
				binary.LittleEndian.PutUint64(changed[at:], value)
				recovered(t, changed)
				if t.Failed() {
					t.Fatalf("region %d at %d: %#x", region, at-entry.Offset, value)
				}
			}
		}
	}
}
