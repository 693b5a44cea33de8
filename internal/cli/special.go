package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// isSpecial reports whether a file is a pipe or a device.
func isSpecial(info fs.FileInfo) bool { return info.Mode()&(fs.ModeNamedPipe|fs.ModeDevice) != 0 }

// isOwn reports whether a file is this user's, or the system's.
func isOwn(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && (st.Uid == 0 || st.Uid == uint32(os.Geteuid()))
}

// isDescriptor reports whether a path is a name that the system has for an open file, such as /dev/stdout.
func isDescriptor(path string) bool {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return false
	}
	folder := filepath.Dir(absolute)
	return folder == "/dev" || folder == "/dev/fd" || strings.HasPrefix(folder, "/proc/")
}

// writeSpecial writes to a pipe or a device. Until ctx is done it waits for who reads it.
func writeSpecial(ctx context.Context, path string, write func(io.Writer) error) error {
	f, err := openSpecial(ctx, path)
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { f.SetWriteDeadline(time.Now()) })() // devices cannot make one wait
	w := bufio.NewWriter(f)
	if err = write(w); err == nil {
		err = w.Flush()
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = ctx.Err()
	}
	return errors.Join(err, f.Close())
}

// openSpecial opens a pipe or a device, and nothing else: what the path names is looked at before it is opened, by a
// descriptor, so that it is not another file meanwhile.
func openSpecial(ctx context.Context, path string) (*os.File, error) {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, notCreated(path, &fs.PathError{Op: "open", Path: path, Err: err})
	}
	found := os.NewFile(uintptr(fd), path)
	info, err := found.Stat()
	if err != nil || !isSpecial(info) {
		return nil, errors.Join(fmt.Errorf("%s was a pipe or a device and is none any more", path), err, found.Close())
	}
	type opened struct {
		file *os.File
		err  error
	}
	done := make(chan opened, 1)
	go func() { // the open of a pipe waits for a reader, and cannot be interrupted
		defer found.Close()
		f, err := os.OpenFile(fmt.Sprintf("/proc/self/fd/%d", fd), os.O_WRONLY, 0)
		done <- opened{f, err}
	}()
	select {
	case o := <-done:
		if o.err != nil {
			return nil, notCreated(path, o.err)
		}
		return o.file, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
