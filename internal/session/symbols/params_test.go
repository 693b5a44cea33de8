package symbols_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clrprof/clrprof/internal/dotnet/clrmeta"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/session/symbols"
	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
)

// paramsInput is a session in which each byte of IL of Params was on a stack, and once without a line, and which has
// arrays of all types that it makes.
func paramsInput(t *testing.T, dll string, rt dotnettest.Runtime) symbols.Input {
	t.Helper()
	in := symbols.Input{ReadCode: true, Modules: []session.Module{{ID: 1, Process: 1, Name: "Params.dll", Path: dll,
		Origin: "project"}}}
	folder := filepath.Join(rt.Root, "shared", "Microsoft.NETCore.App", rt.Name)
	for _, name := range []string{"System.Private.CoreLib.dll", "System.Runtime.dll"} {
		in.Modules = append(in.Modules, session.Module{ID: session.ModuleID(len(in.Modules) + 1), Process: 1, Name: name,
			Path: filepath.Join(folder, name), Origin: "framework"})
	}
	image := openImage(t, dll)
	for row := range image.Metadata().Rows(clrmeta.TableMethodDef) {
		token := clrmeta.MakeToken(clrmeta.TableMethodDef, row+1)
		size, err := image.BodySize(token)
		if err != nil {
			t.Fatal(err)
		}
		id := session.FunctionID(row + 1)
		in.Functions = append(in.Functions, session.Function{ID: id, Process: 1, Module: 1, Kind: session.FunctionMethod,
			Token: session.Token(token)})
		var points []session.ILPoint
		for il := range uint32(size) {
			points = append(points, session.ILPoint{Native: il, IL: il})
		}
		in.Bodies = append(in.Bodies, session.Body{ID: session.BodyID(id), Function: id,
			ILMap: session.EncodeILMap(points)})
		in.Instructions = append(in.Instructions, session.Instruction{Function: id})
		for il := range int64(size) {
			in.Instructions = append(in.Instructions, session.Instruction{Function: id, Body: session.BodyID(id),
				NativeOffset: il + 1})
		}
	}
	for i := range in.Instructions {
		in.Instructions[i].ID = session.InstructionID(i + 1)
	}
	addParamsTypes(&in)
	return in
}

// addParamsTypes adds arrays, as a process has them.
func addParamsTypes(in *symbols.Input) {
	add := func(t session.Type, arguments ...session.TypeID) session.TypeID {
		t.ID, t.Process = session.TypeID(len(in.Types)+1), 1
		in.Types = append(in.Types, t)
		for i, a := range arguments {
			in.TypeArguments = append(in.TypeArguments, session.TypeArgument{Type: t.ID, Position: int64(i), Argument: a})
		}
		return t.ID
	}
	class := func(name string, arguments ...session.TypeID) session.TypeID {
		return add(session.Type{Kind: session.TypeClass, RawName: name}, arguments...)
	}
	array := func(code clrmeta.ElementType, element session.TypeID) session.TypeID {
		return add(session.Type{Kind: session.TypeArray, Rank: 1, ElementType: element, ElementCode: int64(code)})
	}
	number, text := class("System.Int32"), class("System.String")
	array(clrmeta.Int32, 0)
	array(clrmeta.String, text)
	object := class("System.Object")
	array(clrmeta.Object, object)
	class("System.Collections.Generic.List`1", object)
	class("<>z__ReadOnlyArray`1", object)
	class("<>z__ReadOnlySingleElementList`1", object)
	class("Bag")
	array(clrmeta.Class, class("Base"))
	array(clrmeta.SZArray, array(clrmeta.Int32, number))
	array(clrmeta.GenericInst, class("System.Collections.Generic.List`1", number))
	array(clrmeta.GenericInst, class("System.Nullable`1", class("System.ValueTuple`2", number, text)))
	array(clrmeta.ValueType, class("System.DayOfWeek"))
	add(session.Type{Kind: session.TypeArray, Rank: 2, ElementCode: int64(clrmeta.Int32)})
}

// line is a line of Params.cs and the arrays for params.
type line struct {
	Number    int64
	Line      []string // that are made in the line
	Somewhere []string // that are made in the method that begins there
}

// commas matches one name of a list.
var commas = regexp.MustCompile(`[^ ,](?:<[^>]*>|[^,<])*`)

var paramsComment = regexp.MustCompile(`// (?:params: ([^;]+))?(?:; )?(?:somewhere: (.+))?$`)

// paramsWanted reads the comments of a source.
func paramsWanted(t *testing.T, path string) (want []line) {
	t.Helper()
	source, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i, text := range strings.Split(string(source), "\n") {
		m := paramsComment.FindStringSubmatch(text)
		if m == nil || m[1]+m[2] == "" {
			continue
		}
		l := line{Number: int64(i + 1), Somewhere: commas.FindAllString(m[2], -1)}
		l.Line = slices.DeleteFunc(commas.FindAllString(m[1], -1), func(s string) bool {
			return strings.Contains(s, " that ") ||
				strings.HasPrefix(s, "and ")
		}) // words
		want = append(want, l)
	}
	return want
}

// paramsFound lists what was found as the comments do.
func paramsFound(out *symbols.Output) (have []line) {
	at := func(number int64) *line {
		i, found := slices.BinarySearchFunc(have, number, func(l line, n int64) int { return int(l.Number - n) })
		if !found {
			have = slices.Insert(have, i, line{Number: number})
		}
		return &have[i]
	}
	put := func(to *[]string, name string) {
		if i, found := slices.BinarySearch(*to, name); !found {
			*to = slices.Insert(*to, i, name)
		}
	}
	for _, a := range out.ParamsArrays {
		name := out.Types[a.Type-1].Name
		if a.Line == 0 {
			put(&at(out.Functions[a.Function-1].Line).Somewhere, name)
		} else {
			put(&at(out.Lines[a.Line-1].LineBegin).Line, name)
		}
	}
	return have
}

// TestParamsArrays: which arrays are made for params, by line and by method, of code of all kinds, with what is called
// in the same module, in others, and in those that others forward to.
func TestParamsArrays(t *testing.T) {
	install := dotnettest.Need(t)
	for _, o := range []dotnettest.Options{{}, {NoOptimize: true}} {
		o.Name = "Params"
		dll, err := install.Compile([]string{"testdata/Params.cs"}, "", o)
		if err != nil {
			t.Fatal(err)
		}
		for _, rt := range install.NewestAndOldest() {
			in := paramsInput(t, dll, rt)
			out := symbols.Resolve(in, symbols.OpenFile, nil)
			want, have := paramsWanted(t, "testdata/Params.cs"), paramsFound(&out)
			if o.NoOptimize { // methods begin at their brackets
				for _, lines := range []*[]line{&want, &have} {
					for i := range *lines {
						(*lines)[i].Somewhere = nil
					}
					*lines = slices.DeleteFunc(*lines, func(l line) bool { return l.Line == nil })
				}
			}
			if diff := cmp.Diff(want, have); diff != "" {
				t.Errorf("%s, debug %v (-want +have)\n%s", rt.Name, o.NoOptimize, diff)
			}
		}
	}
}

// TestParamsCollections: which collections are made for params, with their arrays. Of a type argument that is not known
// each type is meant that the function allocated.
func TestParamsCollections(t *testing.T) {
	install, _ := dotnettest.NeedSDK(t)
	for _, o := range []dotnettest.Options{{}, {NoOptimize: true}} {
		o.Name, o.Framework = "Params", dotnettest.Net8
		dll, err := install.Compile([]string{"testdata/ParamsCollections.cs"}, "", o)
		if err != nil {
			t.Fatal(err)
		}
		in := paramsInput(t, dll, install.Newest())
		asked := 0
		in.Allocated = func(functions map[session.FunctionID]bool) map[session.FunctionID]map[session.TypeID]bool {
			asked += len(functions)
			types := map[session.FunctionID]map[session.TypeID]bool{}
			for f := range functions {
				types[f] = map[session.TypeID]bool{}
				for _, a := range in.Types {
					if a.RawName == "<>z__ReadOnlyArray`1" || a.ElementCode == int64(clrmeta.Object) {
						types[f][a.ID] = true
					}
				}
			}
			return types
		}
		out := symbols.Resolve(in, symbols.OpenFile, nil)
		want, have := paramsWanted(t, "testdata/ParamsCollections.cs"), paramsFound(&out)
		have = slices.DeleteFunc(have, func(l line) bool { return l.Line == nil })
		for i := range have {
			have[i].Somewhere = nil
		}
		if diff := cmp.Diff(want, have); diff != "" || asked != 1 {
			t.Errorf("debug %v: asked about %d functions (-want +have)\n%s", o.NoOptimize, asked, diff)
		}
	}
}

// TestParamsArraysOfOtherBuild: of a file that is not the module that ran nothing is said, neither of the code that
// calls nor of what is called.
func TestParamsArraysOfOtherBuild(t *testing.T) {
	install := dotnettest.Need(t)
	dll, err := install.Compile([]string{"testdata/Params.cs"}, "", dotnettest.Options{Name: "Params"})
	if err != nil {
		t.Fatal(err)
	}
	const other = "01234567-89ab-cdef-0123-456789abcdef"
	in := paramsInput(t, dll, install.Net9())
	all := len(symbols.Resolve(in, symbols.OpenFile, nil).ParamsArrays)
	in.Modules[1].MVID = other
	out := symbols.Resolve(in, symbols.OpenFile, nil)
	framework := func(l line) bool { return l.Number > 58 && l.Number < 61 }
	if have := paramsFound(&out); len(have) < 10 || slices.ContainsFunc(have, framework) {
		t.Errorf("another core library: %+v", have)
	}
	in.Modules[0].MVID = other
	if n := len(symbols.Resolve(in, symbols.OpenFile, nil).ParamsArrays); n != 0 || all < 50 {
		t.Errorf("another program: %d, of %d", n, all)
	}
}
