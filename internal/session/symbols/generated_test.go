package symbols_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/session/symbols"
	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
)

// generatedNames are members of testdata/Names.cs that the compiler made or
// took apart, by raw type and name, and what the programmer calls them.
var generatedNames = map[string]string{
	"Program/<RunAsync>d__7 MoveNext":        "Program.RunAsync(int) [async]",
	"Program/<RunAsync>d__8 MoveNext":        "Program.RunAsync(string) [async]",
	"Program/<RunAsync>d__8 SetStateMachine": "Program.<async RunAsync #8>.SetStateMachine(IAsyncStateMachine)",
	"Program/<FireAndForget>d__9 MoveNext":   "Program.FireAndForget() [async]",
	"Program/<Iterate>d__10 MoveNext":        "Program.Iterate(int) [iterator]",
	"Program/<Iterate>d__10 .ctor":           "Program.<iterator Iterate #10>..ctor(int)",
	"Program/<Iterate>d__11`1 MoveNext":      "Program.Iterate<T>(T) [iterator]",
	"Program/<Stream>d__12 MoveNext":         "Program.Stream(int) [async iterator]",
	"Program/<Main>d__25 MoveNext":           "Program.Main(string[]) [async]",
	"Program <Main>":                         "Program.<Main>(string[])",
	"Program/<>c .ctor":                      "Program.<closure>..ctor()",

	"Program <Locals>g__Pure|22_1":                                         "Program.Locals.Pure(string)",
	"Program <Locals>g__Generic|22_4":                                      "Program.Locals.Generic<T>(T)",
	"Program/<>c__DisplayClass22_0 .ctor":                                  "Program.<closure 22_0>..ctor()",
	"Program/<>c__DisplayClass22_0 <Locals>g__Local|0":                     "Program.Locals.Local(int)",
	"Program/<>c__DisplayClass22_0 <Locals>b__5":                           "Program.Locals.<lambda #22_5>(int)",
	"Program/<>c__DisplayClass22_1`1 <Locals>b__10":                        "Program.Locals.<lambda #22_10>()",
	"Program/<>c <Locals>b__22_7":                                          "Program.Locals.<lambda #22_7>(string)",
	"Program/<>c__DisplayClass22_0/<<Locals>g__LocalAsync|2>d MoveNext":    "Program.Locals.LocalAsync() [async]",
	"Program/<>c__DisplayClass22_0/<<Locals>g__LocalIterator|3>d MoveNext": "Program.Locals.LocalIterator() [iterator]",
	"Program/<>c__DisplayClass22_0/<<Locals>b__6>d MoveNext":               "Program.Locals.<lambda #22_6>() [async]",
	"Program/<>c/<<Locals>b__22_7>d MoveNext": "Program.Locals.<lambda #22_7>(string) " +
		"[async]",
	"Program/<>c__23`1 <GenericLambda>b__23_0":            "Program.GenericLambda<T>.<lambda #23_0>(int)",
	"Program/<>c__DisplayClass23_0`1 <GenericLambda>b__1": "Program.GenericLambda<T>.<lambda #23_1>()",
	"Program/<>c <.ctor>b__26_0":                          "Program..ctor.<lambda #26_0>()",
	"Program/<>c <.cctor>b__27_0":                         "Program..cctor.<lambda #27_0>()",
	"Program/<>c <MakeAnonymous>b__24_0": "Program.MakeAnonymous.<lambda #24_0>(<anonymous type: " +
		"string Name, int Size>)",
	"<>f__AnonymousType0`2 .ctor": "<anonymous type: Name, Size>..ctor(Name, Size)",

	"Shop.Orders.Box`1/<>c__DisplayClass24_0 <Closures>b__0":           "Shop.Orders.Box<T>.Closures.<lambda #24_0>()",
	"Shop.Orders.Box`1 Shop.Orders.IShape<T>.Area":                     "Shop.Orders.Box<T>.IShape<T>.Area(T)",
	"Shop.Orders.Box`1 System.IDisposable.Dispose":                     "Shop.Orders.Box<T>.IDisposable.Dispose()",
	"Shop.Orders.Numbers Shop.Orders.IShape<System.Int32>.add_Changed": "Shop.Orders.Numbers.IShape<int>.add_Changed(Action<int>)",
	"Shop.Orders.Extensions/<Later>d__1`1 MoveNext":                    "Shop.Orders.Extensions.Later<T>(T) [async]",
	"Shop.Orders.Extensions/<Indexed>d__2`1 MoveNext":                  "Shop.Orders.Extensions.Indexed<T>(IEnumerable<T>) [iterator]",
	"Shop.Orders.Extensions/<Indexed>d__2`1 <>m__Finally1": "Shop.Orders.Extensions.<iterator Indexed " +
		"#2><T>.<finally 1>()",
	"Shop.Orders.Box`1/Entry/Slot`1/<Get>d__1 MoveNext": "Shop.Orders.Box<T>.Entry.Slot<K>.Get(K) [async]",
	"Shop.Orders.Numbers/<System-Collections-Generic-IEnumerable<System-Collections-Generic-KeyValuePair<System-Int32,System-String>>-GetEnumerator>d__4 MoveNext": "Shop.Orders.Numbers.IEnumerable<KeyValuePair<int, string>>.GetEnumerator() [iterator]",
}

// TestGeneratedNames names what compilers made, with the assembly at hand.
func TestGeneratedNames(t *testing.T) {
	in, dll := names(t, dotnettest.Options{})
	functions, _ := reflected(t, in.Net9(), dll)
	out := symbols.Resolve(symbols.Input{
		Modules: []session.Module{{ID: 1, Path: dll}}, Functions: functions,
	}, symbols.OpenFile, nil)
	have := map[string]string{}
	for _, f := range out.Functions {
		if key := f.RawType + " " + f.RawName; generatedNames[key] != "" {
			have[key] = f.Name
		}
	}
	if diff := cmp.Diff(generatedNames, have); diff != "" {
		t.Errorf("(-want +have)\n%s", diff)
	}
}

// namesWithoutFile are the same kinds of names when there is no assembly: types
// in signatures and the parameters of state machines' methods are unknown.
var namesWithoutFile = []struct{ rawType, rawName, signature, want string }{
	{"Ns.Program/<RunAsync>d__7", "MoveNext", "\x20\x00\x01", "Ns.Program.RunAsync(?) [state machine]"},
	{"Ns.Program/<>c/<<Main>b__0_0>d", "MoveNext", "\x20\x00\x01", "Ns.Program.Main.<lambda #0_0>(?) [state machine]"},
	{"VbApp/VB$StateMachine_3_RunAsync", "MoveNext", "\x20\x00\x01", "VbApp.RunAsync(?) [state machine]"},
	{"VbApp/_Closure$__1-0", "_Lambda$__0", "\x20\x00\x01", "VbApp.<lambda #1-0>()"},
	{"VbApp/_Closure$__", "_Lambda$__1-0", "\x20\x00\x01", "VbApp.<lambda #1-0>()"},
	{"Program/<>c", "<Main>b__0_1", "\x20\x01\x08\x0E", "Program.Main.<lambda #0_1>(string)"},
	{"Program/<>c", "<<Main>$>b__0_1", "\x20\x01\x08\x0E", "Program.Main.<lambda #0_1>(string)"},
	{"Program", "<Main>$", "\x00\x01\x01\x1D\x0E", "Program.Main(string[])"},
	{"Program/<>c__DisplayClass3_0", "<Get>b__2", "\x20\x00\x01", "Program.Get.<lambda #3_2>()"},
	{"Program", "<Main>g__Local|0_0", "\x00\x01\x08\x08", "Program.Main.Local(int)"},
	{"Program/<>c__DisplayClass0_0", "<Main>g__Local|1", "\x20\x00\x01", "Program.Main.Local()"},
	{"<Names>F00FF__Hidden", "Run", "\x20\x00\x01", "Hidden.Run()"},
	{"Ns.List`1", "Add", "\x20\x01\x01\x13\x00", "Ns.List<?>.Add(?)"},
	{"Ns.List`1", "Convert", "\x30\x01\x01\x01\x1E\x00", "Ns.List<?>.Convert<?>(?)"},
	{"Ns.Type", "Take", "\x20\x02\x01\x12\x05\x15\x11\x05\x01\x08", "Ns.Type.Take(?, ?)"},
	{"Ns.Type", "op_Addition", "\x00\x02\x08\x08\x08", "Ns.Type.operator +(int, int)"},
	{"Ns.Type", "op_Implicit", "\x00\x01\x0E\x08", "Ns.Type.implicit operator string(int)"},
	{"Ns.Type", "System.Collections.Generic.IEnumerable<System.Int32>.GetEnumerator", "\x20\x00\x1C",
		"Ns.Type.System.Collections.Generic.IEnumerable<int>.GetEnumerator()"},
	{"App/comp@29-1", "Invoke", "\x20\x01\x08\x08", "App.comp.<lambda @29-1>(int)"},
	{"App/taskWork@14", "MoveNext", "\x20\x00\x01", "App.taskWork.<task @14>()"},
	{"App/Outer/work@7-12", "GenerateNext", "\x20\x00\x08", "App.Outer.work.<seq @7-12>()"},
	{"App/comp@29-1", "Close", "\x20\x00\x01", "App.<closure comp @29-1>.Close()"},
	{"App/-ctor@48", "Invoke", "\x20\x00\x01", "App..ctor.<lambda @48>()"},
	{"App/-ctor@48", "Close", "\x20\x00\x01", "App.<closure .ctor @48>.Close()"},
	{"App/op_BarGreaterGreater@143", "Invoke", "\x20\x00\x01", "App.operator |>>.<lambda @143>()"},
	{"App/op_BarGreaterGreater@143", "Close", "\x20\x00\x01", "App.<closure operator |>> @143>.Close()"},
	{"App/op_Addition@7-1", "Close", "\x20\x00\x01", "App.<closure operator + @7-1>.Close()"},
	{"App", "pfloat$cont@104", "\x00\x01\x08\x08", "App.pfloat.<part @104>(int)"},
	{"App/pfloat$cont@110-1", "Close", "\x20\x00\x01", "App.<closure pfloat @110-1>.Close()"},
	{"App", "$cont", "\x00\x00\x01", "App.$cont()"},
	{"comp@29", "Invoke", "\x20\x00\x01", "<closure comp @29>.Invoke()"},
	{"App", "go@32", "\x00\x01\x08\x08", "App.go(int)"},
	{"App", "at@home", "\x00\x00\x01", "App.at@home()"},
	{"App", "@1", "\x00\x00\x01", "App.@1()"},
	{"App", "|Even|Odd|", "\x00\x01\x08\x08", "App.(|Even|Odd|)(int)"},
	{"App", "op_GreaterGreaterEquals", "\x00\x02\x08\x08\x08", "App.operator >>=(int, int)"},
	{"App", "op_PipeRight", "\x00\x02\x08\x08\x08", "App.operator |>(int, int)"},
	{"App", "op_Unheard", "\x00\x02\x08\x08\x08", "App.op_Unheard(int, int)"},
	{"App", "op_", "\x00\x00\x01", "App.op_()"},
	{"App", "op_MultiplicationAssignment", "\x20\x01\x01\x08", "App.op_MultiplicationAssignment(int)"},
	{"App", "op_MultiplyAssignment", "\x20\x01\x01\x08", "App.operator *=(int)"},
	{"App", "op_DecrementAssignment", "\x20\x00\x01", "App.operator --()"},
	{"<StartupCode$App>.$Shop", ".cctor", "\x00\x00\x01", "<startup Shop>..cctor()"},
	{"<StartupCode$App>", "Run", "\x00\x00\x01", "<StartupCode$App>.Run()"},
	{"VB$AnonymousType_0`2", ".ctor", "\x20\x02\x01\x13\x00\x13\x01", "<anonymous type 0><?, ?>..ctor(?, ?)"},
	{"Ns.Type", "Matrix", "\x00\x02\x01\x14\x08\x02\x00\x00\x1D\x14\x0F\x01\x03\x00\x00",
		"Ns.Type.Matrix(int[,], void*[][,,])"},
	{"Ns.Type", "Pointer", "\x00\x01\x01\x1B\x00\x02\x01\x08\x10\x0E",
		"Ns.Type.Pointer(delegate*<int, ref string, void>)"},
	{"Ns.Type", "Corrupt", "\x20\xFF", "Ns.Type.Corrupt(?)"},
	{"Ns.Type", "Unknown", "", "Ns.Type.Unknown(?)"},
	{"", "lonely", "\x00\x00\x01", "lonely()"},
	{"", "", "", "?(?)"},
	{"<Module>", "Global", "\x00\x00\x01", "<Module>.Global()"},
	{"Ns.Type", "Escape\x1b[2J", "\x00\x00\x01", `Ns.Type.Escape\u001b[2J()`},
	{"Ns.Type", "Bad\xff", "\x00\x00\x01", "Ns.Type.Bad\uFFFD()"},
}

func TestNamesWithoutFile(t *testing.T) {
	for _, c := range namesWithoutFile {
		out := symbols.Resolve(symbols.Input{Functions: []session.Function{{
			ID: 1, Kind: session.FunctionMethod, RawType: c.rawType, RawName: c.rawName, Signature: []byte(c.signature),
		}}}, symbols.OpenFile, nil)
		if have := out.Functions[0].Name; have != c.want {
			t.Errorf("%s %s:\nhave %s\nwant %s", c.rawType, c.rawName, have, c.want)
		}
	}
}

func TestOtherKindsOfFunctions(t *testing.T) {
	out := symbols.Resolve(symbols.Input{Functions: []session.Function{
		{ID: 1, Kind: session.FunctionPseudo, RawName: "(truncated)"},
		{ID: 2, Kind: session.FunctionDynamic, RawName: "lambda_method"},
		{ID: 3, Kind: session.FunctionDynamic, RawName: "CallSite.Target", Signature: []byte("\x00\x01\x01\x0E")},
		{ID: 4, Kind: session.FunctionDynamic, RawName: "IL_STUB_PInvoke"},
		{ID: 5, Kind: session.FunctionDynamic, RawName: "IL_STUB_AsyncResume_Load_Tier0",
			Signature: []byte("\x00\x00\x01")},
		{ID: 6, Kind: session.FunctionDynamic, RawName: "IL_STUB_New"},
		{ID: 7, Kind: session.FunctionDynamic, RawName: "IL_STUBBORN"},
		{ID: 8, Kind: session.FunctionDynamic, RawName: "IL_STUB"},
	}}, symbols.OpenFile, nil)
	want := []string{"(truncated)", "lambda_method", "CallSite.Target(string)", "(stub: P/Invoke)",
		"(stub: resumption of Load)", "(stub: New)", "IL_STUBBORN", "(stub)"}
	for i, f := range out.Functions {
		if f.Name != want[i] {
			t.Errorf("have %s, want %s", f.Name, want[i])
		}
	}
	if diff := cmp.Diff(symbols.Summary{Functions: 7, FunctionsWithoutLines: 7}, out.Summary); diff != "" {
		t.Errorf("summary (-want +have)\n%s", diff)
	}
}
