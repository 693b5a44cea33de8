package e2e

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clrprof/clrprof/internal/capture/arena"
	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
	"github.com/clrprof/clrprof/internal/wire"
)

// attachAgent lets the target load an agent directly, without a collector. The arena lies in the directory returned.
func attachAgent(t *testing.T, target *exec.Cmd, agent string, env ...string) (arenas string) {
	t.Helper()
	arenas = t.TempDir()
	target.Env = append(target.Env, "CORECLR_ENABLE_PROFILING=1",
		"CORECLR_PROFILER={8B2F1E5A-6C3D-4E9B-9A57-C1B0F2D34E61}",
		"CORECLR_PROFILER_PATH="+agent, "CLRPROF_ARENAS="+arenas, "CLRPROF_LIFETIME=1", "CLRPROF_FINAL_GC=1")
	target.Env = append(target.Env, env...)
	return arenas
}

// runTarget runs a target that must end with code 0 and whose own checks must hold.
func runTarget(t *testing.T, target *exec.Cmd) (stdout string) {
	t.Helper()
	var out, stderr strings.Builder
	target.Stdout, target.Stderr = &out, &stderr
	if err := target.Run(); err != nil {
		t.Fatalf("%v: %v\n%s%s", target.Args, err, out.String(), stderr.String())
	}
	if _, err := dotnettest.ParseTruth(strings.NewReader(out.String())); err != nil {
		t.Fatalf("%v: %v\n%s", target.Args, err, out.String())
	}
	return out.String()
}

// population is so many objects and bytes.
type population = wire.Population

func plus(a, b population) population {
	return population{Objects: a.Objects + b.Objects, Bytes: a.Bytes + b.Bytes}
}

// arenaLifetime is what an arena says of where objects died, added up in the simplest way.
type arenaLifetime struct {
	sites    []siteLifetime
	types    map[uint32]wire.Type
	gcs      []wire.GC
	lost     [wire.LossCount]wire.LossEntry
	known    bool   // what is alive
	lookedAt uint32 // the last GC of which is known why objects survived it
	running  bool   // threads allocated after the last collection
}

// siteLifetime is how long the objects of one site lived.
type siteLifetime struct {
	typ       uint32
	frozen    bool
	allocated population
	dead      [wire.GenerationCount]population
	alive     [wire.GenerationCount]population
	deadAges  [wire.AgeGCBuckets]uint64 // by GCs survived
	aliveBorn map[uint32]population     // by the number of GCs before their birth
	why       [3]population             // alive after the last GC because: not collected, a root, reachable from others
}

func (s *siteLifetime) deadSum() (sum population) {
	for _, d := range s.dead {
		sum = plus(sum, d)
	}
	return sum
}

func (s *siteLifetime) aliveSum() (sum population) {
	for _, a := range s.alive {
		sum = plus(sum, a)
	}
	return sum
}

// openArena opens the one arena in a directory, until the test ends.
func openArena(t *testing.T, dir string) (*arena.Arena, *wire.Header) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*.arena"))
	if err != nil || len(paths) != 1 {
		t.Fatalf("arenas %v, %v: want one", paths, err)
	}
	a, err := arena.Open(paths[0])
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close() })
	h, err := a.Header()
	if err != nil {
		t.Fatal(err)
	}
	return a, h
}

// readArena reads the one arena in a directory.
func readArena(t *testing.T, dir string) *arenaLifetime {
	t.Helper()
	a, h := openArena(t, dir)
	out := &arenaLifetime{types: map[uint32]wire.Type{}, lost: h.Losses, known: h.AliveKnown != 0}
	out.readSites(t, a)
	out.readLog(t, a.Log())
	if len(out.gcs) != int(h.Collections) {
		t.Errorf("%d records of GCs, the header says %d", len(out.gcs), h.Collections)
	}
	return out
}

func (l *arenaLifetime) readSites(t *testing.T, a *arena.Arena) {
	t.Helper()
	deaths, ages := a.Deaths(), a.Ages()
	for i, site := range a.Sites() {
		s := siteLifetime{typ: site.Type &^ wire.SiteFrozen, frozen: site.Type&wire.SiteFrozen != 0,
			allocated: population{Objects: site.Objects, Bytes: site.Bytes}, aliveBorn: map[uint32]population{}}
		if i >= len(deaths) {
			t.Fatalf("%d deaths for %d sites; lost, by reason: %+v", len(deaths), len(a.Sites()), l.lost)
		}
		for g := range s.dead {
			s.dead[g] = population{Objects: deaths[i].DeadObjects[g], Bytes: deaths[i].DeadBytes[g]}
		}
		s.readAges(t, deaths[i], ages)
		l.sites = append(l.sites, s)
	}
}

func (s *siteLifetime) readAges(t *testing.T, f wire.SiteDeaths, ages []wire.Ages) {
	t.Helper()
	if f.Ages != 0 {
		s.deadAges = ages[f.Ages-1].ByCollections
	}
	var older, timed uint64
	for _, n := range s.deadAges {
		older += n
	}
	if f.Ages != 0 {
		for _, n := range ages[f.Ages-1].ByTime {
			timed += n
		}
	}
	if older != timed {
		t.Errorf("%d ages in GCs, %d in time", older, timed)
	}
	s.deadAges[0] += s.deadSum().Objects - older
}

func (l *arenaLifetime) readLog(t *testing.T, log []byte) {
	t.Helper()
	for len(log) > 0 {
		record, rest, err := wire.Next(log)
		if err != nil {
			t.Fatal(err)
		}
		log = rest
		switch r := record.(type) {
		case wire.Type:
			l.types[r.ID] = r
		case wire.GC:
			l.gcs = append(l.gcs, r)
		case wire.Alive:
			s := &l.sites[r.Site-1]
			s.alive[r.Generation] = plus(s.alive[r.Generation], r.Objects)
			s.aliveBorn[r.Born] = plus(s.aliveBorn[r.Born], r.Objects)
		case wire.Why:
			l.addWhy(r)
		}
	}
}

// addWhy keeps the reasons of the last GC that was looked at.
func (l *arenaLifetime) addWhy(r wire.Why) {
	if r.GC != l.lookedAt {
		l.lookedAt = r.GC
		for i := range l.sites {
			l.sites[i].why = [3]population{}
		}
	}
	s := &l.sites[r.Site-1]
	for i, p := range []population{r.Uncollected, r.Rooted, r.Reachable} {
		s.why[i] = plus(s.why[i], p)
	}
}

// typeName is the name of a class without its namespace.
func (l *arenaLifetime) typeName(id uint32) string {
	if names := l.types[id].Names; len(names) > 0 {
		return names[len(names)-1]
	}
	return ""
}

// fullName is the name of a type as targets print it. It knows what the targets of lifetime need.
func (l *arenaLifetime) fullName(id uint32) string {
	typ := l.types[id]
	if typ.Kind == wire.TypeArray {
		return l.fullName(typ.Element) + "[]"
	}
	name, _, _ := strings.Cut(strings.Join(typ.Names, "."), "`")
	if len(typ.Arguments) > 0 {
		var arguments []string
		for _, a := range typ.Arguments {
			arguments = append(arguments, l.fullName(a))
		}
		name += "<" + strings.Join(arguments, ",") + ">"
	}
	return name
}

// checkConserved asserts for each site that all its objects are dead or alive, in number and bytes, that each GC found
// as many dead as the sites have, and that nothing was lost.
func (l *arenaLifetime) checkConserved(t *testing.T) {
	t.Helper()
	for reason, loss := range l.lost {
		if loss != (wire.LossEntry{}) {
			t.Errorf("lost for reason %d: %+v", reason, loss)
		}
	}
	if !l.known {
		t.Error("what is alive at the end is not known")
	}
	var bySites, byGCs [wire.GenerationCount]population
	for i, s := range l.sites {
		want := plus(s.deadSum(), s.aliveSum())
		if s.frozen {
			want = s.allocated
			if s.deadSum() != (population{}) || s.aliveSum() != (population{}) {
				t.Errorf("site %d of %s is frozen, but %+v are dead, %+v alive", i, l.typeName(s.typ), s.dead, s.alive)
			}
		}
		later := l.running && s.allocated.Objects >= want.Objects && s.allocated.Bytes >= want.Bytes
		if s.allocated != want && !later {
			t.Errorf("site %d of %s allocated %+v, but dead and alive are %+v: %+v", i, l.typeName(s.typ), s.allocated,
				want, s)
		}
		if l.lookedAt == l.gcs[len(l.gcs)-1].Number &&
			(s.why[0] != (population{}) || plus(s.why[1], s.why[2]) != s.aliveSum()) {
			t.Errorf("site %d of %s: alive are %+v, the reasons are %+v", i, l.typeName(s.typ), s.aliveSum(), s.why)
		}
		for g, d := range s.dead {
			bySites[g] = plus(bySites[g], d)
		}
	}
	for _, gc := range l.gcs {
		for g, of := range gc.Generations {
			byGCs[g] = plus(byGCs[g], of.Dead)
		}
	}
	if bySites != byGCs {
		t.Errorf("dead by sites %+v, by GCs %+v", bySites, byGCs)
	}
}
