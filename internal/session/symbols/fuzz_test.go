package symbols_test

import (
	"os"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/session/symbols"
)

// FuzzResolve resolves functions of arbitrary names and signatures in modules of
// arbitrary bytes.
func FuzzResolve(f *testing.F) {
	dll, err := os.ReadFile("../../dotnet/clrmeta/testdata/embedded.dll")
	if err != nil {
		f.Fatal(err)
	}
	ilMap := session.EncodeILMap([]session.ILPoint{{Native: 0, IL: session.ILProlog}, {Native: 4, IL: 0},
		{Native: 20, IL: 9}})
	f.Add(dll, "Tiny`1/<Wait>d__1", "MoveNext", []byte("\x20\x00\x01"), ilMap)
	for _, c := range namesWithoutFile {
		f.Add([]byte(nil), c.rawType, c.rawName, []byte(c.signature), ilMap)
	}
	f.Fuzz(func(t *testing.T, dll []byte, rawType, rawName string, signature, ilMap []byte) {
		in := symbols.Input{ReadCode: true, Modules: []session.Module{{ID: 1, Path: "/x.dll", Origin: "project"}}}
		for _, code := range []int64{8, 0xE, 0x1C} {
			in.Types = append(in.Types, session.Type{ID: session.TypeID(100 + code), Kind: session.TypeArray, Rank: 1,
				ElementCode: code})
		}
		// Type 1 has itself as an argument, and each later type the one before.
		for i := range session.TypeID(8) {
			in.Types = append(in.Types, session.Type{ID: i + 1, Module: 1, Token: 0x02000000 + session.Token(i),
				Kind: session.TypeClass, RawName: rawType})
			in.TypeArguments = append(in.TypeArguments, session.TypeArgument{Type: i + 1, Argument: max(i, 1)})
		}
		for i := range session.FunctionID(16) {
			id := i + 1
			in.Functions = append(in.Functions, session.Function{
				ID: id, Module: 1, Token: 0x06000000 + session.Token(i), Type: session.TypeID(i % 9),
				Kind:    session.FunctionMethod,
				RawType: rawType, RawName: rawName, Signature: signature,
			})
			in.FunctionArguments = append(in.FunctionArguments,
				session.FunctionArgument{Function: id, Argument: session.TypeID(i)})
			in.Bodies = append(in.Bodies, session.Body{ID: session.BodyID(id), Function: id, ILMap: ilMap})
			in.Instructions = append(in.Instructions, session.Instruction{ID: session.InstructionID(id), Function: id,
				Body: session.BodyID(id), NativeOffset: int64(i) * 3})
		}
		// Without recorded names those of the file are used.
		in.Functions = append(in.Functions, session.Function{ID: 100, Module: 1, Token: 0x06000002,
			Kind: session.FunctionMethod})
		in.CalledFrom = func(at map[session.InstructionID]bool) map[session.InstructionID]symbols.CalledFrom {
			called := map[session.InstructionID]symbols.CalledFrom{}
			for id := range at {
				called[id] = symbols.CalledFrom{Functions: []session.FunctionID{session.FunctionID(id%16) + 1, 100},
					Types: []session.TypeID{session.TypeID(id % 9)}}
			}
			return called
		}
		out := symbols.Resolve(in, memory{"/x.dll": dll}.open, nil)
		for _, fn := range out.Functions {
			checkName(t, fn.Name)
		}
		for _, typ := range out.Types {
			checkName(t, typ.Name)
		}
	})
}

func checkName(t *testing.T, name string) {
	if len(name) > 8300 || !utf8.ValidString(name) {
		t.Fatalf("name of %d bytes, valid UTF-8 %v", len(name), utf8.ValidString(name))
	}
	for _, c := range name {
		if unicode.IsControl(c) {
			t.Fatalf("control character in %q", name)
		}
	}
}
