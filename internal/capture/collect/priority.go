package collect

import (
	"runtime"

	"golang.org/x/sys/unix"

	"github.com/clrprof/clrprof/internal/capture/arena"
	"github.com/clrprof/clrprof/internal/quantity"
)

// lessNice is how much lower than that of the target the priority of a look is: with 5 a look gets a quarter of a
// processor that both want. With 19 it would get a seventieth, and a program that never rests would make more between
// two looks than they read.
const lessNice = 5

// writeSlice is sync, and returns how much processor time it took. Unless somebody waits for the slice, in the target
// or beside it, it gives way to the target.
func (r *Recorder) writeSlice(now quantity.Nanoseconds, last, isAwaited bool) (spent quantity.Nanoseconds, err error) {
	begin := processorTime()
	if last || isAwaited || r.cutAt(now) != now {
		err = r.sync(now, last)
	} else {
		err = yielding(func() error { return r.Sync(now) })
	}
	return processorTime() - begin, err
}

// yielding calls fn so that it gives way to the target, which wants the processors, too: on a thread of lower priority
// that does not interrupt others when it has something to do (SCHED_BATCH, sched(7)). Who may lower a priority may not
// raise it again, so the thread ends with fn. Where the user has chosen another policy, or the kernel refuses, fn runs
// as all else does.
func yielding(fn func() error) (err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // without unlocking it: that ends the thread
		if a, err := unix.SchedGetAttr(0, 0); err == nil && a.Policy == unix.SCHED_NORMAL {
			_ = unix.SchedSetAttr(0, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_BATCH,
				Nice: min(a.Nice+lessNice, 19)}, 0)
		}
		err = arena.Guard(fn) // which its caller's does not do for another goroutine
	}()
	<-done
	return err
}
