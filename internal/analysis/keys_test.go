package analysis

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/testkit/differ"
	"github.com/clrprof/clrprof/internal/testkit/sessiontest"
)

// programBuild makes a session of one program: with build 0 as it is, with others after something was written
// before its functions in the file, with other paths, ids, tokens, pids and methods, and as often as there are
// processes.
func programBuild(build, processes int) *sessiontest.Builder {
	b, r := sessiontest.New(), rand.New(rand.NewPCG(uint64(build), 3))
	for p := range processes {
		process := b.Process("App", int64(100*build+p+1))
		for range build { // what else is there
			b.Function(b.Module(process, fmt.Sprintf("Other%d.dll", build), true), "Other.Run()", "/other.cs", 3)
		}
		thread := b.Thread(process, "main")
		modules := map[string]session.ModuleID{}
		for _, i := range r.Perm(2) {
			name := []string{"App.dll", "Lib.dll"}[i]
			modules[name] = b.Module(process, name, true)
			b.Modules[modules[name]-1].Path, b.Modules[modules[name]-1].MVID = fmt.Sprintf("/build%d/%s", build,
				name), fmt.Sprint(build)
		}
		types, functions := map[string]session.TypeID{}, map[string]session.FunctionID{}
		for _, i := range r.Perm(2) {
			name := []string{"App.Order", "App.Program.<closure 2_0>"}[i]
			shown := name
			if i == 1 {
				shown = fmt.Sprintf("App.Program.<closure %d_0>", 2+build)
			}
			types[name] = b.Type(modules["App.dll"], shown)
		}
		// Two lambdas have one name when the number of their method is left out, and so do functions of two
		// assemblies.
		for _, f := range []struct{ key, module, name string }{
			{"main", "App.dll", "App.Program.Main()"},
			{"lambda", "App.dll", fmt.Sprintf("App.Program.Main.<lambda #%d_0>()", 2+build)},
			{"again", "App.dll", fmt.Sprintf("App.Program.Main.<lambda #%d_0>()", 3+build)},
			{"lib", "Lib.dll", "App.Program.Main()"},
		} {
			functions[f.key] = b.Function(modules[f.module], f.name, "/src/"+f.module+".cs", int64(10+build))
		}
		for _, stack := range [][]string{{"main"}, {"main", "lambda"}, {"main", "again", "lib"},
			{"main", "lib", "main"}} {
			var frames []sessiontest.Frame
			for i, f := range stack {
				frames = append(frames, sessiontest.Frame{Function: functions[f], Line: int64(10 + build + i)})
			}
			for _, name := range []string{"App.Order", "App.Program.<closure 2_0>"} {
				b.Allocate(1, thread, types[name], 1, 24, frames...)
			}
		}
	}
	return b
}

// keysOf returns the keys of each kind, each once, and fails if two things of a process share one.
func keysOf(t *testing.T, b *sessiontest.Builder, path string) map[string][]string {
	t.Helper()
	s := open(t, b, path)
	defer s.Close()
	d, err := Load(s)
	if err != nil {
		t.Fatal(err)
	}
	k, out := d.Keys(), map[string][]string{}
	type thing struct {
		kind, key string
		process   session.ProcessID
	}
	seen := map[thing]int{}
	add := func(kind, key string, p session.ProcessID) {
		if seen[thing{kind, key, p}]++; seen[thing{kind, key, p}] > 1 {
			t.Errorf("%s %s is the key of two", kind, key)
		}
		if !slices.Contains(out[kind], key) {
			out[kind] = append(out[kind], key)
		}
	}
	for i, r := range d.Modules {
		if r.Name != "" && r.Name[0] != 'O' {
			add("module", k.Module(i), r.Process)
		}
	}
	for i, r := range d.Types {
		add("type", k.Type(i), r.Process)
	}
	for i, r := range d.Functions {
		if r.Name[0] != 'O' {
			add("function", k.Function(i), r.Process)
		}
	}
	for i, r := range d.Lines {
		add("line", k.Line(i), d.Functions[r.Function-1].Process)
	}
	all := d.merged()
	for i := range all.Len() {
		add("path", k.Path(int32(i)), d.Functions[all.Group[i]].Process)
	}
	for i := range d.Sites {
		add("site", k.Site(i), d.Nodes[d.siteNode[i]].Process)
	}
	for kind := range out {
		slices.Sort(out[kind])
	}
	return out
}

// TestKeys: sessions of one program have the same keys, in another build and in another process, and no two things
// one key.
func TestKeys(t *testing.T) {
	dir := t.TempDir()
	want := keysOf(t, programBuild(0, 1), filepath.Join(dir, "a"))
	for kind, least := range map[string]int{"module": 2, "type": 2, "function": 4, "line": 4, "path": 6, "site": 8} {
		if len(want[kind]) < least {
			t.Errorf("only %d keys of the kind %s", len(want[kind]), kind)
		}
	}
	for build := range 4 {
		if diff := differ.Of(want, keysOf(t, programBuild(build, 1+build%2), filepath.Join(dir, "b"))); diff != "" {
			t.Errorf("build %d (-first +this):\n%s", build, diff)
		}
	}
	if diff := differ.Of([]string{"App.dll!App.Program.Main()", "App.dll!App.Program.Main.<lambda #_0>()",
		"App.dll!App.Program.Main.<lambda #_0>()#2",
		"Lib.dll!App.Program.Main()"}, want["function"]); diff != "" {
		t.Error(diff)
	}
}

// TestStable: what remains of names that compilers make.
func TestStable(t *testing.T) {
	for name, want := range map[string]string{
		"Program.Locals.<lambda #22_5>(int)":        "Program.Locals.<lambda #_5>(int)",
		"Program.Locals.<lambda #22_6>() [async]":   "Program.Locals.<lambda #_6>() [async]",
		"VbApp.<lambda #1-0>()":                     "VbApp.<lambda #-0>()",
		"Program.<closure 22_0>..ctor()":            "Program.<closure _0>..ctor()",
		"Program.<iterator Iterate #10>..ctor(int)": "Program.<iterator Iterate>..ctor(int)",
		"App.Outer.work.<seq @7-12>()":              "App.Outer.work.<seq @>()",
		"App/comp@29-1":                             "App/comp@",
		"Program/<>c__DisplayClass22_0":             "Program/<>c__DisplayClass_0",
		"Program/<>c.<Locals>b__22_7":               "Program/<>c.<Locals>b___7",
		"Program.<Locals>g__Pure|22_1":              "Program.<Locals>g__Pure|_1",
		"Program/<RunAsync>d__7":                    "Program/<RunAsync>d__",
		"Shop.Tree.Insert(Shop.Node22_5, List<Shop.Order12_3>)": "Shop.Tree.Insert(Shop.Node22_5, " +
			"List<Shop.Order12_3>)",
	} {
		if have := stable(name); have != want {
			t.Errorf("%s: %s, want %s", name, have, want)
		}
	}
}

// TestStableWords: what is looked for first is in all that the expressions find.
func TestStableWords(t *testing.T) {
	words := []string{"<lambda #", "<closure ", "22", "_5", "-1", ">", "<async ", "<iterator ", "<async iterator ", " #",
		"@", "DisplayClass", "b__", "|", "_", ">d__", "<", "x"}
	rapid.Check(t, func(rt *rapid.T) {
		name := strings.Join(rapid.SliceOfN(rapid.SampledFrom(words), 0, 9).Draw(rt, "words"), "")
		want := name
		for _, p := range positions {
			want = p.found.ReplaceAllString(want, p.keep)
		}
		if have := stable(name); have != want && strings.ContainsAny(name, "<@") {
			rt.Fatalf("%q: %q, want %q", name, have, want)
		}
	})
}
