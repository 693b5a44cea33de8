// Package counter reads the operating system's counters of a process, its control group and the machine.
//
// All values come from /proc and /sys/fs/cgroup, so reading them costs the process nothing. A value is either a sum
// that only grows since the process, group or machine started, or a level at that moment. A counter that cannot be
// read has a reason.
package counter

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"
)

// ID is the number of a counter, for ever: sessions have it.
type ID int64

// Counter describes one.
type Counter struct {
	ID      ID
	Name    string
	Unit    string // ns, bytes, or count
	Sum     bool   // it only grows; otherwise it is a level
	Meaning string
}

// The counters.
const (
	CPUUser ID = iota + 1
	CPUSystem
	Resident
	Private
	MinorFaults
	MajorFaults
	Threads
	OpenFiles
	Read
	Written
	StorageRead
	StorageWritten
	GroupMemory
	GroupLimit
	GroupThrottled
	GroupCPUPressure
	GroupMemoryPressure
	GroupIOPressure
	MachineBusy
	MachineIdle
	MachineAvailable
	MachineMemory
	MachineStolen
	ReadCalls
	WriteCalls
)

// All returns all counters by ID, from 1 on.
func All() []Counter {
	return []Counter{
		{CPUUser, "process.cpu_user", "ns", true, "CPU time in the program, in hundredths of a second"},
		{CPUSystem, "process.cpu_system", "ns", true, "CPU time in the kernel, in hundredths of a second"},
		{Resident, "process.resident", "bytes", false, "memory that is in RAM"},
		{Private, "process.private", "bytes", false, "of it, memory that belongs to no file and is not shared"},
		{MinorFaults, "process.minor_faults", "count", true, "page faults without reading from storage"},
		{MajorFaults, "process.major_faults", "count", true, "page faults that read from storage"},
		{Threads, "process.threads", "count", false, "threads, including those of the runtime"},
		{OpenFiles, "process.open_files", "count", false, "file descriptors: files, sockets, pipes"},
		{Read, "process.read", "bytes", true, "read by system calls: files, sockets, pipes"},
		{Written, "process.written", "bytes", true, "written by system calls"},
		{StorageRead, "process.storage_read", "bytes", true, "of it, what came from storage"},
		{StorageWritten, "process.storage_written", "bytes", true, "of it, what will go to storage"},
		{GroupMemory, "group.memory", "bytes", false, "memory of the process's control group"},
		{GroupLimit, "group.memory_limit", "bytes", false, "its limit; no value: the memory of the machine"},
		{GroupThrottled, "group.throttled", "ns", true, "time in which the group had used up its CPU time and waited"},
		{GroupCPUPressure, "group.cpu_pressure", "ns", true, "time in which some task of the group waited for a CPU"},
		{GroupMemoryPressure, "group.memory_pressure", "ns", true,
			"time in which some task of the group waited for memory"},
		{GroupIOPressure, "group.io_pressure", "ns", true, "time in which some task of the group waited for storage"},
		{MachineBusy, "machine.cpu_busy", "ns", true, "CPU time of all CPUs that was used"},
		{MachineIdle, "machine.cpu_idle", "ns", true, "CPU time of all CPUs that was idle"},
		{MachineAvailable, "machine.available", "bytes", false, "memory that programs could get"},
		{MachineMemory, "machine.memory", "bytes", false, "memory"},
		{MachineStolen, "machine.cpu_stolen", "ns", true,
			"CPU time that the host of a virtual machine took from CPUs that had work to do"},
		{ReadCalls, "process.read_calls", "count", true, "system calls that read what process.read counts"},
		{WriteCalls, "process.write_calls", "count", true, "system calls that wrote what process.written counts"},
	}
}

// Reading is a counter's value, or why it has none.
type Reading struct {
	Counter ID
	Value   int64
	Err     error
}

// tick is a clock tick of /proc in nanoseconds: USER_HZ is 100 on every Linux with .NET.
const tick = 10_000_000

// errNone is why a file does not have a value.
var errNone = errors.New("the kernel does not tell it")

// Process reads the counters of a process and its control group; root is the root of the file system.
func Process(root fs.FS, pid int) []Reading {
	dir := path.Join("proc", strconv.Itoa(pid))
	out := stat(root, dir)
	out = append(out, keyed(root, path.Join(dir, "status"), ":",
		map[string]scaled{"VmRSS": {Resident, 1 << 10}, "RssAnon": {Private, 1 << 10}}, Resident, Private)...)
	out = append(out, openFiles(root, dir))
	out = append(out,
		keyed(root, path.Join(dir, "io"), ":", map[string]scaled{"rchar": {Read, 1}, "wchar": {Written, 1},
			"read_bytes": {StorageRead, 1}, "write_bytes": {StorageWritten, 1}, "syscr": {ReadCalls, 1},
			"syscw": {WriteCalls, 1}}, Read, Written, StorageRead, StorageWritten, ReadCalls, WriteCalls)...)
	return append(out, group(root, dir)...)
}

// stat reads /proc/PID/stat (proc_pid_stat(5)): fields are counted from the one after the name.
func stat(root fs.FS, dir string) []Reading {
	of := []struct {
		id     ID
		field  int
		factor int64
	}{{CPUUser, 11, tick}, {CPUSystem, 12, tick}, {MinorFaults, 7, 1}, {MajorFaults, 9, 1}, {Threads, 17, 1}}
	text, err := fs.ReadFile(root, path.Join(dir, "stat"))
	rest := string(text)[strings.LastIndexByte(string(text), ')')+1:] // the name can have any characters
	fields := strings.Fields(rest)
	if err == nil && len(fields) < 18 {
		err = errNone
	}
	out := make([]Reading, len(of))
	for i, x := range of {
		out[i] = Reading{Counter: x.id, Err: err}
		if err == nil {
			out[i].Value, out[i].Err = number(fields[x.field], x.factor)
		}
	}
	return out
}

// scaled is a counter and the unit in which a file has it.
type scaled struct {
	id     ID
	factor int64
}

// keyed reads lines KEY SEPARATOR VALUE …; order are the counters in the order in which they are returned.
func keyed(root fs.FS, name, separator string, keys map[string]scaled, order ...ID) []Reading {
	text, err := fs.ReadFile(root, name)
	found := map[ID]Reading{}
	for line := range strings.Lines(string(text)) {
		key, rest, _ := strings.Cut(line, separator)
		x, ok := keys[key]
		if fields := strings.Fields(rest); ok && len(fields) > 0 {
			value, err := number(fields[0], x.factor)
			found[x.id] = Reading{x.id, value, err}
		}
	}
	var out []Reading
	for _, id := range order {
		r, ok := found[id]
		switch {
		case err != nil:
			r = Reading{Counter: id, Err: err}
		case !ok:
			r = Reading{Counter: id, Err: errNone}
		}
		out = append(out, r)
	}
	return out
}

func openFiles(root fs.FS, dir string) Reading {
	entries, err := fs.ReadDir(root, path.Join(dir, "fd"))
	return Reading{OpenFiles, int64(len(entries)), err}
}

// errOldGroups is why the counters of groups are missing on older systems.
var errOldGroups = errors.New("needs control groups of version 2")

// group reads the counters of the control group of a process (the kernel's cgroup-v2.rst).
func group(root fs.FS, dir string) []Reading {
	ids := []ID{GroupMemory, GroupLimit, GroupThrottled, GroupCPUPressure, GroupMemoryPressure, GroupIOPressure}
	text, err := fs.ReadFile(root, path.Join(dir, "cgroup"))
	where := ""
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "0::"); ok {
			where = path.Join("sys/fs/cgroup", strings.TrimSuffix(rest, "\n"))
		}
	}
	if err == nil {
		if _, statErr := fs.Stat(root, path.Join(where, "cgroup.controllers")); where == "" || statErr != nil {
			err = errOldGroups
		}
	}
	if err != nil {
		var out []Reading
		for _, id := range ids {
			out = append(out, Reading{Counter: id, Err: err})
		}
		return out
	}
	out := []Reading{single(root, where, "memory.current", GroupMemory), single(root, where, "memory.max", GroupLimit)}
	out = append(out, keyed(root, path.Join(where, "cpu.stat"), " ",
		map[string]scaled{"throttled_usec": {GroupThrottled, 1000}}, GroupThrottled)...)
	for _, x := range []struct {
		id   ID
		file string
	}{{GroupCPUPressure, "cpu.pressure"}, {GroupMemoryPressure, "memory.pressure"}, {GroupIOPressure, "io.pressure"}} {
		out = append(out, pressure(root, path.Join(where, x.file), x.id))
	}
	return out
}

// single reads a file with one number.
func single(root fs.FS, dir, name string, id ID) Reading {
	text, err := fs.ReadFile(root, path.Join(dir, name))
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("the group has no %s", name)
	}
	word := strings.TrimSpace(string(text))
	if err == nil && word == "max" {
		err = errors.New("there is no limit")
	}
	r := Reading{Counter: id, Err: err}
	if err == nil {
		r.Value, r.Err = number(word, 1)
	}
	return r
}

// pressure reads the total of "some" (the kernel's psi.rst).
func pressure(root fs.FS, name string, id ID) Reading {
	text, err := fs.ReadFile(root, name)
	if err != nil {
		return Reading{Counter: id, Err: fmt.Errorf("the kernel does not tell pressure: %w", err)}
	}
	line, _, _ := strings.Cut(string(text), "\n")
	_, total, ok := strings.Cut(line, "total=")
	if !ok || !strings.HasPrefix(line, "some ") {
		return Reading{Counter: id, Err: errNone}
	}
	value, err := number(total, 1000)
	return Reading{id, value, err}
}

// Machine reads the counters of the machine.
func Machine(root fs.FS) []Reading {
	out := cpu(root)
	return append(out, keyed(root, "proc/meminfo", ":", map[string]scaled{"MemAvailable": {MachineAvailable, 1 << 10},
		"MemTotal": {MachineMemory, 1 << 10}},
		MachineAvailable, MachineMemory)...)
}

// cpu reads the first line of /proc/stat: user nice system idle iowait irq softirq steal, and parts of these
// (fs/proc/stat.c of Linux).
func cpu(root fs.FS) []Reading {
	busy, idle, stolen := Reading{Counter: MachineBusy}, Reading{Counter: MachineIdle}, Reading{Counter: MachineStolen}
	text, err := fs.ReadFile(root, "proc/stat")
	line, _, _ := strings.Cut(string(text), "\n")
	fields := strings.Fields(line)
	if err == nil && (len(fields) < 9 || fields[0] != "cpu") {
		err = errNone
	}
	for i := 1; err == nil && i < 9; i++ {
		var n int64
		switch n, err = number(fields[i], tick); i {
		case 4, 5:
			idle.Value += n
		case 8:
			stolen.Value = n
		default:
			busy.Value += n
		}
	}
	busy.Err, idle.Err, stolen.Err = err, err, err
	return []Reading{busy, idle, stolen}
}

// number reads a value in a unit.
func number(text string, factor int64) (int64, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 || n > (1<<62)/factor {
		return 0, fmt.Errorf("the kernel says %.20q", text)
	}
	return n * factor, nil
}
