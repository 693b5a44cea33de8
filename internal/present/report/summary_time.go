package report

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/clrprof/clrprof/internal/analysis"
	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
)

// Timing is what a summary says of calls and their times.
type Timing struct {
	Total     session.TimeValue // of what is shown
	Threads   q.Count           // over which it is added up
	PerSecond q.Count           // calls, of the time of the recording; 0: that is not known
	Processes []session.ProcessTime
	Raw       bool          // with what the probes added
	Uncertain q.Nanoseconds // by so much the times may be wrong, up or down, because of what the probes took
	GCPauses  q.Count       // how often garbage collections stopped all threads; 0 also of parts of processes
	GCPaused  q.Nanoseconds // how long all of them took
	GCLongest q.Nanoseconds // and the longest
	Agent     q.Nanoseconds // what the agent took for itself, 0: that is not known, as of parts of processes
	Notes     []Note
}

// Elapsed is the elapsed time as it is shown.
func (t *Timing) Elapsed() q.Nanoseconds { return elapsed(t.Total.Inclusive, t.Raw) }

// Busy reports whether threads that could run had no processor for so long that application time says little: each
// interval in which that happened is left out of it, whole.
func (t *Timing) Busy() bool {
	all := t.Total.Inclusive
	return all.Ready >= leastReady && isShare(all.Ready, all.CPU+all.Ready, leastShare)
}

// leastReady is from when on a machine can be busy: any program waits some milliseconds for a processor.
const leastReady = 10e6

// Waited is the part of the elapsed time in which the operating system acted.
func (t *Timing) Waited() q.Nanoseconds { return waited(t.Total.Inclusive) }

// Overhead is the share of the probes in what was measured.
func (t *Timing) Overhead() q.Percent {
	all := t.Total.Inclusive
	return q.PercentOf(all.Overhead, all.Elapsed+all.Overhead)
}

// agent is what the agent took for itself, which is known of whole processes.
func (t *Timing) agent(sel analysis.Selection) q.Nanoseconds {
	sum := q.Nanoseconds(0)
	for _, p := range t.Processes {
		if sel.WholeProcesses() && sel.HasProcess(p.Process) {
			sum += p.Agent
		}
	}
	return sum
}

// addPauses adds up pauses for collections, which are known of whole processes.
func (t *Timing) addPauses(sel analysis.Selection) {
	for _, p := range t.Processes {
		if sel.WholeProcesses() && sel.HasProcess(p.Process) {
			t.GCPauses, t.GCPaused = t.GCPauses+p.GCPauses, t.GCPaused+p.GCPaused
			t.GCLongest = max(t.GCLongest, p.GCLongest)
		}
	}
}

// timedThreads is over how many threads times are added up.
func (c *context) timedThreads() (n q.Count, err error) {
	threads, err := c.source.ThreadTimes()
	for i := range threads {
		if threads[i].Inclusive.Elapsed > 0 {
			n++
		}
	}
	return n, err
}

// addTimes adds what is known of times, if calls were timed.
func (s *Summary) addTimes(o Options) error {
	c := s.context
	if !c.hasTime() {
		return nil
	}
	s.Timing = &Timing{Total: c.shownTime, PerSecond: s.perSecond(), Processes: c.timed, Raw: c.raw,
		Uncertain: c.uncertainty(c.shownTime.Inclusive), Notes: c.timeNotes(s.Info)}
	var err error
	if s.Timing.Threads, err = c.timedThreads(); err != nil {
		return err
	}
	if s.forEnd > 0 {
		s.Timing.Notes = append(s.Timing.Notes, note(NoteWaitsForEnd, s.forEnd))
	}
	if s.idle > 0 {
		s.Timing.Notes = append(s.Timing.Notes, note(NoteIdle, s.idle, s.idleAt))
	}
	s.Timing.Agent = s.Timing.agent(c.source.Selection())
	s.Timing.addPauses(c.source.Selection())
	if err := s.addList(listed{"processes", "Processes", processesView, "elapsed_inclusive", "name process_id " +
		textOwn + "threads end_state"}, o.Top); err != nil {
		return err
	}
	if !s.hidesHotPath(o) {
		if err := s.addHotPath(hotPathTime, pick(s.HasMemory, "Hot path of times", "Hot path"),
			"name elapsed_inclusive elapsed_inclusive_percent elapsed_exclusive elapsed_exclusive_percent calls module",
			byTime); err != nil {
			return err
		}
	}
	for _, section := range []listed{
		{"functions_by_cpu_exclusive", "Functions that work most themselves: CPU time, without what they call",
			functionsView, "cpu_exclusive",
			"name cpu_exclusive cpu_exclusive_percent elapsed_exclusive elapsed_exclusive_percent calls module"},
		{"functions_by_blocked_exclusive", "Functions that wait most: blocked time, without time in which they " +
			"could have run",
			functionsView, "blocked_exclusive",
			"name blocked_exclusive blocked_exclusive_percent voluntary_exclusive calls module"},
	} {
		if err := s.addList(section, o.Top); err != nil {
			return err
		}
	}
	return nil
}

// perSecond is the rate of calls over the recording, or the part of it that is shown.
func (s *Summary) perSecond() q.Count {
	d := s.Duration
	if sel := s.context.source.Selection(); sel.InTime() {
		all, err := s.context.source.Session().Slices()
		if err != nil {
			return 0
		}
		from, to, _ := sel.Span(all)
		d = to - from
	}
	if d <= 0 {
		return 0
	}
	return q.Count(float64(s.context.shownTime.Calls) / (float64(d) / 1e9))
}

// readiness says how the time without a processor was divided, unless the kernel said it.
func readiness(p session.ProcessTime) string {
	if p.MeasuresReady || p.Mechanism == session.MechanismNone {
		return ""
	}
	return ", blocked and ready estimated by the numbers of switches"
}

// timeNotes say how times came about; of which processes, if they were not timed alike. info are the facts about the
// session.
func (c *context) timeNotes(info map[string]string) []Note {
	type key struct {
		mode, how string
		il, calls bool
		gap       q.Nanoseconds
	}
	var out []Note
	var order []key
	of := map[key]List{}
	add := func(p session.ProcessID, k key, n Note) {
		if of[k] == nil {
			out, order = append(out, n), append(order, k)
		}
		of[k] = append(of[k], strconv.FormatInt(c.processes.get(p).PID, 10))
	}
	shown := 0
	for _, t := range c.timed {
		if !c.source.Selection().HasProcess(t.Process) {
			continue
		}
		shown++
		il := t.Probes == session.ProbesIL
		mode := t.Instrument
		if mode != session.InstrumentMine && mode != session.InstrumentAll {
			mode = session.InstrumentBoundary
		} else {
			il = false // it is not said of these
		}
		add(t.Process, key{mode: mode, il: il}, note(NoteRecorded, mode, il))
		gap := q.Nanoseconds(0)
		if t.Mechanism == session.MechanismGap {
			gap = t.Gap
		}
		calls := c.counters.calls[t.Process]
		add(t.Process, key{how: "by " + t.Mechanism, gap: gap, calls: calls}, note(NoteWaits, t.Mechanism, gap, calls))
	}
	for i, k := range order {
		if len(of[k]) < shown {
			out[i] = note(NoteInProcesses, of[k], out[i])
		}
	}
	if chosen := chosenBy(info); chosen != nil {
		out = append(out, note(NoteChosen, chosen))
	}
	if c.raw {
		out = append(out, note(NoteRaw))
	}
	return out
}

// Chosen are the flags that chose functions, as they were given.
type Chosen struct {
	Include []string `json:"include"`
	Exclude []string `json:"exclude"`
	Small   int      `json:"exclude_small"` // 0: not given
}

// chosenBy returns what chose functions; nil: nothing did. What a damaged session says is not said.
func chosenBy(info map[string]string) *Chosen {
	var out Chosen
	if json.Unmarshal([]byte(info[session.KeyOptions]), &out) != nil || len(out.Include)+len(out.Exclude) == 0 &&
		out.Small <= 0 {
		return nil
	}
	return &out
}

// headerTimes adds the facts about times to the header view.
func (c *context) headerTimes(add addFact) {
	if !c.hasTime() {
		return
	}
	t := c.shownTime
	add("calls", t.Calls.String(), int64(t.Calls))
	add("elapsed", c.elapsed(t.Inclusive).String(), int64(c.elapsed(t.Inclusive)))
	add("application", t.Inclusive.Application.String(), int64(t.Inclusive.Application))
	add("probe overhead", t.Inclusive.Overhead.String(), int64(t.Inclusive.Overhead))
	for _, p := range c.timed {
		mechanism := cmp.Or(p.Mechanism, "none")
		if p.Mechanism == session.MechanismGap {
			mechanism += fmt.Sprintf(" above %s", p.Gap)
		}
		if c.counters.calls[p.Process] {
			mechanism += ", system calls by perf events"
		}
		uncertain := "" // a session of an earlier clrprof does not say it
		if p.Uncertain > 0 {
			uncertain = fmt.Sprintf(", ± %.1f ns", p.Uncertain)
		}
		if p.Measured > 0 {
			uncertain += fmt.Sprintf(", from %.1f to %.1f ns in %d measurements", p.Least, p.Most, p.Measured)
		}
		add(fmt.Sprintf("times of process %d", c.processes.get(p.Process).PID),
			fmt.Sprintf("instrumented %s, calls seen by %s, clock %s at %s Hz, waits by %s, probes %.1f ns in a "+
				"call and %.1f ns in its caller%s (%.1f and %.1f ns cold); the agent's own %s are in none of the times",
				p.Instrument, cmp.Or(p.Probes, "hooks"), p.Clock, q.Count(p.TicksPerSec), mechanism+readiness(p),
				p.Inside, p.Outside, uncertain, p.ColdInside, p.ColdOutside, p.Agent))
	}
}
