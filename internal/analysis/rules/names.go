package rules

import (
	"github.com/clrprof/clrprof/internal/analysis"
	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
)

// SessionNames are the Names of a session, whole, for those who write findings outside of a report.
type SessionNames struct {
	types     map[session.TypeID]*session.Type
	functions map[session.FunctionID]*session.Function
	lines     map[session.LineID]*session.Line
	files     map[session.FileID]string
	holders   *analysis.Holders
}

// ReadNames reads the names of a session. Errors are those of reading.
func ReadNames(src *analysis.Source) (*SessionNames, error) {
	s := src.Session()
	types, err := s.Types()
	if err != nil {
		return nil, err
	}
	functions, err := s.Functions()
	if err != nil {
		return nil, err
	}
	lines, err := s.Lines()
	if err != nil {
		return nil, err
	}
	files, err := s.SourceFiles()
	if err != nil {
		return nil, err
	}
	holders, err := src.Holders()
	n := &SessionNames{map[session.TypeID]*session.Type{}, map[session.FunctionID]*session.Function{},
		map[session.LineID]*session.Line{}, map[session.FileID]string{}, holders}
	for i := range types {
		n.types[types[i].ID] = &types[i]
	}
	for i := range functions {
		n.functions[functions[i].ID] = &functions[i]
	}
	for i := range lines {
		n.lines[lines[i].ID] = &lines[i]
	}
	for _, f := range files {
		n.files[f.ID] = f.Path
	}
	return n, err
}

// Type returns the name of a type.
func (n *SessionNames) Type(id session.TypeID) string {
	return session.TypeDisplayName(id, n.typeRow)
}

// TypeNamespace returns the namespace of a type, or of what an array or a pointer is of, as the runtime writes it.
func (n *SessionNames) TypeNamespace(id session.TypeID) string {
	return session.NamedType(id, n.typeRow).RawName
}

func (n *SessionNames) typeRow(id session.TypeID) *session.Type {
	if t := n.types[id]; t != nil {
		return t
	}
	return new(session.Type)
}

// Function returns the name of a function; "": the session does not have it.
func (n *SessionNames) Function(id session.FunctionID) string {
	if f := n.functions[id]; f != nil {
		return f.DisplayName()
	}
	return ""
}

// Place returns the name of a place: its function.
func (n *SessionNames) Place(p analysis.Place) string { return n.Function(p.Function) }

// Holder returns the name of the static field that retains most objects of a type from a place, and how many bytes.
func (n *SessionNames) Holder(from analysis.Place, id session.TypeID) (string, q.Bytes) {
	f, bytes := n.holders.Holder(from, id)
	if f == nil {
		return "", 0
	}
	return n.Type(f.Type) + "." + f.Member(), bytes
}

// File returns the path of a source file as the symbols name it; "": the session does not have it.
func (n *SessionNames) File(id session.FileID) string { return n.files[id] }

// FunctionRow returns the row of a function; nil: the session does not have it.
func (n *SessionNames) FunctionRow(id session.FunctionID) *session.Function { return n.functions[id] }

// Position returns where a place is in the source: the statement's line, or where the function begins, and the file as
// the symbols name it; nil: that is not known.
func (n *SessionNames) Position(p analysis.Place) (at *session.Line, file string) {
	if l := n.lines[p.Line]; l != nil {
		return l, n.files[l.File]
	}
	if f := n.functions[p.Function]; f != nil && f.Line > 0 {
		return &session.Line{Function: f.ID, File: f.File, LineBegin: f.Line}, n.files[f.File]
	}
	return nil, ""
}
