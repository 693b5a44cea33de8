package running

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/clrprof/clrprof/internal/capture/agentbin"
	"github.com/clrprof/clrprof/internal/capture/eventpipe"
	"github.com/clrprof/clrprof/internal/capture/launch"
)

// State is what a process has of clrprof.
type State int

// The states.
const (
	Unprepared State = iota // it was started without the agent
	Prepared                // with it: clrprof env
	Recorded                // by clrprof run or attach
)

// String is a word for it.
func (s State) String() string { return [...]string{"unprepared", "prepared", "recorded"}[s] }

// What can be recorded of a process that runs.
const (
	Allocations = iota // attach --memory
	Lifetimes          // attach --lifetime
	Calls              // attach --time
	Counters           // attach --meter
	Abilities          // how many there are
)

// AbilityNames are what clrprof calls them.
var AbilityNames = [Abilities]string{"allocations", "lifetimes", "calls", "counters"}

// Ability is whether something can be recorded of a process.
type Ability struct {
	Extent Extent
	Why    string // what is missing, and what to do; "" of all
}

// Extent is how much of it can be.
type Extent int

// The extents.
const (
	None  Extent = iota
	Large        // of objects of 85,000 bytes and more
	All
)

// String is a word for it.
func (e Extent) String() string { return [...]string{"no", "large objects", "yes"}[e] }

// oldest is the oldest .NET in which calls of a running process can be recorded, and an agent be loaded.
const oldest = 5

// findAgent finds out what the process has of clrprof.
func (p *Process) findAgent() {
	ours := strings.EqualFold(p.environment["CORECLR_PROFILER"], launch.ProfilerID)
	switch {
	case ours && p.environment[launch.EnvArenas] != "", bytes.Contains(p.maps, []byte("/"+launch.ArenasPrefix(p.UID))):
		p.State = Recorded
	case ours && p.environment[launch.EnvDormant] != "":
		p.State = Prepared
	}
}

// judge decides what can be recorded.
func (p *Process) judge() {
	if why := p.blocked(); why != "" {
		for i := range p.Abilities {
			p.Abilities[i] = Ability{None, why}
		}
		return
	}
	counters := Ability{Extent: All}
	if p.unreachable != nil {
		counters = Ability{None, p.unreachable.Error()}
	}
	calls := Ability{Extent: All}
	if p.Major() != 0 && p.Major() < oldest {
		calls = Ability{None, fmt.Sprintf("of a running process, .NET %d and later", oldest)}
	}
	if p.State == Prepared {
		p.Abilities = [Abilities]Ability{Allocations: {Extent: All}, Lifetimes: p.followed(), Calls: calls,
			Counters: counters}
		return
	}
	const start = "start it with what clrprof env prints, to record all"
	late := Ability{Large, "it was started without clrprof's agent: " + start}
	if why := p.unloadable(); why != "" {
		late, calls = Ability{None, why}, Ability{None, why}
	}
	p.Abilities = [Abilities]Ability{Allocations: late, Lifetimes: late, Calls: calls, Counters: counters}
}

// blocked says why nothing can be recorded.
func (p *Process) blocked() string {
	switch {
	case p.State == Recorded:
		return fmt.Sprintf("it is being recorded: clrprof ctl %d status", p.PID)
	case p.RID != "" && !strings.HasSuffix(p.RID, "-"+agentbin.MachineHere()):
		return fmt.Sprintf("this clrprof is for %s, and this runtime is %s", agentbin.MachineHere(), p.RID)
	case p.UID != os.Geteuid() && os.Geteuid() != 0:
		return fmt.Sprintf("it is user %s's: sudo -u %[1]s clrprof attach %d", p.User, p.PID)
	}
	if _, err := agentbin.Bytes(agentbin.Of(agentbin.MachineHere(), strings.Contains(p.RID, "musl"))); err != nil {
		return err.Error()
	}
	return ""
}

// followed is whether objects of a prepared process can be followed: its background collections must be off.
func (p *Process) followed() Ability {
	if eventpipe.TurnedOff(p.environment, "gcConcurrent") != "" {
		return Ability{Extent: All}
	}
	return Ability{None, "it has background collections, unless its own configuration turns them off: start it with " +
		"what clrprof env --lifetime prints"}
}

// unloadable says why the agent cannot be loaded into a process that was started without it. The setting
// EnableDiagnostics_Profiler=0 is no reason: it keeps a runtime from loading a profiler at its start alone (measured
// with .NET 8 to 10).
func (p *Process) unloadable() string {
	if x, ok := p.other(); ok {
		return fmt.Sprintf("it has the profiler of %s, and .NET allows one", x.Name)
	}
	if p.Major() != 0 && p.Major() < oldest {
		return fmt.Sprintf("into a running process, .NET %d and later", oldest)
	}
	switch {
	case errors.Is(p.unreachable, os.ErrDeadlineExceeded):
		return "its runtime does not answer: is it stopped?"
	case errors.Is(p.unreachable, eventpipe.ErrNoSocket):
		return p.unreachable.Error()
	}
	return ""
}
