package agentbin

import (
	"errors"
	"fmt"
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/clrprof/clrprof/internal/files/openfile"
	"github.com/clrprof/clrprof/internal/files/safefs"
)

// variables choose where this user's files go: a folder for all without the sticky bit, as volumes of containers are,
// is a place for agents only if the user says so.
var variables = []string{"XDG_CACHE_HOME", "TMPDIR", "CLRPROF_SHM"}

// trusted refuses a folder in which another user could replace the agent: what is loaded from there acts for this user.
func trusted(folder string) error {
	err := safefs.Trusted(folder)
	isChosen := slices.ContainsFunc(variables, func(name string) bool { return os.Getenv(name) != "" })
	if errors.Is(err, safefs.ErrOpen) && isChosen {
		return nil
	}
	return err
}

// private refuses a folder that is not this user's, or that others can write.
func private(folder string) error {
	var st unix.Stat_t
	if err := unix.Lstat(folder, &st); err != nil {
		return &os.PathError{Op: "lstat", Path: folder, Err: err}
	}
	if int(st.Uid) != os.Getuid() || st.Mode&0o022 != 0 || st.Mode&unix.S_IFMT != unix.S_IFDIR {
		return fmt.Errorf("%s belongs to another user or can be written by others", folder)
	}
	return nil
}

// loadable maps a page of the file for execution, as the dynamic loader will.
func loadable(path string) error {
	f, err := openfile.OpenRegular(path)
	if err != nil {
		return err
	}
	defer f.Close()
	page, err := unix.Mmap(int(f.Fd()), 0, os.Getpagesize(), unix.PROT_READ|unix.PROT_EXEC, unix.MAP_PRIVATE)
	if err != nil {
		return fmt.Errorf("%s cannot be loaded as a library (mounted noexec?): %w", path, err)
	}
	return unix.Munmap(page)
}
