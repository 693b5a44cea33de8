package symbols

import (
	"errors"
	"io"
	"os"

	"github.com/clrprof/clrprof/internal/files/openfile"
	"github.com/clrprof/clrprof/internal/session"
)

// Input is what was recorded: rows of the tables of the same names. They may be
// in any order; ids within one table are distinct. Resolve does not change
// them. A reference to a row that is not there reads as "none".
type Input struct {
	Processes         []session.Process
	Modules           []session.Module
	Types             []session.Type
	TypeArguments     []session.TypeArgument
	Functions         []session.Function
	FunctionArguments []session.FunctionArgument
	Bodies            []session.Body
	Instructions      []session.Instruction
	// ReadCode asks for what the code of methods says: Output.ParamsArrays, and routes that code gives to functions.
	ReadCode bool
	// Allocated returns the types of the objects that some functions made themselves, by function; nil: that is not
	// known, and so not what is made for params of a type that depends on type arguments. It is called at most once.
	Allocated func(functions map[session.FunctionID]bool) map[session.FunctionID]map[session.TypeID]bool
	// CalledFrom returns what happened at some return addresses; nil: that is not known, and what the runtime's map has
	// as one statement is on the first line of it. It is called at most once.
	CalledFrom func(instructions map[session.InstructionID]bool) map[session.InstructionID]CalledFrom
	// Mine says which modules are the user's own by --mine; nil: none is by that.
	Mine func(module string) bool
}

// Output is what Resolve found. Modules, Types, Functions and Instructions are
// the rows of the input, in its order, with their resolved columns filled.
// SourceFiles, Lines and ParamsArrays are new; ids count from 1 in the order of the
// slice.
type Output struct {
	Modules      []session.Module
	Types        []session.Type
	Functions    []session.Function
	Instructions []session.Instruction
	SourceFiles  []session.SourceFile
	Lines        []session.Line
	ParamsArrays []session.ParamsArray // in the order of function, line and type
	Summary      Summary
}

// Summary counts what a report says about symbols. Pseudo functions are not
// counted.
type Summary struct {
	Functions             int // methods and dynamic methods
	FunctionsWithoutLines int // of these: no source line is known
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

// OpenFile is the Opener of the file system. What is not a regular file, such as a pipe, is an error, and not waited
// for: paths come from sessions.
func OpenFile(path string) (File, error) {
	f, err := openfile.OpenRegular(path)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return osFile{f, info.Size()}, nil
}

type osFile struct {
	*os.File
	size int64
}

// Size returns the size when the file was opened.
func (f osFile) Size() int64 { return f.size }
