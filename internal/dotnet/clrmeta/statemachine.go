package clrmeta

import (
	"fmt"
	"strings"
)

// StateMachineKind is what a state machine was made from.
type StateMachineKind uint8

// The kinds of state machines.
const (
	Async         StateMachineKind = iota + 1 // async method
	Iterator                                  // method with yield
	AsyncIterator                             // async method with yield
)

// StateMachine links the type that a compiler made for an async or iterator
// method with the method that the programmer wrote.
type StateMachine struct {
	Kind   StateMachineKind
	Type   Token // TypeDef of the state machine
	Method Token // MethodDef that the programmer wrote, as a stub that starts the machine
}

// stateMachineAttributes are the attributes of System.Runtime.CompilerServices
// that compilers put on such a method. Their argument is the type.
var stateMachineAttributes = map[string]StateMachineKind{
	"AsyncStateMachineAttribute":         Async,
	"IteratorStateMachineAttribute":      Iterator,
	"AsyncIteratorStateMachineAttribute": AsyncIterator,
}

// StateMachines finds all state machines by their attributes, in the order of
// the attributes in the file. Attributes that do not name a type nested in the
// type that declares the method are left out: no compiler writes them.
func (m *Metadata) StateMachines() ([]StateMachine, error) {
	kinds := map[Token]StateMachineKind{} // by constructor
	var found []StateMachine
	var nested map[nestedKey]Token
	for row := uint32(1); row <= m.Rows(TableCustomAttribute); row++ {
		ctor := m.codedCell(TableCustomAttribute, row, attributeType)
		kind, seen := kinds[ctor]
		if !seen {
			kind = m.attributeKind(ctor)
			kinds[ctor] = kind
		}
		method := m.codedCell(TableCustomAttribute, row, attributeParent)
		if kind == 0 || method.Table() != TableMethodDef {
			continue
		}
		blob, err := m.BlobAt(m.Cell(TableCustomAttribute, row, attributeValue))
		if err != nil {
			return found, fmt.Errorf("custom attribute %d: %w", row, err)
		}
		name, err := typeArgument(blob)
		if err != nil {
			return found, fmt.Errorf("custom attribute %d: %w", row, err)
		}
		outer, err := m.DeclaringType(method)
		if err != nil {
			return found, fmt.Errorf("custom attribute %d: %w", row, err)
		}
		if nested == nil {
			nested = m.nestedTypes()
		}
		if t, ok := nested[nestedKey{outer, name}]; ok {
			found = append(found, StateMachine{Kind: kind, Type: t, Method: method})
		}
	}
	return found, nil
}

// attributeKind says which state machine attribute a constructor belongs to, 0
// for none. A constructor that cannot be read belongs to none.
func (m *Metadata) attributeKind(ctor Token) StateMachineKind {
	name, err := m.attributeType(ctor)
	if err != nil || name.Namespace != "System.Runtime.CompilerServices" || len(name.Path) != 1 {
		return 0
	}
	return stateMachineAttributes[name.Path[0]]
}

// attributeType returns the name of the attribute that a constructor belongs to.
func (m *Metadata) attributeType(ctor Token) (TypeName, error) {
	return m.TypeName(m.constructed(ctor)) // 0 is a type without a name
}

// typeArgument reads a custom attribute whose one argument is a System.Type
// (II.23.3) and returns the type's own name, without namespace and enclosing
// types.
func typeArgument(blob []byte) (string, error) {
	name, err := stringArgument(blob)
	return lastTypeName(name), err
}

// stringArgument reads a custom attribute whose one argument is a string or a type, "" for null.
func stringArgument(blob []byte) (string, error) {
	args, err := stringArguments(blob, 1)
	if err != nil {
		return "", err
	}
	return args[0], nil
}

// stringArguments reads the first n arguments of an attribute, which are strings or types.
func stringArguments(blob []byte, n int) ([]string, error) {
	r := NewBlobReader(blob)
	if prolog := r.Bytes(2); prolog != nil && (prolog[0] != 1 || prolog[1] != 0) {
		r.fail("attribute prolog")
	}
	args := make([]string, 0, min(n, len(blob)))
	for range n {
		var text []byte
		if r.peek() == 0xFF { // null
			r.Byte()
		} else {
			text = r.Bytes(int(r.Unsigned()))
		}
		if len(text) > maxString {
			r.fail("text too long")
		}
		if r.Err() != nil {
			return nil, fmt.Errorf("attribute value: %w", r.Err())
		}
		args = append(args, string(text))
	}
	return args, nil
}

// lastTypeName takes the innermost name of a serialized type name such as
// Ns.Outer+Inner, Assembly. A backslash takes away the meaning of the character
// after it.
func lastTypeName(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\' && i+1 < len(s):
			i++
			b.WriteByte(s[i])
		case c == '+':
			b.Reset()
		case c == ',':
			return b.String()
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

type nestedKey struct {
	outer Token
	name  string
}

// nestedTypes maps enclosing type and name to the nested type. Names that
// cannot be read are left out.
func (m *Metadata) nestedTypes() map[nestedKey]Token {
	types := make(map[nestedKey]Token, m.Rows(TableNestedClass))
	for row := uint32(1); row <= m.Rows(TableNestedClass); row++ {
		t := m.Cell(TableNestedClass, row, nestedClass)
		name, err := m.StringAt(m.Cell(TableTypeDef, t, typeDefName))
		if err == nil {
			outer := MakeToken(TableTypeDef, m.Cell(TableNestedClass, row, nestedEnclosing))
			types[nestedKey{outer, name}] = MakeToken(TableTypeDef, t)
		}
	}
	return types
}
