package cli

import (
	"strings"
	"testing"

	"github.com/clrprof/clrprof/internal/capture/running"
)

// TestOneOf: of processes with one name the newest is taken if that is asked for, but not where another user may have
// started it to be taken.
func TestOneOf(t *testing.T) {
	old := &running.Process{PID: 10, UID: 1, User: "shop", Age: 3e9}
	young := &running.Process{PID: 20, UID: 1, User: "shop", Age: 2e9}
	same := &running.Process{PID: 30, UID: 1, User: "shop", Age: 2e9}
	foreign := &running.Process{PID: 40, UID: 2, User: "other", Age: 1e9}
	for _, tt := range []struct {
		named  []*running.Process
		newest bool
		want   *running.Process
		why    string
	}{
		{[]*running.Process{old}, false, old, ""},
		{[]*running.Process{foreign}, true, foreign, ""},
		{[]*running.Process{old, young}, true, young, ""},
		{[]*running.Process{young, same, old}, true, same, ""},
		{[]*running.Process{old, young}, false, nil, "attach with --newest: 10 (of shop, for 3.00 s), 20 (of shop, "},
		{[]*running.Process{old, foreign}, true, nil, "several users, so name one by its id: 10 (of shop, for 3.00 s), 40 (of other, "},
		{[]*running.Process{old, foreign}, false, nil, "several users"},
	} {
		got, err := oneOf(tt.named, tt.newest)
		if got != tt.want || (err == nil) != (tt.why == "") || err != nil && !strings.Contains(err.Error(), tt.why) {
			t.Errorf("%d processes, newest %t: %+v, %v, want %+v, %q", len(tt.named), tt.newest, got, err, tt.want, tt.why)
		}
	}
}
