package clrmeta

import (
	"fmt"
	"sort"
)

// MVID is the module's version id, which is new with each compilation.
func (m *Metadata) MVID() (GUID, error) {
	return m.GUIDAt(m.Cell(TableModule, 1, moduleMVID))
}

// ModuleName is the name of the module, such as App.dll.
func (m *Metadata) ModuleName() (string, error) {
	return m.StringAt(m.Cell(TableModule, 1, moduleName))
}

// AssemblyName is the simple name of the assembly, empty for a module without a
// manifest.
func (m *Metadata) AssemblyName() (string, error) {
	return m.StringAt(m.Cell(TableAssembly, 1, assemblyName))
}

// check reports a token that names no row of one of the tables.
func (m *Metadata) check(t Token, tables ...Table) error {
	for _, want := range tables {
		if t.Table() == want && t.Row() > 0 && t.Row() <= m.Rows(want) {
			return nil
		}
	}
	return fmt.Errorf("token %v: no such row: %w", t, ErrMalformed)
}

// Method is a row of the MethodDef table.
type Method struct {
	Token     Token
	RVA       uint32 // 0: no body
	Impl      uint16 // II.23.1.11
	Flags     uint16 // II.23.1.10
	Name      string
	Signature []byte // II.23.2.1
}

// IsExtern reports whether a method is of a native library (DllImport), or one that the runtime makes (UnsafeAccessor):
// not one without a body, nor those of delegates and of the runtime itself.
func (m *Method) IsExtern() bool {
	const abstract, codeType, internalCall = 0x400, 0x3, 0x1000 // II.23.1.10, II.23.1.11
	return m.RVA == 0 && m.Flags&abstract == 0 && m.Impl&(codeType|internalCall) == 0
}

// Method reads a method by its MethodDef token.
func (m *Metadata) Method(t Token) (Method, error) {
	if err := m.check(t, TableMethodDef); err != nil {
		return Method{}, fmt.Errorf("method: %w", err)
	}
	name, err := m.StringAt(m.Cell(TableMethodDef, t.Row(), methodName))
	if err != nil {
		return Method{}, fmt.Errorf("method %v: %w", t, err)
	}
	sig, err := m.BlobAt(m.Cell(TableMethodDef, t.Row(), methodSignature))
	if err != nil {
		return Method{}, fmt.Errorf("method %v: %w", t, err)
	}
	cell := func(column int) uint16 { return uint16(m.Cell(TableMethodDef, t.Row(), column)) }
	return Method{Token: t, RVA: m.Cell(TableMethodDef, t.Row(), methodRVA), Impl: cell(methodImplFlags),
		Flags: cell(methodFlags), Name: name, Signature: sig}, nil
}

// CustomDebugInformation returns what a kind of it says about a row of another table, false if there is none.
func (m *Metadata) CustomDebugInformation(parent Token, kind GUID) (blob []byte, found bool, err error) {
	for row := uint32(1); row <= m.Rows(TableCustomDebugInformation); row++ {
		if m.codedCell(TableCustomDebugInformation, row, 0) != parent {
			continue
		}
		of, err := m.GUIDAt(m.Cell(TableCustomDebugInformation, row, 1))
		if err != nil {
			return nil, false, fmt.Errorf("custom debug information %d: %w", row, err)
		}
		if of == kind {
			blob, err := m.BlobAt(m.Cell(TableCustomDebugInformation, row, 2))
			return blob, err == nil, err
		}
	}
	return nil, false, nil
}

// listRange returns the rows first..last-1 that a row owns through a list
// column: from its own cell to that of the next row (II.22: "the smaller of").
func (m *Metadata) listRange(owner Table, row uint32, col int, owned Table) (first, last uint32) {
	last = m.Rows(owned) + 1
	if row < m.Rows(owner) {
		last = min(last, m.Cell(owner, row+1, col))
	}
	first = max(m.Cell(owner, row, col), 1)
	return first, max(first, last)
}

// viaPointer follows a pointer table of uncompressed metadata, if there is one.
func (m *Metadata) viaPointer(pointers Table, row uint32) uint32 {
	if m.Rows(pointers) == 0 {
		return row
	}
	return m.Cell(pointers, row, 0)
}

// Methods lists the methods that a type declares, in the order of the file.
func (m *Metadata) Methods(typeDef Token) ([]Token, error) {
	if err := m.check(typeDef, TableTypeDef); err != nil {
		return nil, fmt.Errorf("methods of a type: %w", err)
	}
	list := TableMethodDef
	if m.Rows(TableMethodPtr) > 0 {
		list = TableMethodPtr
	}
	first, last := m.listRange(TableTypeDef, typeDef.Row(), typeDefMethods, list)
	tokens := make([]Token, 0, last-first)
	for row := first; row < last; row++ {
		if row := m.viaPointer(TableMethodPtr, row); row > 0 && row <= m.Rows(TableMethodDef) {
			tokens = append(tokens, MakeToken(TableMethodDef, row))
		}
	}
	return tokens, nil
}

// DeclaringType returns the TypeDef that declares a method. It is a search in
// the type table, which is ordered by methods (II.22.37); an unordered table
// gives an error or a wrong type.
func (m *Metadata) DeclaringType(method Token) (Token, error) {
	if err := m.check(method, TableMethodDef); err != nil {
		return 0, fmt.Errorf("declaring type: %w", err)
	}
	row := method.Row()
	if m.methodOrder != nil {
		row = m.methodOrder[row]
	}
	after := sort.Search(int(m.Rows(TableTypeDef)), func(i int) bool {
		return m.Cell(TableTypeDef, uint32(i)+1, typeDefMethods) > row
	})
	if after == 0 {
		return 0, fmt.Errorf("declaring type of %v: none: %w", method, ErrMalformed)
	}
	return MakeToken(TableTypeDef, uint32(after)), nil
}

// FieldOwner returns the type that declares what code names as a field, a Field or MemberRef: a TypeDef, TypeRef or
// TypeSpec. It is a search in the type table, which is ordered by fields (II.22.37).
func (m *Metadata) FieldOwner(field Token) (Token, error) {
	if err := m.check(field, TableField, TableMemberRef); err != nil {
		return 0, fmt.Errorf("type of a field: %w", err)
	}
	if field.Table() == TableMemberRef {
		return m.codedCell(TableMemberRef, field.Row(), memberRefClass), nil
	}
	after := sort.Search(int(m.Rows(TableTypeDef)), func(i int) bool {
		return m.Cell(TableTypeDef, uint32(i)+1, typeDefFields) > field.Row()
	})
	if after == 0 || m.Rows(TableFieldPtr) > 0 { // pointers: uncompressed metadata, which compilers do not write
		return 0, fmt.Errorf("type of field %v: none: %w", field, ErrMalformed)
	}
	return MakeToken(TableTypeDef, uint32(after)), nil
}

// FieldName returns the name of what code names as a field, a Field or MemberRef.
func (m *Metadata) FieldName(field Token) (string, error) {
	if err := m.check(field, TableField, TableMemberRef); err != nil {
		return "", fmt.Errorf("name of a field: %w", err)
	}
	column := fieldName
	if field.Table() == TableMemberRef {
		column = memberRefName
	}
	return m.StringAt(m.Cell(field.Table(), field.Row(), column))
}

// Param is a row of the Param table.
type Param struct {
	Token    Token
	Flags    uint16 // II.23.1.13: 1 in, 2 out
	Sequence int    // 1 for the first parameter, 0 for the return value
	Name     string
}

// Flags of a Param.
const (
	ParamIn  = 0x0001
	ParamOut = 0x0002
)

// Params lists what is known about the parameters of a method. Not every
// parameter need have a row.
func (m *Metadata) Params(method Token) ([]Param, error) {
	if err := m.check(method, TableMethodDef); err != nil {
		return nil, fmt.Errorf("parameters: %w", err)
	}
	list := TableParam
	if m.Rows(TableParamPtr) > 0 {
		list = TableParamPtr
	}
	first, last := m.listRange(TableMethodDef, method.Row(), methodParams, list)
	last = min(last, first+maxParams)
	var params []Param
	for row := first; row < last; row++ {
		row := m.viaPointer(TableParamPtr, row)
		name, err := m.StringAt(m.Cell(TableParam, row, paramName))
		if err != nil {
			return nil, fmt.Errorf("parameters of %v: %w", method, err)
		}
		params = append(params, Param{
			Token:    MakeToken(TableParam, row),
			Flags:    uint16(m.Cell(TableParam, row, paramFlags)),
			Sequence: int(m.Cell(TableParam, row, paramSequence)),
			Name:     name,
		})
	}
	return params, nil
}

// GenericParams lists the names of the generic parameters of a TypeDef or
// MethodDef, in order. Those of a nested type include those of its enclosing
// types. The table is sorted by owner (II.22.20).
func (m *Metadata) GenericParams(owner Token) ([]string, error) {
	if err := m.check(owner, TableTypeDef, TableMethodDef); err != nil {
		return nil, fmt.Errorf("generic parameters: %w", err)
	}
	coded := owner.Row()<<1 | uint32(owner.Table()>>2) // II.24.2.6 TypeOrMethodDef
	n := m.Rows(TableGenericParam)
	first := sort.Search(int(n), func(i int) bool {
		return m.Cell(TableGenericParam, uint32(i)+1, genericOwner) >= coded
	})
	var names []string
	for row := uint32(first) + 1; row <= n && m.Cell(TableGenericParam, row, genericOwner) == coded; row++ {
		if len(names) == maxGenerics {
			return nil, fmt.Errorf("more than %d generic parameters of %v: %w", maxGenerics, owner, ErrMalformed)
		}
		if int(m.Cell(TableGenericParam, row, genericNumber)) != len(names) {
			return nil, fmt.Errorf("generic parameters of %v are not in order: %w", owner, ErrMalformed)
		}
		name, err := m.StringAt(m.Cell(TableGenericParam, row, genericName))
		if err != nil {
			return nil, fmt.Errorf("generic parameters of %v: %w", owner, err)
		}
		names = append(names, name)
	}
	return names, nil
}
