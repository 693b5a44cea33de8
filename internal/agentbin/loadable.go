package agentbin

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// private says whether nobody else can write the folder.
func private(folder string) error {
	var st unix.Stat_t
	if err := unix.Lstat(folder, &st); err != nil {
		return &os.PathError{Op: "lstat", Path: folder, Err: err}
	}
	if int(st.Uid) != os.Getuid() || st.Mode&0o022 != 0 {
		return fmt.Errorf("%s belongs to another user or can be written by others", folder)
	}
	return nil
}

// loadable maps a page of the file for execution, as the dynamic loader will.
func loadable(path string) error {
	f, err := os.Open(path)
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
