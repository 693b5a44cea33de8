package text

import "testing"

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
		if c.width > 0 && Width(got) > c.width {
			t.Errorf("at %d columns: %q is %d wide", c.width, got, Width(got))
		}
		if got != c.want {
			t.Errorf("at %d columns: %q, want %q", c.width, got, c.want)
		}
	}
}

// TestCutClasses: what a function is called is whole as long as something of its class is there, a nested type keeps the
// class around it as long as it can, and the type arguments of what the compiler makes tell one from the other.
func TestCutClasses(t *testing.T) {
	for _, c := range []struct {
		name  string
		width int
		want  string
	}{
		{"DefaultInterpolatedStringHandler.ToStringAndClear()", 34, "Defa…ingHandler.ToStringAndClear()"},
		{"DefaultInterpolatedStringHandler.ToStringAndClear()", 20, "Defaul…ingAndClear()"},
		{"List<Order>..ctor(int)", 16, "List<…>..ctor(…)"},
		{"List<Order>.set_Capacity(int)", 22, "List.set_Capacity(…)"},
		{"Cache.Get.<lambda #1_1>(int)", 27, "Cache.Get.<lambda #1_1>(…)"},
		{"Outer.Cache.Get.<lambda #1_1>(int)", 27, "Cache.Get.<lambda #1_1>(…)"},
		{"Program.Main.<lambda #0_10>(HttpContext)", 29, "Program.Main.<lambda #0_10>"},
		{"Worker.Run(int)", 12, "Worker.Run"},
		{"Worker.Run(int), on the stack", 24, "Worker.Run, on the stack"},
		{"Marshal.GetDelegate<int>(int)", 19, "Marshal.GetDelegate"},
		{"<startup FSI_0001>.main@()", 20, "<st…SI_0001>.main@()"},
		{"ConcurrentDictionary<int, ValueTuple<long, string[]>>.Node", 28, "ConcurrentDictionary<…>.Node"},
		{"ConcurrentDictionary<int, ValueTuple<long, string[]>>.Node", 27, "Node"},
		{"Builder<Order>.Box<<async Load #3>>", 34, "Builder<…>.Box<<async Load #3>>"},
		{"Builder<Order>.Box<<async Load #3>>", 22, "Box<<async Load #3>>"},
		{"Builder<Order>.Box<<async Load #3>>", 18, "Builder<…>.Box<…>"},
		{"Builder<Order>.Box<<async Load #3>>", 8, "Box<…>"},
	} {
		if got := cutName(c.name, c.width); got != c.want || Width(got) > c.width {
			t.Errorf("%s at %d columns: %q, want %q", c.name, c.width, got, c.want)
		}
	}
}

// TestWrapNumbers: a number is on one line with its unit.
func TestWrapNumbers(t *testing.T) {
	for _, c := range []struct{ s, want string }{
		{"it has 46.88 KiB of it", "it has\n46.88 KiB\nof it"},
		{"it has (12 %) of it", "it has\n(12 %) of\nit"},
		{"it says so B is", "it says so\nB is"},
	} {
		if got := wrap(c.s, 10); got != c.want {
			t.Errorf("%q: %q, want %q", c.s, got, c.want)
		}
	}
}
