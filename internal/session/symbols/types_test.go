package symbols_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/session/symbols"
	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
)

// typeBuilder makes rows of the table type.
type typeBuilder struct {
	in symbols.Input
}

// class adds a type with arguments and returns its id. An argument of 0 is one
// that the runtime could not say.
func (b *typeBuilder) class(module session.ModuleID, token session.Token, raw string,
	args ...session.TypeID) session.TypeID {
	id := session.TypeID(len(b.in.Types) + 1)
	b.in.Types = append(b.in.Types, session.Type{ID: id, Module: module, Token: token, Kind: session.TypeClass,
		RawName: raw})
	for i, a := range args {
		b.in.TypeArguments = append(b.in.TypeArguments, session.TypeArgument{Type: id, Position: int64(i), Argument: a})
	}
	return id
}

func (b *typeBuilder) array(rank int64, element session.TypeID, code int64) session.TypeID {
	id := session.TypeID(len(b.in.Types) + 1)
	b.in.Types = append(b.in.Types, session.Type{ID: id, Kind: session.TypeArray, Rank: rank, ElementType: element,
		ElementCode: code})
	return id
}

// TestTypeNames names types without a file. Each case returns the type to name.
func TestTypeNames(t *testing.T) {
	plain := func(raw string) func(b *typeBuilder) session.TypeID {
		return func(b *typeBuilder) session.TypeID { return b.class(0, 0, raw) }
	}
	for want, build := range map[string]func(b *typeBuilder) session.TypeID{
		"int":                            plain("System.Int32"),
		"string":                         plain("System.String"),
		"object":                         plain("System.Object"),
		"decimal":                        plain("System.Decimal"),
		"nint":                           plain("System.IntPtr"),
		"Int32":                          plain("Int32"),
		"System.Text.Json.Int32":         plain("System.Text.Json.Int32"),
		"System.Int32.Nested":            plain("System.Int32/Nested"),
		"Ns.Outer.Inner":                 plain("Ns.Outer/Inner"),
		"Ns.Outer<?>.Inner<?, ?>":        plain("Ns.Outer`1/Inner`2"),
		"Program.<closure 0_0>":          plain("Program/<>c__DisplayClass0_0"),
		"Program.<closure>":              plain("Program/<>c"),
		"Program.<state machine Run #3>": plain("Program/<Run>d__3"),
		"<anonymous type 3><?, ?>":       plain("<>f__AnonymousType3`2"),
		"<PrivateImplementationDetails>": plain("<PrivateImplementationDetails>"),
		"<PrivateImplementationDetails>.__StaticArray=16": plain("<PrivateImplementationDetails>/__StaticArray=16"),
		"Ns.Odd`Name": plain("Ns.Odd`Name"),
		"Ns.Program.<state machine System.IFoo<string>.Bar #1>": plain(
			"Ns.Program/<System-IFoo<System-String>-Bar>d__1"),
		"?":              plain(""),
		"System.__Canon": plain("System.__Canon"),
		"int[]":          func(b *typeBuilder) session.TypeID { return b.array(1, 0, 0x08) },
		"bool[,]":        func(b *typeBuilder) session.TypeID { return b.array(2, 0, 0x02) },
		"?[]":            func(b *typeBuilder) session.TypeID { return b.array(1, 0, 0x12) },
		"Ns.A[][,,]": func(b *typeBuilder) session.TypeID {
			return b.array(1, b.array(3, b.class(0, 0, "Ns.A"), 0x12), 0x14)
		},
		"int?": func(b *typeBuilder) session.TypeID {
			return b.class(0, 0, "System.Nullable`1", b.class(0, 0, "System.Int32"))
		},
		"Ns.L<__Canon>": func(b *typeBuilder) session.TypeID {
			return b.class(0, 0, "Ns.L`1", b.class(0, 0, "System.__Canon"))
		},
		"Ns.L<?>": func(b *typeBuilder) session.TypeID { return b.class(0, 0, "Ns.L`1", 0) },
		"Ns.Outer<int>.Inner<string>[]": func(b *typeBuilder) session.TypeID {
			return b.array(1, b.class(0, 0, "Ns.Outer`1/Inner`1", b.class(0, 0, "System.Int32"),
				b.class(0, 0, "System.String")), 0x12)
		},
		"Ns.D<string, Ns.L<long[]>>": func(b *typeBuilder) session.TypeID {
			return b.class(0, 0, "Ns.D`2", b.class(0, 0, "System.String"), b.class(0, 0, "Ns.L`1", b.array(1, 0, 0x0A)))
		},
		"Ns.Outer<int>.Plain": func(b *typeBuilder) session.TypeID {
			return b.class(0, 0, "Ns.Outer`1/Plain", b.class(0, 0, "System.Int32"))
		},
		"Ns.NoTick<int>": func(b *typeBuilder) session.TypeID {
			return b.class(0, 0, "Ns.NoTick", b.class(0, 0, "System.Int32"))
		},
		"System.ValueTuple<int, string>": func(b *typeBuilder) session.TypeID {
			return b.class(0, 0, "System.ValueTuple`2", b.class(0, 0, "System.Int32"), b.class(0, 0, "System.String"))
		},
	} {
		b := &typeBuilder{}
		id := build(b)
		out := symbols.Resolve(b.in, symbols.OpenFile, nil)
		if have := out.Types[id-1].Name; have != want {
			t.Errorf("have %s, want %s", have, want)
		}
	}
}

// TestTypeNamesFromFile shows what an assembly adds: the names of type
// parameters, the properties of anonymous types, the kind of state machines.
func TestTypeNamesFromFile(t *testing.T) {
	in, dll := names(t, dotnettest.Options{})
	functions, _ := reflected(t, in.Net9(), dll)
	tokens := typeTokens(t, dll)
	b := &typeBuilder{in: symbols.Input{Modules: []session.Module{{ID: 1, Path: dll}}, Functions: functions}}
	canon, integer := b.class(0, 0, "System.__Canon"), b.class(0, 0, "System.Int32")
	text := b.class(0, 0, "System.String")
	var want []string
	add := func(name, raw string, args ...session.TypeID) session.TypeID {
		for len(want) < len(b.in.Types) {
			want = append(want, "")
		}
		want = append(want, name)
		if tokens[raw] == 0 {
			t.Fatalf("no type %s", raw)
		}
		return b.class(1, tokens[raw], raw, args...)
	}
	box := add("Shop.Orders.Box<T>", "Shop.Orders.Box`1", canon)
	boxInt := add("Shop.Orders.Box<int>", "Shop.Orders.Box`1", integer)
	add("Shop.Orders.Box<T>", "Shop.Orders.Box`1")
	add("Shop.Orders.Box<T>", "Shop.Orders.Box`1", 0)
	add("Shop.Orders.Box<T>.Entry.Slot<int>", "Shop.Orders.Box`1/Entry/Slot`1", canon, integer)
	add("Shop.Orders.Box<Shop.Orders.Box<T>>", "Shop.Orders.Box`1", box)
	add("<anonymous type: string Name, int Size>", "<>f__AnonymousType0`2", text, integer)
	add("<anonymous type: Name, int Size>", "<>f__AnonymousType0`2", canon, integer)
	add("Program.<async RunAsync #7>", "Program/<RunAsync>d__7")
	add("Program.<iterator Iterate #11><int>", "Program/<Iterate>d__11`1", integer)
	add("Program.<async iterator Stream #12>", "Program/<Stream>d__12")

	// Functions of exact types, and generic methods with their arguments.
	for i := range b.in.Functions {
		f := &b.in.Functions[i]
		switch f.RawType + " " + f.RawName {
		case "Shop.Orders.Box`1 set_Value", "Shop.Orders.Box`1/<>c__DisplayClass24_0 <Closures>b__0":
			f.Type = boxInt
		case "Shop.Orders.Box`1 Convert":
			f.Type = box
			b.in.FunctionArguments = append(b.in.FunctionArguments,
				session.FunctionArgument{Function: f.ID, Position: 0, Argument: text})
		case "Program/<>c__DisplayClass23_0`1 <GenericLambda>b__1":
			f.Type = b.class(1, 0, f.RawType, integer)
		case "Shop.Orders.Extensions/<Later>d__1`1 MoveNext":
			f.Type = b.class(1, 0, f.RawType, integer)
		}
	}
	out := symbols.Resolve(b.in, symbols.OpenFile, nil)
	for i, name := range want {
		if name != "" && out.Types[i].Name != name {
			t.Errorf("%s: have %s, want %s", b.in.Types[i].RawName, out.Types[i].Name, name)
		}
	}
	have := map[string]bool{}
	for _, f := range out.Functions {
		have[f.Name] = true
	}
	for _, name := range []string{
		"Shop.Orders.Box<int>.set_Value(int)",
		"Shop.Orders.Box<int>.Closures.<lambda #24_0>()",
		"Shop.Orders.Box<T>.Convert<string>(Func<T, string>)",
		"Program.GenericLambda<int>.<lambda #23_1>()",
		"Shop.Orders.Extensions.Later<int>(int) [async]",
	} {
		if !have[name] {
			t.Errorf("no function is named %s", name)
		}
	}
}

// TestHostileTypes names types that refer to themselves and types that would be
// named by exponentially long names.
func TestHostileTypes(t *testing.T) {
	b := &typeBuilder{}
	loop := b.class(0, 0, "Loop`1", 1)
	array := b.array(1, 0, 0)
	b.in.Types[array-1].ElementType = array
	last := b.class(0, 0, "A")
	for range 200 {
		last = b.class(0, 0, "Pair`2", last, last)
	}
	out := symbols.Resolve(b.in, symbols.OpenFile, nil)
	if diff := cmp.Diff("Loop<?>", out.Types[loop-1].Name); diff != "" {
		t.Error(diff)
	}
	for _, typ := range out.Types {
		if len(typ.Name) > 9000 {
			t.Errorf("type %d has a name of %d bytes", typ.ID, len(typ.Name))
		}
	}
	if have := out.Types[last-1].Name; !strings.HasPrefix(have, "Pair<Pair<Pair<") || !strings.HasSuffix(have, "…") {
		t.Errorf("have %s", fmt.Sprintf("%.40s", have))
	}
}
