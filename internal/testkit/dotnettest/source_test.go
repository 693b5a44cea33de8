package dotnettest

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
)

func TestSource(t *testing.T) {
	for _, lines := range []int{200, 1234, 50_000} {
		b := source(lines)
		if got := bytes.Count(b, []byte("\n")); got != lines {
			t.Errorf("%d lines, want %d", got, lines)
		}
		if !bytes.Equal(b, source(lines)) {
			t.Errorf("%d lines: the second time they differ", lines)
		}
	}
	// results of benchmarks are compared with those of other versions
	sum := sha256.Sum256(source(1000))
	if got, want := hex.EncodeToString(sum[:8]), "e722ad57b4059678"; got != want {
		t.Errorf("1000 lines have sum %s, want %s", got, want)
	}
}

// TestLargeRuns compiles 10,000 lines, 71 units, and runs them: the same number everywhere. A benchmark compiles 50,000,
// which are more of the same.
func TestLargeRuns(t *testing.T) {
	in := Need(t)
	src, err := in.Large(10_000)
	if err != nil {
		t.Fatal(err)
	}
	dll, err := in.Compile([]string{src}, "", Options{Deterministic: true})
	if err != nil {
		t.Fatal(err)
	}
	var want []byte
	for _, r := range in.Runtimes() {
		got, err := r.Command(dll).Output()
		if err != nil || len(got) == 0 {
			t.Fatalf("on %s it prints %q: %v", r.Name, got, err)
		}
		if want == nil {
			want = got
		}
		if !bytes.Equal(got, want) {
			t.Errorf("on %s it prints %q, elsewhere %q", r.Name, got, want)
		}
	}
}

// TestDeterministic: the compiler, run as a target, writes the same bytes twice.
func TestDeterministic(t *testing.T) {
	in := Need(t)
	src, err := in.Large(5_000)
	if err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(t.TempDir(), "Large.dll")
	argv, err := in.CompilerCommand(in.Newest(), []string{src}, out, Options{Deterministic: true})
	if err != nil {
		t.Fatal(err)
	}
	var outputs [2][]byte
	for i := range outputs {
		cmd := exec.Command(argv[0], argv[1:]...)
		cmd.Env = in.Env()
		if msg, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%.3000s", err, msg)
		}
		if outputs[i], err = os.ReadFile(out); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(outputs[0], outputs[1]) {
		t.Error("the two outputs differ")
	}
}

// TestMade: the same text is the same file, and compiled only once; another text is another file.
func TestMade(t *testing.T) {
	in := Need(t)
	var dlls []string
	for _, text := range []string{"class Program { static void Main() { } }", "class Program { static void Main() { } }",
		"class Program { static int Main() => 1; }"} {
		source, err := in.Made("Program.cs", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		have, err := os.ReadFile(source)
		if err != nil || string(have) != text {
			t.Errorf("%s holds %q, want %q, %v", source, have, text, err)
		}
		dll, err := in.Compile([]string{source}, "", Options{})
		if err != nil {
			t.Fatal(err)
		}
		dlls = append(dlls, dll)
	}
	if dlls[0] != dlls[1] || dlls[0] == dlls[2] {
		t.Errorf("compiled were %q", dlls)
	}
}

// TestKept: the same sources of two checkouts are the same files, and others are not.
func TestKept(t *testing.T) {
	in := &Install{cache: t.TempDir()}
	checkout := func(text string) []string {
		files := []string{filepath.Join(t.TempDir(), "App", "Program.cs"), filepath.Join(t.TempDir(), "targets", "Truth.cs")}
		for _, f := range files {
			if err := errors.Join(os.MkdirAll(filepath.Dir(f), 0o755), os.WriteFile(f, []byte(text), 0o644)); err != nil {
				t.Fatal(err)
			}
		}
		return files
	}
	var got [][]string
	for _, text := range []string{"class A { }", "class A { }", "class B { }"} {
		files := checkout(text)
		paths, err := in.kept(files)
		if err != nil {
			t.Fatal(err)
		}
		for i, path := range paths {
			kept, err := os.ReadFile(path)
			if err != nil || string(kept) != text || filepath.Base(path) != filepath.Base(files[i]) ||
				filepath.Base(filepath.Dir(path)) != filepath.Base(filepath.Dir(files[i])) {
				t.Errorf("%s is kept as %s with %q: %v", files[i], path, kept, err)
			}
		}
		got = append(got, paths)
	}
	if !slices.Equal(got[0], got[1]) || slices.Equal(got[0], got[2]) {
		t.Errorf("of two equal checkouts and another: %q", got)
	}
	twice := checkout("class C { }")
	if _, err := in.kept([]string{twice[0], twice[0]}); err == nil {
		t.Error("two sources of one name are one file")
	}
}
