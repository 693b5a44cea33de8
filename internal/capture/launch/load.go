package launch

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/clrprof/clrprof/internal/capture/agentbin"
	"github.com/clrprof/clrprof/internal/capture/eventpipe"
	"github.com/clrprof/clrprof/internal/files/safefs"
	"github.com/clrprof/clrprof/internal/wire"
)

// errUnprepared means that a process was started without the agent, and has not loaded it since.
var errUnprepared = fmt.Errorf("%w, and its runtime has not loaded it since", ErrNoAgent)

// Where the agent of a process that was started without it is found, and where its library lies, as the process sees
// them: the first folder that will do. A folder of shared memory is often mounted noexec in containers.
var (
	latePlaces    = []string{DefaultDormant, "/tmp"}
	libraryPlaces = []string{"/tmp", "/var/tmp", DefaultDormant}
)

// libraryFolder begins the name of the folder with the library: one for each user, who alone can write it.
const libraryFolder = "clrprof-agent-"

// The runtime may still be busy with letting an earlier agent go.
const (
	leavingTime = 10 * time.Second
	leavingPoll = 20 * time.Millisecond
)

// IsLate reports whether the process was started without the agent.
func (d *Dormant) IsLate() bool { return d.late }

// IsGone reports whether the runtime has let the agent go.
func (d *Dormant) IsGone() bool { return d.place.State() == wire.DormantGone }

// openLate opens the file of an agent that was loaded late, in the first of the places that have one.
func (d *Dormant) openLate(name string) error {
	for _, d.base = range latePlaces {
		err := d.openNamed(name)
		if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if d.shared == nil {
			continue // nor is there the folder
		}
		if err := d.shared.Close(); err != nil {
			return err
		}
		d.shared = nil
	}
	return fmt.Errorf("%w: process %d (%s)", errUnprepared, d.PID, d.Name)
}

// load has the runtime load the agent, by its diagnostics socket (AttachProfiler); the agent then waits for a
// collector. What it can be asked for as long as it is there depends on what the first recording is to have.
func (d *Dormant) load(o Options) error {
	said := make([]byte, wire.LoadBytes)
	binary.LittleEndian.PutUint32(said, wantedData(o))
	base, err := d.latePlace()
	if err != nil {
		return err
	}
	said = append(append(said, base...), 0)
	var errs []error
	for _, folder := range libraryPlaces {
		path, err := d.putLibrary(folder)
		if err == nil {
			err = d.askToLoad(path, said)
			if err == nil || !errors.Is(err, eventpipe.ErrRefused) || errors.Is(err, eventpipe.ErrProfilerActive) {
				return loadError(d, err)
			}
		}
		errs = append(errs, err)
	}
	return loadError(d, errors.Join(errs...))
}

// askToLoad asks until an earlier agent has left.
func (d *Dormant) askToLoad(path string, said []byte) error {
	for end := time.Now().Add(leavingTime); ; time.Sleep(leavingPoll) {
		err := eventpipe.LoadProfiler(d.PID, profilerBytes(), path, said)
		if !errors.Is(err, eventpipe.ErrProfilerActive) || !d.maps("libclrprof") || time.Now().After(end) {
			return err
		}
	}
}

// loadError says why the agent cannot be had.
func loadError(d *Dormant, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, eventpipe.ErrProfilerActive):
		return fmt.Errorf("%w: process %d has another profiler, and .NET allows one for each process (%w)",
			ErrNoAgent, d.PID, err)
	case errors.Is(err, eventpipe.ErrNoSocket):
		return fmt.Errorf("%w, and process %d (%s) cannot be asked to load it: %w", ErrNoAgent, d.PID, d.Name, err)
	case errors.Is(err, eventpipe.ErrBackgroundRunning):
		return fmt.Errorf("%w: objects of process %d cannot be followed now: %w; try again, or record with --memory",
			ErrNoAgent, d.PID, err)
	}
	return fmt.Errorf("%w, and process %d (%s) could not load it: %w", ErrNoAgent, d.PID, d.Name, err)
}

// latePlace is the first folder in which the process can make the file by which its agent is found.
func (d *Dormant) latePlace() (string, error) {
	var errs []error
	for _, path := range latePlaces {
		folder, err := d.openFolder(path)
		if err == nil {
			fd := int(folder.File().Fd())
			err = d.user.Do(func() error { return unix.Faccessat(fd, ".", unix.W_OK, unix.AT_EACCESS) })
			err = errors.Join(err, folder.Close())
		}
		if err == nil {
			return path, nil
		}
		errs = append(errs, fmt.Errorf("%s: %w", path, err))
	}
	return "", fmt.Errorf("%w: process %d has no folder to meet in: %w", ErrNoAgent, d.PID, errors.Join(errs...))
}

// openFolder opens a folder as the process sees it, with its rights.
func (d *Dormant) openFolder(path string) (*safefs.Dir, error) {
	if d.root != nil {
		return safefs.OpenDirBelow(d.root, path, d.user)
	}
	return safefs.OpenDir(path, d.user)
}

// putLibrary writes the agent for the process's C library into a folder of the process's user below folder, and returns
// its path as the process sees it. Only that user and root can change it. It stays there, so that a later attach finds
// it and the process maps no second copy.
func (d *Dormant) putLibrary(folder string) (path string, err error) {
	content, err := agentbin.Bytes(agentbin.Of(agentbin.MachineHere(), d.maps("ld-musl-")))
	if err != nil {
		return "", err
	}
	base, err := d.openFolder(folder)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, base.Close()) }()
	if err := d.isSafe(base); err != nil {
		return "", fmt.Errorf("%s: %w", folder, err)
	}
	name := libraryFolder + strconv.Itoa(d.UID)
	own, err := base.Mkdir(name)
	if errors.Is(err, fs.ErrExist) {
		own, err = base.Sub(name)
	}
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, own.Close()) }()
	if err := own.Trusted(d.UID); err != nil {
		return "", err
	}
	file := agentbin.NameByContent(content)
	return filepath.Join(folder, name, file), putFile(own, file, content)
}

// isSafe refuses a folder in which others than root, the process's user and the owner of all that it sees can replace
// what lies there, and one from which nothing can be loaded.
func (d *Dormant) isSafe(folder *safefs.Dir) error {
	top, err := d.openFolder("/")
	if err != nil {
		return err
	}
	owner, err := top.Owner()
	if err = errors.Join(err, top.Close()); err != nil {
		return err
	}
	if err := folder.Trusted(d.UID, owner); err != nil {
		return err
	}
	var fsys unix.Statfs_t
	if err := unix.Fstatfs(int(folder.File().Fd()), &fsys); err != nil {
		return err
	}
	if fsys.Flags&unix.ST_NOEXEC != 0 {
		return errors.New("it is mounted noexec")
	}
	return nil
}

// putFile makes sure that a file of a private folder has a content.
func putFile(d *safefs.Dir, name string, content []byte) error {
	if f, err := d.Open(name); err == nil {
		there, err := io.ReadAll(io.LimitReader(f, int64(len(content))+1))
		err = errors.Join(err, f.Close())
		if err == nil && bytes.Equal(there, content) {
			return nil
		}
	}
	made := name + newSuffix
	for _, old := range []string{made, name} { // who has it loaded keeps it
		if err := d.Remove(old); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	f, err := d.Create(made)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err = errors.Join(err, f.Chmod(0o500), f.Close()); err != nil {
		return errors.Join(err, d.Remove(made))
	}
	return d.Rename(made, name)
}

// profilerBytes is ProfilerID as Windows lays out a GUID in memory.
func profilerBytes() (id [16]byte) {
	digits, _ := hex.DecodeString(strings.ReplaceAll(strings.Trim(ProfilerID, "{}"), "-", "")) // it is a constant
	copy(id[:], digits)
	slices.Reverse(id[:4])
	slices.Reverse(id[4:6])
	slices.Reverse(id[6:8])
	return id
}
