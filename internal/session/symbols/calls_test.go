package symbols

import (
	"slices"
	"testing"
)

// TestChooseInOrder: sites are by position in the code; the order of instructions is that of the machine code.
func TestChooseInOrder(t *testing.T) {
	one := func(at int) choice { return choice{[]int{at}, surely} }
	of := func(by likeness, at ...int) choice { return choice{at, by} }
	for _, c := range []struct {
		name    string
		choices []choice
		want    []int
	}{
		{"each is recognised", []choice{one(0), one(1), one(3)}, []int{0, 1, 3}},
		{"nothing is known", []choice{{}, one(1), {}}, []int{-1, 1, -1}},
		{"as many as there are calls", []choice{of(surely, 0, 2), one(1), of(surely, 0, 2)}, []int{0, 1, 2}},
		{"after one that is certain", []choice{one(1), of(surely, 0, 2)}, []int{1, 2}},
		{"before one that is certain", []choice{of(sameName, 0, 2), one(1)}, []int{0, 1}},
		{"the first of those that remain", []choice{of(surely, 0, 2, 3), one(4)}, []int{0, 4}},
		{"what is only related bounds nothing", []choice{of(related, 3), of(surely, 0, 1)}, []int{3, 0}},
		{"the code was written twice", []choice{one(0), one(1), one(0), one(1)}, []int{0, 1, 0, 1}},
	} {
		if have := chooseInOrder(c.choices); !slices.Equal(have, c.want) {
			t.Errorf("%s: have %v, want %v", c.name, have, c.want)
		}
	}
}
