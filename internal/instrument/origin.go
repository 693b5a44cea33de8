package instrument

import (
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/clrprof/clrprof/internal/clrmeta"
	"github.com/clrprof/clrprof/internal/usercode"
)

// maxDescribed bounds the deps.json that are read of one folder, as the agent does: programs and tests share folders.
const maxDescribed = 32

// UserFolder returns the folder of which all modules are the user's own code, because the program's main assembly is
// not by the rules of usercode, as of the C# compiler, and no project of a deps.json lies beside it; "" if there is
// none. It is decided before the program starts, since what runs first cannot know what comes later.
func UserFolder(assembly string) string {
	if originOf(assembly, nil).IsUser() {
		return ""
	}
	folder := filepath.Dir(assembly)
	entries, err := os.ReadDir(folder)
	if err != nil {
		return ""
	}
	beside := described(folder)
	for _, e := range entries {
		if strings.EqualFold(filepath.Ext(e.Name()), ".dll") {
			beside = append(beside, usercode.Module{Name: e.Name(), Path: filepath.Join(folder, e.Name()),
				Directory: folder})
		}
	}
	for _, origin := range usercode.Decide(beside, readDeps, nil) {
		if origin == usercode.Project {
			return ""
		}
	}
	return folder
}

// originOf says whose code an assembly on disk is, taken for a main assembly. One that cannot be read has no company.
func originOf(assembly string, mine func(string) bool) usercode.Origin {
	m := usercode.Module{Name: filepath.Base(assembly), Path: assembly, Directory: filepath.Dir(assembly), IsMain: true,
		Company: companyOf(assembly)}
	other := usercode.Module{InMemory: true} // is the user's, so that nothing is because it lies in some folder
	return usercode.Decide(append([]usercode.Module{m, other}, described(m.Directory)...), readDeps, mine)[0]
}

// described are the assemblies of a folder that have a deps.json, which may be about others as well.
func described(folder string) []usercode.Module {
	var out []usercode.Module
	entries, _ := os.ReadDir(folder) // in a folder that cannot be read there is none
	for _, e := range entries {
		if name, found := strings.CutSuffix(e.Name(), ".deps.json"); found && len(out) < maxDescribed {
			out = append(out, usercode.Module{Name: name + ".dll", Path: filepath.Join(folder, name+".dll")})
		}
	}
	return out
}

func companyOf(assembly string) string {
	file, err := os.Open(assembly)
	if err != nil {
		return ""
	}
	defer file.Close() // nothing was written
	info, err := file.Stat()
	if err != nil {
		return ""
	}
	image, err := clrmeta.Open(file, info.Size())
	if err != nil {
		return ""
	}
	company, _ := image.Metadata().Company() // one that cannot be read says nothing
	return company
}

// readDeps reads a file that is not larger than usercode reads.
func readDeps(path string) []byte {
	file, err := os.Open(path)
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
