package collect

import (
	"math"
	"testing"
)

func TestPieces(t *testing.T) {
	var p pieces[int]
	for _, n := range []int{0, 1, pieceRows - 1, pieceRows, pieceRows + 1, 3 * pieceRows} {
		for p.len() < n {
			p.add(-p.len())
		}
		for i := range n {
			if *p.at(i) != -i {
				t.Fatalf("row %d of %d is %d", i, n, *p.at(i))
			}
		}
	}
	*p.at(pieceRows) = 7
	if *p.at(pieceRows) != 7 || *p.at(pieceRows - 1) != 1-pieceRows || *p.at(pieceRows + 1) != -pieceRows-1 {
		t.Error("a row that changed is not one row")
	}
}

// TestRoom: ids that are not short any more are refused before they are given.
func TestRoom(t *testing.T) {
	r := &Recorder{}
	if err := r.room(math.MaxUint32/4, math.MaxUint32/4); err != nil {
		t.Error(err)
	}
	r.next.node = 4
	if err := r.room(math.MaxUint32/4, math.MaxUint32/4); err == nil {
		t.Error("too many nodes are let through")
	}
	if err := r.room(0); err != nil {
		t.Error(err)
	}
	const most = math.MaxUint32
	for _, next := range []ids{{thread: most}, {typ: most}, {function: most}, {instruction: most}, {node: most}, {site: most}, {timing: most}} {
		if err := (&Recorder{next: next}).room(1); err == nil {
			t.Errorf("%+v is let through", next)
		}
	}
}
