package imported

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/clrprof/clrprof/internal/capture/eventpipe"
	"github.com/clrprof/clrprof/internal/quantity"
)

// errNothing means that a file has nothing that a session could have.
var errNothing = errors.New("it has no allocations and no garbage collections: record them with dotnet-trace collect " +
	"--profile gc-verbose")

// The providers of what is imported, and of what is named as left out.
const (
	providerRuntime  = "Microsoft-Windows-DotNETRuntime"
	providerRundown  = "Microsoft-Windows-DotNETRuntimeRundown" // what there is, told at the end
	providerProcess  = "Microsoft-DotNETCore-EventPipe"
	providerProfiler = "Microsoft-DotNETCore-SampleProfiler"
)

// Events of the runtime; of a rundown those of the end.
const (
	eventTick          = 10
	eventSampled       = 303
	eventMethodLoad    = 143
	eventMethodUnload  = 144
	eventModuleLoad    = 152
	eventMap           = 190
	eventRuntimeStart  = 187
	rundownMethod      = 144
	rundownMap         = 150
	rundownModule      = 154
	rundownRuntime     = 187
	leastTickVersion   = 4
	maxKinds           = 1000 // kinds of events that are named as left out
	maxCommandLine     = 1 << 20
	maxDuration        = 1 << 58 // nine years
	progressEvery      = 1 << 14 // events from one call of progress to the next
	processInfoCommand = 1
)

// LeftOut is a kind of events that is not imported.
type LeftOut struct {
	Provider string
	Name     string // "" where the stream does not say: those of the runtime itself
	ID       uint32
	Events   uint64
}

// IsProcessor reports whether they are samples of what processors did.
func (l *LeftOut) IsProcessor() bool { return l.Provider == providerProfiler }

// Result says what was imported.
type Result struct {
	Head        eventpipe.Head
	Process     string // its name
	Duration    quantity.Nanoseconds
	Events      uint64
	Samples     int    // of allocations
	Sampler     string // a session.Sampler; "": there are no samples
	Collections int
	Methods     int
	Unnamed     int       // places on stacks in no method that the file describes
	LeftOut     []LeftOut // the most frequent first
	Lost        uint64    // events that the runtime had no room for
	Cut         bool      // the file ends in the middle
}

// Trace is what was read of a nettrace file.
type Trace struct {
	res            Result
	begin          quantity.Nanoseconds
	end            quantity.Nanoseconds // of what was recorded, without the rundown
	rundown        quantity.Nanoseconds // when it began; 0: it did not
	stacks, types  texts
	ticks, sampled samples
	weights        weights
	code           code
	gcs            []gcEvent
	lostGCs        uint64
	version        string // of the runtime
	command        string
	left           map[LeftOut]uint64
	unreadable     uint64 // events of the kinds that are imported
	threads        map[uint64]span
}

// span is when a thread was seen.
type span struct{ first, last quantity.Nanoseconds }

// ReadNettrace reads a nettrace file, and tells progress, which may be nil, now and then how many events it has read.
// Errors that wrap eventpipe.ErrFormat or errNothing are the file's.
func ReadNettrace(r io.Reader, progress func(events uint64)) (*Trace, error) {
	s := eventpipe.NewStream(r)
	s.KeepStacks()
	t := &Trace{weights: newWeights(), left: map[LeftOut]uint64{}, threads: map[uint64]span{}}
	for {
		e, err := s.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if errors.Is(err, io.ErrUnexpectedEOF) && t.res.Events > 0 {
			t.res.Cut = true
			break
		}
		if errors.Is(err, io.ErrUnexpectedEOF) {
			err = fmt.Errorf("%w: it ends before the first event", eventpipe.ErrFormat)
		}
		if err != nil {
			return nil, err
		}
		if t.res.Events++; t.res.Events == 1 {
			t.begin = s.Head().Begin
		}
		t.add(e)
		if progress != nil && t.res.Events%progressEvery == 0 {
			progress(t.res.Events)
		}
	}
	t.res.Head, t.res.Lost, t.res.LeftOut = s.Head(), s.Lost(), t.leftOut()
	if len(t.ticks.list) == 0 && len(t.sampled.list) == 0 && len(t.gcs) == 0 {
		return nil, errNothing
	}
	return t, nil
}

// since is a time of the session.
func (t *Trace) since(at quantity.Nanoseconds) quantity.Nanoseconds {
	return min(max(0, at-t.begin), maxDuration)
}

// add takes an event.
func (t *Trace) add(e *eventpipe.Event) {
	now := t.since(e.Time)
	ok, known := true, true
	switch e.Provider {
	case providerRuntime:
		t.end = max(t.end, now)
		ok, known = t.addRuntime(e, now)
	case providerRundown:
		if t.rundown == 0 {
			t.rundown = now
		}
		ok, known = t.addRundown(e)
	case providerProcess:
		if e.ID == processInfoCommand && len(t.command) == 0 {
			t.command = t.commandLine(e)
		}
	default:
		t.end = max(t.end, now)
		known = false
	}
	if !ok {
		t.unreadable++
	}
	if !known {
		t.leaveOut(e)
	}
}

// leaveOut counts an event that is not imported.
func (t *Trace) leaveOut(e *eventpipe.Event) {
	kind := LeftOut{Provider: e.Provider, Name: e.Name, ID: e.ID}
	if _, counted := t.left[kind]; !counted && len(t.left) >= maxKinds {
		kind = LeftOut{}
	}
	t.left[kind]++
}

// leftOut are the kinds of events that were left out.
func (t *Trace) leftOut() []LeftOut {
	var out []LeftOut
	for kind, events := range maps.All(t.left) {
		kind.Events = events
		out = append(out, kind)
	}
	slices.SortFunc(out, func(a, b LeftOut) int {
		return cmp.Or(cmp.Compare(b.Events, a.Events), cmp.Compare(a.Provider, b.Provider), cmp.Compare(a.Name, b.Name),
			cmp.Compare(a.ID, b.ID))
	})
	return out
}

// addRuntime takes an event of the runtime. ok is false if it cannot be read, known is true if it is of a kind that is
// imported.
func (t *Trace) addRuntime(e *eventpipe.Event, now quantity.Nanoseconds) (ok, known bool) {
	switch e.ID {
	case eventTick:
		return t.addTick(e), true
	case eventSampled:
		return t.addSampled(e), true
	case eventGCStart, eventGCEnd, eventRestartEnd, eventHeapStats, eventSuspendBegin:
		g, ok := readGC(e)
		if g.time = now; ok && len(t.gcs) < maxGCEvents {
			t.gcs = append(t.gcs, g)
		} else if ok {
			t.lostGCs++
		}
		return ok, true
	case eventMethodLoad:
		return t.code.addMethod(e, now), true
	case eventMethodUnload:
		return t.code.endMethod(e, now), true
	case eventMap:
		return t.code.addMap(e), true
	case eventModuleLoad:
		return t.code.addModule(e), true
	case eventRuntimeStart:
		return t.addVersion(e), true
	}
	return true, false
}

// addRundown takes an event of the rundown, of which what is not imported is not worth a word.
func (t *Trace) addRundown(e *eventpipe.Event) (ok, known bool) {
	switch e.ID {
	case rundownMethod:
		return t.code.addMethod(e, 0), true
	case rundownMap:
		return t.code.addMap(e), true
	case rundownModule:
		return t.code.addModule(e), true
	case rundownRuntime:
		return t.addVersion(e), true
	}
	return true, true
}

func (t *Trace) addTick(e *eventpipe.Event) bool {
	if e.Version < leastTickVersion {
		return false
	}
	a, ok := readTick(e)
	if !ok {
		t.ticks.lose(quantity.Amount{})
		return true
	}
	t.see(e)
	t.addSample(&t.ticks, e, &a, t.weights.ofTick(a.heap, a.amount, a.size))
	return true
}

func (t *Trace) addSampled(e *eventpipe.Event) bool {
	a, ok := readSampled(e)
	if !ok {
		t.sampled.lose(quantity.Amount{})
		return true
	}
	t.see(e)
	t.addSample(&t.sampled, e, &a, t.weights.ofRandom(a.size))
	return true
}

// see notes that a thread was there.
func (t *Trace) see(e *eventpipe.Event) {
	now := t.since(e.Time)
	s, known := t.threads[e.Thread]
	if !known {
		s.first = now
	}
	t.threads[e.Thread] = span{min(s.first, now), max(s.last, now)}
}

// addVersion reads which runtime it is.
func (t *Trace) addVersion(e *eventpipe.Event) bool {
	f := e.Fields()
	f.Skip(2 + 2) // which runtime of the process, which product
	major, minor, build := f.Uint16(), f.Uint16(), f.Uint16()
	if !f.Failed() {
		t.version = fmt.Sprintf("%d.%d.%d", major, minor, build)
	}
	return !f.Failed()
}

// commandLine reads the command of the process, whose arguments are separated by spaces, also those within them.
func (t *Trace) commandLine(e *eventpipe.Event) string {
	f := e.Fields()
	if text := f.Text(); len(text) <= maxCommandLine {
		return strings.TrimSpace(text)
	}
	return ""
}
