package agentbin

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

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
