package analysis

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/testkit/differ"
	"github.com/clrprof/clrprof/internal/testkit/sessiontest"
)

// TestNamespaces: a namespace has what was done on the stacks with one of its functions, each stack once, and itself
// what the functions on top did.
func TestNamespaces(t *testing.T) {
	dir := t.TempDir()
	types := []string{"Shop.Cart", "Shop.Data.Row", "Shop.Data.Rows/Enumerator", "Program"}
	space := map[string]string{"Shop.Cart": "Shop", "Shop.Data.Row": "Shop.Data",
		"Shop.Data.Rows/Enumerator": "Shop.Data", "Program": "", "": ""}
	type key struct {
		process session.ProcessID
		name    string
	}
	type sums struct{ Amounts, Times [2]string }
	for name, make := range map[string]func(uint64) *sessiontest.Builder{"memory": sessiontest.Random,
		"times": sessiontest.RandomTimes} {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(rt *rapid.T) {
				b := make(rapid.Uint64Range(0, 200).Draw(rt, "seed"))
				for i := range b.Functions {
					if b.Functions[i].RawType = ""; b.Functions[i].Kind != session.FunctionPseudo {
						b.Functions[i].RawType = rapid.SampledFrom(types).Draw(rt, "type")
					}
				}
				s := open(rt, b, filepath.Join(dir, name))
				defer s.Close()
				v, err := Open(s, Selection{})
				if err != nil {
					rt.Fatal(err)
				}
				d, err := v.load()
				if err != nil {
					rt.Fatal(err)
				}
				timed := d.foldedNodes() == nil // else inclusive times are lower bounds
				namespaceOf := map[string]string{}
				processOf := map[string]session.ProcessID{}
				for i := range b.Functions {
					f := &b.Functions[i]
					n := functionMark(f)
					namespaceOf[n], processOf[n] = space[f.RawType], f.Process
				}
				stacks := readStacks(rt, v)
				inclusive, exclusive := map[key]*stackSum{}, map[key]*stackSum{}
				add := func(m map[key]*stackSum, k key, x *stackSum) {
					if m[k] == nil {
						m[k] = &stackSum{}
					}
					m[k].add(*x)
				}
				for id, own := range stacks.own {
					stack := stacks.stacks[id][1:]
					var on []string
					for _, f := range stack {
						if n := namespaceOf[f]; !slices.Contains(on, n) {
							on = append(on, n)
						}
					}
					process := processOf[stack[0]]
					for _, n := range on {
						add(inclusive, key{process, n}, own)
					}
					add(exclusive, key{process, namespaceOf[stack[len(stack)-1]]}, own)
				}
				want, have := map[key]sums{}, map[key]sums{}
				show := func(i, e q.Amount, it, et q.Time) sums {
					out := sums{Amounts: [2]string{i.Bytes.Exact(), e.Bytes.Exact()}}
					if timed {
						out.Times = [2]string{it.Elapsed.String(), et.Elapsed.String()}
					}
					return out
				}
				for k, x := range inclusive {
					e := exclusive[k]
					if e == nil {
						e = &stackSum{}
					}
					want[k] = show(x.Amount, e.Amount, x.Time, e.Time)
				}
				namespaces, err := v.Namespaces()
				if err != nil {
					rt.Fatal(err)
				}
				for _, n := range namespaces {
					have[key{n.Process, n.Name}] = show(n.Memory.Inclusive, n.Memory.Exclusive, n.Time.Inclusive,
						n.Time.Exclusive)
				}
				zero := show(q.Amount{}, q.Amount{}, q.Time{}, q.Time{})
				for _, m := range []map[key]sums{want, have} {
					for k, x := range m {
						if x == zero || !timed && strings.HasPrefix(x.Amounts[0], "0 ") {
							delete(m, k)
						}
					}
				}
				if diff := differ.Of(want, have); diff != "" {
					rt.Fatalf("(-by hand +namespaces):\n%s", diff)
				}
			})
		})
	}
}
