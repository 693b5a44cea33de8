package analysis

import (
	"fmt"
	"strings"
	"testing"
)

// TestComparedStack: a stack is described from the root on, the functions nearest to its leaf.
func TestComparedStack(t *testing.T) {
	for _, length := range []int{0, 1, 2, maxComparedStack, maxComparedStack + 1, 1000} {
		var s comparedStack
		var want []string
		for i := range length {
			s.add(fmt.Sprint("f", i))
			if i < maxComparedStack {
				want = append([]string{fmt.Sprint("f", i)}, want...)
			}
		}
		if length > maxComparedStack {
			want = append([]string{fmt.Sprintf("… %d more", length-maxComparedStack)}, want...)
		}
		if got := string(s.appendTo(nil)); got != strings.Join(want, " › ") {
			t.Errorf("%d functions: %q, want %q", length, got, want)
		}
	}
}
