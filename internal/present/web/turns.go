package web

import "context"

// turns is a lock that is given to those who wait in their order. Who gives it away and wants it again comes after
// them: with a sync.Mutex it would mostly come before them, as it is running and they are not.
type turns chan struct{}

func newTurns() turns { return make(turns, 1) }

// Lock waits for its turn.
func (t turns) Lock() { t <- struct{}{} }

// Unlock ends a turn.
func (t turns) Unlock() { <-t }

// lock waits for its turn as long as somebody wants it.
func (t turns) lock(ctx context.Context) error {
	select {
	case t <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	if err := ctx.Err(); err != nil {
		t.Unlock()
		return err
	}
	return nil
}
