package collect

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/clrprof/clrprof/internal/callee"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/wire"
)

// fileKey is the key of a module's file among the known modules.
func fileKey(path, mvid string) string { return path + "\x00" + mvid }

// addCallee adds a function of which only a declaration is known. The session has the function itself where a file tells
// which one it is, without type arguments: declarations of several instances are one.
func (n *names) addCallee(r *Recorder, p session.ProcessID, c *wire.Callee) error {
	caller, ok := n.modules[c.Module]
	if !ok {
		return fmt.Errorf("%w: function %d is called by module %d, which was never described", wire.ErrCorrupt, c.ID, c.Module)
	}
	row := session.Function{Process: p, Kind: session.FunctionMethod, RawType: rawTypeName(c.TypeNames), RawName: c.Name}
	declared := callee.Declared{Module: caller.path, Assembly: c.Assembly, Type: row.RawType, Name: c.Name, Signature: c.Signature}
	var in module
	switch found, ok := n.finder.Find(&declared); {
	case ok:
		in = n.fileModule(r, p, found.Path, strings.ToLower(found.MVID.String()))
		row.Token, row.RawType, row.Signature = session.Token(found.Token), found.Type, found.Signature
	case c.Assembly == "":
		in = caller
		row.Signature = c.Signature
	case found.Path != "":
		in = n.fileModule(r, p, found.Path, strings.ToLower(found.MVID.String()))
	default:
		in = n.fileModule(r, p, c.Assembly+".dll", "")
	}
	row.Module = in.id
	keep := r.filter.Keeps(in.name, row.RawType, row.RawName)
	key := fmt.Sprintf("%d %d %s %s %x", in.id, row.Token, row.RawType, row.RawName, row.Signature)
	id, ok := n.known.functions[key]
	if !ok {
		r.next.function++
		row.ID = r.next.function
		id = row.ID
		n.known.functions[key] = id
		n.newFunctions = append(n.newFunctions, row)
	}
	n.functions[c.ID] = function{id, keep, wire.FunctionBoundary, canWait(row.RawName)}
	return nil
}

// fileModule returns the module of a file, or that of an assembly of which only the name is known.
func (n *names) fileModule(r *Recorder, p session.ProcessID, path, mvid string) module {
	m := module{name: filepath.Base(path)}
	key := fileKey(path, mvid)
	if mvid != "" {
		m.path = path
	}
	if id, ok := n.known.modules[key]; ok {
		m.id = id
		return m
	}
	r.next.module++
	m.id = r.next.module
	n.known.modules[key] = m.id
	n.newModules = append(n.newModules, session.Module{ID: m.id, Process: p, Name: m.name, Path: m.path, MVID: mvid})
	return m
}
