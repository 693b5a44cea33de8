package launch

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/clrprof/clrprof/internal/capture/agentbin"
	"github.com/clrprof/clrprof/internal/capture/arena"
	"github.com/clrprof/clrprof/internal/capture/proc"
	"github.com/clrprof/clrprof/internal/files/safefs"
	"github.com/clrprof/clrprof/internal/wire"
)

// EnvDormant is the variable that makes the agent dormant: a directory in which it makes a file that collectors find.
const EnvDormant = "CLRPROF_DORMANT"

// DefaultDormant is that directory if nobody chooses another one. Arenas are made there too.
const DefaultDormant = "/dev/shm"

// Errors of FindDormant. Each is wrapped in a sentence that says what to do.
var (
	ErrNoProcess  = errors.New("no such process")
	ErrDenied     = errors.New("permission denied")
	ErrNoDotnet   = errors.New("it runs no .NET runtime")
	ErrNoAgent    = errors.New("it was started without clrprof's agent")
	ErrOtherAgent = errors.New("it has the agent of another version of clrprof")
	ErrAttached   = errors.New("it is already being recorded")
)

// backgroundSetting turns collections in the background on or off. While they are on the runtime refuses to tell which
// objects survive, but to who asked at its start (SetEventMask, COR_PRF_MONITOR_GC).
const backgroundSetting = "gcConcurrent"

// DormantVariables are the environment with which a runtime loads the agent, which waits for a collector; with lifetime
// one that can follow objects. Agent is the path of the library, and directory where they meet, as the process sees
// them.
func DormantVariables(agent, directory string, lifetime bool) [][2]string {
	out := [][2]string{{"CORECLR_ENABLE_PROFILING", "1"}, {"CORECLR_PROFILER", ProfilerID},
		{"CORECLR_PROFILER_PATH", agent}, {EnvDormant, directory}}
	for _, prefix := range settingPrefixes {
		if lifetime {
			out = append(out, [2]string{prefix + backgroundSetting, "0"})
		}
	}
	return out
}

// Dormant is a process whose agent waits for this collector, and for no other until Close.
type Dormant struct {
	PID   int // here
	UID   int // whose it is
	Inner int // its id in its own PID namespace
	Name  string

	gid    int
	groups []int
	caps   uint64   // that the process has now, in its user namespace
	root   *os.File // the folder that it sees as /, nil if it sees what we do
	files  fs.FS    // what it sees, with its rights
	user   safefs.User
	base   string      // where the agent is found, as the process sees it: whatever its environment says
	shared *safefs.Dir // the same
	agent  string
	place  *arena.Dormant
	late   bool // it was started without the agent
	locked bool // no other collector has the agent
	done   chan struct{}
}

// FindDormant finds the agent of a process and takes it. A process that was started without the agent has it loaded for
// a recording with these options; of objects, only those on the large object heap are reported there (wire.DataLarge).
// The error wraps one of those above, or is of the operating system.
func FindDormant(pid int, o Options) (*Dormant, error) {
	d := &Dormant{PID: pid, done: make(chan struct{})}
	handle, err := unix.PidfdOpen(pid, 0)
	if errors.Is(err, unix.ESRCH) || pid <= 0 {
		return nil, fmt.Errorf("%w: %d", ErrNoProcess, pid)
	}
	if err != nil { // EINVAL: a thread of another process, or it has just ended
		handle = -1
	}
	err = d.find(o, func() bool { return handle >= 0 && hasEnded(handle) })
	if err == nil && handle >= 0 && hasEnded(handle) { // what was read may be of another process with its id
		err = errors.Join(fmt.Errorf("%w: %d has ended", ErrNoProcess, pid), d.Close())
	}
	if err != nil {
		if handle >= 0 {
			err = errors.Join(err, unix.Close(handle))
		}
		return nil, err
	}
	go d.wait(handle)
	return d, nil
}

// hasEnded says whether a process has ended.
func hasEnded(handle int) bool {
	n, err := unix.Poll([]unix.PollFd{{Fd: int32(handle), Events: unix.POLLIN}}, 0)
	return err == nil && n != 0
}

// find opens the agent's file. ended reports whether the process has ended: its id may be another one's then.
func (d *Dormant) find(o Options, ended func() bool) error {
	if err := d.readStatus(); err != nil {
		return err
	}
	if err := d.readEnvironment(); err != nil {
		return err
	}
	if err := d.findFiles(); err != nil {
		return errors.Join(err, d.Close())
	}
	err := d.openPlace()
	if errors.Is(err, errUnprepared) && !ended() {
		if err = d.load(o); err == nil {
			err = d.openPlace()
		}
	}
	if err == nil {
		err = d.check()
	}
	if err != nil {
		return errors.Join(err, d.Close())
	}
	return nil
}

func (d *Dormant) proc(name string) string { return fmt.Sprintf("/proc/%d/%s", d.PID, name) }

// readStatus reads who the process is: proc(5).
func (d *Dormant) readStatus() error {
	text, err := os.ReadFile(d.proc("status"))
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: %d", ErrNoProcess, d.PID)
	}
	if err != nil {
		return err
	}
	d.Inner = d.PID
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(line, ":")
		fields := strings.Fields(value)
		if len(fields) == 0 {
			continue
		}
		switch name {
		case "Name":
			d.Name = fields[0]
		case "State":
			if fields[0] == "Z" || fields[0] == "X" {
				return fmt.Errorf("%w: %d has ended", ErrNoProcess, d.PID)
			}
		case "Tgid":
			if fields[0] != strconv.Itoa(d.PID) {
				return fmt.Errorf("%w: %d is a thread of process %s", ErrNoProcess, d.PID, fields[0])
			}
		case "Uid":
			d.UID, err = strconv.Atoi(fields[min(1, len(fields)-1)]) // the effective one
		case "Gid":
			d.gid, err = strconv.Atoi(fields[min(1, len(fields)-1)])
		case "Groups":
			d.groups, err = numbers(fields)
		case "CapEff":
			d.caps, err = strconv.ParseUint(fields[0], 16, 64)
		case "NSpid":
			d.Inner, err = strconv.Atoi(fields[len(fields)-1])
		}
		if err != nil {
			return fmt.Errorf("read %s: %w", d.proc("status"), err)
		}
	}
	return nil
}

func numbers(fields []string) ([]int, error) {
	out := make([]int, len(fields))
	for i, text := range fields {
		var err error
		if out[i], err = strconv.Atoi(text); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// denied says which right is missing.
func (d *Dormant) denied(what string) error {
	name := strconv.Itoa(d.UID)
	if u, err := user.LookupId(name); err == nil {
		name = u.Username
	}
	if d.UID != os.Geteuid() {
		return fmt.Errorf("%w: process %d belongs to user %s (uid %d), and this is uid %d, which may not %s: "+
			"clrprof must run as that user (sudo -u %s clrprof attach %d), or with CAP_SYS_PTRACE, "+
			"CAP_SETUID and CAP_SETGID, as root has", ErrDenied,
			d.PID, name, d.UID, os.Geteuid(), what, name, d.PID)
	}
	return fmt.Errorf("%w: process %d belongs to this user, but may not be inspected (%s): it has other "+
		"permissions than this process, is not dumpable (prctl PR_SET_DUMPABLE), or is in another user namespace: "+
		"clrprof needs CAP_SYS_PTRACE, as root has", ErrDenied, d.PID, what)
}

// readEnvironment finds out from the process's environment whether there is an agent, and where.
func (d *Dormant) readEnvironment() error {
	environment, err := proc.Environment(d.PID)
	if errors.Is(err, fs.ErrPermission) {
		return d.denied("read its environment")
	}
	if err != nil {
		return fmt.Errorf("%w: %d: %w", ErrNoProcess, d.PID, err)
	}
	profiler := environment["CORECLR_PROFILER"]
	d.base, d.agent = environment[EnvDormant], environment["CORECLR_PROFILER_PATH"]
	ours := strings.EqualFold(profiler, ProfilerID)
	switch {
	case ours && environment[EnvArenas] != "":
		return fmt.Errorf("%w: clrprof run started process %d: see clrprof ctl %d status", ErrAttached, d.PID, d.PID)
	case ours && d.base != "":
		return nil
	case !d.runsDotnet():
		return fmt.Errorf("process %d (%s): %w", d.PID, d.Name, ErrNoDotnet)
	case profiler != "" && !ours:
		return fmt.Errorf("%w: process %d has another profiler, CORECLR_PROFILER=%s, and .NET allows one for each "+
			"process",
			ErrNoAgent, d.PID, profiler)
	}
	d.late = true
	return nil
}

// maps says whether the process has one of some files mapped. What cannot be read has not.
func (d *Dormant) maps(names ...string) bool {
	text, _ := proc.File(d.PID, "maps")
	return slices.ContainsFunc(names, func(name string) bool { return bytes.Contains(text, []byte(name)) })
}

// runsDotnet reports whether the process has a runtime, also that of a program in a single file. What cannot be read
// has none.
func (d *Dormant) runsDotnet() bool {
	text, _ := proc.File(d.PID, "maps")
	_, runs := proc.Runtime(text)
	return runs
}

// findFiles finds out what files the process sees, and with which rights it is to be met: with its own, as its
// environment says where. Root of a container has the rights that are left to it, and only in its own files.
func (d *Dormant) findFiles() error {
	same := func(a, b string) bool {
		x, err := os.Stat(a)
		y, otherErr := os.Stat(b)
		return err == nil && otherErr == nil && os.SameFile(x, y)
	}
	inside := !same(d.proc("ns/mnt"), "/proc/self/ns/mnt") || !same(d.proc("root"), "/proc/self/root")
	d.user = safefs.Self()
	if d.UID != os.Geteuid() || d.UID == 0 && inside {
		caps := d.caps
		if d.UID != 0 || !same(d.proc("ns/user"), "/proc/self/ns/user") {
			caps = 0 // they count there
		}
		d.user = safefs.Lend(d.UID, d.gid, d.groups, caps)
	}
	if inside {
		var err error
		if d.root, err = os.OpenFile(d.proc("root"), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0); err != nil {
			return d.denied("see its files")
		}
	}
	d.files = safefs.FilesOf(d.root, d.user)
	return nil
}

// Files are those that the process sees, with its rights. They can be opened, and are regular, or folders.
func (d *Dormant) Files() fs.FS { return d.files }

// openShared opens the folder where the agent is found.
func (d *Dormant) openShared() (err error) {
	if !filepath.IsAbs(d.base) {
		return fmt.Errorf("%w: its environment has %s=%q, which is no absolute path", ErrNoAgent, EnvDormant, d.base)
	}
	d.shared, err = d.openFolder(d.base)
	if errors.Is(err, fs.ErrPermission) {
		return d.denied("look into " + strconv.Quote(d.base))
	}
	if err != nil {
		return fmt.Errorf("%w: its environment has %s=%q: %w", ErrNoAgent, EnvDormant, d.base, err)
	}
	return nil
}

// openPlace opens the file by which the agent is found.
func (d *Dormant) openPlace() error {
	namespace, err := os.Stat(d.proc("ns/pid"))
	if err != nil {
		return d.denied("see its namespaces")
	}
	name := fmt.Sprintf("%s%d-%d", wire.DormantPrefix, inode(namespace), d.Inner)
	if d.late {
		return d.openLate(name)
	}
	if err = d.openNamed(name); errors.Is(err, fs.ErrNotExist) && d.shared != nil {
		return d.noPlace()
	}
	return err
}

// openNamed opens a file in the folder where the agent is found. The error wraps fs.ErrNotExist if there is none.
func (d *Dormant) openNamed(name string) error {
	if err := d.openShared(); err != nil {
		return err
	}
	f, err := d.shared.OpenOf(name, d.UID)
	switch {
	case errors.Is(err, fs.ErrPermission):
		return d.denied("open " + strconv.Quote(filepath.Join(d.base, name)))
	case errors.Is(err, safefs.ErrOwner), errors.Is(err, safefs.ErrNotRegular):
		return fmt.Errorf("%w: %w: whoever made that keeps the agent from being found", ErrNoAgent, err)
	case err != nil:
		return err
	}
	d.place, err = arena.OpenDormant(f)
	return err
}

// noPlace says why an environment that asks for the agent brought none.
func (d *Dormant) noPlace() error {
	if d.maps("libclrprof") {
		return fmt.Errorf("%w: it is loaded, but could not create its file in %s: make sure that user %d can write "+
			"there, and restart process %d", ErrNoAgent, d.base, d.UID, d.PID)
	}
	return fmt.Errorf("%w: its environment names the agent, but the runtime has not loaded %s: it has not started "+
		"that far yet, cannot read that file, or DOTNET_EnableDiagnostics=0 forbids it", ErrNoAgent, d.agent)
}

func (d *Dormant) check() error {
	known, err := agentbin.BuildIDs()
	if err != nil {
		return err
	}
	if build := d.place.Build(); d.place.Version() != wire.Version || !slices.Contains(known, build) {
		return fmt.Errorf("%w (%x): attach with that version, or restart process %d with what clrprof env of this "+
			"version prints", ErrOtherAgent, build[:4], d.PID)
	}
	if err := d.place.Lock(); errors.Is(err, arena.ErrLocked) {
		return fmt.Errorf("%w: process %d is attached to by clrprof, process %d: clrprof ctl %d detach ends that",
			ErrAttached, d.PID, d.place.Collector(), d.PID)
	} else if err != nil {
		return err
	}
	d.locked = true
	return nil
}

// wait waits for the end of the process. A handle below 0: the kernel has none (before Linux 5.3).
func (d *Dormant) wait(handle int) {
	defer close(d.done)
	if handle < 0 {
		for {
			if _, err := os.Lstat(d.proc("")); err != nil {
				return
			}
			time.Sleep(processPoll)
		}
	}
	defer unix.Close(handle)
	for {
		_, err := unix.Poll([]unix.PollFd{{Fd: int32(handle), Events: unix.POLLIN}}, -1)
		if !errors.Is(err, unix.EINTR) {
			return
		}
	}
}

// processPoll is how often it is looked whether a process still runs, where the kernel does not tell.
const processPoll = 200 * time.Millisecond

// Done is closed when the process has ended.
func (d *Dormant) Done() <-chan struct{} { return d.done }

// Alive says whether the process runs.
func (d *Dormant) Alive() bool {
	select {
	case <-d.done:
		return false
	default:
		return true
	}
}

// IsWaiting says whether the agent waits for a collector: a recording has ended, or there was none yet.
func (d *Dormant) IsWaiting() bool { return d.place.State() == wire.DormantWaiting }

// NewDirectory makes a directory for the arena, with the rights of the process, and so its user's.
func (d *Dormant) NewDirectory() (*Directory, error) {
	removeStale(d.shared, "")
	removeLeft(d.shared)
	base, err := d.shared.Again()
	if err != nil {
		return nil, err
	}
	directory, err := newDirectoryIn(base, "", minFree)
	if err == nil {
		return directory, nil
	}
	if errors.Is(err, fs.ErrPermission) {
		err = d.denied("write to " + strconv.Quote(d.base))
	}
	return nil, errors.Join(fmt.Errorf("making a directory for shared memory: %w", err), base.Close())
}

// Ask asks the agent for a recording into a directory that NewDirectory has made: of allocations, lifetimes and calls,
// as the options say.
func (d *Dormant) Ask(directory *Directory, o Options) (request uint32, err error) {
	inside := filepath.Join(d.base, directory.name)
	w := arena.Wanted{Data: wantedData(o), Directory: inside, MemoryLimit: uint64(o.MemoryLimit),
		Nodes: uint64(o.Nodes), StackDepth: uint32(o.StackDepth)}
	if o.Lifetime {
		w.FinalGC, w.Roots, w.Snapshot, w.First = o.FinalGC, o.Roots, o.Snapshot, o.RecordFirst
	}
	if o.Time {
		if err := d.writeOptions(directory, o); err != nil {
			return 0, err
		}
	}
	return d.place.Ask(w)
}

// wantedData is what a recording with these options has, as the agent is asked for it.
func wantedData(o Options) (data uint32) {
	if !o.NoMemory {
		data |= wire.DataMemory
	}
	if o.Lifetime {
		data |= wire.DataLifetime
	}
	if o.Time {
		data |= wire.DataTime
	}
	if o.Sampled {
		data |= wire.DataSampled
	}
	return data
}

// writeOptions writes what is wanted of calls into a file beside the arena: wire.OptionsFile. The agent may be asked
// twice, so it can be there.
func (d *Dormant) writeOptions(directory *Directory, o Options) error {
	var text strings.Builder
	for _, option := range planEnvironment(o) {
		text.WriteString(option + "\x00")
	}
	if text.Len() > wire.MaxOptions {
		return fmt.Errorf("the patterns have %d bytes, and at most %d can be sent", text.Len(), wire.MaxOptions)
	}
	if err := directory.files.Remove(wire.OptionsFile); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := directory.files.Create(wire.OptionsFile)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text.String())
	return errors.Join(err, f.Close())
}

// Answer is what the agent says to a request: arena.Dormant.Answer.
func (d *Dormant) Answer(request uint32) (done bool, failure wire.Failure) {
	return d.place.Answer(request)
}

// Leaving is what the end of a recording waits for: arena.Dormant.Leaving.
func (d *Dormant) Leaving() uint32 { return d.place.Leaving() }

// Prepared is how far the preparation of a recording is: arena.Dormant.Prepared.
func (d *Dormant) Prepared() (n, of, steps uint32) { return d.place.Prepared() }

// Close lets other collectors have the agent.
func (d *Dormant) Close() error {
	var errs []error
	if d.place != nil {
		if d.late && d.locked && d.IsWaiting() && d.Alive() { // nothing was recorded, or the agent cannot leave
			_, err := d.place.Ask(arena.Wanted{})
			errs = append(errs, err)
		}
		errs = append(errs, d.place.Close())
	}
	if d.shared != nil {
		errs = append(errs, d.shared.Close())
	}
	if d.root != nil {
		errs = append(errs, d.root.Close())
	}
	return errors.Join(errs...)
}

// removeLeft removes the files of agents whose processes are gone without having removed them: those of the folder's
// user.
func removeLeft(base *safefs.Dir) {
	names, err := base.Names()
	if err != nil {
		return
	}
	for _, name := range names {
		if !strings.HasPrefix(name, wire.DormantPrefix) {
			continue
		}
		f, err := base.OpenOf(name, base.User().UID)
		if err != nil {
			continue
		}
		if d, err := arena.OpenDormant(f); err == nil {
			if d.Left() {
				_ = base.Remove(name) // what cannot be removed stays
			}
			_ = d.Close() // nothing was written
		}
	}
}

func inode(info os.FileInfo) uint64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return st.Ino
	}
	return 0
}
