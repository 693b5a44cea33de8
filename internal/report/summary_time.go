package report

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/clrprof/clrprof/internal/analysis"
	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/shell"
)

// Timing is what a summary says of calls and their times.
type Timing struct {
	Total     session.TimeValue // of what is shown
	PerSecond q.Count           // calls, of the time of the recording; 0: that is not known
	Processes []session.ProcessTime
	Raw       bool          // with what the probes added
	Agent     q.Nanoseconds // what the agent took for itself, 0: that is not known, as of parts of processes
	Notes     []string
}

// Elapsed is the elapsed time as it is shown.
func (t *Timing) Elapsed() q.Nanoseconds { return elapsed(t.Total.Inclusive, t.Raw) }

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

// addTimes adds what is known of times, if calls were timed.
func (s *Summary) addTimes(top int) error {
	c := s.context
	if !c.hasTime() {
		return nil
	}
	s.Timing = &Timing{Total: c.shownTime, PerSecond: s.perSecond(), Processes: c.timed, Raw: c.raw, Notes: c.timeNotes(s.Info)}
	s.Timing.Agent = s.Timing.agent(c.source.Selection())
	if err := s.addList(listed{"processes", "Processes", processesView, "elapsed_inclusive", "name process_id " + textOwn + "threads end_state"}, top); err != nil {
		return err
	}
	if err := s.addHotPath("hot_path_time", "Hot path", "name elapsed_inclusive elapsed_inclusive_percent elapsed_exclusive elapsed_exclusive_percent calls module", byTime); err != nil {
		return err
	}
	for _, section := range []listed{
		{"functions_by_cpu_exclusive", "Functions with most individual work: CPU time, without what they call", functionsView, "cpu_exclusive",
			"name cpu_exclusive cpu_exclusive_percent elapsed_exclusive elapsed_exclusive_percent calls module"},
		{"functions_by_blocked_exclusive", "Functions that wait most: blocked, not for want of a processor", functionsView, "blocked_exclusive",
			"name blocked_exclusive blocked_exclusive_percent voluntary_exclusive calls module"},
	} {
		if err := s.addList(section, top); err != nil {
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

// mechanisms say how the operating system's acts were noticed, and what that does not see.
var mechanisms = map[string]string{
	session.MechanismRseq: "context switches, by restartable sequences (rseq); system calls and page faults that need none count as the program's own work",
	session.MechanismPerf: "context switches, by perf events; system calls and page faults that need none count as the program's own work",
	session.MechanismGap:  "context switches in intervals longer than %s (the kernel allows nothing better here: see perf_event_paranoid); shorter waits count as the program's own work",
	session.MechanismNone: "nothing: application time is elapsed time",
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
func (c *context) timeNotes(info map[string]string) []string {
	var out []string
	of := map[string][]string{}
	add := func(p session.ProcessID, note string) {
		if of[note] == nil {
			out = append(out, note)
		}
		of[note] = append(of[note], strconv.FormatInt(c.processes.get(p).PID, 10))
	}
	shown := 0
	for _, t := range c.timed {
		if !c.source.Selection().HasProcess(t.Process) {
			continue
		}
		shown++
		add(t.Process, recordedNote(t.Instrument, t.Probes == session.ProbesIL))
		how, known := mechanisms[t.Mechanism]
		if !known {
			how = t.Mechanism
		}
		if t.Mechanism == session.MechanismGap {
			how = fmt.Sprintf(how, t.Gap)
		}
		add(t.Process, "Waiting that is seen: "+how+".")
	}
	for i, note := range out {
		if n := len(of[note]); n < shown {
			out[i] = fmt.Sprintf("In %s %s: %s", pick(n == 1, "process", "processes"), strings.Join(of[note], ", "), note)
		}
	}
	if chosen := chosenBy(info); chosen != "" {
		out = append(out, "Chosen by "+chosen+": what is not recorded counts for its callers.")
	}
	if c.raw {
		out = append(out, rawNote)
	}
	return out
}

// chosenBy writes the flags that chose functions, as they were given; what a damaged session says is not said.
func chosenBy(info map[string]string) string {
	var options struct {
		Include []string `json:"include"`
		Exclude []string `json:"exclude"`
		Small   int      `json:"exclude_small"`
	}
	if json.Unmarshal([]byte(info[session.KeyOptions]), &options) != nil {
		return ""
	}
	var flags []string
	for _, p := range options.Include {
		flags = append(flags, "--include "+shell.Quote(p))
	}
	for _, p := range options.Exclude {
		flags = append(flags, "--exclude "+shell.Quote(p))
	}
	if options.Small > 0 {
		flags = append(flags, fmt.Sprintf("--exclude-small=%d", options.Small))
	}
	return strings.Join(flags, " ")
}

// recordedNote says which calls a mode of instrumentation records; declared: calls into the framework are those that the
// code names.
func recordedNote(mode string, declared bool) string {
	switch mode {
	case session.InstrumentMine:
		return "Recorded: calls of your code; the framework's time counts for its callers (--instrument mine)."
	case session.InstrumentAll:
		return "Recorded: all calls, those within the framework too (--instrument all)."
	}
	if declared {
		return "Recorded: calls of your code, and those that it makes into the framework, by the names that it uses " +
			"(--instrument boundary)."
	}
	return "Recorded: calls of your code, and those that it makes into the framework (--instrument boundary)."
}

// rawNote is said wherever raw times are shown.
const rawNote = "Elapsed times are raw: with what the probes added."

// headerTimes adds the facts about times to the header view.
func (c *context) headerTimes(add func(key, value string)) {
	if !c.hasTime() {
		return
	}
	t := c.shownTime
	add("calls", t.Calls.String())
	add("elapsed", c.elapsed(t.Inclusive).String())
	add("application", t.Inclusive.Application.String())
	add("probe overhead", t.Inclusive.Overhead.String())
	for _, p := range c.timed {
		mechanism := cmp.Or(p.Mechanism, "none")
		if p.Mechanism == session.MechanismGap {
			mechanism += fmt.Sprintf(" above %s", p.Gap)
		}
		add(fmt.Sprintf("times of process %d", c.processes.get(p.Process).PID),
			fmt.Sprintf("instrumented %s, calls seen by %s, clock %s at %s Hz, waits by %s, probes %.1f ns in a call and %.1f ns in its caller (%.1f and %.1f ns cold); the agent's own %s are in none of the times",
				p.Instrument, cmp.Or(p.Probes, "hooks"), p.Clock, q.Count(p.TicksPerSec), mechanism+readiness(p), p.Inside, p.Outside, p.ColdInside, p.ColdOutside, p.Agent))
	}
}
