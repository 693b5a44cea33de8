package names

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
		if got := ShortFunction(c.name, c.namespace); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

func TestShortTypeNames(t *testing.T) {
	for _, c := range []struct{ name, raw, want string }{
		{"Shop.Order[]", "Shop.Order", "Order[]"},
		{"System.Collections.Generic.List<Shop.Order>.Enumerator", "System.Collections.Generic.List`1+Enumerator",
			"List<Order>.Enumerator"},
		{"System.ValueTuple<int, Shop.Order?>", "System.ValueTuple`2", "ValueTuple<int, Order?>"},
		{"<anonymous type: string Name, int Size>", "<>f__AnonymousType0`2", "<anonymous type: string Name, int Size>"},
		{"string", "System.String", "string"},
	} {
		if got := ShortType(c.name, Namespace(c.raw)); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}
