package clrmeta

import "fmt"

// Callee is what code says of a function that it calls.
type Callee struct {
	// Type declares it: a TypeDef, TypeRef or TypeSpec; 0: none, or it is called by a pointer. Of a call with a
	// variable argument list it may be a MethodDef.
	Type      Token
	Method    Token  // MethodDef, if the function is of this module and not of a generic type; else 0
	Name      string // "": it is called by a pointer
	Signature []byte
}

// Callee reads the operand of an instruction that calls: a MethodDef, MemberRef, MethodSpec or StandAloneSig. Of a
// MethodSpec it says what its generic method is.
func (m *Metadata) Callee(t Token) (Callee, error) {
	if t.Table() == TableMethodSpec {
		if err := m.check(t, TableMethodSpec); err != nil {
			return Callee{}, fmt.Errorf("callee: %w", err)
		}
		t = m.codedCell(TableMethodSpec, t.Row(), 0)
	}
	column := map[Table]int{TableMethodDef: methodSignature, TableMemberRef: memberRefSignature}[t.Table()]
	if err := m.check(t, TableMethodDef, TableMemberRef, TableStandAloneSig); err != nil {
		return Callee{}, fmt.Errorf("callee: %w", err)
	}
	blob, err := m.BlobAt(m.Cell(t.Table(), t.Row(), column))
	if err != nil {
		return Callee{}, fmt.Errorf("callee %v: %w", t, err)
	}
	if t.Table() == TableStandAloneSig {
		return Callee{Signature: blob}, nil
	}
	owner, name, err := m.memberOf(t)
	if err != nil {
		return Callee{}, fmt.Errorf("callee %v: %w", t, err)
	}
	callee := Callee{Type: owner, Name: name, Signature: blob}
	if t.Table() == TableMethodDef {
		callee.Method = t
	}
	return callee, nil
}

// TypeArguments returns what a call gives a generic method for its type parameters: those of a MethodSpec.
func (m *Metadata) TypeArguments(t Token) ([]TypeSig, error) {
	if err := m.check(t, TableMethodSpec); err != nil {
		return nil, fmt.Errorf("type arguments: %w", err)
	}
	blob, err := m.BlobAt(m.Cell(TableMethodSpec, t.Row(), 1))
	if err != nil {
		return nil, fmt.Errorf("type arguments %v: %w", t, err)
	}
	args, err := parseTypeArguments(blob)
	if err != nil {
		return nil, fmt.Errorf("type arguments %v: %w", t, err)
	}
	return args, nil
}

// The attributes of the parameters that C# calls params.
var (
	paramArray      = TypeName{Namespace: "System", Path: []string{"ParamArrayAttribute"}}.String()
	paramCollection = TypeName{Namespace: "System.Runtime.CompilerServices",
		Path: []string{"ParamCollectionAttribute"}}.String()
)

// TakesParams reports whether callers of a method make the array or the collection that is its last argument: it has an
// attribute of params. Of a method that cannot be read this is not known, and it is false.
func (m *Metadata) TakesParams(method Token) bool {
	row, err := m.Method(method)
	if err != nil {
		return false
	}
	sig, err := ParseMethodSig(row.Signature)
	if err != nil || len(sig.Params) == 0 || sig.Convention == VarArg {
		return false
	}
	params, err := m.Params(method)
	if err != nil {
		return false
	}
	isArray := sig.Params[len(sig.Params)-1].Kind == SZArray
	for _, p := range params {
		if p.Sequence != len(sig.Params) {
			continue
		}
		for _, attribute := range m.Attributes(p.Token) {
			name, err := m.TypeName(attribute)
			if err != nil {
				continue
			}
			if text := name.String(); isArray && text == paramArray || text == paramCollection {
				return true
			}
		}
	}
	return false
}
