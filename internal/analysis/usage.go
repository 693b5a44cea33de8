package analysis

import (
	"maps"
	"slices"

	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
)

// Names of the counters that Usage and SampledOf read (package counter).
const (
	counterCPUUser   = "process.cpu_user"
	counterCPUSystem = "process.cpu_system"
	counterThreads   = "process.threads"
	counterResident  = "process.resident"
	counterPrivate   = "process.private"
	counterIdle      = "machine.cpu_idle"
)

// Used is what all processes together used between two samples of the operating system's counters.
type Used struct {
	Begin, End q.Nanoseconds // of the session
	CPU        q.Nanoseconds // processor time, in the program and in the kernel; by hundredths of a second
	Threads    q.Count       // at the end, of the runtime too
	Resident   q.Bytes       // at the end: memory that is in RAM
}

// counterValues returns what was sampled, and the names of counters by their ids.
func counterValues(s *session.Session) (names map[int64]string, values []session.CounterValue, err error) {
	counters, err := s.Counters()
	if err != nil {
		return nil, nil, err
	}
	names = make(map[int64]string, len(counters))
	for _, c := range counters {
		names[c.ID] = c.Name
	}
	values, err = s.CounterValues()
	return names, values, err
}

// Usage returns what the processes used, in the order of time; nothing if no samples were taken. What a process used
// before its first sample counts from the sample before, or from the session's start; what it used after its last one
// is not known.
func Usage(s *session.Session) ([]Used, error) {
	names, values, err := counterValues(s)
	if err != nil {
		return nil, err
	}
	byTime, before := map[q.Nanoseconds]*Used{}, map[[2]int64]int64{}
	slices.SortStableFunc(values, func(a, b session.CounterValue) int { return int(min(1, max(-1, a.Time-b.Time))) })
	for _, v := range values {
		if v.Process == 0 || v.Time < 0 {
			continue
		}
		u := byTime[v.Time]
		if u == nil {
			u = &Used{End: v.Time}
			byTime[v.Time] = u
		}
		switch names[v.Counter] {
		case counterCPUUser, counterCPUSystem:
			key := [2]int64{int64(v.Process), v.Counter}
			u.CPU += q.Nanoseconds(max(0, v.Value-before[key])) // a damaged session may have anything
			before[key] = v.Value
		case counterThreads:
			u.Threads += q.Count(max(0, v.Value))
		case counterResident:
			u.Resident += q.Bytes(max(0, v.Value))
		}
	}
	var out []Used
	last := q.Nanoseconds(0)
	for _, at := range slices.Sorted(maps.Keys(byTime)) {
		byTime[at].Begin = last
		out = append(out, *byTime[at])
		last = at
	}
	return out, nil
}

// Sampled is what the samples say of a whole run; what a process used after its last sample is not known.
type Sampled struct {
	CPU     q.Nanoseconds // processor time of all processes
	Span    q.Nanoseconds // from the begin of each process to its last sample, added up
	Busy    bool          // the machine: on average less than half a processor was idle, or it is not known
	Private q.Bytes       // the most that one process had
	Of      session.ProcessID
}

// SampledOf returns what the samples say of a session; zeros if none were taken.
func SampledOf(s *session.Session) (out Sampled, err error) {
	names, values, err := counterValues(s)
	if err != nil {
		return out, err
	}
	type counter struct {
		process session.ProcessID
		id      int64
	}
	last, cpu := map[session.ProcessID]q.Nanoseconds{}, map[counter]q.Nanoseconds{}
	var idle []session.CounterValue // of the machine
	for _, v := range values {
		if v.Process == 0 {
			if names[v.Counter] == counterIdle {
				idle = append(idle, v)
			}
			continue
		}
		switch names[v.Counter] {
		case counterPrivate:
			if b := q.Bytes(v.Value); b > out.Private {
				out.Private, out.Of = b, v.Process
			}
		case counterCPUUser, counterCPUSystem:
			of := counter{v.Process, v.Counter}
			cpu[of] = max(cpu[of], q.Nanoseconds(v.Value))
			last[v.Process] = max(last[v.Process], v.Time)
		}
	}
	for _, ns := range cpu {
		out.CPU += ns
	}
	out.Busy = true
	if n := len(idle); n > 1 {
		out.Busy = q.Nanoseconds(idle[n-1].Value-idle[0].Value) < (idle[n-1].Time-idle[0].Time)/2
	}
	processes, err := s.Processes()
	for _, p := range processes {
		if at, sampled := last[p.ID]; sampled {
			out.Span += at - p.Begin
		}
	}
	return out, err
}
