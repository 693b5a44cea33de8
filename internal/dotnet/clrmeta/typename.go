package clrmeta

import (
	"fmt"
	"sort"
	"strings"
)

// TypeName is the name of a type as metadata has it: generic types end in ` and
// the number of parameters that they add to those of the enclosing type.
type TypeName struct {
	Namespace string
	Path      []string // from the outermost type to the type itself
}

// String writes the name as the session does: Namespace.Outer`1/Inner.
func (n TypeName) String() string {
	s := strings.Join(n.Path, "/")
	if n.Namespace != "" {
		s = n.Namespace + "." + s
	}
	return s
}

// TypeName returns the name of a TypeDef or TypeRef.
func (m *Metadata) TypeName(t Token) (TypeName, error) {
	var name TypeName
	for at := t; ; {
		if err := m.check(at, TableTypeDef, TableTypeRef); err != nil {
			return TypeName{}, fmt.Errorf("type name: %w", err)
		}
		if len(name.Path) == maxNesting {
			return TypeName{}, fmt.Errorf("type %v: nested too deeply: %w", t, ErrMalformed)
		}
		nameCol, spaceCol := typeDefName, typeDefNamespace
		if at.Table() == TableTypeRef {
			nameCol, spaceCol = typeRefName, typeRefNamespace
		}
		s, err := m.StringAt(m.Cell(at.Table(), at.Row(), nameCol))
		if err != nil {
			return TypeName{}, fmt.Errorf("type %v: %w", at, err)
		}
		name.Path = append(name.Path, s)
		outer := m.enclosing(at)
		if outer == 0 {
			name.Namespace, err = m.StringAt(m.Cell(at.Table(), at.Row(), spaceCol))
			if err != nil {
				return TypeName{}, fmt.Errorf("namespace of type %v: %w", at, err)
			}
			break
		}
		at = outer
	}
	for i, j := 0, len(name.Path)-1; i < j; i, j = i+1, j-1 {
		name.Path[i], name.Path[j] = name.Path[j], name.Path[i]
	}
	return name, nil
}

// enclosing returns the type around a nested type, 0 if there is none.
func (m *Metadata) enclosing(t Token) Token {
	if t.Table() == TableTypeRef {
		if scope := m.codedCell(TableTypeRef, t.Row(), typeRefScope); scope.Table() == TableTypeRef {
			return scope
		}
		return 0
	}
	return m.Enclosing(t)
}

// Enclosing returns the TypeDef around a nested TypeDef, 0 if it is not nested.
// The table is sorted by nested type (II.22.32).
func (m *Metadata) Enclosing(typeDef Token) Token {
	n := int(m.Rows(TableNestedClass))
	i := sort.Search(n, func(i int) bool {
		return m.Cell(TableNestedClass, uint32(i)+1, nestedClass) >= typeDef.Row()
	})
	if typeDef.Table() != TableTypeDef || i == n ||
		m.Cell(TableNestedClass, uint32(i)+1, nestedClass) != typeDef.Row() {
		return 0
	}
	return MakeToken(TableTypeDef, m.Cell(TableNestedClass, uint32(i)+1, nestedEnclosing))
}

// TypeSpec decodes a TypeSpec.
func (m *Metadata) TypeSpec(t Token) (*TypeSig, error) {
	if err := m.check(t, TableTypeSpec); err != nil {
		return nil, fmt.Errorf("type specification: %w", err)
	}
	blob, err := m.BlobAt(m.Cell(TableTypeSpec, t.Row(), 0))
	if err != nil {
		return nil, fmt.Errorf("type specification %v: %w", t, err)
	}
	sig, err := ParseTypeSig(blob)
	if err != nil {
		return nil, fmt.Errorf("type specification %v: %w", t, err)
	}
	return sig, nil
}

// Overridden returns what a method with a name of its own implements, such as an
// explicit interface implementation: the type (TypeDef, TypeRef or TypeSpec) and
// the method's name there. Of several the first counts; the type is 0 if there is
// none. The table is sorted by class (II.22.27).
func (m *Metadata) Overridden(method Token) (typ Token, name string, err error) {
	owner, err := m.DeclaringType(method)
	if err != nil {
		return 0, "", err
	}
	n := int(m.Rows(TableMethodImpl))
	first := sort.Search(n, func(i int) bool {
		return m.Cell(TableMethodImpl, uint32(i)+1, implClass) >= owner.Row()
	})
	for row := uint32(first) + 1; int(row) <= n && m.Cell(TableMethodImpl, row, implClass) == owner.Row(); row++ {
		if m.codedCell(TableMethodImpl, row, implBody) == method {
			return m.memberOf(m.codedCell(TableMethodImpl, row, implDeclaration))
		}
	}
	return 0, "", nil
}

// memberOf returns the type and the name of a MethodDef or MemberRef.
func (m *Metadata) memberOf(member Token) (typ Token, name string, err error) {
	if err := m.check(member, TableMethodDef, TableMemberRef); err != nil {
		return 0, "", fmt.Errorf("member: %w", err)
	}
	if member.Table() == TableMethodDef {
		if typ, err = m.DeclaringType(member); err == nil {
			name, err = m.StringAt(m.Cell(TableMethodDef, member.Row(), methodName))
		}
		return typ, name, err
	}
	name, err = m.StringAt(m.Cell(TableMemberRef, member.Row(), memberRefName))
	return m.codedCell(TableMemberRef, member.Row(), memberRefClass), name, err
}

// Extends returns the type that a TypeDef extends: a TypeDef, TypeRef or TypeSpec; 0 if there is none.
func (m *Metadata) Extends(typeDef Token) (Token, error) {
	if err := m.check(typeDef, TableTypeDef); err != nil {
		return 0, fmt.Errorf("base type: %w", err)
	}
	return m.codedCell(TableTypeDef, typeDef.Row(), typeDefExtends), nil
}
