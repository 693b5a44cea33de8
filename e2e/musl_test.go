package e2e

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
)

// muslRight is the exit code of the target when it was right itself: it has nothing to write with.
const muslRight = 42

// TestMusl records a program whose C library is musl, as in Alpine's containers: objects, callers, lifetimes and calls
// are equal to what it does.
func TestMusl(t *testing.T) {
	const rounds, kept, depth = 100_000, 1_000, 50
	dir := t.TempDir()
	cmd := dotnettest.NeedMusl(t, dir, "Musl")
	cmd.Env = append(cmd.Env, "DOTNET_GCgen0size=0x40000") // many collections
	r := record(t, cmd, "--time", "--lifetime", "--instrument", "mine")
	if r.exit != muslRight {
		t.Fatalf("exit code %d: %s", r.exit, r.stderr)
	}
	checkSession(t, r.session)
	type row struct {
		Name           string
		Objects, Bytes int64
	}
	objects := query[row](t, r.session,
		"SELECT name, instances AS objects, bytes FROM types WHERE name LIKE 'Program.%' ORDER BY name")
	if diff := cmp.Diff([]row{{"Program.Big", rounds + 1, (rounds + 1) * 64}, {"Program.Item", rounds, rounds * 32},
		{"Program.Item[]", 1, 24 + 8*kept}, {"Program.Work", 1, 24}}, objects); diff != "" {
		t.Errorf("objects (-want +got):\n%s", diff)
	}
	type call struct {
		Name  string
		Calls int64
	}
	calls := query[call](t, r.session,
		`SELECT name, calls FROM function_times WHERE name LIKE 'Program.%' AND name NOT LIKE '%.ctor%'
		AND name NOT LIKE '%cctor%' ORDER BY name`)
	want := []call{{"Program.Beside()", 1}, {"Program.Deep(int)", depth + 1}, {"Program.Large(int)", rounds},
		{"Program.Main()", 1}, {"Program.Make(int)", rounds},
		{"Program.Work.Execute()", 1}}
	if diff := cmp.Diff(want, calls); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	items := byID(view[lives](t, r.session, "lifetime"), func(l lives) string { return l.Name })["Program.Item"]
	if items.Alive != kept {
		t.Errorf("%+v: want %d alive", items, kept)
	}
	if gcs := countOf(t, r.session, "gc"); gcs < 10 {
		t.Errorf("only %d collections", gcs)
	}
}
