package main

import (
	"bytes"
	"encoding/binary"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// sameFiles compares what a package installs with the archive.
func sameFiles(t *testing.T, one string, m machine, installed map[string]file) {
	t.Helper()
	want := untar(t, named(t, one, "-linux-"+m.name+".tar.gz"))
	for path, w := range want {
		have, ok := installed["usr/"+path]
		if !ok || have.mode != w.mode || !bytes.Equal(have.content, w.content) {
			t.Errorf("usr/%s: there is it: %v, mode %o, want %o, %d bytes, want %d", path, ok, have.mode, w.mode,
				len(have.content), len(w.content))
		}
	}
	for path := range installed {
		if _, ok := want[strings.TrimPrefix(path, "usr/")]; !ok {
			t.Errorf("%s is not in the archive", path)
		}
	}
}

// testDebian: dpkg installs the package into a root of its own, where it runs, and removes it without a trace.
func testDebian(t *testing.T, one string, m machine) {
	dpkg, err := exec.LookPath("dpkg")
	if err != nil {
		t.Skip("no dpkg: this is not Debian")
	}
	root := t.TempDir()
	for _, dir := range []string{"info", "updates"} {
		if err := os.MkdirAll(filepath.Join(root, "var/lib/dpkg", dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(root, "var/lib/dpkg/status"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) {
		t.Helper()
		command := append([]string{dpkg, "--root=" + root, "--force-not-root", "--force-architecture", "--log=/dev/null"}, args...)
		if os.Getuid() != 0 {
			command = append([]string{"fakeroot"}, command...)
		}
		if out, err := exec.Command(command[0], command[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	run("--install", named(t, one, m.name+".deb"))
	installed := map[string]file{}
	below := os.DirFS(root)
	err = fs.WalkDir(below, "usr", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		installed[path] = file{path: path, content: readFile(t, filepath.Join(root, path)), mode: int64(info.Mode().Perm())}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	sameFiles(t, one, m, installed)
	if have, want := m.printed(t, filepath.Join(root, "usr/bin/clrprof"), "version"),
		m.printed(t, unpackBinary(t, one, m), "version"); have != want {
		t.Errorf("installed: %s, in the archive: %s", have, want)
	}
	run("--purge", "clrprof")
	if _, err := os.Stat(filepath.Join(root, "usr/bin/clrprof")); !os.IsNotExist(err) {
		t.Errorf("it is there after --purge: %v", err)
	}
}

// testAlpine unpacks the package: archives, one behind the other, of which the first describes the last.
func testAlpine(t *testing.T, one string, m machine) {
	installed := tarred(t, gunzip(t, readFile(t, named(t, one, m.name+".apk"))))
	info, ok := installed[".PKGINFO"]
	cpu := map[string]string{"x64": "x86_64", "arm64": "aarch64"}[m.name]
	if !ok || !bytes.Contains(info.content, []byte("\narch = "+cpu+"\n")) || bytes.Contains(info.content, []byte("\ndepend")) {
		t.Errorf(".PKGINFO: %s", info.content)
	}
	delete(installed, ".PKGINFO")
	sameFiles(t, one, m, installed)
}

// testRPM unpacks the package: a lead of 96 bytes, two headers, and a compressed archive of cpio (the format of RPM 4).
func testRPM(t *testing.T, one string, m machine) {
	b := readFile(t, named(t, one, m.name+".rpm"))
	const lead, alignment = 96, 8
	at := lead
	for i := range 2 {
		if !bytes.HasPrefix(b[at:], []byte{0x8e, 0xad, 0xe8, 1}) {
			t.Fatalf("no header at %d: % x", at, b[at:at+4])
		}
		entries, size := binary.BigEndian.Uint32(b[at+8:]), binary.BigEndian.Uint32(b[at+12:])
		at += 16 + 16*int(entries) + int(size)
		if i == 0 { // signatures end at a multiple of 8
			at = (at + alignment - 1) / alignment * alignment
		}
	}
	sameFiles(t, one, m, unpackCPIO(t, gunzip(t, b[at:])))
}

// unpackCPIO returns the regular files of an archive in the format "newc": cpio(5).
func unpackCPIO(t *testing.T, b []byte) map[string]file {
	t.Helper()
	const header, word, regular = 110, 4, 0o100000
	align := func(n int) int { return (n + word - 1) / word * word }
	files := map[string]file{}
	for at := 0; ; {
		if !bytes.HasPrefix(b[at:], []byte("070701")) && !bytes.HasPrefix(b[at:], []byte("070702")) {
			t.Fatalf("no entry at %d: %q", at, b[at:at+6])
		}
		field := func(i int) int {
			n, err := strconv.ParseUint(string(b[at+6+8*i:at+14+8*i]), 16, 32)
			if err != nil {
				t.Fatal(err)
			}
			return int(n)
		}
		mode, size, named := field(1), field(6), field(11)
		name := strings.TrimRight(string(b[at+header:at+header+named]), "\x00")
		if name == "TRAILER!!!" {
			return files
		}
		begin := align(at + header + named)
		if mode&0o170000 == regular {
			name = strings.TrimPrefix(strings.TrimPrefix(name, "."), "/")
			files[name] = file{path: name, content: b[begin : begin+size], mode: int64(mode & 0o777)}
		}
		at = align(begin + size)
	}
}
