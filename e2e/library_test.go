package e2e

import (
	"debug/elf"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/clrprof/clrprof/internal/agentbin"
)

// maxStaticTLS is what the agent may take of the memory that a C library keeps for the thread-local variables of
// libraries that are loaded late: glibc has 1,664 bytes for all of them.
const maxStaticTLS = 128

// TestLibrary: what the agent needs of the process that it is loaded into. It names no library, since a process has one
// C library, and no version of a symbol, so it runs with a glibc older than the one that it was built with.
func TestLibrary(t *testing.T) {
	t.Parallel()
	for _, l := range []agentbin.Library{agentbin.Glibc, agentbin.Musl} {
		t.Run(string(l), func(t *testing.T) {
			f, err := elf.Open(agentOf(t, l))
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			checkLibrary(t, f)
			flags, err := f.DynValue(elf.DT_FLAGS)
			static := len(flags) > 0 && elf.DynFlag(flags[0])&elf.DF_STATIC_TLS != 0
			if err != nil || static != (l == agentbin.Glibc) {
				t.Errorf("flags %x, %v: the places of thread-local variables are not fixed for glibc alone", flags, err)
			}
		})
	}
}

// agentOf returns a path of a build of the agent.
func agentOf(t *testing.T, l agentbin.Library) string {
	t.Helper()
	path, err := agentbin.Extract(l, []string{t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func checkLibrary(t *testing.T, f *elf.File) {
	t.Helper()
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
		case s.Section != elf.SHN_UNDEF && elf.ST_VISIBILITY(s.Other) == elf.STV_HIDDEN:
			continue // ld lists what it makes of sections' names; nobody else finds them
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
	slices.Sort(exported)
	if want := []string{"DllGetClassObject", "clrprof_control", "clrprof_mark", "clrprof_mark_at", "clrprof_meter",
		"clrprof_meter_begins", "clrprof_meter_lost", "clrprof_name_process", "clrprof_name_thread", "clrprof_state"}; !slices.Equal(exported, want) {
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

// TestLibraryMusl: musl loads the build that is for it, and refuses the other, whose thread-local variables are at
// fixed places.
func TestLibraryMusl(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("musl-gcc"); err != nil {
		t.Skip("there is no musl-gcc (Debian: musl-tools)")
	}
	loader := filepath.Join(t.TempDir(), "load")
	if text, err := exec.Command("musl-gcc", "-rdynamic", "testdata/load.c", "-o",
		loader).CombinedOutput(); err != nil {
		t.Fatalf("musl-gcc: %v\n%s", err, text)
	}
	if out, err := exec.Command(loader, agentOf(t, agentbin.Musl)).CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
	out, err := exec.Command(loader, agentOf(t, agentbin.Glibc)).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "initial-exec TLS") {
		t.Errorf("musl loads the build for glibc, or refuses it for another reason: %v: %s", err, out)
	}
}
