package symbols

import (
	"cmp"
	"slices"

	"github.com/clrprof/clrprof/internal/dotnet/clrmeta"
	"github.com/clrprof/clrprof/internal/dotnet/ppdb"
	"github.com/clrprof/clrprof/internal/session"
)

// place is a span of source that belongs to a function. The zero value is
// "none".
type place struct {
	function session.FunctionID
	path     int // into lineTable.paths
	span     ppdb.SequencePoint
}

// lineTable collects places until all are known and can be numbered.
type lineTable struct {
	paths   []string // in the order in which they were found, from 1
	numbers map[string]int
	of      []place // by index of Output.Instructions
}

// path numbers a path, from 1.
func (t *lineTable) path(name string) int {
	name = cut(name) // what is longer is the path of no file
	if t.numbers == nil {
		t.numbers, t.paths = map[string]int{}, []string{""}
	}
	n, ok := t.numbers[name]
	if !ok {
		n = len(t.paths)
		t.numbers[name] = n
		t.paths = append(t.paths, name)
	}
	return n
}

// source finds lines in one PDB. Without a PDB it finds none.
type source struct {
	table    *lineTable
	pdb      *ppdb.PDB
	moveNext map[clrmeta.Token]clrmeta.Token // by the method that the programmer wrote
	points   map[clrmeta.Token][]ppdb.SequencePoint
	paths    map[ppdb.Document]int
}

func newSource(f *moduleFile, table *lineTable) *source {
	s := &source{
		table:    table,
		moveNext: map[clrmeta.Token]clrmeta.Token{},
		points:   map[clrmeta.Token][]ppdb.SequencePoint{},
		paths:    map[ppdb.Document]int{},
	}
	if f.loadPDB == nil {
		return s
	}
	pdb, err := f.loadPDB()
	if err != nil {
		return s // it was there a moment ago; the functions have no lines
	}
	s.pdb = pdb
	for _, m := range pdb.StateMachines() {
		s.moveNext[m.Kickoff] = m.MoveNext
	}
	return s
}

// visible returns the points of a method that have a source position. Hidden
// points are left out: their code belongs to the visible point before, as in the
// runtime's own stack traces.
func (s *source) visible(method clrmeta.Token) []ppdb.SequencePoint {
	points, ok := s.points[method]
	if ok || s.pdb == nil {
		return points
	}
	points, err := s.pdb.SequencePoints(method)
	if err != nil {
		points = nil // the method has no lines
	}
	points = slices.DeleteFunc(points, func(p ppdb.SequencePoint) bool { return p.Hidden })
	s.points[method] = points
	return points
}

// first returns where the body of a method begins. The stub that starts a state
// machine has no lines; what the programmer wrote is in the machine.
func (s *source) first(method clrmeta.Token) (ppdb.SequencePoint, bool) {
	points := s.visible(method)
	if len(points) == 0 {
		points = s.visible(s.moveNext[method])
	}
	if len(points) == 0 {
		return ppdb.SequencePoint{}, false
	}
	return points[0], true
}

// at returns the last visible point at or before an IL offset. What the compiler does before the first one, such as the
// closure of a scope that is the whole method, is where the method begins; so is all that the stub of a state machine
// does.
func (s *source) at(method clrmeta.Token, il uint32) (ppdb.SequencePoint, bool) {
	points := s.visible(method)
	if len(points) == 0 {
		return s.first(method)
	}
	i, _ := slices.BinarySearchFunc(points, il, func(p ppdb.SequencePoint, il uint32) int {
		if p.Offset <= il {
			return -1
		}
		return 1
	})
	return points[max(0, i-1)], true
}

// place turns a point into a place of a function; none if its document has no
// readable name.
func (s *source) place(function session.FunctionID, p ppdb.SequencePoint) place {
	n, ok := s.paths[p.Document]
	if !ok {
		if name, err := s.pdb.DocumentName(p.Document); err == nil && name != "" {
			n = s.table.path(name)
		}
		s.paths[p.Document] = n
	}
	if n == 0 {
		return place{}
	}
	p.Offset, p.Document = 0, 0 // two points of one span are one line
	return place{function, n, p}
}

// resolveLines finds the first line of each function of a file and the lines of
// its instructions.
func (r *resolver) resolveLines(f *moduleFile) {
	s := newSource(f, &r.lines)
	var c code
	defer func() {
		if c.close != nil {
			c.close.Close() // nothing was written
		}
	}()
	note := r.hashBodies(f, &c)
	defer note() // before the file is closed
	for _, i := range f.functions {
		row := &r.out.Functions[i]
		row.File, row.Line = 0, 0
		token := clrmeta.Token(row.Token)
		if p, ok := s.first(token); ok {
			r.functionLines[i] = s.place(row.ID, p)
		}
		maps := map[session.BodyID][]session.ILPoint{}
		for _, j := range r.instructions[row.ID] {
			r.lines.of[j] = r.resolveInstruction(s, maps, &r.out.Instructions[j], token)
		}
		if s.pdb != nil && len(maps) > 0 && r.hasCode(f, &c) {
			r.calls.note(f, s, &c, i, maps)
		}
	}
	r.params.find(f, s, &c)
}

// resolveInstruction finds the IL offset of an instruction and its place.
func (r *resolver) resolveInstruction(s *source, maps map[session.BodyID][]session.ILPoint,
	n *session.Instruction, method clrmeta.Token) place {
	points, ok := maps[n.Body]
	if body := r.bodies[n.Body]; !ok && body != nil {
		points, _ = session.DecodeILMap(body.ILMap) // a corrupt map maps nothing
		maps[n.Body] = points
	}
	point, ok := mapIL(points, n.NativeOffset)
	if !ok {
		return place{}
	}
	n.ILOffset = int64(point.IL)
	p, ok := s.at(method, point.IL)
	if !ok {
		return place{}
	}
	return s.place(n.Function, p)
}

// mapIL returns the IL offset of the call that returns to a native offset, and
// where the map has that. The call itself ends just before, and the next byte
// may belong to another statement.
//
// The prolog is at IL offset 0. The epilog belongs to the last IL before it.
// Code that the runtime maps to no IL is mostly the middle of a statement, where
// something was inlined or expanded, and belongs to the IL before it. After an
// epilog it is code that was moved out of line, so that what precedes it in
// memory says nothing; it stays unmapped.
func mapIL(points []session.ILPoint, returnOffset int64) (session.ILPoint, bool) {
	i, _ := slices.BinarySearchFunc(points, returnOffset-1, func(p session.ILPoint, at int64) int {
		if int64(p.Native) <= at {
			return -1
		}
		return 1
	})
	points = points[:i]
	inEpilog := false
	for first := true; len(points) > 0; first = false {
		place := lastPlace(points)
		points = points[:len(points)-len(place)]
		il, ok := largestIL(place)
		epilog := slices.ContainsFunc(place, func(p session.ILPoint) bool { return p.IL == session.ILEpilog })
		switch {
		case first && epilog:
			inEpilog = true
		case epilog && !inEpilog:
			return session.ILPoint{}, false
		}
		if ok {
			return session.ILPoint{Native: place[0].Native, IL: il}, true
		}
		if place[0].IL == session.ILProlog {
			return session.ILPoint{Native: place[0].Native}, true
		}
	}
	return session.ILPoint{}, false
}

// lastPlace returns the last points, those that share their native offset.
func lastPlace(points []session.ILPoint) []session.ILPoint {
	i := len(points) - 1
	for i > 0 && points[i-1].Native == points[i].Native {
		i--
	}
	return points[i:]
}

// largestIL returns the largest IL offset of points at one native offset: of
// several statements there only the last can have made code.
func largestIL(place []session.ILPoint) (il uint32, ok bool) {
	for _, p := range place {
		if p.IL < session.ILEpilog {
			il, ok = max(il, p.IL), true
		}
	}
	return il, ok
}

// finishLines numbers files by path and lines by function and position, and
// stores the numbers.
func (r *resolver) finishLines() {
	fileIDs := r.numberFiles()
	places := slices.Clone(r.lines.of)
	slices.SortFunc(places, func(a, b place) int {
		return cmp.Or(cmp.Compare(a.function, b.function), cmp.Compare(fileIDs[a.path], fileIDs[b.path]),
			cmp.Compare(a.span.LineBegin, b.span.LineBegin), cmp.Compare(a.span.ColumnBegin, b.span.ColumnBegin),
			cmp.Compare(a.span.LineEnd, b.span.LineEnd), cmp.Compare(a.span.ColumnEnd, b.span.ColumnEnd))
	})
	places = slices.Compact(places)
	ids := make(map[place]session.LineID, len(places))
	for _, p := range places {
		if p.path == 0 {
			continue
		}
		ids[p] = session.LineID(len(r.out.Lines) + 1)
		r.out.Lines = append(r.out.Lines, session.Line{
			ID: ids[p], Function: p.function, File: fileIDs[p.path],
			LineBegin: int64(p.span.LineBegin), ColumnBegin: int64(p.span.ColumnBegin),
			LineEnd: int64(p.span.LineEnd), ColumnEnd: int64(p.span.ColumnEnd),
		})
	}
	for i, p := range r.lines.of {
		r.out.Instructions[i].Line = ids[p] // 0 for none
	}
	r.params.finish(ids)
	for i, p := range r.functionLines {
		if p.path != 0 {
			r.out.Functions[i].File, r.out.Functions[i].Line = fileIDs[p.path], int64(p.span.LineBegin)
		}
	}
}

// numberFiles fills the table of source files and returns their ids by the
// number that lineTable gave them.
func (r *resolver) numberFiles() []session.FileID {
	ids := make([]session.FileID, max(1, len(r.lines.paths)))
	for _, name := range slices.Sorted(slices.Values(r.lines.paths)) {
		if name == "" {
			continue
		}
		id := session.FileID(len(r.out.SourceFiles) + 1)
		ids[r.lines.numbers[name]] = id
		r.out.SourceFiles = append(r.out.SourceFiles, session.SourceFile{ID: id, Path: name})
	}
	return ids
}
