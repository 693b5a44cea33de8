package analysis

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/testkit/differ"
	"github.com/clrprof/clrprof/internal/testkit/sessiontest"
)

func TestCheckAcceptsRandomSessions(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(rt *rapid.T) {
		s := open(rt, sessiontest.Random(rapid.Uint64().Draw(rt, "seed")), filepath.Join(dir, "a"))
		defer s.Close()
		found, err := Check(s)
		if err != nil || len(found) != 0 {
			rt.Fatal(found, err)
		}
	})
}

// seedWithEverything is a seed of sessiontest.Random whose session has rows in every table.
const seedWithEverything = 5

// TestCheckFinds breaks one thing at a time in the file and expects it to be found.
func TestCheckFinds(t *testing.T) {
	breakOneThing(t, sessiontest.Random(seedWithEverything), []breakage{
		{"references", "UPDATE node SET parent_id = id + 100000 WHERE id = 2"},
		{"references", "UPDATE node SET parent_id = id WHERE id = 2"},
		{"references", "UPDATE node SET function_id = 0 WHERE id = 1"},
		{"references", "UPDATE node SET function_id = 77777 WHERE id = 1"},
		{"references", "UPDATE site SET type_id = 0 WHERE id = 1"},
		{"references", "UPDATE site SET thread_id = -5 WHERE id = 1"},
		{"references", "DELETE FROM slice WHERE id = 1"},
		{"references", "DELETE FROM process WHERE id = 1"},
		{"owners", "UPDATE node SET process_id = (SELECT max(id) FROM process) WHERE id = 1"},
		{"owners", "UPDATE thread SET process_id = (SELECT max(id) FROM process) WHERE id = (SELECT thread_id FROM " +
			"site LIMIT 1)"},
		{"owners", "UPDATE instruction SET function_id = 1 + function_id % 2"},
		{"slices", "UPDATE slice SET end_ns = end_ns + 1 WHERE id = 1"},
		{"slices", "UPDATE slice SET end_ns = begin_ns - 1 WHERE id = 1"},
		{"amounts", "UPDATE site_value SET bytes = 0"},
		{"amounts", "UPDATE site_value SET allocations = -1"},
		{"losses", "INSERT INTO loss VALUES (1, 'arena_full', 1, -630, -15120)"},
		{"losses", "INSERT INTO loss VALUES (1, 'arena_full', -1, 0, 0)"},
		{"calls", "INSERT INTO loss VALUES (1, 'calls_cut', 1, 0, 0)"},
		{"references", "INSERT INTO loss VALUES (999, 'arena_full', 1, 1, 24)"},
		{"stored", "UPDATE function_value SET exclusive_bytes = exclusive_bytes + 8 WHERE function_id = 1"},
		{"stored", "UPDATE site_value SET allocations = allocations + 1"},
		{"stored", "DELETE FROM call_value"},
		{"stored", "UPDATE path_value SET level = 9 WHERE id = 1"},
		{"stored", "UPDATE module_value SET inclusive_allocations = 0"},
		{"stored", "UPDATE line_value SET allocations = allocations * 2"},
		{"stored", "UPDATE instruction_value SET allocations = allocations * 2"},
		{"stored", "UPDATE type_value SET instances = instances * 2"},
		{"stored", "UPDATE thread_value SET bytes = bytes * 2"},
		{"stored", "UPDATE process_value SET bytes = bytes * 2"},
	})
}

// TestCheckFindsLifetimes does the same with what is said of the ends of objects.
func TestCheckFindsLifetimes(t *testing.T) {
	breakOneThing(t, sessiontest.Aging(), []breakage{
		{"references", "UPDATE site_death SET site_id = 999 WHERE generation = 2"},
		{"references", "UPDATE site_death SET slice_id = 99 WHERE generation = 2"},
		{"references", "UPDATE site_death SET slice_id = 0 WHERE generation = 2"},
		{"references", "UPDATE gc_generation SET gc_id = 99 WHERE generation = 2"},
		{"references", "UPDATE site_alive SET site_id = 999"},
		{"references", "UPDATE survival SET gc_id = 99"},
		{"references", "UPDATE root SET function_id = 99"},
		{"deaths", "UPDATE site_death SET objects = objects + 1000, bytes = bytes + 100000 WHERE generation = 2"},
		{"deaths", "UPDATE site_death SET objects = -1 WHERE generation = 2"},
		{"deaths", "UPDATE site_death SET generation = 5 WHERE generation = 2"},
		{"deaths", "UPDATE site_death SET bytes = bytes - 8 WHERE generation = 1"},
		{"deaths", "UPDATE site SET frozen = 1"},
		{"losses", "INSERT INTO loss VALUES (1, 'gc_cut', 1, 2, 48)"},
		{"lifetimes", "DELETE FROM process_lifetime"},
		{"lifetimes", "UPDATE site SET node_id = 0 WHERE id = 1"},
		{"collections", "UPDATE site_death SET generation = 1 WHERE generation = 2"},
		{"collections", "DELETE FROM site_death WHERE generation = 3"},
		{"collections", "UPDATE gc_generation SET dead_objects = dead_objects + 1 WHERE gc_id = 4 AND generation = 0"},
		{"collections",
			"UPDATE gc_generation SET promoted_objects = before_objects + 1 WHERE gc_id = 4 AND generation = 0"},
		{"collections", "UPDATE gc SET number = number + 1 WHERE id = 3"},
		{"collections", "UPDATE gc SET agent_ns = pause_ns + 1"},
		{"endings", "INSERT INTO site_freed VALUES (1, 2, 1, 24)"},
		{"references", "INSERT INTO site_freed VALUES (999, 2, 1, 24)"},
		{"alive", "UPDATE site_alive SET objects = objects + 1000"},
		{"alive", "UPDATE site_alive SET generation = 7"},
		{"ages", "UPDATE site_age SET objects = objects + 1 WHERE measure = 'time'"},
		{"ages", "UPDATE site_age SET bucket = 9 WHERE measure = 'time'"},
		{"ages", "UPDATE site_age SET objects = objects + 1000"},
		{"survivors", "UPDATE survival SET rooted_objects = rooted_objects + 1"},
		{"heaps", "UPDATE gc_heap SET before_objects = before_objects + 1 WHERE gc_id = 3 AND generation = 2"},
		{"heaps", "UPDATE gc_heap SET generation = 5 WHERE generation = 4"},
		{"heaps", "UPDATE gc_heap SET after_objects = after_objects + 1000, after_bytes = after_bytes + 24000 WHERE " +
			"gc_id = 4 AND generation = 2"},
		{"heaps", "UPDATE gc_heap SET after_objects = after_objects - 1 WHERE gc_id = 4 AND generation = 2"},
		{"heaps", "UPDATE gc_heap SET after_bytes = after_bytes + 8 WHERE gc_id = 4 AND generation = 2"},
	})
}

// TestCheckFindsSnapshots does the same with snapshots of heaps.
func TestCheckFindsSnapshots(t *testing.T) {
	breakOneThing(t, sessiontest.Heap(), []breakage{
		{"snapshots", "UPDATE snapshot SET objects = objects + 1"},
		{"snapshots", "UPDATE snapshot SET frozen_bytes = frozen_bytes + 8, bytes = bytes + 8"},
		{"snapshots", "UPDATE snapshot_type SET objects = objects + 1 WHERE type_id = 3"},
		{"snapshots", "UPDATE snapshot_type SET finalizable_objects = 0"},
		{"snapshots", "UPDATE snapshot_type SET retained_bytes = bytes - 8 WHERE type_id = 3"},
		{"snapshots", "UPDATE snapshot_type SET retained_bytes = 62000 WHERE type_id = 3"},
		{"snapshots", "UPDATE snapshot_type SET retained_bytes = 8 WHERE type_id = 1"},
		{"snapshots", "UPDATE snapshot_site SET objects = objects + 1"},
		{"snapshots", "INSERT INTO process_lifetime VALUES (1, 12, 1)"}, // site_alive then has nothing of it
		{"snapshots", "UPDATE snapshot_root SET objects = 3"},
		{"snapshots", "UPDATE snapshot_path SET kind = '' WHERE position = 0"},
		{"snapshots", "UPDATE snapshot_path SET kind = 'stack'"},
		{"snapshots", "DELETE FROM snapshot_path WHERE position = 0"},
		{"snapshots", "DELETE FROM snapshot_path WHERE position = 2"},
		{"snapshots", "UPDATE snapshot_path SET retained_bytes = bytes - 8"},
		{"snapshots", "UPDATE snapshot_type SET static_bytes = bytes + 8 WHERE static_id = 1"},
		{"snapshots", "UPDATE snapshot_type SET static_bytes = 0 WHERE static_id = 1"},
		{"snapshots", "UPDATE snapshot_static SET object_type_id = 1"},
		{"snapshots", "UPDATE snapshot_path SET static_id = 2 WHERE static_id = 1"},
		{"references", "UPDATE snapshot_type SET static_id = 2 WHERE static_id = 1"},
		{"references", "UPDATE snapshot_static SET process_id = 2"},
		{"references", "UPDATE snapshot_holder SET process_id = 2"},
		{"references", "UPDATE snapshot_holder SET static_id = 7"},
		{"snapshots", "UPDATE snapshot_holder SET objects = objects + 1"},
		{"references", "UPDATE snapshot SET process_id = 2"},
		{"references", "UPDATE snapshot_type SET process_id = 2"},
		{"references", "UPDATE snapshot_root SET process_id = 2"},
		{"references", "UPDATE snapshot_path SET process_id = 2"},
		{"references",
			"UPDATE snapshot_site SET site_id = 999 WHERE site_id = (SELECT min(site_id) FROM snapshot_site)"},
	})
}

// breakage is a change of a good session, and the rule that it breaks.
type breakage struct{ rule, sql string }

func breakOneThing(t *testing.T, b *sessiontest.Builder, list []breakage) {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "good")
	open(t, b, path).Close()
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range list {
		bad := filepath.Join(dir, "bad")
		if err := os.WriteFile(bad, good, 0o644); err != nil {
			t.Fatal(err)
		}
		err := sessiontest.Change(bad, func(conn *sqlite.Conn) error {
			err := sqlitex.ExecuteTransient(conn, c.sql, nil)
			if err == nil && conn.Changes() == 0 {
				err = errors.New("changed nothing")
			}
			return err
		})
		if err != nil {
			t.Fatalf("%s: %v", c.sql, err)
		}
		s, err := session.Open(bad)
		if err != nil {
			t.Fatal(err)
		}
		found, err := Check(s)
		s.Close()
		var rules []string
		for _, v := range found {
			rules = append(rules, v.String())
		}
		if err != nil || !strings.Contains(strings.Join(rules, "\n"), c.rule+": ") {
			t.Errorf("%s: found %q, %v, want %s", c.sql, rules, err, c.rule)
		}
	}
}

// TestSourceStoredEqualsComputed reads a session once from its stored tables and once, as
// if its writer had been killed, by computing.
func TestSourceStoredEqualsComputed(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(rt *rapid.T) {
		seed := rapid.Uint64().Draw(rt, "seed")
		complete := open(rt, sessiontest.Random(seed), filepath.Join(dir, "a"))
		defer complete.Close()
		path := filepath.Join(dir, "b")
		os.Remove(path)
		if err := sessiontest.Random(seed).Write(path); err != nil {
			rt.Fatal(err)
		}
		resolved, err := session.Open(path)
		if err != nil {
			rt.Fatal(err)
		}
		defer resolved.Close()
		if diff := differ.Of(everything(rt, complete), everything(rt, resolved), cmpopts.EquateEmpty()); diff != "" {
			rt.Errorf("(-stored +computed):\n%s", diff)
		}
	})
}

// everything reads all that a Source has.
func everything(t *rapid.T, s *session.Session) []any {
	v, err := Open(s, Selection{})
	if err != nil {
		t.Fatal(err)
	}
	var out []any
	add := func(rows any, err error) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, rows)
	}
	add(v.Total())
	add(v.Functions())
	add(v.Modules())
	add(v.Lines())
	add(v.Instructions())
	add(v.Types())
	add(v.Threads())
	add(v.Processes())
	add(v.Calls())
	paths, err := v.Paths()
	add(paths, err)
	add(v.PathChildren(0))
	for _, p := range paths {
		add(v.PathChildren(p.ID))
	}
	types, _ := v.Types()
	for _, r := range types {
		add(v.TypePaths(r.Type))
	}
	return out
}
