package analysis

import (
	"sync"
)

// together is work of several goroutines. A panic of one goes on in the goroutine that waits for all of them: a server
// survives it there, and clrprof says in one line what happened.
type together struct {
	group sync.WaitGroup
	mutex sync.Mutex
	what  any // that a goroutine panicked with; nil: none did
}

// Go calls a function in a goroutine.
func (t *together) Go(fn func()) {
	t.group.Go(func() {
		defer func() {
			if what := recover(); what != nil {
				t.mutex.Lock()
				defer t.mutex.Unlock()
				t.what = what
			}
		}()
		fn()
	})
}

// Wait waits until all functions have returned.
func (t *together) Wait() {
	if t.group.Wait(); t.what != nil {
		panic(t.what)
	}
}
