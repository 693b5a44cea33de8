package pattern

import (
	"slices"
	"strings"
)

// Names are the names of one thing. A pattern that matches one of them matches the thing.
type Names struct {
	given []string
	lower []string // the same with small ASCII letters, made once for all patterns
}

// NamesOf makes names; empty ones are left out.
func NamesOf(names ...string) Names {
	var n Names
	for _, name := range names {
		n.add(name)
	}
	return n
}

func (n *Names) add(name string) {
	if name != "" {
		n.given = append(n.given, name)
		n.lower = append(n.lower, lower(name))
	}
}

// And returns the names with more of them.
func (n Names) And(names ...string) Names {
	more := NamesOf(names...)
	return Names{slices.Concat(n.given, more.given), slices.Concat(n.lower, more.lower)}
}

// List returns the names as they were given.
func (n Names) List() []string { return n.given }

// extension is the length of .dll and .exe.
const extension = 4

// ModuleNames are the names of a module: its file's name with and without .dll.
func ModuleNames(file string) Names {
	n := NamesOf(file)
	if at := len(file) - extension; at >= 0 && file[at] == '.' {
		n.add(file[:at])
	}
	return n
}

// Namespace returns the namespace of a type's name in metadata, Namespace.Outer/Nested; "" if it has none.
func Namespace(typ string) string {
	outer, _, _ := strings.Cut(typ, "/")
	return outer[:max(0, strings.LastIndexByte(outer, '.'))]
}

// FunctionNames are the names of a function: those of its module, its namespace, its type, the type around nested
// ones, and the type with the method: Shop.dll, Shop, Shop.Data, Shop.Data.Orders/Row, Shop.Data.Orders,
// Shop.Data.Orders/Row.Load. Code without metadata has fewer, perhaps none.
func FunctionNames(module, typ, method string) Names {
	n := ModuleNames(module)
	n.add(Namespace(typ))
	n.add(typ)
	if outer, _, nested := strings.Cut(typ, "/"); nested {
		n.add(outer)
	}
	switch {
	case typ == "":
		n.add(method)
	case method != "":
		n.add(typ + "." + method)
	}
	return n
}
