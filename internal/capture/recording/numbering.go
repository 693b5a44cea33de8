package recording

import "sort"

// numbering is which ids rows of a process have. They rise by one from row to row, except where rows of another process
// came between.
type numbering struct{ runs []run }

// run is where ids go on from another one.
type run struct {
	row int
	id  short
}

// add says which id the next row has: the one with the index row.
func (n *numbering) add(row int, id short) {
	if len(n.runs) == 0 || n.id(row) != id {
		n.runs = append(n.runs, run{row, id})
	}
}

// id returns the id of a row.
func (n *numbering) id(row int) short {
	r := n.find(func(r run) bool { return r.row > row })
	return r.id + short(row-r.row)
}

// row returns the index of the row with an id, which is there.
func (n *numbering) row(id short) int {
	r := n.find(func(r run) bool { return r.id > id })
	return r.row + int(id-r.id)
}

// find returns the last run that is not behind something.
func (n *numbering) find(behind func(r run) bool) run {
	last := len(n.runs) - 1
	if !behind(n.runs[last]) { // most processes have one run
		return n.runs[last]
	}
	return n.runs[sort.Search(last, func(i int) bool { return behind(n.runs[i]) })-1]
}
