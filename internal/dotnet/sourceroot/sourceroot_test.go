package sourceroot

import "testing"

func TestRelative(t *testing.T) {
	for _, c := range []struct {
		file, root, want string
		below            bool
	}{
		{"/home/build/shop/src/Orders.cs", "/home/build/shop", "src/Orders.cs", true},
		{"/home/build/shop/src/Orders.cs", "/home/build/shop/", "src/Orders.cs", true},
		{"/home/build/shop/../shop2/Orders.cs", "/home/build/shop", "/home/build/shop/../shop2/Orders.cs", false},
		{"/home/build/shop2/Orders.cs", "/home/build/shop", "/home/build/shop2/Orders.cs", false},
		{"/home/build/shop/src/Orders.cs", "", "/home/build/shop/src/Orders.cs", false},
		{"/Orders.cs", "/", "Orders.cs", true},
		{"/_/src/Orders.cs", "/elsewhere", "src/Orders.cs", true},
		{"/_1/lib/A.cs", "", "lib/A.cs", true},
		{"/_x/lib/A.cs", "", "/_x/lib/A.cs", false},
		{"/_/", "", "/_/", false},
		{"/_/../../etc/passwd", "/shop", "/_/../../etc/passwd", false},
		{"/_/src/../A.cs", "/shop", "src/../A.cs", true},
		{"..cs", "/shop", "..cs", true},
		{`C:\shop\Orders.cs`, "/shop", "C:/shop/Orders.cs", false},
		{`src\Orders.cs`, "/shop", "src/Orders.cs", true},
		{"../Orders.cs", "/shop", "../Orders.cs", false},
		{"", "/shop", "", false},
	} {
		if got, below := Relative(c.file, c.root); got != c.want || below != c.below {
			t.Errorf("%q below %q: %q, %v", c.file, c.root, got, below)
		}
	}
}
