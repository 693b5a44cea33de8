package scrape

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

// Limits of requests that want to record.
const (
	// mostWaiting is how many wait for their turn: a scraper asks for each of the profiles at about the same time, and
	// there are seldom more than two.
	mostWaiting = 8
	// longestWait is for how long one waits. go tool pprof gives up after half of the time of the recording, and five
	// seconds, more; scrapers by default ten seconds after they have asked.
	longestWait = 5 * time.Second
)

// errBusy means that another recording goes on for too long.
var errBusy = errors.New("another profile is being recorded")

// turns let one recording go on at a time.
type turns struct {
	mu      sync.Mutex
	taken   bool
	ends    time.Time // when the recording that goes on is over, roughly
	waiting []*waiter // in the order in which they came
}

// waiter waits for a turn.
type waiter struct {
	turn  chan struct{} // closed when it is there
	lasts time.Duration // how long its recording will take
}

// take waits for the turn of a request, in the order in which they come. The error is errBusy, or that of the context.
func (t *turns) take(ctx context.Context, lasts time.Duration) error {
	t.mu.Lock()
	if !t.taken {
		t.taken, t.ends = true, time.Now().Add(lasts)
		t.mu.Unlock()
		return nil
	}
	if len(t.waiting) == mostWaiting || t.left() > longestWait {
		t.mu.Unlock()
		return errBusy
	}
	w := &waiter{make(chan struct{}), lasts}
	t.waiting = append(t.waiting, w)
	t.mu.Unlock()
	select {
	case <-w.turn:
		return nil
	case <-ctx.Done():
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if at := slices.Index(t.waiting, w); at >= 0 {
		t.waiting = slices.Delete(t.waiting, at, at+1)
	} else {
		t.pass() // it has just become the turn of who went away
	}
	return ctx.Err()
}

// give gives the turn to the next one.
func (t *turns) give() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.pass()
}

// pass is give with the lock.
func (t *turns) pass() {
	if len(t.waiting) == 0 {
		t.taken = false
		return
	}
	t.ends = time.Now().Add(t.waiting[0].lasts)
	close(t.waiting[0].turn)
	t.waiting = t.waiting[1:]
}

// end says that the recording that goes on ends now: others wait until the process has been left alone.
func (t *turns) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ends = time.Now()
}

// left is the time until it is the turn of who comes now; with the lock.
func (t *turns) left() time.Duration {
	left := max(time.Until(t.ends), 0)
	for _, w := range t.waiting {
		left += w.lasts
	}
	return left
}

// retryAfter is after how many whole seconds it is worth to ask again, at least one.
func (t *turns) retryAfter() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return int(t.left()/time.Second) + 1
}
