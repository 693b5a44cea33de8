package symbols_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clrprof/clrprof/internal/dotnet/clrmeta"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/session/symbols"
	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
)

// languageNames are members of the programs in testdata that newer compilers and those of other languages made or took
// apart, by raw type and name, and what the programmer calls them.
var languageNames = map[string]map[string]string{
	"Names14.cs": {
		"Shop.Money op_AdditionAssignment":           "Shop.Money.operator +=(Money)",
		"Shop.Money op_SubtractionAssignment":        "Shop.Money.operator -=(Money)",
		"Shop.Money op_CheckedSubtractionAssignment": "Shop.Money.operator checked -=(Money)",
		"Shop.Money op_IncrementAssignment":          "Shop.Money.operator ++()",
		"Shop.Money op_CheckedIncrementAssignment":   "Shop.Money.operator checked ++()",
		"Shop.Money op_UnsignedRightShiftAssignment": "Shop.Money.operator >>>=(int)",
		"Shop.Money op_Addition":                     "Shop.Money.operator +(Money, Money)",
		"Shop.Money op_CheckedExplicit":              "Shop.Money.explicit checked operator int(Money)",

		"Shop.Sequences get_IsEmpty": "Shop.Sequences.get_IsEmpty<T>(IEnumerable<T>)",
		"Shop.Sequences op_Addition": "Shop.Sequences.operator +<T>(IEnumerable<T>, " +
			"IEnumerable<T>)",
		"Shop.Sequences get_Words":            "Shop.Sequences.get_Words(string)",
		"Shop.Sequences Twice":                "Shop.Sequences.Twice(string)",
		"Shop.Sequences <Upper>g__Local|10_0": "Shop.Sequences.Upper.Local(string)",
		"Shop.Sequences/<Every>d__2`1 MoveNext": "Shop.Sequences.Every<T>(IEnumerable<T>, int) " +
			"[iterator]",
		"Shop.Sequences/<Later>d__7 MoveNext":              "Shop.Sequences.Later(string) [async]",
		"Shop.Sequences/<>c__DisplayClass3_0`1 <Pick>b__0": "Shop.Sequences.Pick<T>.<lambda #3_0>(T)",
		// its field is the compiler's
		"Shop.Account get_Owner":                         "Shop.Account.get_Owner()",
		"Shop.Account .ctor":                             "Shop.Account..ctor(string, int)",
		"Shop.Account Of":                                "Shop.Account.Of(ReadOnlySpan<int>)",
		"Shop.Account add_Changed":                       "Shop.Account.add_Changed(Action)",
		"Shop.Account/<>c <Doubler>b__20_0":              "Shop.Account.Doubler.<lambda #20_0>(int)",
		"Shop.Account/<>c__DisplayClass21_0 <Adder>b__0": "Shop.Account.Adder.<lambda #21_0>(int)",
		"Shop.Account/Entry <Clone>$":                    "Shop.Account.Entry.Clone()",
		"Shop.ICounter`1 op_Addition":                    "Shop.ICounter<TSelf>.operator +(TSelf, int)",
		"Shop.Program/<>c <Main>b__0_1": "Shop.Program.Main.<lambda #0_1>(<anonymous type: " +
			"string a, int n>)",
		"<>z__ReadOnlyArray`1 System.Collections.IList.Clear": "<collection ReadOnlyArray><T>.IList.Clear()",
	},
	"Names.vb": {
		"VB$AnonymousType_0`2 .ctor":                       "<anonymous type: a, N>..ctor(a, N)",
		"VB$AnonymousType_1`2 GetHashCode":                 "<anonymous type: Name, Size>.GetHashCode()",
		"VB$AnonymousDelegate_0`2 Invoke":                  "<anonymous delegate 0><TArg0, TResult>.Invoke(TArg0)",
		"Money op_Addition":                                "Money.operator +(Money, Money)",
		"Money op_Implicit":                                "Money.implicit operator Money(long)",
		"Money op_Like":                                    "Money.operator Like(Money, Money)",
		"Money op_Concatenate":                             "Money.operator &(Money, Money)",
		"Money op_IntegerDivision":                         `Money.operator \(Money, Money)`,
		"Money op_Exponent":                                "Money.operator ^(Money, Money)",
		"Money op_True":                                    "Money.operator true(Money)",
		"Account`1 get_Item":                               "Account<T>.get_Item(int)",
		"Account`1 add_Changed":                            "Account<T>.add_Changed(Account<T>.ChangedEventHandler)",
		"Account`1/VB$StateMachine_16_Load MoveNext":       "Account<T>.Load(int) [async]",
		"Account`1/VB$StateMachine_17_Every MoveNext":      "Account<T>.Every(int) [iterator]",
		"Account`1/VB$StateMachine_17_Every GetEnumerator": "Account<T>.<iterator Every #17>.GetEnumerator()",
		"Account`1/_Closure$__18-0 _Lambda$__0":            "Account<T>.<lambda #18-0>(T)",
		"Program/_Closure$__ .cctor":                       "Program.<closure>..cctor()",
		"Program/_Closure$__ _Lambda$__1-0":                "Program.<lambda #1-0>(string)",
		"Program/_Closure$__1-0 _Lambda$__3":               "Program.<lambda #1-3>(string)",

		"Program/_Closure$__/VB$StateMachine___Lambda$__1-4 " +
			"MoveNext": "Program.<lambda #1-4>(int) [async]",
		"Program/_Closure$__/VB$StateMachine___Lambda$__1-4 " +
			"System.Runtime.CompilerServices.IAsyncStateMachine.SetStateMachine": "Program.<closure>.<async <lambda " +
			"#1-4>>.IAsyncStateMachine.SetStateMachine(IAsyncStateMachine)",
	},
	"Names.fs": {
		"Shop.Orders |Even|Odd|":           "Shop.Orders.(|Even|Odd|)(int)",
		"Shop.Orders |Positive|_|":         "Shop.Orders.(|Positive|_|)(int)",
		"Shop.Orders op_PlusDot":           "Shop.Orders.operator +.(int, int)",
		"Shop.Orders go@51":                "Shop.Orders.go(int, int, int)",
		"Shop.Orders a name with spaces":   "Shop.Orders.a name with spaces()",
		"Shop.Orders taskWork":             "Shop.Orders.taskWork(int)",
		"Shop.Orders/taskWork@29 MoveNext": "Shop.Orders.taskWork(int) [task @29]",
		"Shop.Orders/taskWork@29 SetStateMachine": "Shop.Orders.<closure taskWork " +
			"@29>.SetStateMachine(IAsyncStateMachine)",
		"Shop.Orders/numbers@42 GenerateNext": "Shop.Orders.numbers(int) [seq @42]",
		"Shop.Orders/numbers@42 Close":        "Shop.Orders.<closure numbers @42>.Close()",
		"Shop.Orders/asyncWork@37-1 Invoke":   "Shop.Orders.asyncWork.<lambda @37-1>(Unit)",
		"Shop.Orders/comp@48-1 Invoke":        "Shop.Orders.comp.<lambda @48-1>(int)",
		"Shop.Orders/comp@48 .ctor":           "Shop.Orders.<closure comp @48>..ctor()",
		"Shop.Orders/boxed@69 System.IComparable.CompareTo": "Shop.Orders.<closure boxed " +
			"@69><T>.IComparable.CompareTo(object)",
		"Shop.Orders/Counter`1 op_Addition": "Shop.Orders.Counter<T>.operator +(Orders.Counter<T>, " +
			"Orders.Counter<T>)",
		"Shop.Orders/Shape NewCircle":             "Shop.Orders.Shape.NewCircle(double)",
		"<StartupCode$Names>.$Shop.Orders .cctor": "<startup Shop.Orders>..cctor()",
	},
}

// TestLanguageNames names what the SDK's compilers of C# 14, Visual Basic and F# make, with the assembly at hand.
func TestLanguageNames(t *testing.T) {
	in, _ := dotnettest.NeedSDK(t)
	for source, want := range languageNames {
		t.Run(source, func(t *testing.T) {
			dll, err := in.Compile([]string{"testdata/" + source}, "", dotnettest.Options{Framework: dotnettest.Net10})
			if err != nil {
				t.Fatal(err)
			}
			out := symbols.Resolve(symbols.Input{Modules: []session.Module{{ID: 1, Path: dll}},
				Functions: methodsOf(t, dll)}, symbols.OpenFile, nil)
			have, seen := map[string]string{}, map[string]bool{}
			for i, raw := range rawNames(t, dll) {
				name := out.Functions[i].Name
				if seen[name] {
					t.Errorf("two functions are called %s", name)
				}
				seen[name] = true
				if _, ok := want[raw]; ok {
					have[raw] = name
				}
			}
			if diff := cmp.Diff(want, have); diff != "" {
				t.Errorf("(-want +have)\n%s", diff)
			}
		})
	}
}

// rawNames are those of all methods, in the order of methodsOf.
func rawNames(t *testing.T, dll string) []string {
	t.Helper()
	image := openImage(t, dll)
	var out []string
	for _, f := range methodsOf(t, dll) {
		method, err := image.Metadata().Method(clrmeta.Token(f.Token))
		if err != nil {
			t.Fatal(err)
		}
		typ, err := image.Metadata().DeclaringType(clrmeta.Token(f.Token))
		if err != nil {
			t.Fatal(err)
		}
		name, err := image.Metadata().TypeName(typ)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, name.String()+" "+method.Name)
	}
	return out
}
