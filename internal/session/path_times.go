package session

import (
	"fmt"
	"math"
	"slices"
	"sort"

	"github.com/clrprof/clrprof/internal/session/columns"
)

// PathTimeList is the table path_time in memory, of which a row is made when it is asked for: its fifty columns are 400
// bytes for each path, and most of these numbers are small, or 0.
type PathTimeList struct {
	chunks []pathTimeChunk
	links  []PathLink
}

type pathTimeChunk struct {
	first   int // row
	columns []columns.Narrow
}

// PathLink is where a path is in its tree.
type PathLink struct{ ID, Parent PathID }

// Positions of columns of path_time.
const (
	pathColumn = iota
	pathParentColumn
	pathLevelColumn
	pathProcessColumn
	pathFunctionColumn
)

// pathWorkColumn is the position of the inclusive CPU time.
var pathWorkColumn = slices.Index(pathTimeTable.columns, "cpu_inclusive")

// PathTimeList returns the rows of PathTimes; nil: it cannot, as they were not written in the order of id.
func (s *Session) PathTimeList() (*PathTimeList, error) {
	return s.pathTimeList(func(int) bool { return true })
}

// PathWorkList is PathTimeList for who needs the inclusive CPU time alone: all other times and calls of its rows are
// zero.
func (s *Session) PathWorkList() (*PathTimeList, error) {
	return s.pathTimeList(func(column int) bool { return column <= pathFunctionColumn || column == pathWorkColumn })
}

func (s *Session) pathTimeList(wanted func(column int) bool) (*PathTimeList, error) {
	out := &PathTimeList{}
	if s.absent[pathTimeTable.name] {
		return out, nil
	}
	err := s.decodeChunks(pathTimeTable.name, nil, func(c *chunk) (decode, take func() error) {
		var links []PathLink
		var chunk pathTimeChunk
		decode = func() (err error) {
			links, chunk.columns, err = narrowPathTimes(c, wanted)
			return err
		}
		return decode, func() error {
			chunk.first = len(out.links)
			out.links, out.chunks = append(out.links, links...), append(out.chunks, chunk)
			return nil
		}
	})
	if err != nil {
		return nil, s.explain(fmt.Errorf("reading table %s: %w", pathTimeTable.name, err))
	}
	for i, l := range out.links {
		if i > 0 && l.ID <= out.links[i-1].ID {
			return nil, nil
		}
	}
	return out, nil
}

// narrowPathTimes decodes the rows of a chunk, of those columns that are wanted.
func narrowPathTimes(c *chunk, wanted func(column int) bool) ([]PathLink, []columns.Narrow, error) {
	links, narrow := make([]PathLink, c.rows), make([]columns.Narrow, max(c.columns, len(pathTimeTable.columns)))
	var wrong error
	err := columns.EachColumn(c.data, c.rows, c.columns, wanted, func(i int, column []int64) {
		switch i {
		case pathColumn, pathParentColumn, pathProcessColumn, pathFunctionColumn:
			if least, most := slices.Min(column), slices.Max(column); least < 0 || most > math.MaxUint32 {
				wrong = fmt.Errorf("%w: from %d to %d", ErrRange, least, most)
				return
			}
		}
		last := len(column) - 1 // of values that are all the same there is one
		switch i {
		case pathColumn:
			for row := range links {
				links[row].ID = PathID(column[min(row, last)])
			}
		case pathParentColumn:
			for row := range links {
				links[row].Parent = PathID(column[min(row, last)])
			}
		default:
			narrow[i] = columns.NewNarrow(column)
		}
	})
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	return links, narrow, wrong
}

// Len is how many rows there are.
func (l *PathTimeList) Len() int { return len(l.links) }

// Link returns where the path of a row is in the tree. Rows are in the order of id.
func (l *PathTimeList) Link(row int) PathLink { return l.links[row] }

// At returns a row, by its position.
func (l *PathTimeList) At(row int) PathTime {
	chunk := &l.chunks[sort.Search(len(l.chunks), func(i int) bool { return l.chunks[i].first > row })-1]
	c := cells{mode: narrowCells, narrow: chunk.columns, row: row - chunk.first}
	var out PathTime
	pathTimeTable.fields(&c, &out)
	out.ID, out.Parent = l.links[row].ID, l.links[row].Parent
	return out
}
