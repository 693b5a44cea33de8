package clrmeta

import (
	"slices"
	"sort"
)

// MethodAttributes calls visit for each custom attribute of a method, in the order of the file, with the type of the
// attribute: a TypeRef, TypeDef or TypeSpec, or 0 if its constructor cannot be read.
func (m *Metadata) MethodAttributes(visit func(method, attribute Token)) {
	for row := uint32(1); row <= m.Rows(TableCustomAttribute); row++ {
		method := m.codedCell(TableCustomAttribute, row, attributeParent)
		if method.Table() == TableMethodDef {
			visit(method, m.constructed(m.codedCell(TableCustomAttribute, row, attributeType)))
		}
	}
}

// Attributes lists the types of the custom attributes of a row, as MethodAttributes gives them. The table is sorted by
// what has the attributes (II.22.10).
func (m *Metadata) Attributes(parent Token) []Token {
	tag := slices.Index(coded[hasCustomAttribute-codedBase], parent.Table())
	if tag < 0 {
		return nil
	}
	value := parent.Row()<<tagBits(hasCustomAttribute) | uint32(tag)
	n := m.Rows(TableCustomAttribute)
	first := sort.Search(int(n), func(i int) bool {
		return m.Cell(TableCustomAttribute, uint32(i)+1, attributeParent) >= value
	})
	var types []Token
	for row := uint32(first) + 1; row <= n && m.Cell(TableCustomAttribute, row, attributeParent) == value; row++ {
		types = append(types, m.constructed(m.codedCell(TableCustomAttribute, row, attributeType)))
	}
	return types
}

// constructed returns the type that a constructor makes, 0 if that cannot be read.
func (m *Metadata) constructed(ctor Token) Token {
	switch ctor.Table() {
	case TableMemberRef:
		return m.codedCell(TableMemberRef, ctor.Row(), memberRefClass)
	case TableMethodDef:
		owner, err := m.DeclaringType(ctor)
		if err == nil {
			return owner
		}
	}
	return 0
}
