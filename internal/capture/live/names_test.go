package live

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/session/symbols"
)

// TestShortNames: a row has the whole name of a function or a type, and the one without namespaces.
func TestShortNames(t *testing.T) {
	n := newNames()
	n.describe(&symbols.Input{
		Types: []session.Type{{ID: 1, Kind: session.TypeClass, RawName: "Shop.Core.Csv"},
			{ID: 2, Kind: session.TypeArray, ElementType: 1, Rank: 1}},
		Functions: []session.Function{{ID: 1, Kind: session.FunctionMethod, Type: 1, RawType: "Shop.Core.Csv",
			RawName: "Build", Signature: []byte{0x00, 0x00, 0x01}}},
	})
	n.nameFunctions([]changed{{id: 1}})
	n.nameTypes([]changed{{id: 1}, {id: 2}})
	have := []Row{n.functions[1].row(changed{}), n.types[1].row(changed{}), n.types[2].row(changed{})}
	want := []Row{{Name: "Shop.Core.Csv.Build()", Short: "Csv.Build()"}, {Name: "Shop.Core.Csv", Short: "Csv"},
		{Name: "Shop.Core.Csv[]", Short: "Csv[]"}}
	if diff := cmp.Diff(want, have); diff != "" {
		t.Errorf("rows (-want +have):\n%s", diff)
	}
}
