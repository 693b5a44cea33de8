package collect

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/clrprof/clrprof/internal/capture/recording"
	"github.com/clrprof/clrprof/internal/dotnet/callee"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/wire"
)

// addCallee adds a function of which only a declaration is known. The session has the function itself where a file
// tells which one it is, without type arguments: declarations of several instances are one.
func (n *names) addCallee(r *Recorder, p *recording.Process, c *wire.Callee) error {
	caller, ok := n.modules[c.Module]
	if !ok {
		return fmt.Errorf("%w: function %d is called by module %d, which was never described", wire.ErrCorrupt, c.ID,
			c.Module)
	}
	row := session.Function{Kind: session.FunctionMethod, RawType: rawTypeName(c.TypeNames), RawName: c.Name}
	declared := callee.Declared{Module: caller.path, Assembly: c.Assembly, Type: row.RawType, Name: c.Name,
		Signature: c.Signature}
	var in module
	switch found, ok := n.finder.Find(&declared); {
	case ok:
		in = fileModule(p, found.Path, strings.ToLower(found.MVID.String()))
		if found.IsExtern {
			row.Kind = session.FunctionExtern
		}
		row.Token, row.RawType, row.Signature = session.Token(found.Token), found.Type, found.Signature
	case c.Assembly == "":
		in = caller
		row.Signature = c.Signature
	case found.Path != "":
		in = fileModule(p, found.Path, strings.ToLower(found.MVID.String()))
	default:
		in = fileModule(p, c.Assembly+".dll", "")
	}
	row.Module = in.id
	keep := r.filter.Keeps(in.name, row.RawType, row.RawName)
	n.functions[c.ID] = function{id: p.Declared(row), keep: keep, class: wire.FunctionBoundary,
		waits: canWait(row.RawName), makes: made(&row), boxes: c.Boxes != 0}
	return nil
}

// made returns the type of objects that the caller of a function allocates itself before the call: that of its
// constructor, but for strings, which their constructors make.
func made(f *session.Function) string {
	if f.RawName != ".ctor" || f.RawType == "System.String" {
		return ""
	}
	return f.RawType
}

// fileModule returns the module of a file, or that of an assembly of which only the name is known.
func fileModule(p *recording.Process, path, mvid string) module {
	m := module{name: filepath.Base(path)}
	if mvid != "" {
		m.path = path
	}
	m.id = p.File(path, mvid, session.Module{Name: m.name, Path: m.path, MVID: mvid})
	return m
}
