package pieces

import "testing"

func TestPieces(t *testing.T) {
	var p List[int]
	for _, n := range []int{0, 1, pieceRows - 1, pieceRows, pieceRows + 1, 3 * pieceRows} {
		for p.Len() < n {
			p.Add(-p.Len())
		}
		for i := range n {
			if *p.At(i) != -i {
				t.Fatalf("row %d of %d is %d", i, n, *p.At(i))
			}
		}
	}
	*p.At(pieceRows) = 7
	if *p.At(pieceRows) != 7 || *p.At(pieceRows - 1) != 1-pieceRows || *p.At(pieceRows + 1) != -pieceRows-1 {
		t.Error("a row that changed is not one row")
	}
}
