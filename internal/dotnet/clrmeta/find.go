package clrmeta

import "fmt"

// Types lists the types of a module by their names, as [TypeName.String] writes them. Of several the first counts.
func (m *Metadata) Types() map[string]Token {
	types := make(map[string]Token, m.Rows(TableTypeDef))
	for row := uint32(1); row <= m.Rows(TableTypeDef); row++ {
		t := MakeToken(TableTypeDef, row)
		name, err := m.TypeName(t)
		if err != nil {
			continue // nobody can name it either
		}
		if key := name.String(); types[key] == 0 {
			types[key] = t
		}
	}
	return types
}

// Forwards lists the types that a module names as its own and that are in another assembly, whose simple name is the
// value (ECMA-335 II.22.14). Nested types are where the types around them are, and are not listed.
func (m *Metadata) Forwards() map[string]string {
	forwards := make(map[string]string, m.Rows(TableExportedType))
	for row := uint32(1); row <= m.Rows(TableExportedType); row++ {
		in := m.codedCell(TableExportedType, row, exportedIn)
		if in.Table() != TableAssemblyRef {
			continue
		}
		name, err := m.StringAt(m.Cell(TableExportedType, row, exportedName))
		if err != nil {
			continue
		}
		space, err := m.StringAt(m.Cell(TableExportedType, row, exportedNamespace))
		if err != nil {
			continue
		}
		if assembly, err := m.AssemblyRefName(in); err == nil {
			forwards[TypeName{Namespace: space, Path: []string{name}}.String()] = assembly
		}
	}
	return forwards
}

// AssemblyRefName returns the simple name of an assembly that a module refers to.
func (m *Metadata) AssemblyRefName(t Token) (string, error) {
	if err := m.check(t, TableAssemblyRef); err != nil {
		return "", fmt.Errorf("reference to an assembly: %w", err)
	}
	return m.StringAt(m.Cell(TableAssemblyRef, t.Row(), assemblyRefName))
}

// Scope returns where a TypeRef is: an AssemblyRef, a ModuleRef, the module itself, or 0. That of a nested type is
// where the type around it is.
func (m *Metadata) Scope(t Token) Token {
	for range maxNesting {
		if m.check(t, TableTypeRef) != nil {
			return t
		}
		t = m.codedCell(TableTypeRef, t.Row(), typeRefScope)
	}
	return 0
}
