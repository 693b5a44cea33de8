// Package atomicfile writes files as a whole or not at all: under another name beside their own, which they get when
// they are complete and on the disk. It is the one way in which clrprof writes files, sessions apart.
//
// Problem: clrprof is often run by root, and writes into folders that another user owns, or that all users may write
// to. Whoever may write to a folder can put a symbolic link under any name in it, at any time. A name that can be
// guessed, or a path that is resolved twice, then leads to any file of root.
//
// So the folder is opened once, and all names are resolved in it, without following a link (os.Root). Temporary names
// are random and the file must be new (O_EXCL). What has the name that the file is to get is replaced as itself: of a
// link, the link. Other users can still take away or replace what is in their own folder, as they always can.
package atomicfile

import (
	"bufio"
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// Options say how a file is made.
type Options struct {
	Mode    fs.FileMode // of the new file, before the umask
	Replace bool        // what has the name already; otherwise it is an error that wraps fs.ErrExist
}

// File is a file that is being written. Each one ends with Publish or Discard.
type File struct {
	path    string   // that it gets, as the caller says it
	folder  *os.Root // where that is
	name    string   // and its name there
	temp    string   // that it has meanwhile, as a path in folder
	private string   // the directory of temp; "": it is in folder itself
	replace bool
	file    *os.File
	to      *bufio.Writer
}

// Create begins a file that gets the name path.
func Create(path string, o Options) (*File, error) {
	f, err := begin(path, o)
	if err != nil {
		return nil, err
	}
	f.temp = temporary(f.name)
	return f.open(o.Mode)
}

// CreateAt begins a file for code that writes to a path, which is that of Path: an empty file in a directory that
// only this user can look into. Its name there is random as well: even if that directory is replaced by another one,
// nobody can have a file of that name in it, so what opens the path without creating it writes to this file.
func CreateAt(path string, o Options) (*File, error) {
	f, err := begin(path, o)
	if err != nil {
		return nil, err
	}
	f.private = temporary(f.name)
	if err := f.folder.Mkdir(f.private, 0o700); err != nil {
		return nil, errors.Join(named(path, err), f.folder.Close())
	}
	f.temp = filepath.Join(f.private, rand.Text())
	return f.open(o.Mode)
}

// begin opens the folder of path and looks whether there is such a name already.
func begin(path string, o Options) (*File, error) {
	folder, name, err := openFolder(path)
	if err != nil {
		return nil, err
	}
	if _, err := folder.Lstat(name); err == nil && !o.Replace {
		return nil, errors.Join(&fs.PathError{Op: "create", Path: path, Err: fs.ErrExist}, folder.Close())
	}
	return &File{path: path, folder: folder, name: name, replace: o.Replace}, nil
}

// openFolder opens the folder that path is in.
func openFolder(path string) (folder *os.Root, name string, err error) {
	absolute, err := filepath.Abs(path) // of "." and "..", too, the last element is a name
	if err != nil {
		return nil, "", err
	}
	if folder, err = os.OpenRoot(filepath.Dir(absolute)); err != nil {
		if info, found := os.Stat(filepath.Dir(absolute)); found == nil && !info.IsDir() {
			err = syscall.ENOTDIR // whoever may read it
		}
		return nil, "", named(path, err)
	}
	return folder, filepath.Base(absolute), nil
}

func (f *File) open(mode fs.FileMode) (*File, error) {
	var err error
	if f.file, err = f.folder.OpenFile(f.temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode); err != nil {
		f.Discard()
		return nil, named(f.path, err)
	}
	f.to = bufio.NewWriterSize(f.file, 1<<16)
	return f, nil
}

// longestPrefix is how many bytes of a file's name are in its temporary one: names have 255 bytes at most.
const longestPrefix = 200

// temporary is a random name beside name, with 130 bits that nobody can guess.
func temporary(name string) string {
	return "." + name[:min(len(name), longestPrefix)] + "." + rand.Text() + ".tmp"
}

// named is an error of a temporary name, about the path that the user knows.
func named(path string, err error) error {
	var failed *fs.PathError
	var link *os.LinkError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &failed):
		return &fs.PathError{Op: failed.Op, Path: path, Err: failed.Err}
	case errors.As(err, &link):
		return &fs.PathError{Op: link.Op, Path: path, Err: link.Err}
	}
	return &fs.PathError{Op: "create", Path: path, Err: err}
}

// Path is where the file is until it is published: see CreateAt. Who writes to it must not replace it.
func (f *File) Path() string { return filepath.Join(f.folder.Name(), f.temp) }

// Write adds to the file.
func (f *File) Write(b []byte) (int, error) { return f.to.Write(b) }

// Chmod sets the file's permissions, whatever the umask.
func (f *File) Chmod(mode fs.FileMode) error { return f.file.Chmod(mode) }

// Complete ends the writing: all of the file is on the disk after it. An error is the disk's, or is about what was
// written before.
func (f *File) Complete() error {
	if f.file == nil {
		return nil
	}
	err := f.to.Flush()
	if err == nil {
		err = f.file.Sync()
	}
	err = errors.Join(err, f.file.Close())
	f.file = nil
	return err
}

// Open opens the completed file for reading and writing before it is published, as the file that it stays when it is.
func (f *File) Open() (*os.File, error) {
	file, err := f.folder.OpenFile(f.temp, os.O_RDWR, 0)
	return file, named(f.path, err)
}

// RemoveBeside removes what has the name that the file gets with a suffix, if there is something.
func (f *File) RemoveBeside(suffix string) error {
	if err := f.folder.Remove(f.name + suffix); !errors.Is(err, fs.ErrNotExist) {
		return named(f.path+suffix, err)
	}
	return nil
}

// Publish completes the file and gives it its name. After an error there is none, and what had the name has it still.
func (f *File) Publish() error {
	err := f.Complete()
	if err == nil {
		err = named(f.path, f.rename())
	}
	f.Discard()
	return err
}

// rename gives the file its name. Without replace it is linked, because that never replaces what came meanwhile.
func (f *File) rename() error {
	if f.replace {
		return f.folder.Rename(f.temp, f.name)
	}
	err := f.folder.Link(f.temp, f.name)
	if _, there := f.folder.Lstat(f.name); err != nil && errors.Is(there, fs.ErrNotExist) {
		return f.folder.Rename(f.temp, f.name) // a file system without links
	}
	return err
}

// Discard removes what was written, unless it is published: then it does nothing.
func (f *File) Discard() {
	if f.folder == nil {
		return
	}
	if f.file != nil {
		f.file.Close()
	}
	f.folder.Remove(f.temp) // which has another name by now, or goes
	if f.private != "" {
		f.folder.Remove(f.private)
	}
	f.folder.Close()
	f.folder, f.file = nil, nil
}

// errLink means that a directory was to be written to of which there is only a link.
var errLink = errors.New("it is a link: name the directory that it leads to")

// Directory is a directory that is being filled. Each one ends with Publish or Discard.
type Directory struct {
	path       string   // that it gets, as the caller says it
	folder     *os.Root // where that is
	name, temp string   // its name there, and the one that it has meanwhile
	files      *os.Root // the directory itself
	exists     bool     // the name: files are added to that directory
	names      []string // of files
}

// CreateDirectory begins a directory that gets the name path. If there is a directory of that name already and replace
// is set, it gets the files, and loses those of the same names; otherwise the error wraps fs.ErrExist.
func CreateDirectory(path string, replace bool) (*Directory, error) {
	folder, name, err := openFolder(path)
	if err != nil {
		return nil, err
	}
	d := &Directory{path: path, folder: folder, name: name, temp: temporary(name)}
	info, err := folder.Lstat(name)
	switch d.exists = err == nil; {
	case !d.exists:
		err = nil // if it cannot be looked at, Mkdir says why
	case !replace:
		err = &fs.PathError{Op: "create", Path: path, Err: fs.ErrExist}
	case info.Mode()&fs.ModeSymlink != 0:
		err = &fs.PathError{Op: "create", Path: path, Err: errLink}
	case !info.IsDir():
		err = &fs.PathError{Op: "create", Path: path, Err: errors.New("it is not a directory")}
	}
	if err == nil {
		err = folder.Mkdir(d.temp, 0o777)
	}
	if err == nil {
		if d.files, err = folder.OpenRoot(d.temp); err != nil {
			folder.Remove(d.temp)
		}
	}
	if err != nil {
		return nil, errors.Join(named(path, err), folder.Close())
	}
	return d, nil
}

// Create makes a file in the directory. Its name must be new. The caller closes it.
func (d *Directory) Create(name string) (*os.File, error) {
	f, err := d.files.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return nil, err
	}
	d.names = append(d.names, name)
	return f, nil
}

// Publish gives the directory, or each of its files, its name. After an error a directory that was there before may
// have some of the files, each of them whole.
func (d *Directory) Publish() error {
	defer d.Discard()
	for _, name := range d.names {
		if err := d.sync(name); err != nil {
			return named(d.path, err)
		}
	}
	if !d.exists {
		err := d.folder.Rename(d.temp, d.name)
		if err == nil {
			d.names = nil
		}
		return named(d.path, err)
	}
	for _, name := range d.names {
		if err := d.folder.Rename(filepath.Join(d.temp, name), filepath.Join(d.name, name)); err != nil {
			return named(filepath.Join(d.path, name), err)
		}
	}
	return nil
}

// sync has the disk hold all of a file.
func (d *Directory) sync(name string) error {
	f, err := d.files.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// Discard removes what was written, unless it is published: then it does nothing. Only files that it made are removed,
// one by one: what else is under the temporary name by now is another user's doing.
func (d *Directory) Discard() {
	if d.folder == nil {
		return
	}
	for _, name := range d.names {
		d.files.Remove(name)
	}
	d.files.Close()
	d.folder.Remove(d.temp)
	d.folder.Close()
	d.folder = nil
}
