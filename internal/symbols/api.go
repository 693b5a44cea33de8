package symbols

import (
	"io"
)

// Ids are those of the session's tables; 0 means "none".
type (
	ModuleID      int64 // module.id
	TypeID        int64 // type.id
	FunctionID    int64 // function.id
	BodyID        int64 // body.id
	InstructionID int64 // instruction.id
	FileID        int64 // source_file.id
	LineID        int64 // line.id
)

// Status says where the symbols of a module come from, as module.symbols has it.
type Status string

// The values of Status.
const (
	StatusFile       Status = "file"       // a PDB file
	StatusEmbedded   Status = "embedded"   // a PDB inside the assembly
	StatusNone       Status = "none"       // no PDB found, or no file (dynamic module)
	StatusMismatch   Status = "mismatch"   // the PDB or the assembly on disk is not the one that ran
	StatusUnreadable Status = "unreadable" // the assembly or its PDB cannot be read or is corrupt
)

// Kinds of types and functions, as type.kind and function.kind have them.
const (
	KindClass   = "class"
	KindArray   = "array"
	KindMethod  = "method"
	KindDynamic = "dynamic"
	KindPseudo  = "pseudo"
)

// Module is a row of the table module.
type Module struct {
	ID      ModuleID
	Path    string // "" for a module without a file
	MVID    string // lower-case GUID, "" if unknown
	Dynamic bool
}

// Type is a row of the table type with its type arguments.
type Type struct {
	ID          TypeID
	Module      ModuleID
	Token       uint32 // TypeDef, 0 for arrays and unknown
	Kind        string
	Rank        int    // arrays: 1 and up
	Element     TypeID // arrays whose element is a known type
	ElementCode uint8  // arrays: CorElementType of the element
	RawName     string // Namespace.Outer`1/Inner`1; "" for arrays
	Arguments   []TypeID
}

// Function is a row of the table function with its method's type arguments.
type Function struct {
	ID        FunctionID
	Module    ModuleID
	Token     uint32 // MethodDef, 0 for dynamic and pseudo functions
	Type      TypeID // the exact declaring type, 0 if only the definition is known
	Kind      string
	RawType   string // Namespace.Outer`1/Inner`1
	RawName   string // <Main>b__0_0
	Signature []byte // MethodDefSig, ECMA-335 II.23.2.1; empty if unknown
	Arguments []TypeID
}

// Body is a row of the table body. ILMap holds little-endian u32 pairs
// (native offset, IL offset) sorted by native offset.
type Body struct {
	ID       BodyID
	Function FunctionID
	ILMap    []byte
}

// Instruction is a row of the table instruction: a return address.
type Instruction struct {
	ID           InstructionID
	Function     FunctionID
	Body         BodyID
	NativeOffset int64 // from the body's start
}

// Input is what was recorded. Slices may be in any order; ids within one slice
// are distinct. Resolve does not change it.
type Input struct {
	Modules      []Module
	Types        []Type
	Functions    []Function
	Bodies       []Body
	Instructions []Instruction
}

// Output is what Resolve found: a row for each row of the input, in the
// input's order, and the new tables source_file and line in the order of their
// ids, which count from 1.
type Output struct {
	Modules      []ModuleSymbols
	Types        []TypeSymbols
	Functions    []FunctionSymbols
	Instructions []InstructionSymbols
	Files        []SourceFile
	Lines        []Line
	Summary      Summary
}

// ModuleSymbols are the resolved columns of the table module.
type ModuleSymbols struct {
	ID     ModuleID
	Status Status
	Path   string // of the PDB, or of the assembly that embeds it; "" unless Status is file or embedded
}

// TypeSymbols are the resolved columns of the table type.
type TypeSymbols struct {
	ID   TypeID
	Name string
}

// FunctionSymbols are the resolved columns of the table function.
type FunctionSymbols struct {
	ID   FunctionID
	Name string
	File FileID // of the first line; 0 unknown
	Line int    // 1-based; 0 unknown
}

// InstructionSymbols are the resolved columns of the table instruction.
type InstructionSymbols struct {
	ID       InstructionID
	ILOffset int64 // -1 unknown
	Line     LineID
}

// SourceFile is a row of the table source_file. The path is as the compiler
// wrote it into the PDB.
type SourceFile struct {
	ID   FileID
	Path string
}

// Line is a row of the table line: a sequence point that some instruction lies
// in. Lines and columns count from 1; the end column is exclusive.
type Line struct {
	ID                     LineID
	Function               FunctionID
	File                   FileID
	LineBegin, ColumnBegin int
	LineEnd, ColumnEnd     int
}

// Summary counts what a report says about symbols. Functions of kind pseudo
// are not counted.
type Summary struct {
	Functions             int // of the kinds method and dynamic
	FunctionsWithoutLines int // of these: no line is known
	Instructions          int // that have a body
	InstructionsUnmapped  int // of these: no IL offset is known
}

// File is an open file. Size is in bytes.
type File interface {
	io.ReaderAt
	io.Closer
	Size() int64
}

// Opener opens a file for reading. An error that wraps fs.ErrNotExist means
// that there is no such file.
type Opener func(path string) (File, error)
