package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/clrprof/clrprof/internal/files/atomicfile"
)

// outputFile is a file that gets its name when it is whole: a reader never sees a part of it, and a failed export
// leaves what was there before. A pipe or a device cannot be replaced: it is written to at once.
type outputFile struct {
	path    string
	force   bool
	private bool             // only this user may read it
	special bool             // a pipe or a device
	file    *atomicfile.File // that was filled, unless it is special
}

// newOutput checks that path may be written. Without force it must not exist. A link is replaced as itself, not what it
// leads to: whoever may write to the folder could have made it.
func newOutput(path string, force bool) (*outputFile, error) {
	o := &outputFile{path: path, force: force}
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return o, nil
	case err != nil:
		return nil, exit(exitUnwritable, notCreated(path, err))
	case !force:
		return nil, exit(exitUnwritable, existsError(path))
	case info.Mode()&fs.ModeSymlink != 0:
		if !isOwn(info) {
			return o, nil
		}
		if info, err = os.Stat(path); err != nil { // it leads nowhere
			return o, nil
		}
		if info.Mode().IsRegular() && isDescriptor(path) {
			return nil, exit(exitUnwritable, fmt.Errorf("%s is a file that is open already: use -o with its name, or "+
				"-o - for standard output", path))
		}
	case isSpecial(info) && !isOwn(info):
		return nil, exit(exitUnwritable, fmt.Errorf("%s is a pipe or a device of another user: use -o for another name",
			path))
	}
	if info.IsDir() {
		return nil, exit(exitUnwritable, fmt.Errorf("%s is a directory: use -o for another name", path))
	}
	o.special = isSpecial(info)
	return o, nil
}

func existsError(path string) error {
	return fmt.Errorf("%s exists: use -f to replace it, or -o for another name", path)
}

// fill writes the file, but does not give it its name yet. After an error there is none.
func (o *outputFile) fill(ctx context.Context, write func(io.Writer) error) error {
	if o.special {
		return exported(writeSpecial(ctx, o.path, write))
	}
	var err error
	if o.file, err = atomicfile.Create(o.path, o.options()); err != nil {
		return exit(exitUnwritable, notCreated(o.path, err))
	}
	if err = write(o.file); err == nil {
		err = o.file.Complete()
	}
	if err != nil {
		o.discard()
	}
	return exported(err)
}

// options leave it to the umask who may read a file, unless it is private.
func (o *outputFile) options() atomicfile.Options {
	if o.private {
		return atomicfile.Options{Mode: 0o600, Replace: o.force}
	}
	return atomicfile.Options{Mode: 0o666, Replace: o.force}
}

// notCreated says why a file could not be made, under its own name.
func notCreated(path string, err error) error {
	var failed *fs.PathError
	switch {
	case !errors.As(err, &failed):
		return err
	case errors.Is(err, fs.ErrExist):
		return existsError(path)
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("cannot write %s: there is no directory %s: create it, or use -o for another place", path,
			filepath.Dir(path))
	}
	return fmt.Errorf("cannot write %s: %w", path, failed.Err)
}

// publish gives the file its name.
func (o *outputFile) publish() error {
	if o.file == nil {
		return nil
	}
	if err := o.file.Publish(); err != nil {
		return exit(exitUnwritable, notCreated(o.path, err))
	}
	return nil
}

// discard removes what fill wrote.
func (o *outputFile) discard() {
	if o.file != nil {
		o.file.Discard()
	}
}

// writeFile writes a file as a whole or not at all.
func writeFile(ctx context.Context, path string, force bool, write func(io.Writer) error) error {
	o, err := newOutput(path, force)
	if err != nil {
		return err
	}
	return o.write(ctx, write)
}

// write fills the file and gives it its name.
func (o *outputFile) write(ctx context.Context, write func(io.Writer) error) error {
	if err := o.fill(ctx, write); err != nil {
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
	return o.writePlace(write)
}

// writePlace has the file, which is empty, filled by its path, and gives it its name.
func (o *outputFile) writePlace(write func(path string) error) (err error) {
	if o.special {
		return exit(exitUnwritable, fmt.Errorf("%s is a pipe or a device, and this format needs a file: use -o for "+
			"another name", o.path))
	}
	if o.file, err = atomicfile.CreateAt(o.path, o.options()); err != nil {
		return exit(exitUnwritable, notCreated(o.path, err))
	}
	defer o.discard()
	if err := write(o.file.Path()); err != nil {
		return exported(err)
	}
	return o.publish()
}

// writeDirectory has a directory filled, as a whole or not at all. With force it may exist: files of the same names are
// replaced.
func writeDirectory(path string, force bool, write func(create func(name string) (io.WriteCloser, error)) error) error {
	d, err := atomicfile.CreateDirectory(path, force)
	if errors.Is(err, fs.ErrExist) {
		return exit(exitUnwritable, fmt.Errorf("%s exists: use -f to write into it, or -o for another name", path))
	}
	if err != nil {
		return exit(exitUnwritable, notCreated(path, err))
	}
	defer d.Discard()
	if err := write(func(name string) (io.WriteCloser, error) { return d.Create(name) }); err != nil {
		return exported(err)
	}
	if err := d.Publish(); err != nil {
		return exit(exitUnwritable, notCreated(path, err))
	}
	return nil
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
