package cli

import (
	"runtime"
	"testing"
)

func TestGCPercent(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		live uint64
		want int
	}{{0, 800}, {4 << 20, 800}, {32 << 20, 100}, {64 << 20, 50}, {127 << 20, 25}, {128 << 20, 10}, {1 << 40, 10}} {
		if got := gcPercent(tt.live); got != tt.want {
			t.Errorf("a heap of %d bytes grows by %d %%, want %d", tt.live, got, tt.want)
		}
	}
}

// TestAfterCollections: it is called at once, and after one collection as after another.
func TestAfterCollections(t *testing.T) {
	t.Parallel()
	calls := make(chan struct{}, 100)
	afterCollections(func() {
		select {
		case calls <- struct{}{}:
		default:
		}
	})
	<-calls
	for range 3 {
		runtime.GC()
		<-calls
	}
}
