package clrmeta

import "fmt"

// ElementType is the kind of a type in a signature (ECMA-335 II.23.1.16).
type ElementType uint8

// The element types. Those between Void and String, and IntPtr, UIntPtr and
// Object, stand for themselves.
const (
	Void        ElementType = 0x01
	Boolean     ElementType = 0x02
	Char        ElementType = 0x03
	Int8        ElementType = 0x04
	UInt8       ElementType = 0x05
	Int16       ElementType = 0x06
	UInt16      ElementType = 0x07
	Int32       ElementType = 0x08
	UInt32      ElementType = 0x09
	Int64       ElementType = 0x0A
	UInt64      ElementType = 0x0B
	Float32     ElementType = 0x0C
	Float64     ElementType = 0x0D
	String      ElementType = 0x0E
	Pointer     ElementType = 0x0F
	ByRef       ElementType = 0x10
	ValueType   ElementType = 0x11
	Class       ElementType = 0x12
	Var         ElementType = 0x13
	Array       ElementType = 0x14
	GenericInst ElementType = 0x15
	TypedByRef  ElementType = 0x16
	IntPtr      ElementType = 0x18
	UIntPtr     ElementType = 0x19
	FnPtr       ElementType = 0x1B
	Object      ElementType = 0x1C
	SZArray     ElementType = 0x1D
	MVar        ElementType = 0x1E
	modRequired ElementType = 0x1F
	modOptional ElementType = 0x20
	Internal    ElementType = 0x21
	Sentinel    ElementType = 0x41
	Pinned      ElementType = 0x45
)

// TypeSig is a type in a signature, as a tree (ECMA-335 II.23.2.12).
type TypeSig struct {
	Kind     ElementType
	Token    Token      // Class, ValueType: TypeDef, TypeRef or TypeSpec; GenericInst: of the generic type
	Value    bool       // GenericInst: of a value type
	Elem     *TypeSig   // Pointer, ByRef, Array, SZArray, Pinned
	Args     []TypeSig  // GenericInst
	Index    uint32     // Var, MVar: which parameter, from 0
	Rank     int        // Array
	Method   *MethodSig // FnPtr
	Required []Token    // required modifiers (modreq), which C# uses to mark `in` and the like
}

// MethodSig is the signature of a method, property or function pointer
// (II.23.2.1 to 3).
type MethodSig struct {
	HasThis      bool
	ExplicitThis bool
	Convention   uint8 // the low four bits: 0 default, 5 vararg, 1–4 and 9 unmanaged
	Generics     int   // number of type parameters of the method
	Return       TypeSig
	Params       []TypeSig // of a vararg call: those before and after the sentinel
}

// Bits and values of a signature's first byte (II.23.2.3).
const (
	convMask        = 0x0F
	convField       = 0x06
	convLocals      = 0x07
	convGenericInst = 0x0A
	convGeneric     = 0x10
	convHasThis     = 0x20
	convExplicit    = 0x40
)

// VarArg is the Convention of methods that take a variable argument list.
const VarArg = 0x05

// ParseMethodSig decodes the signature of a method or property. Bytes after it
// are ignored, as the runtime does.
func ParseMethodSig(blob []byte) (*MethodSig, error) {
	if len(blob) > maxSignature {
		return nil, fmt.Errorf("signature of %d bytes: %w", len(blob), ErrMalformed)
	}
	r := NewBlobReader(blob)
	sig := r.methodSig(0)
	if r.err != nil {
		return nil, fmt.Errorf("method signature: %w", r.err)
	}
	return sig, nil
}

// ParseTypeSig decodes the signature of a TypeSpec (II.23.2.14).
func ParseTypeSig(blob []byte) (*TypeSig, error) {
	if len(blob) > maxSignature {
		return nil, fmt.Errorf("signature of %d bytes: %w", len(blob), ErrMalformed)
	}
	r := NewBlobReader(blob)
	t := r.typeSig(0)
	if r.err != nil {
		return nil, fmt.Errorf("type signature: %w", r.err)
	}
	return &t, nil
}

// parseTypeArguments reads the instantiation of a method (II.23.2.15).
func parseTypeArguments(blob []byte) ([]TypeSig, error) {
	if len(blob) > maxSignature {
		return nil, fmt.Errorf("signature of %d bytes: %w", len(blob), ErrMalformed)
	}
	r := NewBlobReader(blob)
	if r.Byte() != convGenericInst {
		r.fail("not an instantiation of a method")
	}
	args := r.typeArguments(0)
	if r.err != nil {
		return nil, r.err
	}
	return args, nil
}

// typeArguments reads a number and as many types.
func (r *BlobReader) typeArguments(depth int) []TypeSig {
	n := int(r.Unsigned())
	if n > r.Len() {
		r.fail("more type arguments than bytes")
	}
	if r.err != nil {
		return nil
	}
	args := make([]TypeSig, 0, n)
	for range n {
		args = append(args, r.typeSig(depth+1))
		if r.err != nil {
			return args
		}
	}
	return args
}

func (r *BlobReader) methodSig(depth int) *MethodSig {
	first := r.Byte()
	sig := &MethodSig{
		HasThis:      first&convHasThis != 0,
		ExplicitThis: first&convExplicit != 0,
		Convention:   first & convMask,
	}
	if sig.Convention == convField || sig.Convention == convLocals {
		r.fail("not the signature of a method")
	}
	if first&convGeneric != 0 {
		sig.Generics = int(r.Unsigned())
	}
	n := int(r.Unsigned())
	sig.Return = r.typeSig(depth + 1)
	if n > r.Len() { // a parameter takes at least one byte
		r.fail("more parameters than bytes")
	}
	if r.err != nil {
		return sig
	}
	sig.Params = make([]TypeSig, 0, n)
	for range n {
		if ElementType(r.peek()) == Sentinel {
			r.Byte()
		}
		sig.Params = append(sig.Params, r.typeSig(depth+1))
		if r.err != nil {
			break
		}
	}
	return sig
}

func (r *BlobReader) typeSig(depth int) (t TypeSig) {
	if depth > maxSigDepth {
		r.fail("signature nested too deeply")
	}
	for r.err == nil {
		t.Kind = ElementType(r.Byte())
		if t.Kind != modRequired && t.Kind != modOptional {
			break
		}
		token := r.typeDefOrRef()
		if t.Kind == modRequired {
			t.Required = append(t.Required, token)
		}
	}
	switch t.Kind {
	case Void, Boolean, Char, Int8, UInt8, Int16, UInt16, Int32, UInt32, Int64, UInt64,
		Float32, Float64, String, TypedByRef, IntPtr, UIntPtr, Object:
	case Class, ValueType:
		t.Token = r.typeDefOrRef()
	case Var, MVar:
		t.Index = r.Unsigned()
	case Pointer, ByRef, SZArray, Pinned:
		t.Elem = r.subType(depth)
	case Array:
		t.Elem = r.subType(depth)
		t.Rank = r.arrayShape()
	case GenericInst:
		r.genericInst(&t, depth)
	case FnPtr:
		t.Method = r.methodSig(depth + 1)
	case Internal: // a type handle of the running process; only the runtime writes it
		r.Bytes(8)
	default:
		r.fail(fmt.Sprintf("element type %#x", uint8(t.Kind)))
	}
	return t
}

func (r *BlobReader) subType(depth int) *TypeSig {
	if r.err != nil {
		return nil
	}
	t := r.typeSig(depth + 1)
	return &t
}

func (r *BlobReader) genericInst(t *TypeSig, depth int) {
	switch ElementType(r.Byte()) {
	case ValueType:
		t.Value = true
	case Class:
	case Internal:
		r.Bytes(8)
	default:
		r.fail("generic instance of neither class nor value type")
	}
	t.Token = r.typeDefOrRef()
	t.Args = r.typeArguments(depth)
}

// arrayShape takes the shape of an array (II.23.2.13), of which C# can say the
// rank alone.
func (r *BlobReader) arrayShape() int {
	rank := int(r.Unsigned())
	if rank == 0 || rank > maxRank {
		r.fail("array rank")
	}
	for range 2 { // sizes, lower bounds
		n := int(r.Unsigned())
		if n > rank {
			r.fail("more array bounds than dimensions")
		}
		for range n {
			if r.err != nil {
				return 0
			}
			r.compressed()
		}
	}
	return rank
}
