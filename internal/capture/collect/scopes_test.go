package collect_test

import (
	"testing"

	"github.com/clrprof/clrprof/internal/capture/collect"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/wire"
)

// TestScopes: how often and how long threads were in functions that limit what is recorded, one that goes on up to now
// included. What is of no thread that was described, or was never there, is no row.
func TestScopes(t *testing.T) {
	a := small()
	a.Scopes = []wire.Scope{{Inside: wire.Spells{Times: 2, NS: 500, SinceNS: 1500}, Outside: wire.Spells{Times: 1, NS: 30}},
		{}, {Inside: wire.Spells{Times: 7, NS: 9}}}
	s := record(t, a, collect.Filter{})
	end := get[session.Process](t)(s.Processes())[0].End
	equal(t, "scopes", get[session.ThreadScope](t)(s.ThreadScopes()), []session.ThreadScope{{Thread: 1,
		Inside: session.Spells{Times: 2, Length: 500 + end - 1500}, Outside: session.Spells{Times: 1, Length: 30}}})
}
