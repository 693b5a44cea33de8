package launch

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"golang.org/x/sys/unix"

	"github.com/clrprof/clrprof/internal/capture/agentbin"
)

// executable is the least of an ELF file that names a loader; "" names none.
func executable(t *testing.T, loader string) []byte {
	t.Helper()
	return executableFor(t, elf.EM_X86_64, loader)
}

func executableFor(t *testing.T, machine elf.Machine, loader string) []byte {
	t.Helper()
	const header, program = 64, 56
	h := elf.Header64{Type: uint16(elf.ET_DYN), Machine: uint16(machine), Version: 1, Phoff: header,
		Ehsize: header, Phentsize: program}
	copy(h.Ident[:], "\x7fELF\x02\x01\x01")
	p := elf.Prog64{Type: uint32(elf.PT_INTERP), Off: header + program, Filesz: uint64(len(loader) + 1)}
	if loader != "" {
		h.Phnum = 1
	}
	var b bytes.Buffer
	if err := errors.Join(binary.Write(&b, binary.LittleEndian, h),
		binary.Write(&b, binary.LittleEndian, p)); err != nil {
		t.Fatal(err)
	}
	return append(b.Bytes(), loader+"\x00"...)
}

// TestLibraryFor: the C library is that of the executable, or of what runs the script.
func TestLibraryFor(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PATH", dir)
	put := func(name string, content []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, content, 0o755); err != nil {
			t.Fatal(err)
		}
		return path
	}
	musl := put("musl", executable(t, "/lib/ld-musl-x86_64.so.1"))
	glibc := put("glibc", executable(t, "/lib64/ld-linux-x86-64.so.2"))
	here := libraryOf(os.DirFS("/").Open)
	for name, tt := range map[string]struct {
		path string
		want agentbin.Library
	}{
		"musl":              {musl, agentbin.Musl},
		"glibc":             {glibc, agentbin.Glibc},
		"static":            {put("static", executable(t, "")), here},
		"another machine":   {put("riscv", executableFor(t, elf.EM_RISCV, "/lib/ld-linux-riscv64-lp64d.so.1")), here},
		"script":            {put("script", []byte("#! "+musl+" -e\nbody")), agentbin.Musl},
		"script by env":     {put("by-env", []byte("#!/usr/bin/env musl\n")), agentbin.Musl},
		"script of script":  {put("twice", []byte("#!"+filepath.Join(dir, "script"))), agentbin.Musl},
		"script of itself":  {put("itself", []byte("#!"+filepath.Join(dir, "itself")+"\n")), here},
		"script of nothing": {put("nothing", []byte("#!\n")), here},
		"no first line":     {put("text", []byte("echo")), here},
		"long first line":   {put("long", []byte("#!"+strings.Repeat("/", maxShebang)+musl)), here},
		"not there":         {filepath.Join(dir, "none"), here},
		"truncated":         {put("truncated", executable(t, "/lib/ld-musl-x86_64.so.1")[:40]), here},
	} {
		if got := libraryFor(tt.path, nil); got != tt.want {
			t.Errorf("%s: %s, want %s", name, got, tt.want)
		}
	}
}

// TestLibraryForARM64: the machine is that of the executable, or of what an emulator runs.
func TestLibraryForARM64(t *testing.T) {
	dir := t.TempDir()
	put := func(name string, content []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, content, 0o755); err != nil {
			t.Fatal(err)
		}
		return path
	}
	glibc := put("glibc", executableFor(t, elf.EM_AARCH64, "/lib/ld-linux-aarch64.so.1"))
	musl := put("musl", executableFor(t, elf.EM_AARCH64, "/lib/ld-musl-aarch64.so.1"))
	emulator, pipe := put("qemu-aarch64-static", executable(t, "")), filepath.Join(dir, "pipe")
	if err := unix.Mkfifo(pipe, 0o600); err != nil { // to open it would wait for who writes
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		command []string
		want    agentbin.Library
	}{
		"glibc":            {[]string{glibc}, agentbin.GlibcARM64},
		"musl":             {[]string{musl}, agentbin.MuslARM64},
		"script":           {[]string{put("script", []byte("#!"+musl+"\n"))}, agentbin.MuslARM64},
		"emulated":         {[]string{emulator, "-L", "/usr", musl, glibc}, agentbin.MuslARM64},
		"emulated nothing": {[]string{emulator}, agentbin.GlibcARM64},
		"emulated pipe":    {[]string{emulator, pipe, musl}, agentbin.MuslARM64},
	} {
		if got := libraryFor(tt.command[0], tt.command[1:]); got != tt.want {
			t.Errorf("%s: %s, want %s", name, got, tt.want)
		}
	}
}

// TestLibraryOf: where a program does not say it, the machine's loaders do.
func TestLibraryOf(t *testing.T) {
	musl, glibc := "lib/ld-musl-x86_64.so.1", "lib64/ld-linux-x86-64.so.2"
	for _, tt := range []struct {
		loaders []string
		want    agentbin.Library
	}{{nil, agentbin.Glibc}, {[]string{musl}, agentbin.Musl}, {[]string{glibc}, agentbin.Glibc},
		{[]string{musl, glibc}, agentbin.Glibc}} {
		files := fstest.MapFS{}
		for _, l := range tt.loaders {
			files[l] = &fstest.MapFile{}
		}
		if got := libraryOf(func(name string) (io.Closer, error) { return files.Open(name) }); got != tt.want {
			t.Errorf("%v: %s, want %s", tt.loaders, got, tt.want)
		}
	}
}
