package instrument

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/clrprof/clrprof/internal/dotnet/clrmeta"
	"github.com/clrprof/clrprof/internal/dotnet/usercode"
	"github.com/clrprof/clrprof/internal/files/openfile"
)

// maxDescribed bounds the deps.json that are read of one folder, as the agent does: programs and tests share folders.
const maxDescribed = 32

// maxNames bounds the names that are read of one folder: published programs have some hundred files.
const maxNames = 1 << 16

// opener opens a regular file or a folder by its absolute path.
type opener func(path string) (fs.File, error)

// here opens what this process sees.
func here(path string) (fs.File, error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return os.Open(path)
	}
	return openfile.OpenRegular(path)
}

// within opens what another process sees.
func within(files fs.FS) opener {
	return func(path string) (fs.File, error) { return files.Open(strings.TrimPrefix(filepath.Clean(path), "/")) }
}

// names are those in a folder; none if it cannot be read.
func (open opener) names(folder string) (names []string) {
	file, err := open(folder)
	if err != nil {
		return nil
	}
	defer file.Close() // nothing was written
	list, ok := file.(fs.ReadDirFile)
	if !ok {
		return nil
	}
	entries, _ := list.ReadDir(maxNames) // at the end there are none
	for _, e := range entries {
		names = append(names, e.Name())
	}
	slices.Sort(names)
	return names
}

// UserFolderOf is UserFolder of a program that another process runs, by the path of the assembly and the files as that
// process sees them. Files.Open must neither wait nor open what is no regular file or folder.
func UserFolderOf(files fs.FS, assembly string) string { return within(files).userFolder(assembly) }

// UserFolder returns the folder of which all modules are the user's own code, because the program's main assembly is
// not by the rules of usercode, as of the C# compiler, and no project of a deps.json lies beside it; "" if there is
// none. It is decided before the program starts, since what runs first cannot know what comes later.
func UserFolder(assembly string) string { return opener(here).userFolder(assembly) }

func (open opener) userFolder(assembly string) string {
	if open.originOf(assembly, nil).IsUser() {
		return ""
	}
	folder := filepath.Dir(assembly)
	names := open.names(folder)
	if names == nil {
		return ""
	}
	beside := described(folder, names)
	for _, name := range names {
		if strings.EqualFold(filepath.Ext(name), ".dll") {
			beside = append(beside, usercode.Module{Name: name, Path: filepath.Join(folder, name), Directory: folder})
		}
	}
	for _, origin := range usercode.Decide(beside, open.readDeps, nil) {
		if origin == usercode.Project {
			return ""
		}
	}
	return folder
}

// originOf says whose code an assembly on disk is, taken for a main assembly. One that cannot be read has no company.
func (open opener) originOf(assembly string, mine func(string) bool) usercode.Origin {
	m := usercode.Module{Name: filepath.Base(assembly), Path: assembly, Directory: filepath.Dir(assembly), IsMain: true,
		Company: open.companyOf(assembly)}
	other := usercode.Module{InMemory: true} // is the user's, so that nothing is because it lies in some folder
	beside := described(m.Directory, open.names(m.Directory))
	return usercode.Decide(append([]usercode.Module{m, other}, beside...), open.readDeps, mine)[0]
}

// described are the assemblies of a folder that have a deps.json, which may be about others as well.
func described(folder string, names []string) []usercode.Module {
	var out []usercode.Module
	for _, name := range names {
		if name, found := strings.CutSuffix(name, ".deps.json"); found && len(out) < maxDescribed {
			out = append(out, usercode.Module{Name: name + ".dll", Path: filepath.Join(folder, name+".dll")})
		}
	}
	return out
}

func (open opener) companyOf(assembly string) string {
	file, err := open(assembly)
	if err != nil {
		return ""
	}
	defer file.Close() // nothing was written
	info, err := file.Stat()
	if err != nil {
		return ""
	}
	at, ok := file.(io.ReaderAt)
	if !ok {
		return ""
	}
	image, err := clrmeta.Open(at, info.Size())
	if err != nil {
		return ""
	}
	company, _ := image.Metadata().Company() // one that cannot be read says nothing
	return company
}

// readDeps reads a file that is not larger than usercode reads.
func (open opener) readDeps(path string) []byte {
	file, err := open(path)
	if err != nil {
		return nil
	}
	defer file.Close() // nothing was written
	text, err := io.ReadAll(io.LimitReader(file, usercode.MaxDeps+1))
	if err != nil {
		return nil
	}
	return text
}
