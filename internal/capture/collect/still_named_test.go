package collect

import (
	"testing"

	"github.com/clrprof/clrprof/internal/session"
)

// TestStillNamed: names that were found from what OnNamed showed are not good if something came afterwards.
func TestStillNamed(t *testing.T) {
	r, a := newRecording(t), newArena(3)
	r.mustSync(a)
	if r.isStillNamed() {
		t.Error("before it was shown")
	}
	r.OnNamed(func(*session.Session) {})
	if err := r.SyncLast(r.now + 1); err != nil || !r.isStillNamed() {
		t.Errorf("after the last look: %v", err)
	}
	for _, p := range r.processes {
		p.rec.Pseudo("late")
		if err := p.rec.WriteNames(); err != nil || r.isStillNamed() {
			t.Errorf("with a function that came later: %v", err)
		}
	}
}
