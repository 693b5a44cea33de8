package web

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
)

// TestTurns: who gives way between two parts of its work gets its next turn after all who wait then, in their order;
// who is not wanted any more waits no longer.
func TestTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &Server{mu: newTurns()}
		if err := s.lock(t.Context()); err != nil {
			t.Fatal(err)
		}
		var order []int
		gone, leave := context.WithCancel(t.Context())
		failed := make(chan error, 1)
		go func() { failed <- s.lock(gone) }()
		synctest.Wait()
		for i := range 5 {
			go func() {
				if err := s.lock(t.Context()); err != nil {
					t.Error(err)
					return
				}
				order = append(order, i)
				s.mu.Unlock()
			}()
			synctest.Wait() // it waits
		}
		leave()
		if err := <-failed; err == nil {
			t.Error("who is not wanted any more got a turn")
		}
		if len(order) > 0 {
			t.Fatalf("%v had a turn while it was another's", order)
		}
		if err := s.giveWay(t.Context()); err != nil {
			t.Fatal(err)
		}
		if want := []int{0, 1, 2, 3, 4}; !slices.Equal(order, want) {
			t.Errorf("turns of %v before the next part, want %v", order, want)
		}
		s.mu.Unlock()
	})
}
