package cli

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
)

// outputFile is a file that is written under another name beside its own, and gets its own when it is whole: a reader
// never sees a part of it, and a failed export leaves what was there before.
type outputFile struct {
	path  string // to be
	temp  string // until then; path itself for what is no regular file, such as a pipe or a device
	force bool
}

// newOutput checks that path may be written. Without force it must not exist.
func newOutput(path string, force bool) (*outputFile, error) {
	o := &outputFile{path: path, force: force}
	info, err := os.Stat(path)
	switch {
	case err == nil && !force:
		return nil, exit(exitUnwritable, existsError(path))
	case err == nil && info.IsDir():
		return nil, exit(exitUnwritable, fmt.Errorf("%s is a directory: use -o for another name", path))
	case err == nil && !info.Mode().IsRegular():
		o.temp = path
		return o, nil
	case err == nil: // what a link leads to is replaced, not the link
		if o.path, err = filepath.EvalSymlinks(path); err != nil {
			return nil, exit(exitUnwritable, err)
		}
	}
	o.temp = filepath.Join(filepath.Dir(o.path), "."+filepath.Base(o.path)+"."+strconv.Itoa(os.Getpid())+".tmp")
	return o, nil
}

func existsError(path string) error {
	return fmt.Errorf("%s exists: use -f to replace it, or -o for another name", path)
}

// fill writes the file, but does not give it its name yet. After an error there is none.
func (o *outputFile) fill(write func(io.Writer) error) error {
	f, err := os.OpenFile(o.temp, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o666)
	if err != nil {
		return exit(exitUnwritable, notCreated(o.path, err))
	}
	w := bufio.NewWriter(f)
	if err = write(w); err == nil {
		err = w.Flush()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		o.discard()
	}
	return exported(err)
}

// notCreated says why a file could not be made, under its own name.
func notCreated(path string, err error) error {
	var failed *fs.PathError
	if !errors.As(err, &failed) {
		return err
	}
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("cannot write %s: there is no directory %s: create it, or use -o for another place", path,
			filepath.Dir(path))
	}
	return fmt.Errorf("cannot write %s: %w", path, failed.Err)
}

// publish gives the file its name.
func (o *outputFile) publish() error {
	if o.temp == o.path {
		return nil
	}
	var err error
	if o.force {
		err = os.Rename(o.temp, o.path)
	} else if err = os.Link(o.temp, o.path); err == nil { // unlike rename it does not replace one that came meanwhile
		err = os.Remove(o.temp)
	} else if _, there := os.Lstat(o.path); errors.Is(there, fs.ErrNotExist) { // a file system without links
		err = os.Rename(o.temp, o.path)
	} else {
		err = existsError(o.path)
	}
	if err != nil {
		o.discard()
	}
	return exit(exitUnwritable, err)
}

// discard removes what fill wrote.
func (o *outputFile) discard() {
	if o.temp != o.path {
		os.Remove(o.temp)
	}
}

// writeFile writes a file as a whole or not at all.
func writeFile(path string, force bool, write func(io.Writer) error) error {
	o, err := newOutput(path, force)
	if err != nil {
		return err
	}
	if err := o.fill(write); err != nil {
		return err
	}
	return o.publish()
}

// writePlace has an empty file filled by its path, as a whole or not at all.
func writePlace(path string, force bool, write func(path string) error) error {
	o, err := newOutput(path, force)
	if err != nil {
		return err
	}
	if err := o.fill(func(io.Writer) error { return nil }); err != nil {
		return err
	}
	if err := write(o.temp); err != nil {
		o.discard()
		return exported(err)
	}
	return o.publish()
}

// writeDirectory has a directory filled by its path, as a whole or not at all. With force it may exist: files of the
// same names are replaced.
func writeDirectory(path string, force bool, write func(path string) error) error {
	_, err := os.Stat(path)
	exists := err == nil
	if exists && !force {
		return exit(exitUnwritable, fmt.Errorf("%s exists: use -f to write into it, or -o for another name", path))
	}
	temp := filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+"."+strconv.Itoa(os.Getpid())+".tmp")
	if err := os.Mkdir(temp, 0o777); err != nil {
		return exit(exitUnwritable, notCreated(path, err))
	}
	defer os.RemoveAll(temp)
	if err := write(temp); err != nil {
		return exported(err)
	}
	if !exists {
		return exit(exitUnwritable, os.Rename(temp, path))
	}
	entries, err := os.ReadDir(temp)
	for _, e := range entries {
		if err == nil {
			err = os.Rename(filepath.Join(temp, e.Name()), filepath.Join(path, e.Name()))
		}
	}
	return exit(exitUnwritable, err)
}

// exported separates errors of the session from those of the output.
func exported(err error) error {
	if err = known(err); err == nil {
		return nil
	}
	if code := codeOf(err); code != exitInternal {
		return exit(code, err)
	}
	return exit(exitUnwritable, err)
}
