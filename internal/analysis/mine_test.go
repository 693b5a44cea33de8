package analysis

import (
	order "cmp"
	"errors"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/testkit/differ"
	"github.com/clrprof/clrprof/internal/testkit/sessiontest"
)

// naiveCause walks from a node to the root: the innermost user function, and what it called on the way to the node.
func naiveCause(b *sessiontest.Builder, node session.NodeID) (function session.FunctionID, from Place) {
	below := session.FunctionID(0) // the frame below the one that is looked at
	for node != 0 {
		n := b.Nodes[node-1]
		f := b.Functions[n.Function-1]
		if f.Module != 0 && b.Modules[f.Module-1].Origin == "project" {
			from = Place{Function: f.ID}
			if n.Instruction != 0 {
				from.Line = b.Instructions[n.Instruction-1].Line
			}
			if below == 0 {
				below = f.ID
			}
			return below, from
		}
		below, node = f.ID, n.Parent
	}
	return 0, Place{}
}

// drawOrigins says of each module whether it is user code.
func drawOrigins(t *rapid.T, b *sessiontest.Builder) {
	for i := range b.Modules {
		b.Modules[i].Origin = rapid.SampledFrom([]string{"project", "framework"}).Draw(t, "origin")
	}
}

// naiveStack is the stack of a node, the outermost first, without async methods that had ended after a wait.
func naiveStack(b *sessiontest.Builder, f *asyncFunctions, node session.NodeID) (out []session.NodeID) {
	var all []session.NodeID
	for n := node; n != 0; n = b.Nodes[n-1].Parent {
		all = append([]session.NodeID{n}, all...)
	}
	function := func(i int) int32 { return int32(b.Nodes[all[i]-1].Function - 1) }
	waited := func(i int) bool {
		started, above := false, i-1
		for ; above >= 0 && f.runtime[function(above)]; above-- {
			started = started || f.start[function(above)]
		}
		return !started && !(above >= 0 && f.isStub(function(above), function(i)))
	}
	for i := 0; i < len(all); {
		end := i + 1
		if f.machine[function(i)] && end < len(all) && waited(i) && f.runtime[function(end)] &&
			f.ends(function(end), function(i)) {
			for end < len(all) && f.runtime[function(end)] {
				end++
			}
			if end == len(all) {
				out = append(out, node)
			}
			i = end
			continue
		}
		out = append(out, all[i])
		i++
	}
	return out
}

// naiveReturned is naiveCause of that stack.
func naiveReturned(b *sessiontest.Builder, f *asyncFunctions, node session.NodeID) (session.FunctionID, Place) {
	stack := naiveStack(b, f, node)
	for i := len(stack) - 1; i >= 0; i-- {
		function, from := naiveCause(b, stack[i])
		if from.Function != b.Nodes[stack[i]-1].Function {
			continue // it is framework code
		}
		if i+1 < len(stack) {
			function = b.Nodes[stack[i+1]-1].Function
		}
		return function, from
	}
	return 0, Place{}
}

// TestUserCode compares what is said of user code with walks up the stacks, for random sessions.
func TestUserCode(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(rt *rapid.T) {
		b := sessiontest.Random(rapid.Uint64().Draw(rt, "seed"))
		drawOrigins(rt, b)
		naive := naiveCause
		if rapid.Bool().Draw(rt, "async") {
			nameAsync(rt, b)
			functions := newAsyncFunctions(b.Functions)
			naive = func(b *sessiontest.Builder, node session.NodeID) (session.FunctionID, Place) {
				return naiveReturned(b, functions, node)
			}
		}
		s := open(rt, b, filepath.Join(dir, "a"))
		defer s.Close()
		v, err := Open(s, Selection{})
		if err != nil {
			rt.Fatal(err)
		}
		type key struct {
			function session.FunctionID
			typ      session.TypeID
			from     Place
		}
		want, got := map[key]q.Amount{}, map[key]q.Amount{}
		for _, row := range b.SiteValues {
			site := b.Sites[row.Site-1]
			function, from := naive(b, site.Node)
			k := key{function, site.Type, from}
			want[k] = want[k].Add(row.Amount)
		}
		all, err := v.UserAllocations()
		if err != nil {
			rt.Fatal(err)
		}
		for _, a := range all {
			got[key{a.Function, a.Type, a.From}] = a.Amount
		}
		if diff := differ.Of(want, got); diff != "" {
			rt.Fatal(diff)
		}
	})
}

// TestUses: what user code did by chains of framework functions is, added up by the first function of the chain, what
// is said of user code otherwise.
func TestUses(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(rt *rapid.T) {
		b := sessiontest.Random(rapid.Uint64().Draw(rt, "seed"))
		drawOrigins(rt, b)
		if rapid.Bool().Draw(rt, "async") {
			nameAsync(rt, b)
		}
		s := open(rt, b, filepath.Join(dir, "a"))
		defer s.Close()
		v, err := Open(s, Selection{})
		if err != nil {
			rt.Fatal(err)
		}
		uses, err := v.Uses(nil)
		if err != nil {
			rt.Fatal(err)
		}
		rises := func(x, y Use) int {
			return order.Or(comparePlaces(x.From, y.From), slices.Compare(x.Chain, y.Chain),
				order.Compare(x.Type, y.Type))
		}
		objects, times := map[UserAllocation]q.Amount{}, map[UserTime]q.Time{}
		var list []Use
		uses.Each(func(u *Use) { list = append(list, *u) })
		for i, u := range list {
			if i > 0 && rises(list[i-1], u) >= 0 {
				rt.Fatalf("use %d is not after the one before: %v, %v", i, list[i-1], u)
			}
			function := u.From.Function
			if len(u.Chain) > 0 {
				function = u.Chain[0]
			}
			if o := (UserAllocation{Function: function, Type: u.Type, From: u.From}); !u.Born.IsZero() {
				objects[o] = objects[o].Add(u.Born)
			}
			if o := (UserTime{Function: function, From: u.From}); u.Time != (q.Time{}) {
				times[o] = times[o].Add(u.Time)
			}
		}
		allocations, err := v.UserAllocations()
		if err != nil {
			rt.Fatal(err)
		}
		if !slices.IsSortedFunc(allocations, func(x, y UserAllocation) int {
			return order.Or(order.Compare(x.Function, y.Function), order.Compare(x.Type, y.Type),
				comparePlaces(x.From, y.From))
		}) {
			rt.Fatalf("allocations are not in their order: %v", allocations)
		}
		wantObjects, wantTimes := map[UserAllocation]q.Amount{}, map[UserTime]q.Time{}
		for _, a := range allocations {
			if a.From.Function != 0 {
				wantObjects[UserAllocation{Function: a.Function, Type: a.Type, From: a.From}] = a.Amount
			}
		}
		all, err := v.UserTimes()
		if err != nil {
			rt.Fatal(err)
		}
		for _, a := range all {
			if a.From.Function != 0 {
				wantTimes[UserTime{Function: a.Function, From: a.From}] = a.Time
			}
		}
		if diff := differ.Of(wantObjects, objects) + differ.Of(wantTimes, times); diff != "" {
			rt.Fatal(diff)
		}
	})
}

// TestUserCauses: causes are the allocations of user code by type and place, and those that are not in the list are
// added up.
func TestUserCauses(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(rt *rapid.T) {
		b := sessiontest.Random(rapid.Uint64().Draw(rt, "seed"))
		drawOrigins(rt, b)
		for i := range b.SiteValues { // so that many are equal, and some nothing
			b.SiteValues[i].Bytes = q.Bytes(rapid.IntRange(0, 2).Draw(rt, "bytes"))
		}
		s := open(rt, b, filepath.Join(dir, "a"))
		defer s.Close()
		v, err := Open(s, Selection{})
		if err != nil {
			rt.Fatal(err)
		}
		all, err := v.UserAllocations()
		if err != nil {
			rt.Fatal(err)
		}
		most := rapid.IntRange(0, 8).Draw(rt, "most")
		got, err := v.UserCauses(most)
		if err != nil {
			rt.Fatal(err)
		}
		if diff := differ.Of(naiveCauses(all, most), got, cmpopts.EquateEmpty()); diff != "" {
			rt.Fatal(diff)
		}
	})
}

// naiveCauses adds up allocations by type and place.
func naiveCauses(all []UserAllocation, most int) *UserCauses {
	out := &UserCauses{}
	var list []UserAllocation
	greatest := map[int]q.Bytes{}
	for _, a := range all {
		if a.From == (Place{}) {
			out.Outside = out.Outside.Add(a.Amount)
			continue
		}
		at := slices.IndexFunc(list, func(c UserAllocation) bool { return c.Type == a.Type && c.From == a.From })
		if at < 0 {
			at = len(list)
			list = append(list, UserAllocation{Function: a.Function, Type: a.Type, From: a.From})
		}
		list[at].Amount = list[at].Add(a.Amount)
		if a.Bytes > greatest[at] {
			greatest[at], list[at].Function = a.Bytes, a.Function
		}
	}
	list = slices.DeleteFunc(list, func(c UserAllocation) bool { return c.Bytes == 0 })
	slices.SortStableFunc(list, func(x, y UserAllocation) int { return order.Compare(y.Bytes, x.Bytes) })
	for i, c := range list {
		if most == 0 || i < most || c.Bytes == list[most-1].Bytes {
			out.List = append(out.List, c)
			continue
		}
		out.More, out.Hidden = out.More+1, out.Hidden.Add(c.Amount)
	}
	return out
}

// TestUserTimes: what user functions did themselves is their exclusive time, and all together is all time.
func TestUserTimes(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(rt *rapid.T) {
		b := sessiontest.Random(rapid.Uint64().Draw(rt, "seed"))
		user := map[session.FunctionID]bool{}
		drawOrigins(rt, b)
		for _, f := range b.Functions {
			user[f.ID] = f.Module != 0 && b.Modules[f.Module-1].Origin == "project"
		}
		s := open(rt, b, filepath.Join(dir, "a"))
		defer s.Close()
		v, err := Open(s, Selection{})
		if err != nil {
			rt.Fatal(err)
		}
		times, err := v.UserTimes()
		if err != nil {
			rt.Fatal(err)
		}
		functions, err := v.FunctionTimes()
		if err != nil {
			rt.Fatal(err)
		}
		own, all, want := map[session.FunctionID]q.Time{}, q.Time{}, q.Time{}
		for _, u := range times {
			all = all.Add(u.Time)
			if user[u.Function] {
				own[u.Function] = own[u.Function].Add(u.Time)
			}
		}
		for _, f := range functions {
			want = want.Add(f.Exclusive)
			if user[f.Function] && own[f.Function] != f.Exclusive {
				rt.Fatalf("function %d: %+v, want %+v", f.Function, own[f.Function], f.Exclusive)
			}
		}
		if all != want {
			rt.Fatalf("all together: %+v, want %+v", all, want)
		}
	})
}

// TestMyCode: with --my-code a function has done itself what is said of it by places in user code, and functions that
// no user code called have what is left; nothing is lost.
func TestMyCode(t *testing.T) {
	dir, shown, cases := t.TempDir(), 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		cases++
		b := sessiontest.Random(rapid.Uint64().Draw(rt, "seed"))
		user := false
		for i := range b.Modules {
			b.Modules[i].Origin = rapid.SampledFrom([]string{"project", "framework"}).Draw(rt, "origin")
			user = user || b.Modules[i].Origin == "project"
		}
		s := open(rt, b, filepath.Join(dir, "a"))
		defer s.Close()
		selection, err := Terms{MyCode: true}.Select(s)
		if errors.Is(err, ErrNoUserCode) == user {
			rt.Fatal(user, err)
		}
		if !user {
			return
		}
		whole, err := Open(s, Selection{})
		if err != nil {
			rt.Fatal(err)
		}
		mine, err := Open(s, selection)
		if err != nil {
			rt.Fatal(err)
		}
		all, err := whole.UserAllocations()
		if err != nil {
			rt.Fatal(err)
		}
		want, got := map[session.FunctionID]q.Amount{}, map[session.FunctionID]q.Amount{}
		var outside, rest q.Amount
		for _, a := range all {
			if a.From.Function == 0 {
				outside = outside.Add(a.Amount)
			} else if !a.IsZero() {
				want[a.Function] = want[a.Function].Add(a.Amount)
			}
		}
		// Below roots that are not the user's, what no user code called stays where it was.
		paths, err := mine.Paths()
		if err != nil {
			rt.Fatal(err)
		}
		called, isUser := map[session.PathID]bool{}, map[session.PathID]bool{}
		for _, p := range paths {
			f := b.Functions[p.Function-1]
			isUser[p.ID] = f.Module != 0 && b.Modules[f.Module-1].Origin == "project"
			called[p.ID] = isUser[p.ID] || p.Parent != 0 && isUser[p.Parent]
			if p.Parent != 0 && !called[p.ID] && !p.Inclusive.IsZero() {
				rt.Fatalf("path %d of %s is shown, which no user code called", p.ID, f.DisplayName())
			}
			if called[p.ID] && !p.Exclusive.IsZero() {
				got[p.Function] = got[p.Function].Add(p.Exclusive)
				shown++
			} else {
				rest = rest.Add(p.Exclusive)
			}
		}
		if diff := differ.Of(want, got) + differ.Of(outside, rest); diff != "" {
			rt.Fatal(diff)
		}
	})
	if shown < cases {
		t.Errorf("only %d paths did anything", shown)
	}
}
