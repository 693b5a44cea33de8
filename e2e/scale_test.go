package e2e

import (
	"path/filepath"
	"testing"

	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
)

// Ten million allocations over a hundred thousand stacks: none may be lost. The target Alloc of the benchmarks makes
// three rounds to warm up and nine more of COUNT allocations, each of a round's 100,000 under a stack of its own.
func TestManyStacks(t *testing.T) {
	t.Parallel()
	dotnettest.NotQuick(t, "it repeats what others do once")
	in := dotnettest.Need(t)
	dll, err := in.Compile([]string{filepath.Join("..", "bench", "targets", "Alloc")}, "", dotnettest.Options{})
	if err != nil {
		t.Fatal(err)
	}
	const rounds, count, stacks = 12, 900_000, 100_000
	r := mustRecord(t, in.Newest().Command(dll, "wide", "18", "900000", "9"))
	rows := query[struct{ Allocations, Nodes int }](t, r.session,
		`select sum(v.allocations) allocations, count(distinct n.id) nodes
		from site s join site_value v on v.site_id = s.id join node n on n.id = s.node_id
		join function f on f.id = n.function_id join type t on t.id = s.type_id
		where f.raw_name = 'Wide' and t.raw_name = 'Alloc.A'`)
	if got := rows[0].Allocations; got != rounds*count {
		t.Errorf("%d allocations, want %d", got, rounds*count)
	}
	// Wide and the loop around it are optimised from the start; only Down and Main above them change tiers, so a few
	// of the 100,000 stacks are there more than once.
	if got := rows[0].Nodes; got < stacks || got%stacks != 0 {
		t.Errorf("%d nodes, want a multiple of %d", got, stacks)
	}
	if losses := query[struct{ Reason string }](t, r.session, "select reason from loss"); len(losses) != 0 {
		t.Errorf("losses: %v", losses)
	}
}
