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

	"github.com/clrprof/clrprof/internal/agentbin"
)

// executable is the least of an ELF file that names a loader; "" names none.
func executable(t *testing.T, loader string) []byte {
	t.Helper()
	const header, program = 64, 56
	h := elf.Header64{Type: uint16(elf.ET_DYN), Machine: uint16(elf.EM_X86_64), Version: 1, Phoff: header,
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
		if got := libraryFor(tt.path); got != tt.want {
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
