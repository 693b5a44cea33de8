package collect_test

import (
	"encoding/binary"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/clrprof/clrprof/internal/analysis"
	"github.com/clrprof/clrprof/internal/capture/collect"
	"github.com/clrprof/clrprof/internal/capture/instrument"
	"github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/testkit/wiretest"
	"github.com/clrprof/clrprof/internal/wire"
)

// FuzzRecorder: whatever an arena holds, recording it ends without a panic, with an error or with a session that does
// not contradict itself.
func FuzzRecorder(f *testing.F) {
	seed, err := os.ReadFile("../../wire/testdata/agent.arena")
	if err != nil {
		f.Fatal(err)
	}
	h, err := wire.DecodeHeader(seed)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(seed)
	f.Add(seed[:len(seed)-32])
	for _, at := range []uint64{h.Regions[wire.RegionSites].Offset + 16, h.Regions[wire.RegionNodes].Offset + 24,
		h.Regions[wire.RegionIPs].Offset + 24*4 + 8} {
		changed := append([]byte(nil), seed...)
		binary.LittleEndian.PutUint64(changed[at:], math.MaxUint64)
		f.Add(changed)
	}
	for _, change := range timedSeeds {
		a := runningArena()
		a.Waits = []wire.Waits{{Intervals: 1, Voluntary: 1}}
		a.Timings[1].TailWaits, a.Timings[1].TailWaited = 1, 50
		a.Header.Data |= wire.DataMemory
		change(a)
		b, err := a.Compact()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	base := "/dev/shm" // a file system in memory, if there is one
	if _, err := os.Stat(base); err != nil {
		base = ""
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		dir, err := os.MkdirTemp(base, "clrprof-fuzz-")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(dir)
		if err := os.WriteFile(filepath.Join(dir, "1-1.arena"), b, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := recordBytes(dir, filepath.Join(dir, "s.clrprof")); err != nil {
			return
		}
		s, err := session.Open(filepath.Join(dir, "s.clrprof"))
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		violations, err := analysis.Check(s)
		timed, timeErr := s.ProcessTimes()
		violations = slices.DeleteFunc(violations, func(v analysis.Violation) bool {
			return len(timed) > 0 && v.Rule == "calls" // an arena may contradict itself there
		})
		if err != nil || timeErr != nil || len(violations) != 0 {
			t.Fatalf("%v, %v, %v", violations, err, timeErr)
		}
	})
}

// timedSeeds change an arena with times.
var timedSeeds = []func(a *wiretest.Arena){
	func(*wiretest.Arena) {},
	func(a *wiretest.Arena) { a.Header.PID = uint32(os.Getpid()) },
	func(a *wiretest.Arena) {
		a.Header.State, a.Header.EndNS, a.Header.EndTicks = uint32(wire.StateShutDown), 4000, 1_009_000
	},
	func(a *wiretest.Arena) { a.Header.Overhead = wire.Overhead{Inside: 30 << 10, Outside: 60 << 10} },
	func(a *wiretest.Arena) {
		top := a.Node(a.Node(0, a.IP(0x3010, sleepFunction, sleepFunction)), a.IP(0x1010, mainFunction, mainFunction))
		a.Add(wire.Type{ID: 1, Kind: wire.TypeOther})
		a.Site(1, top, 1, 2, 48)
	},
	func(a *wiretest.Arena) { a.Timings[1].Calls = 1 << 60 },
	func(a *wiretest.Arena) { a.Timings[0].TailElapsed, a.Timings[1].TailElapsed = 1<<59, 1<<59 },
	func(a *wiretest.Arena) { a.Clocks[0].Depth = 1 << 31 },
	tree,
}

// recordBytes records three times, all but the first without news.
func recordBytes(dir, path string) error {
	w, err := session.Create(path, false)
	if err != nil {
		return err
	}
	r := collect.NewRecorderAt(w, dir, 0, instrument.NewRules([]string{"App*", "Library"}, []string{"*.Line"}))
	for _, now := range []quantity.Nanoseconds{2000, 3000} {
		if err == nil {
			err = r.Sync(now)
		}
	}
	if err == nil {
		err = r.SyncLast(4000)
	}
	if err == nil {
		err = w.SetState(session.Recorded)
	}
	return errors.Join(err, r.Close(), w.Close())
}
