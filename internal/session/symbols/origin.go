package symbols

import (
	"io"
	"path"
	"strings"

	"github.com/clrprof/clrprof/internal/dotnet/usercode"
	"github.com/clrprof/clrprof/internal/session"
)

// decideOrigins says of each module whose code it is, where the agent has not: what it recorded is by its own decision.
func (r *resolver) decideOrigins(bundled bundles, executable map[session.ProcessID]string) {
	processes := map[session.ProcessID]string{} // their names: those of the main assemblies
	for i := range r.in.Processes {
		processes[r.in.Processes[i].ID] = r.in.Processes[i].Name
	}
	modules := make([]usercode.Module, len(r.out.Modules))
	folders := map[session.ProcessID]string{} // of the main assemblies
	within := map[string]string{}             // the executable that holds the modules of a folder
	for i := range r.out.Modules {
		m := &r.out.Modules[i]
		u := &modules[i]
		// code names it, and it is not known which file it is
		isDeclared := m.Path == "" && m.MVID == "" && !m.IsDynamic
		*u = usercode.Module{Name: m.Name, Path: m.Path, InMemory: !isDeclared && (m.IsDynamic || m.Path == "")}
		u.IsMain = m.Path != "" && !u.InMemory && strings.TrimSuffix(m.Name, path.Ext(m.Name)) == processes[m.Process]
		if meta := r.moduleFiles[m.ID].meta; meta != nil {
			u.Company, _ = meta.Company() // one that cannot be read says nothing
		}
		if u.IsMain {
			folders[m.Process] = path.Dir(m.Path)
		}
		if !path.IsAbs(m.Path) || path.Dir(m.Path) == path.Dir(executable[m.Process]) {
			within[path.Dir(m.Path)] = executable[m.Process]
		}
	}
	for i := range modules {
		modules[i].Directory = folders[r.out.Modules[i].Process]
	}
	read := func(file string) []byte {
		return readSmall(bundled.within(within[path.Dir(file)]), file, usercode.MaxDeps)
	}
	for i, origin := range usercode.Decide(modules, read, r.in.Mine) {
		if m := &r.out.Modules[i]; m.Origin == "" {
			m.Origin = string(origin)
		}
	}
}

// readSmall reads a file of at most max bytes, nil if there is none.
func readSmall(open Opener, file string, max int64) []byte {
	f, err := open(file)
	if err != nil {
		return nil
	}
	defer f.Close() // nothing was written
	if f.Size() > max {
		return nil
	}
	text := make([]byte, f.Size())
	if _, err := io.ReadFull(io.NewSectionReader(f, 0, f.Size()), text); err != nil {
		return nil
	}
	return text
}
