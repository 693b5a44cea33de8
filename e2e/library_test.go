package e2e

import (
	"debug/elf"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/clrprof/clrprof/internal/capture/agentbin"
	"github.com/clrprof/clrprof/internal/testkit/differ"
)

// maxStaticTLS is what the agent may take of the memory that a C library keeps for the thread-local variables of
// libraries that are loaded late: glibc has 1,664 bytes for all of them.
const maxStaticTLS = 128

// needed are the functions of libc that the agent uses. Any process has them, whatever libraries it has loaded: a host that
// is not dotnet need not have libgcc. What is to be added must be in glibc 2.17 (TestLibraryOld) and in musl
// (TestLibraryLoads): see agent/src/core/freestanding.h.
var needed = strings.Fields(`
	__errno_location __libc_current_sigrtmin __stack_chk_fail access clock_gettime close closedir dl_iterate_phdr
	fallocate fcntl flock free fstatvfs ftruncate getauxval getenv getpid getppid getrlimit getrusage ioctl link madvise
	malloc memchr memcmp memcpy memmem memmove memset mmap mprotect mremap munmap nanosleep open opendir pread
	process_vm_readv pthread_attr_destroy pthread_attr_getstack pthread_attr_init pthread_attr_setdetachstate
	pthread_attr_setstacksize pthread_create pthread_detach pthread_getattr_np pthread_join pthread_key_create
	pthread_key_delete pthread_mutex_lock pthread_mutex_unlock pthread_self pthread_setspecific pthread_sigmask pwrite
	read readdir readlink rename sched_getcpu sched_setaffinity sched_yield sigdelset sigfillset snprintf statvfs
	strcasecmp strchr strcmp strlen strncmp strrchr strstr strtoul strtoull syscall unlink write`)

// forked is what the agent asks for to be told of forks: glibc links pthread_atfork itself into each library.
var forked = map[string]string{"glibc": "__register_atfork", "musl": "pthread_atfork"}

// neededOn are what the agent uses on one machine alone: on arm64 the value that protects stacks is a variable.
var neededOn = map[string][]string{"arm64": {"__stack_chk_guard"}}

// neededBy returns what a build of the agent uses, in order.
func neededBy(l agentbin.Library) []string {
	return slices.Sorted(slices.Values(slices.Concat(needed, neededOn[l.Machine()])))
}

// TestLibrary: what the agent needs of the process that it is loaded into. It names no library, since a process has one
// C library, and no version of a symbol, so it runs with a glibc older than the one that it was built with. All symbols
// are bound when it is loaded: if one is missing, the runtime goes on without the agent, instead of ending in the
// middle.
func TestLibrary(t *testing.T) {
	t.Parallel()
	for _, l := range agentbin.Libraries() {
		t.Run(string(l), func(t *testing.T) {
			f, err := elf.Open(agentOf(t, l))
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			checkSymbols(t, f, l)
			checkSegments(t, f)
			flags, err := f.DynValue(elf.DT_FLAGS)
			if err != nil || len(flags) != 1 || elf.DynFlag(flags[0])&elf.DF_BIND_NOW == 0 {
				t.Fatalf("flags %x, %v: symbols are not bound at once", flags, err)
			}
			// On arm64 compilers ask for the places of variables by descriptors, which any C library takes.
			if static := elf.DynFlag(flags[0])&elf.DF_STATIC_TLS != 0; static != (l == agentbin.Glibc) {
				t.Errorf("flags %x: the places of thread-local variables are not fixed for glibc on x64 alone", flags)
			}
		})
	}
}

// agentOf returns a path of a build of the agent. One for another machine is there only where a compiler for that is.
func agentOf(t *testing.T, l agentbin.Library) string {
	t.Helper()
	path, err := agentbin.Extract(l, []string{t.TempDir()})
	if errors.Is(err, agentbin.ErrMissing) && l.Machine() != agentbin.MachineHere() {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// checkSymbols compares what the agent needs and exports with what it should.
func checkSymbols(t *testing.T, f *elf.File, l agentbin.Library) {
	t.Helper()
	if libraries, err := f.ImportedLibraries(); err != nil || len(libraries) > 0 {
		t.Errorf("it needs %v, %v", libraries, err)
	}
	symbols, err := f.DynamicSymbols()
	if err != nil {
		t.Fatal(err)
	}
	var strong, weak, exported []string
	for _, s := range symbols {
		switch {
		case s.Section != elf.SHN_UNDEF && (elf.ST_VISIBILITY(s.Other) == elf.STV_HIDDEN || elf.ST_TYPE(s.Info) == elf.STT_SECTION):
			continue // symbols that ld makes for sections: the dynamic loader does not resolve them
		case s.Section != elf.SHN_UNDEF:
			exported = append(exported, s.Name)
		case elf.ST_BIND(s.Info) == elf.STB_WEAK:
			weak = append(weak, s.Name)
		case s.Version != "":
			t.Errorf("it wants %s of version %s", s.Name, s.Version)
		default:
			strong = append(strong, s.Name)
		}
	}
	for _, list := range []struct {
		what       string
		have, want []string
	}{
		{"needs", strong, neededBy(l)},
		{"can do without", weak, slices.Sorted(slices.Values([]string{forked[l.Libc()], "dlopen",
			"__rseq_offset", "__rseq_size"}))}, // the latter two are of glibc 2.35 and later
		{"exports", exported, []string{"DllGetClassObject", "clrprof_control", "clrprof_mark", "clrprof_mark_at",
			"clrprof_meter", "clrprof_meter_begins", "clrprof_meter_lost", "clrprof_name_process",
			"clrprof_name_thread", "clrprof_state"}},
	} {
		slices.Sort(list.have)
		if difference := differ.Of(list.want, list.have); difference != "" {
			t.Errorf("what it %s: %s", list.what, difference)
		}
	}
}

// checkSegments: what is written once is not writable afterwards, stacks are not executable, and the agent asks for no
// protection of the processor's that the runtime's own library does not have.
func checkSegments(t *testing.T, f *elf.File) {
	t.Helper()
	relro, stack := false, false
	for _, p := range f.Progs {
		switch p.Type {
		case elf.PT_GNU_RELRO:
			relro = true
			got := f.Section(".got")
			if got == nil || f.Section(".got.plt") != nil || got.Addr < p.Vaddr || got.Addr+got.Size > p.Vaddr+p.Memsz {
				t.Error("addresses of functions stay writable")
			}
		case elf.PT_GNU_STACK:
			stack = p.Flags&elf.PF_X == 0
		case elf.PT_GNU_PROPERTY:
			t.Error("it has properties for the processor, such as control-flow protection: libcoreclr.so has none")
		case elf.PT_INTERP:
			t.Error("it asks for a loader")
		case elf.PT_TLS:
			if p.Memsz > maxStaticTLS {
				t.Errorf("its thread-local variables have %d bytes, and may have %d", p.Memsz, maxStaticTLS)
			}
		}
	}
	if !relro || !stack {
		t.Errorf("relro %v, stack without execution %v", relro, stack)
	}
}

// oldestGlibc is 2.17: the first one of arm64, and the oldest that a supported runtime of x64 runs with.
const oldestGlibc = 17

// TestLibraryOld: all that the agent needs is in glibc since oldestGlibc.
func TestLibraryOld(t *testing.T) {
	t.Parallel()
	for l, compiler := range map[agentbin.Library]string{agentbin.Glibc: "gcc",
		agentbin.GlibcARM64: "aarch64-linux-gnu-gcc"} {
		t.Run(string(l), func(t *testing.T) {
			t.Parallel()
			since := map[string]int{}
			for _, part := range []string{"libc.so.6", map[string]string{"x64": "ld-linux-x86-64.so.2",
				"arm64": "ld-linux-aarch64.so.1"}[l.Machine()]} {
				addVersions(t, compiler, part, since)
			}
			for _, name := range append(neededBy(l), forked[l.Libc()]) {
				if minor, ok := since[name]; !ok || minor > oldestGlibc {
					t.Errorf("%s: since glibc 2.%d (%v)", name, minor, ok)
				}
			}
		})
	}
}

// addVersions notes since which glibc there is each symbol of a part of the glibc that a compiler is for.
func addVersions(t *testing.T, compiler, part string, since map[string]int) {
	t.Helper()
	path, err := exec.Command(compiler, "-print-file-name="+part).Output()
	if err != nil {
		t.Skipf("there is no %s (Debian: gcc, gcc-aarch64-linux-gnu)", compiler)
	}
	f, err := elf.Open(strings.TrimSpace(string(path)))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	symbols, err := f.DynamicSymbols()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range symbols {
		var minor int
		if n, _ := fmt.Sscanf(s.Version, "GLIBC_2.%d", &minor); n == 1 && s.Section != elf.SHN_UNDEF {
			if old, ok := since[s.Name]; !ok || minor < old {
				since[s.Name] = minor
			}
		}
	}
}

// TestLibraryLoads: each C library loads the build that is for it, in a process that has nothing else.
func TestLibraryLoads(t *testing.T) {
	t.Parallel()
	for compiler, l := range map[string]agentbin.Library{"gcc": agentbin.Glibc, "musl-gcc": agentbin.Musl} {
		t.Run(string(l), func(t *testing.T) {
			t.Parallel()
			program := loader(t, compiler)
			out, err := exec.Command(program, agentOf(t, l)).CombinedOutput()
			if err != nil {
				t.Errorf("%v: %s", err, out)
			}
			for line := range strings.Lines(string(out)) {
				name := strings.TrimSpace(line)
				if base := filepath.Base(name); name != program && base != "libc.so.6" && !strings.HasPrefix(base, "ld-") {
					t.Errorf("the process has %s", name)
				}
			}
		})
	}
}

// loader compiles testdata/load.c.
func loader(t *testing.T, compiler string) string {
	t.Helper()
	if _, err := exec.LookPath(compiler); err != nil {
		t.Skipf("there is no %s (Debian: gcc, musl-tools)", compiler)
	}
	program := filepath.Join(t.TempDir(), "load")
	if text, err := exec.Command(compiler, "testdata/load.c", "-o", program, "-ldl").CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", compiler, err, text)
	}
	return program
}

// TestLibraryMusl: musl refuses the build for glibc, whose thread-local variables are at fixed places.
func TestLibraryMusl(t *testing.T) {
	t.Parallel()
	out, err := exec.Command(loader(t, "musl-gcc"), agentOf(t, agentbin.Glibc)).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "initial-exec TLS") {
		t.Errorf("musl loads the build for glibc, or refuses it for another reason: %v: %s", err, out)
	}
}
