package dotnettest

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

func TestSource(t *testing.T) {
	for _, lines := range []int{200, 1234, 50_000} {
		b := Source(lines)
		if got := bytes.Count(b, []byte("\n")); got != lines {
			t.Errorf("%d lines, want %d", got, lines)
		}
		if !bytes.Equal(b, Source(lines)) {
			t.Errorf("%d lines: the second time they differ", lines)
		}
	}
	// results of benchmarks are compared with those of other versions
	sum := sha256.Sum256(Source(1000))
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
