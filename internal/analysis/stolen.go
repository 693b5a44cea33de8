package analysis

import (
	"slices"

	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
)

// Names of the counters that Stolen reads (package counter).
const (
	counterMachineBusy   = "machine.cpu_busy"
	counterMachineStolen = "machine.cpu_stolen"
)

// Stolen returns how much processor time the machine used between the first and the last sample of the operating
// system's counters, and how much its host took beside that from processors that had something to do; zeros if no
// samples were taken, or on a machine that is not virtual.
//
// Elapsed, application and CPU time of what had the processor then contain what was taken: the system tells of it by no
// event of the thread.
func Stolen(s *session.Session) (used, stolen q.Nanoseconds, err error) {
	counters, err := s.Counters()
	if err != nil {
		return 0, 0, err
	}
	grown := func(name string) (q.Nanoseconds, error) {
		if !slices.ContainsFunc(counters, func(c session.Counter) bool { return c.Name == name }) {
			return 0, nil // the session was recorded without samples, or by a version that did not have it
		}
		_, points, err := CounterPoints(s, name)
		sum := q.Nanoseconds(0)
		for _, p := range points {
			sum += q.Nanoseconds(p.Value)
		}
		return sum, err
	}
	if stolen, err = grown(counterMachineStolen); err != nil {
		return 0, 0, err
	}
	used, err = grown(counterMachineBusy)
	return used, stolen, err
}
