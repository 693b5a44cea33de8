package clrmeta

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
