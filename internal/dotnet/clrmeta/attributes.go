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

// Attributes lists the types of the custom attributes of a row, as MethodAttributes gives them.
func (m *Metadata) Attributes(parent Token) []Token {
	var types []Token
	for _, row := range m.attributesOf(parent) {
		types = append(types, m.constructed(m.codedCell(TableCustomAttribute, row, attributeType)))
	}
	return types
}

// attributesOf lists the custom attributes of a row. The table is sorted by what has the attributes (II.22.10).
func (m *Metadata) attributesOf(parent Token) (rows []uint32) {
	tag := slices.Index(coded[hasCustomAttribute-codedBase], parent.Table())
	if tag < 0 {
		return nil
	}
	value := parent.Row()<<tagBits(hasCustomAttribute) | uint32(tag)
	n := m.Rows(TableCustomAttribute)
	first := sort.Search(int(n), func(i int) bool {
		return m.Cell(TableCustomAttribute, uint32(i)+1, attributeParent) >= value
	})
	for row := uint32(first) + 1; row <= n && m.Cell(TableCustomAttribute, row, attributeParent) == value; row++ {
		rows = append(rows, row)
	}
	return rows
}

// TextAttribute is a custom attribute.
type TextAttribute struct {
	Type Token // as MethodAttributes gives it
	// Text is the first argument of its constructor, if that takes a string, and null is the empty string.
	Text    string
	HasText bool
	Texts   []string // the first arguments, as long as they are strings or types; those by their names
}

// TextAttributes lists the custom attributes of a row, with their texts. Those that cannot be read are left out.
func (m *Metadata) TextAttributes(parent Token) []TextAttribute {
	var out []TextAttribute
	for _, row := range m.attributesOf(parent) {
		ctor := m.codedCell(TableCustomAttribute, row, attributeType)
		called, err := m.Callee(ctor)
		if err != nil {
			continue
		}
		sig, err := ParseMethodSig(called.Signature)
		if err != nil {
			continue
		}
		a := TextAttribute{Type: called.Type, HasText: len(sig.Params) > 0 && sig.Params[0].Kind == String}
		n := slices.IndexFunc(sig.Params, func(t TypeSig) bool { return !m.isText(&t) })
		if n < 0 {
			n = len(sig.Params)
		}
		if n > 0 {
			blob, err := m.BlobAt(m.Cell(TableCustomAttribute, row, attributeValue))
			if err != nil {
				continue
			}
			if a.Texts, err = stringArguments(blob, n); err != nil {
				continue
			}
		}
		if a.HasText {
			a.Text = a.Texts[0]
		}
		out = append(out, a)
	}
	return out
}

// isText reports whether an argument of an attribute is a string, or a type, which is stored as one (II.23.3).
func (m *Metadata) isText(t *TypeSig) bool {
	if t.Kind != Class {
		return t.Kind == String
	}
	name, err := m.TypeName(t.Token)
	return err == nil && name.String() == "System.Type"
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
