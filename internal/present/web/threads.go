package web

import (
	"slices"
	"strings"

	q "github.com/clrprof/clrprof/internal/quantity"
)

// elapsed is what the keys of columns and metrics begin with that are times on the clock: their sums over threads can
// be longer than the run.
const elapsed = "elapsed"

// threadsOf is over how many threads the times that a table shows at first are added up.
func (of *reader) threadsOf(shown []string) (q.Count, error) {
	if !slices.ContainsFunc(shown, func(key string) bool { return strings.HasPrefix(key, elapsed) }) {
		return 0, nil
	}
	if of.threads == nil {
		n, err := of.views.TimedThreads()
		if err != nil {
			return 0, err
		}
		of.threads = &n
	}
	return *of.threads, nil
}
