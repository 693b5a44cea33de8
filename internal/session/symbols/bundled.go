package symbols

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"

	"github.com/clrprof/clrprof/internal/dotnet/bundle"
	"github.com/clrprof/clrprof/internal/session"
)

// bundles finds files in single-file applications. The assemblies of one are no
// files on disk: the runtime names them as if they lay in its directory, or, from
// .NET 10 on, relative to it.
type bundles struct {
	open   Opener
	listed map[string]map[string]bundle.Entry // by executable, by path; nil: it is no bundle
}

// within returns the opener for modules of a process with that executable, which
// may be "": what has a relative path is looked for in the executable first, all
// else on disk first.
func (b *bundles) within(executable string) Opener {
	if executable == "" {
		return b.open
	}
	return func(p string) (File, error) {
		if path.IsAbs(p) {
			f, err := b.open(p)
			if errors.Is(err, fs.ErrNotExist) && path.Dir(p) == path.Dir(executable) {
				if bundled, found := b.find(executable, path.Base(p)); found == nil {
					return bundled, nil
				}
			}
			return f, err
		}
		f, err := b.find(executable, p)
		if errors.Is(err, fs.ErrNotExist) {
			return b.open(path.Join(path.Dir(executable), p))
		}
		return f, err
	}
}

// Within returns the opener for modules of a process with that executable, which may be a single-file application.
func Within(executable string) Opener {
	b := bundles{OpenFile, map[string]map[string]bundle.Entry{}}
	return b.within(executable)
}

// find opens a file in the executable's bundle. An error that wraps
// fs.ErrNotExist means that there is none.
func (b *bundles) find(executable, name string) (File, error) {
	f, err := b.open(executable)
	if err != nil {
		return nil, err
	}
	entries, known := b.listed[executable]
	if !known {
		// What cannot be read is no bundle.
		if list, err := bundle.Read(f, f.Size()); err == nil {
			entries = make(map[string]bundle.Entry, len(list))
			for _, e := range list {
				entries[e.Path] = e
			}
		}
		b.listed[executable] = entries
	}
	e, ok := entries[name]
	if !ok {
		return nil, errors.Join(&fs.PathError{Op: "open", Path: path.Join(executable, name), Err: fs.ErrNotExist},
			f.Close())
	}
	content, size, err := e.Open(f)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("opening %s in %s: %w", name, executable, err), f.Close())
	}
	return bundledFile{content, f, size}, nil
}

// bundledFile is a file in an executable, which is open as long as the file is.
type bundledFile struct {
	io.ReaderAt
	io.Closer
	size int64
}

// Size returns the size of the file as it was before it was compressed.
func (f bundledFile) Size() int64 { return f.size }

// executables are the paths of the processes' executables.
func executables(processes []session.Process) map[session.ProcessID]string {
	paths := make(map[session.ProcessID]string, len(processes))
	for _, p := range processes {
		if path.IsAbs(p.Path) {
			paths[p.ID] = p.Path
		}
	}
	return paths
}
