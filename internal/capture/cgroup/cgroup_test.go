package cgroup_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/clrprof/clrprof/internal/capture/cgroup"
)

const (
	v2   = "31 23 0:28 / /sys/fs/cgroup rw,relatime shared:9 - cgroup2 cgroup2 rw,nsdelegate\n"
	v1   = "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
	cpu  = "36 31 0:33 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n"
	disk = "25 1 8:1 / / rw,relatime - ext4 /dev/vda rw\n"
)

func TestMemoryLimit(t *testing.T) {
	const none = cgroup.None
	for _, c := range []struct {
		name, groups, mounts string
		files                map[string]string
		want                 int64
	}{
		{"no control groups", "", disk, nil, none},
		{"no limit", "0::/user.slice\n", disk + v2, map[string]string{"user.slice/memory.max": "max\n"}, none},
		{"a container", "0::/\n", v2, map[string]string{"memory.max": "268435456\n"}, 256 << 20},
		{"a unit", "0::/system.slice/a.service\n", v2,
			map[string]string{"system.slice/a.service/memory.max": "67108864\n", "system.slice/memory.max": "max\n"},
			64 << 20},
		{"above", "0::/a/b/c\n", v2, map[string]string{"a/b/c/memory.max": "max\n", "a/memory.max": "1000000\n",
			"a/b/memory.max": "2000000\n"}, 1000000},
		{"high", "0::/a\n", v2, map[string]string{"a/memory.max": "2000000\n", "a/memory.high": "1000000\n"}, 1000000},
		{"another's", "0::/a\n", v2, map[string]string{"b/memory.max": "1000000\n", "a/memory.max": "max\n"}, none},
		{"version 1", "5:cpu,cpuacct:/x\n4:memory:/a/b\n", cpu + v1,
			map[string]string{"memory/a/b/memory.limit_in_bytes": "9223372036854771712\n",
				"memory/a/memory.limit_in_bytes": "3000000\n"}, 3000000},
		{"both versions", "4:memory:/a\n0::/b\n",
			v1 + strings.ReplaceAll(v2, "/sys/fs/cgroup", "/sys/fs/cgroup/unified"),
			map[string]string{"memory/a/memory.limit_in_bytes": "3000000\n", "unified/b/memory.max": "2000000\n"},
			2000000},
		{"a container with the host's names", "4:memory:/docker/1234\n", strings.Replace(v1, " / /sys",
			" /docker/1234 /sys", 1), map[string]string{"memory/memory.limit_in_bytes": "3000000\n"}, 3000000},
		{"below what is mounted", "4:memory:/docker/1234/x\n", strings.Replace(v1, " / /sys", " /docker/1234 /sys", 1),
			map[string]string{"memory/x/memory.limit_in_bytes": "3000000\n"}, 3000000},
		{"outside of what is mounted", "0::/../other\n", v2, map[string]string{"memory.max": "3000000\n"}, 3000000},
		{"similar names", "0::/docker/12345\n", strings.Replace(v2, " / /sys", " /docker/1234 /sys", 1),
			map[string]string{"5/memory.max": "1\n", "memory.max": "3000000\n"}, 3000000},
		{"a colon and a blank in a name", "0::/a:b c\n", strings.Replace(v2, "/sys/fs/cgroup", `/sys/fs/c\040group`, 1),
			map[string]string{"../c group/a:b c/memory.max": "3000000\n"}, 3000000},
		{"nonsense", "0:/\n::\n0::/a\n", "x\n - \n" + v2,
			map[string]string{"a/memory.max": "many\n", "memory.max": "-1\n"}, none},
	} {
		files := fstest.MapFS{"proc/self/cgroup": {Data: []byte(c.groups)},
			"proc/self/mountinfo": {Data: []byte(c.mounts)}}
		for name, text := range c.files {
			files[filepath.Join("sys/fs/cgroup", name)] = &fstest.MapFile{Data: []byte(text)}
		}
		if got := cgroup.MemoryLimit(files); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
	moved := fstest.MapFS{"proc/self/cgroup": {Data: []byte("0::/a\n")}, "proc/7/cgroup": {Data: []byte("0::/a/b\n")},
		"proc/self/mountinfo":          {Data: []byte(v2)},
		"sys/fs/cgroup/a/memory.max":   {Data: []byte("2000000\n")},
		"sys/fs/cgroup/a/b/memory.max": {Data: []byte("1000000\n")}}
	if own, other, ended := cgroup.MemoryLimit(moved), cgroup.MemoryLimitOf(moved, 7), cgroup.MemoryLimitOf(moved,
		8); own != 2000000 || other != 1000000 || ended != none {
		t.Errorf("%d, another process %d, one that is not there %d", own, other, ended)
	}
	if got := cgroup.MemoryLimit(fstest.MapFS{}); got != none {
		t.Errorf("without /proc: %d", got)
	}
}

// TestNested asks in a real group below one with a limit.
func TestNested(t *testing.T) {
	if os.Getenv("CGROUP_TEST_CHILD") != "" {
		fmt.Println(cgroup.MemoryLimit(os.DirFS("/")))
		return
	}
	outer, file := writableGroup(t)
	inner := filepath.Join(outer, "inner")
	if err := os.Mkdir(inner, 0o755); err != nil {
		t.Skipf("no right to make control groups: %v", err)
	}
	t.Cleanup(func() { os.Remove(inner) }) // an error shows as one of the outer group's
	const limit = 333 << 20
	if err := os.WriteFile(filepath.Join(outer, file), fmt.Append(nil, limit), 0o644); err != nil {
		t.Skipf("no right to limit memory: %v", err)
	}
	cmd := exec.Command("/bin/sh", "-c", `echo $$ >"$0/cgroup.procs" && exec "$@"`, inner, os.Args[0],
		"-test.run=^TestNested$")
	cmd.Env = append(os.Environ(), "CGROUP_TEST_CHILD=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Skipf("no right to enter a control group: %v: %s", err, out)
	}
	if first, _, _ := strings.Cut(string(out), "\n"); first != fmt.Sprint(limit) {
		t.Errorf("in the group: %s, want %d", out, limit)
	}
}

// writableGroup makes a group where this machine has a hierarchy that limits memory, and returns the name of its
// limit's file.
func writableGroup(t *testing.T) (path, file string) {
	t.Helper()
	for _, c := range []struct{ base, file string }{
		{"/sys/fs/cgroup/memory", "memory.limit_in_bytes"}, {"/sys/fs/cgroup", "memory.max"},
	} {
		path := filepath.Join(c.base, fmt.Sprintf("clrprof-test-%d", os.Getpid()))
		if os.Mkdir(path, 0o755) != nil {
			continue
		}
		t.Cleanup(func() {
			if err := os.Remove(path); err != nil {
				t.Error(err)
			}
		})
		if _, err := os.Stat(filepath.Join(path, c.file)); err == nil {
			return path, c.file
		}
	}
	t.Skip("no control groups here whose memory this test may limit")
	return "", ""
}
