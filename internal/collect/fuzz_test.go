package collect_test

import (
	"encoding/binary"
	"errors"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/clrprof/clrprof/internal/analysis"
	"github.com/clrprof/clrprof/internal/collect"
	"github.com/clrprof/clrprof/internal/instrument"
	"github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/wire"
)

// FuzzRecorder: whatever an arena holds, recording it ends without a panic, with an error or with a session that does
// not contradict itself.
func FuzzRecorder(f *testing.F) {
	seed, err := os.ReadFile("../wire/testdata/agent.arena")
	if err != nil {
		f.Fatal(err)
	}
	h, err := wire.DecodeHeader(seed)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(seed)
	f.Add(seed[:len(seed)-32])
	for _, at := range []uint64{h.Regions[wire.RegionSites].Offset + 16, h.Regions[wire.RegionNodes].Offset + 24, h.Regions[wire.RegionIPs].Offset + 24*4 + 8} {
		changed := append([]byte(nil), seed...)
		binary.LittleEndian.PutUint64(changed[at:], math.MaxUint64)
		f.Add(changed)
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
		if err != nil || len(violations) != 0 {
			t.Fatalf("%v, %v", violations, err)
		}
	})
}

// recordBytes records twice, the second time without news.
func recordBytes(dir, path string) error {
	w, err := session.Create(path, false)
	if err != nil {
		return err
	}
	r := collect.NewRecorder(w, dir, 0, instrument.NewRules([]string{"App*", "Library"}, []string{"*.Line"}))
	for _, now := range []quantity.Nanoseconds{2000, 3000} {
		if err == nil {
			err = r.Sync(now)
		}
	}
	if err == nil {
		err = w.SetState(session.Recorded)
	}
	return errors.Join(err, r.Close(), w.Close())
}
