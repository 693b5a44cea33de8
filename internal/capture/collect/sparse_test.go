package collect

import (
	"testing"

	"pgregory.net/rapid"
)

// TestSparse: a row has the number that it was given last, and none if it was given none.
func TestSparse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var s sparse
		want := map[int]int32{}
		for range rapid.IntRange(0, 20).Draw(t, "numbers") {
			row, number := rapid.IntRange(0, 5*rowsOfPage).Draw(t, "row"), rapid.Int32Range(0, 1<<30).Draw(t, "number")
			s.set(row, number)
			want[row] = number
		}
		for row := range 7 * rowsOfPage {
			number, ok := want[row]
			if !ok {
				number = none
			}
			if got := s.at(row); got != number {
				t.Fatalf("row %d has %d, want %d", row, got, number)
			}
		}
	})
}
