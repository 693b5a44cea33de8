package report

import (
	"math"
	"testing"

	q "github.com/clrprof/clrprof/internal/quantity"
)

// TestPerMinute: a rate is exact, also where the product is larger than a number, and there is none without time.
func TestPerMinute(t *testing.T) {
	for _, tt := range []struct {
		bytes q.Bytes
		span  q.Nanoseconds
		want  q.Bytes
		ok    bool
	}{
		{100, 60e9, 100, true}, {100, 30e9, 200, true}, {1, 120e9, 0, true}, {0, 1, 0, true},
		{1 << 40, 3600e9, 1 << 40 / 60, true}, {1, 0, 0, false}, {-1, 60e9, 0, false}, {1 << 62, 1, 0, false},
		{math.MaxInt64, 30e9, 0, false},
	} {
		if got, ok := perMinute(tt.bytes, tt.span); ok != tt.ok || ok && got != tt.want {
			t.Errorf("%d bytes in %d ns: %d, %t; want %d, %t", tt.bytes, tt.span, got, ok, tt.want, tt.ok)
		}
	}
}
