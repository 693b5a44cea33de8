package analysis

import "testing"

// TestTogether: a panic of a goroutine goes on where it is waited for, once all others have ended.
func TestTogether(t *testing.T) {
	ended := false
	defer func() {
		if what := recover(); what != "a mistake" || !ended {
			t.Errorf("%v, ended: %t", what, ended)
		}
	}()
	begun := make(chan bool)
	_ = atOnce(func() error {
		close(begun)
		panic("a mistake")
	}, func() error {
		<-begun
		ended = true
		return nil
	})
	t.Error("it went on")
}
