package ppdb

import (
	"fmt"

	"github.com/clrprof/clrprof/internal/dotnet/clrmeta"
)

// SequencePoint says that the IL from Offset up to the next point of the method
// was made from a piece of source: from the begin up to, not including, the end.
// Lines and columns count from 1. A hidden point says that the IL was made from
// nothing that the programmer wrote; its positions are 0.
type SequencePoint struct {
	Offset                 uint32 // IL
	Document               Document
	Hidden                 bool
	LineBegin, ColumnBegin int
	LineEnd, ColumnEnd     int
}

// SequencePoints returns the points of a method by its MethodDef token, in
// ascending order of their offsets. A method without any has an empty slice:
// compilers leave out what they make up.
func (p *PDB) SequencePoints(method clrmeta.Token) ([]SequencePoint, error) {
	row := method.Row()
	if method.Table() != clrmeta.TableMethodDef || row == 0 || row > p.meta.Rows(clrmeta.TableMethodDebugInformation) {
		return nil, fmt.Errorf("sequence points of %v: no such method: %w", method, clrmeta.ErrMalformed)
	}
	blob, err := p.meta.BlobAt(p.meta.Cell(clrmeta.TableMethodDebugInformation, row, 1))
	if err != nil {
		return nil, fmt.Errorf("sequence points of %v: %w", method, err)
	}
	if len(blob) == 0 {
		return nil, nil
	}
	document := Document(p.meta.Cell(clrmeta.TableMethodDebugInformation, row, 0))
	points, err := decodePoints(blob, document)
	if err != nil {
		return nil, fmt.Errorf("sequence points of %v: %w", method, err)
	}
	return points, nil
}

// decodePoints decodes the blob: a header, then records, each of which is a
// document, a hidden point or a visible point. All but documents are stored as
// differences to what came before.
func decodePoints(blob []byte, document Document) ([]SequencePoint, error) {
	r := clrmeta.NewBlobReader(blob)
	r.Unsigned() // signature of the local variables
	if document == 0 {
		document = Document(r.Unsigned())
	}
	// A point takes at least three bytes.
	points := make([]SequencePoint, 0, r.Len()/3)
	d := decoder{r: r}
	for first := true; r.Len() > 0; {
		delta := r.Unsigned()
		if delta == 0 && !first {
			document = Document(r.Unsigned())
			continue
		}
		first = false
		d.offset += int64(delta)
		point, ok := d.point()
		if r.Err() != nil {
			break
		}
		if !ok || d.offset >= maxOffset {
			return nil, fmt.Errorf("position out of range: %w", clrmeta.ErrMalformed)
		}
		point.Document = document
		points = append(points, point)
	}
	if r.Err() != nil {
		return nil, r.Err()
	}
	return points, nil
}

// decoder holds what the next record refers to.
type decoder struct {
	r            *clrmeta.BlobReader
	offset       int64
	line, column int64 // where the last visible point began
	seenVisible  bool
}

// point takes a record from after its offset. The result is false if a position
// is outside what the format allows.
func (d *decoder) point() (SequencePoint, bool) {
	p := SequencePoint{Offset: uint32(d.offset)}
	lines := int64(d.r.Unsigned())
	var columns int64
	if lines == 0 {
		columns = int64(d.r.Unsigned())
	} else {
		columns = int64(d.r.Signed())
	}
	if lines == 0 && columns == 0 {
		p.Hidden = true
		return p, true
	}
	if d.seenVisible {
		d.line += int64(d.r.Signed())
		d.column += int64(d.r.Signed())
	} else {
		d.line, d.column = int64(d.r.Unsigned()), int64(d.r.Unsigned())
		d.seenVisible = true
	}
	endLine, endColumn := d.line+lines, d.column+columns
	if d.line < 0 || d.column < 0 || endColumn < 0 || endLine >= maxLine || d.column >= maxColumn ||
		endColumn >= maxColumn {
		return p, false
	}
	if d.line == hiddenLine {
		p.Hidden = true
		return p, true
	}
	p.LineBegin, p.ColumnBegin = int(d.line), int(d.column)
	p.LineEnd, p.ColumnEnd = int(endLine), int(endColumn)
	return p, true
}
