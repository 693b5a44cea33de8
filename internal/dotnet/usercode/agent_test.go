package usercode

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// agentOrigins are the numbers of wire.Origin….
var agentOrigins = []Origin{"", Pattern, Project, Beside, Memory, Folder, Framework, SDK, Package, Generated, Microsoft,
	Elsewhere}

// agentRules are the agent's own rules, in a process of their own.
type agentRules struct {
	in     io.WriteCloser
	out    io.Reader
	stderr bytes.Buffer
}

func startAgentRules(t testing.TB) *agentRules {
	t.Helper()
	exe := filepath.Join(t.TempDir(), "origins")
	args := strings.Fields("-std=c11 -I../../../agent/src -O1 -g -Wall -Wextra -Wconversion -Werror -fsanitize=address,undefined " +
		"-fno-sanitize-recover=all -o " + exe +
		" ../../../agent/test/origins.c ../../../agent/src/metadata/code_origin.c ../../../agent/src/core/hash_map.c")
	if out, err := exec.Command("gcc", args...).CombinedOutput(); err != nil {
		t.Fatalf("compiling the agent's rules: %v\n%s", err, out)
	}
	cmd := exec.Command(exe)
	a := &agentRules{}
	cmd.Stderr = &a.stderr
	var err error
	if a.in, err = cmd.StdinPipe(); err == nil {
		a.out, err = cmd.StdoutPipe()
	}
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		a.in.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("the agent's rules ended with %v\n%s", err, &a.stderr)
		}
	})
	return a
}

func texts(list ...string) (out []byte) {
	for _, s := range list {
		out = binary.LittleEndian.AppendUint32(out, uint32(len(s)))
		out = append(out, s...)
	}
	return out
}

func (a *agentRules) forget() error {
	_, err := a.in.Write(make([]byte, 4))
	return err
}

func (a *agentRules) deps(file, text string) error {
	_, err := a.in.Write(append([]byte{1, 0, 0, 0}, texts(file, text)...))
	return err
}

// origin asks about a module of a program with this main assembly.
func (a *agentRules) origin(m Module, main, folder string, byPattern bool) (Origin, error) {
	flags := uint32(0)
	for i, set := range []bool{m.InMemory, m.IsMain, byPattern} {
		if set {
			flags |= 1 << i
		}
	}
	query := append([]byte{2, 0, 0, 0}, texts(m.Path, m.Name, m.Company, main, folder)...)
	if _, err := a.in.Write(binary.LittleEndian.AppendUint32(query, flags)); err != nil {
		return "", fmt.Errorf("%w\n%s", err, &a.stderr)
	}
	var answer uint32
	if err := binary.Read(a.out, binary.LittleEndian, &answer); err != nil {
		return "", fmt.Errorf("%w\n%s", err, &a.stderr)
	}
	return agentOrigins[answer], nil
}

// TestAgentDecides: the agent, which must know before a module's code runs, decides on the same facts as this package.
func TestAgentDecides(t *testing.T) {
	a := startAgentRules(t)
	names := rapid.SampledFrom([]string{"App.dll", "app.DLL", "Lib.dll", "Ünï.dll", "System.Linq.dll", "x", "a+b.dll",
		"q\"uote.dll",
		"NUnit3.TestAdapter.dll", "testadapter.DLL", "TestAdapter", "nunit.engine.api.dll", "nunit.engine",
		"testcentric.engine.dll", "mytestcentric.dll"})
	folders := rapid.SampledFrom([]string{"/app", "/app/lib", "/d/shared/Microsoft.NETCore.App/8.0.1",
		"/d/Shared/A/9.0/sub", "/d/shared/A/v1", "/d/sdk/10.0.100/Roslyn",
		"/d/sdk/x", "/n/packages/lib/1.2.3/lib/net8.0", "/n/packages/lib/1", "/shared/1.0", "/sdk/1.0", "",
		"/packages/a/1.0", "/d/shared/shared/A/1.0"})
	kinds := rapid.SampledFrom([]string{"project", "package", "runtimepack", "reference", ""})
	rapid.Check(t, func(t *rapid.T) {
		if err := a.forget(); err != nil {
			t.Fatal(err)
		}
		file := func(label string) string { return path.Join(folders.Draw(t, label), names.Draw(t, label)) }
		main := Module{Path: file("main"), IsMain: true}
		files := map[string]string{}
		for i := range rapid.IntRange(0, 3).Draw(t, "files") {
			text := drawDeps(t, names, kinds)
			of := file(fmt.Sprint("beside ", i))
			if of = strings.TrimSuffix(of, path.Ext(of)) + ".deps.json"; files[of] == "" {
				files[of] = text
				if err := a.deps(of, text); err != nil {
					t.Fatal(err)
				}
			}
		}
		m := Module{Path: file("module"),
			Company: rapid.SampledFrom([]string{"", "Microsoft", "Microsoft Corporation", "Mine"}).Draw(t, "company")}
		if rapid.Bool().Draw(t, "in memory") {
			m = Module{InMemory: true,
				Name: rapid.SampledFrom([]string{"System.Emitted", "ProxyBuilder", "Mine", ""}).Draw(t, "name")}
		} else if m.IsMain = m.Path == main.Path; !m.IsMain && rapid.Bool().Draw(t, "is main") {
			m = Module{Path: main.Path, IsMain: true, Company: m.Company}
		}
		byPattern := rapid.IntRange(0, 9).Draw(t, "pattern") == 0
		user := Module{InMemory: true} // so that nothing is the user's for want of others
		modules := []Module{m, main, user}
		for of := range files { // the modules whose deps.json these are, which are read when these are loaded
			modules = append(modules, Module{Path: strings.TrimSuffix(of, ".deps.json") + ".dll"})
		}
		for i := range modules {
			modules[i].Directory = path.Dir(main.Path)
			if !modules[i].InMemory {
				modules[i].Name = path.Base(modules[i].Path)
			}
		}
		want := Decide(modules, func(p string) []byte { return []byte(files[p]) }, func(name string) bool {
			return byPattern && name == modules[0].Name
		})[0]
		have, err := a.origin(modules[0], main.Path, "", byPattern)
		if err != nil {
			t.Fatal(err)
		}
		if have != want {
			t.Fatalf("%+v, main %s, files %v: the agent says %s, the rules %s", modules[0], main.Path, files, have,
				want)
		}
	})
}

func drawDeps(t *rapid.T, names, kinds *rapid.Generator[string]) string {
	type assets = map[string]struct {
		V string `json:"assemblyVersion,omitempty"`
	}
	target, libraries := map[string]map[string]any{}, map[string]map[string]any{}
	for i := range rapid.IntRange(0, 3).Draw(t, "libraries") {
		library := fmt.Sprintf("Lib+%d/1.0", i)
		target[library] = map[string]any{"dependencies": map[string]string{"runtime": "project"}}
		for _, list := range []string{"runtime", "runtimeTargets", "compile"} {
			found := assets{}
			for _, name := range rapid.SliceOfN(names, 0, 2).Draw(t, list) {
				found["lib/net8.0/"+name] = struct {
					V string `json:"assemblyVersion,omitempty"`
				}{"1.0"}
			}
			target[library][list] = found
		}
		libraries[library] = map[string]any{"type": kinds.Draw(t, "kind"), "path": "type", "serviceable": true}
	}
	text, err := json.Marshal(map[string]any{"targets": map[string]any{"net": target}, "libraries": libraries,
		"runtimeTarget": map[string]string{"name": "libraries"}})
	if err != nil {
		t.Fatal(err)
	}
	if rapid.Bool().Draw(t, "escapes") {
		text = bytes.ReplaceAll(text, []byte("Ü"), []byte(`\u00DC`))
	}
	return string(text)
}

// FuzzAgentReadsDeps: any text is read, or passed over.
func FuzzAgentReadsDeps(f *testing.F) {
	for _, seed := range []string{deps, "", "{}", `{"a`, `{"a":"\`,
		`{"libraries":{"a":{"type":"project"}},"targets":{"":{"a":{"runtime":{"\u00`, "]]]}",
		strings.Repeat("[", 1000)} {
		f.Add(seed)
	}
	a := startAgentRules(f)
	f.Fuzz(func(t *testing.T, text string) {
		if err := a.deps("/app/App.dll", text); err != nil {
			t.Fatal(err)
		}
		if _, err := a.origin(Module{Path: "/app/App.dll"}, "/app/App.dll", "", false); err != nil {
			t.Fatal(err)
		}
	})
}
