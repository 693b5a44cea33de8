package e2e

import (
	"debug/elf"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// maxStaticTLS is what the agent may take of the memory that a C library keeps for the thread-local variables of libraries that are loaded
// late: glibc has 1,664 bytes for all of them.
const maxStaticTLS = 128

// TestLibrary: what the agent needs of the process that it is loaded into. It names no library, since a process has one C library, and
// no version of a symbol, so it runs with a glibc older than the one that it was built with.
func TestLibrary(t *testing.T) {
	f, err := elf.Open(productAgent(t))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if needed, err := f.ImportedLibraries(); err != nil || len(needed) > 0 {
		t.Errorf("it needs %v, %v", needed, err)
	}
	symbols, err := f.DynamicSymbols()
	if err != nil {
		t.Fatal(err)
	}
	var weak, exported []string
	for _, s := range symbols {
		switch {
		case s.Section != elf.SHN_UNDEF:
			exported = append(exported, s.Name)
		case elf.ST_BIND(s.Info) == elf.STB_WEAK:
			weak = append(weak, s.Name)
		case s.Version != "":
			t.Errorf("it wants %s of version %s", s.Name, s.Version)
		}
	}
	slices.Sort(weak)
	if want := []string{"__rseq_offset", "__rseq_size"}; !slices.Equal(weak, want) { // of glibc 2.35 and later
		t.Errorf("it can do without %v, and should without %v", weak, want)
	}
	if want := []string{"DllGetClassObject"}; !slices.Equal(exported, want) {
		t.Errorf("it exports %v, want %v", exported, want)
	}
	for _, p := range f.Progs {
		if p.Type == elf.PT_TLS && p.Memsz > maxStaticTLS {
			t.Errorf("its thread-local variables have %d bytes, and may have %d", p.Memsz, maxStaticTLS)
		}
		if p.Type == elf.PT_INTERP {
			t.Error("it asks for a loader")
		}
	}
}

// TestLibraryMusl: what keeps the agent from being loaded with musl is its thread-local variables alone, which are at fixed places since each
// probe looks at one. Built with descriptors of such variables instead, which cost a probe 1.2 ns, it is loaded there.
func TestLibraryMusl(t *testing.T) {
	if _, err := exec.LookPath("musl-gcc"); err != nil {
		t.Skip("there is no musl-gcc (Debian: musl-tools)")
	}
	dir := t.TempDir()
	build := func(compiler, out string, args ...string) string {
		path := filepath.Join(dir, out)
		if text, err := exec.Command(compiler, append(args, "-o", path)...).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", compiler, err, text)
		}
		return path
	}
	sources, err := filepath.Glob("../agent/src/*.c")
	if err != nil {
		t.Fatal(err)
	}
	loader := build("musl-gcc", "load", "-rdynamic", "testdata/load.c")
	described := build("gcc", "described.so", append(sources, "-std=c11", "-O2", "-fPIC", "-fvisibility=hidden", "-fno-omit-frame-pointer", "-shared", "-nostdlib",
		"-mtls-dialect=gnu2", "-Dtls_model(m)=unused")...)
	f, err := elf.Open(described)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if flags, err := f.DynValue(elf.DT_FLAGS); err != nil || len(flags) > 0 && elf.DynFlag(flags[0])&elf.DF_STATIC_TLS != 0 {
		t.Errorf("flags %x, %v: it has places for thread-local variables of its own", flags, err)
	}
	if out, err := exec.Command(loader, described).CombinedOutput(); err != nil {
		t.Errorf("with descriptors: %v: %s", err, out)
	}
	out, err := exec.Command(loader, productAgent(t)).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "initial-exec TLS") {
		t.Errorf("the product is loaded with musl, or not for another reason: %v: %s", err, out)
	}
}
