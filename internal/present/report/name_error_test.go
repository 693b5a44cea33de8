package report

import "testing"

// Who names a function or a type does not type its namespace and its parameters.
func TestUnknownLongNames(t *testing.T) {
	functions := []string{"Shop.Core.CsvReport.Build(int)", "Shop.Core.CsvReport.SumAll(int)", "Shop.Orders.Load<Shop.Order>(int)",
		"Shop.Program.Main(string[])", "System.Collections.Generic.List<Shop.Order>.Add(Shop.Order)", "a()", "b()", "c()",
		"d()", "e()", "f()"}
	for _, tt := range []struct{ name, want string }{
		{"Buidl", `there is no function "Buidl": did you mean Shop.Core.CsvReport.Build(int)?`},
		{"CsvReport.Buidl", `there is no function "CsvReport.Buidl": did you mean Shop.Core.CsvReport.Build(int)?`},
		{"csvreport.bild(int)", `there is no function "csvreport.bild(int)": did you mean Shop.Core.CsvReport.Build(int)?`},
		{"Program.Mian", `there is no function "Program.Mian": did you mean Shop.Program.Main(string[])?`},
		{"Nothing.Like.It", `there is no function "Nothing.Like.It": the view functions lists what the session has`},
	} {
		if have := Unknown("function", tt.name, functions).Error(); have != tt.want {
			t.Errorf("%s\nwant: %s", have, tt.want)
		}
	}
}

// Threads of a pool have one name.
func TestUnknownOfEqualNames(t *testing.T) {
	const want = `there is no thread "loader": there are main thread, .NET TP Worker, .NET Timer`
	names := []string{"main thread", ".NET TP Worker", ".NET Timer", ".NET TP Worker", ".NET TP Worker"}
	if have := Unknown("thread", "loader", names).Error(); have != want {
		t.Errorf("%s\nwant: %s", have, want)
	}
}
