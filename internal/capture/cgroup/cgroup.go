// Package cgroup finds the memory limit that control groups set for this process.
//
// Problem: the machine's memory is not what a process may use. The kernel ends processes of a control group that needs
// more than its limit, and a limit may be set by any group above as well: by a container, by a systemd unit
// (MemoryMax=), or by whoever made a group by hand. Shared memory counts for the group of the process that touched it
// first.
//
// The answer is the least limit of the process's own group and all above it that can be seen, of version 1 and version
// 2 (both can be mounted). Sources: proc_pid_cgroup(5), proc_pid_mountinfo(5), cgroups(7), and the kernel's
// Documentation/admin-guide/cgroup-v2.rst (memory.max, memory.high) and cgroup-v1/memory.rst (memory.limit_in_bytes).
package cgroup

import (
	"bytes"
	"io/fs"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"
)

// maxDepth bounds how many groups above each other are looked at; the kernel allows any number.
const maxDepth = 64

// None is the limit of a process that has none.
const None = math.MaxInt64

// limitFiles are the files of a group that limit its memory, by the version of control groups. A group above
// memory.high is not ended, but slowed down until it is below.
var limitFiles = map[int][]string{1: {"memory.limit_in_bytes"}, 2: {"memory.max", "memory.high"}}

// MemoryLimit returns the bytes that this process and those in the same group may have together, or None. The root is
// that of the file system, os.DirFS("/"); what cannot be read sets no limit.
func MemoryLimit(root fs.FS) int64 { return limitOf(root, "self") }

// MemoryLimitOf is MemoryLimit for another process, which may have moved into another group.
func MemoryLimitOf(root fs.FS, pid int) int64 { return limitOf(root, strconv.Itoa(pid)) }

func limitOf(root fs.FS, process string) int64 {
	groups, err := fs.ReadFile(root, path.Join("proc", process, "cgroup"))
	if err != nil {
		return None
	}
	mounts, err := fs.ReadFile(root, "proc/self/mountinfo")
	if err != nil {
		return None
	}
	least := int64(None)
	for line := range bytes.Lines(mounts) {
		m, ok := parseMount(string(line))
		if !ok {
			continue
		}
		group, ok := groupOf(groups, m.version)
		if !ok {
			continue
		}
		for _, directory := range m.above(group) {
			for _, name := range limitFiles[m.version] {
				least = min(least, limitIn(root, path.Join(directory, name)))
			}
		}
	}
	return least
}

// mount is a mounted hierarchy that can limit memory.
type mount struct {
	version int
	root    string // of the hierarchy, at the mount point
	point   string
}

// parseMount reads a line of mountinfo: id, parent, device, root, mount point, options, optional fields, "-", type,
// source, options of the file system.
func parseMount(line string) (mount, bool) {
	head, tail, ok := strings.Cut(line, " - ")
	fields, of := strings.Fields(head), strings.Fields(tail)
	if !ok || len(fields) < 5 || len(of) < 3 {
		return mount{}, false
	}
	m := mount{root: unescape(fields[3]), point: unescape(fields[4])}
	switch {
	case of[0] == "cgroup2":
		m.version = 2
	case of[0] == "cgroup" && slices.Contains(strings.Split(of[2], ","), "memory"):
		m.version = 1
	default:
		return mount{}, false
	}
	return m, true
}

// unescape replaces the octal escapes of blanks and the like.
func unescape(s string) string {
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(s)
}

// groupOf finds the process's group in the lines "number:controllers:path" of /proc/self/cgroup.
func groupOf(groups []byte, version int) (string, bool) {
	for line := range bytes.Lines(groups) {
		fields := strings.SplitN(strings.TrimSuffix(string(line), "\n"), ":", 3)
		if len(fields) != 3 {
			continue
		}
		if version == 2 && fields[0] == "0" && fields[1] == "" ||
			version == 1 && slices.Contains(strings.Split(fields[1], ","), "memory") {
			return fields[2], true
		}
	}
	return "", false
}

// above lists the directories of a group and of those above it, up to the mount point. A group that is not below what
// is mounted (in a container that shares the namespace of its host) is taken for the mount point: that is what its
// maker shows.
func (m mount) above(group string) []string {
	inside, ok := strings.CutPrefix(path.Clean(group), strings.TrimSuffix(m.root, "/"))
	if !ok || inside != "" && inside[0] != '/' || strings.Contains(group, "..") {
		inside = ""
	}
	list := []string{m.point}
	for _, name := range strings.Split(inside, "/") {
		if name != "" && len(list) < maxDepth {
			list = append(list, path.Join(list[len(list)-1], name))
		}
	}
	return list
}

// limitIn reads a number of bytes from a file: None for "max", and if it cannot be read.
func limitIn(root fs.FS, name string) int64 {
	text, err := fs.ReadFile(root, strings.TrimPrefix(name, "/"))
	if err != nil {
		return None
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if err != nil || n <= 0 {
		return None
	}
	return n
}
