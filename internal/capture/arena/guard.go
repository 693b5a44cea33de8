package arena

import (
	"errors"
	"fmt"
	"runtime/debug"
)

// ErrShortened means that a file became shorter while it was mapped, as no agent makes it: what is beyond its new end
// cannot be read any more (mmap(2), SIGBUS).
var ErrShortened = errors.New("a recorded process has made a file of its recording shorter")

// fault is what the runtime panics with in a goroutine that asked for it (debug.SetPanicOnFault).
type fault interface {
	error
	Addr() uintptr
}

// Guard calls fn, which reads or writes mapped files that another process can make shorter. If that happens, fn ends
// there, and the error wraps ErrShortened; otherwise the error is fn's. Goroutines that fn starts need their own.
func Guard(fn func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		switch cause := recover().(type) {
		case nil:
		case fault:
			err = fmt.Errorf("%w (at %#x)", ErrShortened, cause.Addr())
		default:
			panic(cause)
		}
	}()
	return fn()
}
