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
		{"Ns.Money.operator <(Ns.Money, Ns.Money)", "Ns", "Money.operator <(Ns.Money, Ns.Money)"},
		{"Ns.P.operator .>>.<Ns.A, u>.<lambda @104>(int)", "Ns", "P.operator .>>.<A, u>.<lambda @104>(int)"},
		{"Ns.P.operator <|><Ns.A>(Ns.A)", "Ns", "P.operator <|><A>(Ns.A)"},
		{"Ns.P.<closure operator .>>. @90><Ns.A>..ctor(Ns.A)", "Ns", "P.<closure operator .>>. @90><A>..ctor(Ns.A)"},
		{"Ns.P.<closure .ctor @48>.Close()", "Ns", "P.<closure .ctor @48>.Close()"},
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

func TestPartsOfNames(t *testing.T) {
	for _, c := range []struct {
		name string
		n    int
		want string
	}{
		{"Shop.Order.Sum", 2, "Order.Sum"},
		{"Shop.Order..ctor", 1, ".ctor"},
		{"Shop.Order..ctor", 2, "Order..ctor"},
		{"Shop.Order.Sum", 4, "Shop.Order.Sum"},
		{"Shop.Order.Sum", 0, "Shop.Order.Sum"},
		{"A<Ns.B>.Sum<Ns.C>", 1, "Sum<Ns.C>"},
		{"Ns.Money.operator <", 1, "operator <"},
		{"Ns.Money.operator >>", 2, "Money.operator >>"},
		{"Ns.P.operator .>>.<a, u>", 2, "P.operator .>>.<a, u>"},
		{"POST /orders/{id} λ Program.cs:33", 1, "POST /orders/{id} λ Program.cs:33"},
		{"GET /feed.xml λ Feeds.cs:7", 2, "GET /feed.xml λ Feeds.cs:7"},
	} {
		if got := LastParts(c.name, c.n); got != c.want {
			t.Errorf("%d of %s: %s, want %s", c.n, c.name, got, c.want)
		}
	}
}

func TestParametersAreCutBehindOperators(t *testing.T) {
	for name, want := range map[string]string{
		"Money.operator <(Money, Money)":            "Money.operator <",
		"Money.operator >>(Money, int)":             "Money.operator >>",
		"P.operator <|><a, u>(Parser<a>)":           "P.operator <|><a, u>",
		"P.operator .>>.<a>.<lambda @104>(Parser)":  "P.operator .>>.<a>.<lambda @104>",
		"P.<closure operator |>> @143><a>.Close(a)": "P.<closure operator |>> @143><a>.Close",
	} {
		if head, parameters := CutParameters(name); head != want || head+parameters != name {
			t.Errorf("%s: %s and %s, want %s", name, head, parameters, want)
		}
	}
}
