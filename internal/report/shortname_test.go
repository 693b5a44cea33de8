package report

import "testing"

func TestShortFunctionNames(t *testing.T) {
	for _, c := range []struct{ name, namespace, want string }{
		{"Shop.Orders.Order.Sum(List<Item>)", "Shop.Orders", "Order.Sum(List<Item>)"},
		{"Shop.Orders.Order.Line.Sum()", "Shop.Orders", "Order.Line.Sum()"},
		{"Program.Main.<lambda #0_1>(string) [async]", "", "Program.Main.<lambda #0_1>(string) [async]"},
		{"System.Collections.Generic.Dictionary<System.String, Shop.Orders.Order>.Add(T)", "System.Collections.Generic",
			"Dictionary<String, Order>.Add(T)"},
		{"Ns.A<Ns.B<Ns.C>.D, int[]>..ctor(int)", "Ns", "A<B<C>.D, int[]>..ctor(int)"},
		{"Ns.Money.operator +(Money, Money)", "Ns", "Money.operator +(Money, Money)"},
		{"Orders.(|Even|Odd|)(int)", "", "Orders.(|Even|Odd|)(int)"},
		{"(truncated)", "", "(truncated)"},
		{"Other.Place.Order.Sum(int)", "Shop", "Order.Sum(int)"},
		{"Other..ctor()", "Shop", "Other..ctor()"},
	} {
		if got := shortenFunction(c.name, c.namespace); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

func TestShortTypeNames(t *testing.T) {
	for _, c := range []struct{ name, raw, want string }{
		{"Shop.Order[]", "Shop.Order", "Order[]"},
		{"System.Collections.Generic.List<Shop.Order>.Enumerator", "System.Collections.Generic.List`1+Enumerator", "List<Order>.Enumerator"},
		{"System.ValueTuple<int, Shop.Order?>", "System.ValueTuple`2", "ValueTuple<int, Order?>"},
		{"<anonymous type: string Name, int Size>", "<>f__AnonymousType0`2", "<anonymous type: string Name, int Size>"},
		{"string", "System.String", "string"},
	} {
		if got := shortenType(c.name, namespaceOf(c.raw)); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// TestCutNames: parameters go first, then type arguments, then outer classes; the class and the method last.
func TestCutNames(t *testing.T) {
	const name = "Outer.Cache<string, Order>.Fill(Dictionary<string, Order>, int) [async]"
	for _, c := range []struct {
		width int
		want  string
	}{
		{0, name},
		{len(name), name},
		{len(name) - 1, "Outer.Cache<string, Order>.Fill(…) [async]"},
		{41, "Outer.Cache<…>.Fill(…) [async]"},
		{29, "Cache<…>.Fill(…) [async]"},
	} {
		got := cutName(name, c.width)
		if c.width > 0 && stringWidth(got) > c.width {
			t.Errorf("at %d columns: %q is %d wide", c.width, got, stringWidth(got))
		}
		if got != c.want {
			t.Errorf("at %d columns: %q, want %q", c.width, got, c.want)
		}
	}
}
