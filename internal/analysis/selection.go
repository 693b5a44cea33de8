package analysis

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
)

// Errors of a selection that does not fit the session.
var (
	ErrNoProcess = errors.New("no such process")
	ErrNoThread  = errors.New("no such thread")
	ErrNoSlice   = errors.New("no data in this span of time")
	// ErrNoUserCode means that nobody knows which code is the user's.
	ErrNoUserCode = errors.New("no module of this session is your code: run --mine PATTERN says which are")
	// ErrSplitsSlice means that a span of time begins or ends within a slice, of which only the sum is known.
	ErrSplitsSlice = errors.New("data is kept in slices of time, and this span begins or ends within one")
)

// Selection is a part of a session. The zero Selection is all of it. What has several limits is within all of them.
//
// An allocation belongs to one slice, thread, function (that which allocated) and type, an interval of time to one
// slice, thread and function, so a selection and its complement add up to the whole.
type Selection struct {
	// From and To are a span of time since the session's start, To not included; To 0 is
	// the end. Data is kept in slices, so every slice that overlaps the span counts as a whole.
	From, To q.Nanoseconds
	// GCs is a span of collections; only what is known of memory. It cannot be combined with a span of time.
	GCs       GCSpan
	Processes []session.ProcessID // empty: all
	Threads   []session.ThreadID  // empty: all
	// FoldRecursion shows stacks on which no function is twice: a call of one that is there already counts as if it had
	// been made in place of that.
	FoldRecursion bool
	Shape         *SampleShape // of samples; nil: they are as they were recorded

	own     map[session.FunctionID]bool // functions that allocate or take time themselves; nil: all
	types   map[session.TypeID]bool     // of what is allocated; nil: all
	with    map[session.FunctionID]bool // functions of which one is on the stack; nil: any
	without map[session.FunctionID]bool // functions of which none is on the stack
	hidden  map[session.FunctionID]bool // functions that stacks are shown without
	code    *CodeLevels                 // stacks are shown with user code and so much around it; nil: with all code
	filter  *filterSet                  // clauses; nil: none
	terms   Terms                       // as they were given

	filterOfTypes bool // the filter has clauses of types
}

// IsZero reports whether everything is selected, and shown as it was recorded.
func (s Selection) IsZero() bool {
	return len(s.Processes) == 0 && s.isUnfiltered() && s.asRecorded()
}

// Focuses reports whether the function is in the selection's focus: stacks must have one of these functions.
func (s Selection) Focuses(f session.FunctionID) bool { return s.with[f] }

// asRecorded reports whether stacks are shown as they were.
func (s Selection) asRecorded() bool { return len(s.hidden) == 0 && s.code == nil && !s.FoldRecursion }

// IsMyCode reports whether stacks are shown with user code and what it calls alone.
func (s Selection) IsMyCode() bool { return s.code != nil }

// isUnfiltered reports whether all is selected that the selected processes did.
func (s Selection) isUnfiltered() bool {
	return !s.InTime() && !s.InGCs() && len(s.Threads) == 0 && !s.byName()
}

// unfiltered is a selection of all that the selected processes did, with stacks as this one shows them.
func (s Selection) unfiltered() Selection {
	return Selection{Processes: s.Processes, FoldRecursion: s.FoldRecursion, hidden: s.hidden, code: s.code}
}

// InTime reports whether there is a span of time.
func (s Selection) InTime() bool { return s.From != 0 || s.To != 0 }

// InGCs reports whether there is a span of collections.
func (s Selection) InGCs() bool { return s.GCs != GCSpan{} }

// Spans reports whether there is a span, of time or collections: what died within one need not have been born there.
func (s Selection) Spans() bool { return s.InTime() || s.InGCs() }

// byName reports whether functions or types are selected.
func (s Selection) byName() bool {
	return s.filter != nil || s.own != nil || s.types != nil || s.with != nil || len(s.without) > 0
}

// HasProcess reports whether a process is selected.
func (s Selection) HasProcess(id session.ProcessID) bool {
	return len(s.Processes) == 0 || slices.Contains(s.Processes, id)
}

// HasThread reports whether a thread is selected.
func (s Selection) HasThread(t *session.Thread) bool {
	return s.HasProcess(t.Process) && (len(s.Threads) == 0 || slices.Contains(s.Threads, t.ID))
}

// HasFunction reports whether what a function itself does is selected by the function's name, namespace or module.
func (s Selection) HasFunction(id session.FunctionID) bool { return s.own == nil || s.own[id] }

// HasGC reports whether a collection is selected.
func (s Selection) HasGC(g *session.GC) bool {
	return s.HasProcess(g.Process) && g.Begin >= s.From && (s.To == 0 || g.Begin < s.To) &&
		g.Number > s.GCs.After && (s.GCs.To == 0 || g.Number <= s.GCs.To)
}

// WholeProcesses reports whether everything of the selected processes is selected.
func (s Selection) WholeProcesses() bool {
	return !s.Spans() && len(s.Threads) == 0 && !s.byName()
}

// Divides reports whether only a part is selected of what a process did at a time.
func (s Selection) Divides() bool { return len(s.Threads) > 0 || s.byName() }

// HasTimes reports whether times are selected: of them neither a type is known nor what they were between two
// collections.
func (s Selection) HasTimes() bool { return s.types == nil && !s.filterOfTypes && !s.InGCs() }

// singleCalls reports whether whole calls are selected, and shown with all that they called: by process and thread
// alone.
func (s Selection) singleCalls() bool { return !s.Spans() && !s.byName() && s.asRecorded() }

// overlaps reports whether a slice counts. A slice without length is a point.
func (s Selection) overlaps(x session.Slice) bool {
	return (s.To == 0 || x.Begin < s.To) && (x.End > s.From || x.Begin >= s.From)
}

// Span returns the span of time that is really covered: that of all slices which overlap s.
func (s Selection) Span(slices []session.Slice) (from, to q.Nanoseconds, ok bool) {
	for _, x := range slices {
		if !s.overlaps(x) {
			continue
		}
		if !ok || x.Begin < from {
			from = x.Begin
		}
		to = max(to, x.End)
		ok = true
	}
	return from, to, ok
}

// spanTolerance is the part of its length by which a span of time can miss the borders of slices, which are never at
// round numbers.
const spanTolerance = 20

// Fit returns the selection with a span of time that begins and ends at borders of slices, if such a span is within
// a 20th of its length of the one that is asked for. Else the error, ErrSplitsSlice, names the borders on both
// sides. A span that goes beyond the recording is cut to it; one in which there is nothing is ErrNoSlice.
func (s Selection) Fit(slices []session.Slice) (Selection, error) {
	if !s.InTime() || len(slices) == 0 {
		return s, nil
	}
	if _, _, ok := s.Span(slices); !ok {
		return s, fmt.Errorf("%w: %s to %s, and the recording is %s long", ErrNoSlice, s.From, s.To,
			slices[len(slices)-1].End)
	}
	end := slices[len(slices)-1].End
	to := s.To
	if to == 0 || to > end {
		to = end
	}
	most := (to - s.From) / spanTolerance
	out := s
	var fits [2]bool
	for i, at := range []struct {
		asked q.Nanoseconds
		fit   *q.Nanoseconds
	}{{s.From, &out.From}, {to, &out.To}} {
		before, after := borders(slices, at.asked)
		*at.fit = before
		if after-at.asked < at.asked-before {
			*at.fit = after
		}
		fits[i] = max(*at.fit-at.asked, at.asked-*at.fit) <= most
	}
	if !fits[0] || !fits[1] || out.From >= out.To {
		from, _ := borders(slices, s.From)
		_, until := borders(slices, to)
		return s, fmt.Errorf("%w: %s to %s; the shortest span around it is --from %s --to %s",
			ErrSplitsSlice, s.From, to, duration(from), duration(until))
	}
	if out.To == end {
		out.To = 0 // also what was counted at the very end, in a slice without length
	}
	return out, nil
}

// borders returns the borders of slices next to a time: at or before it, and at or after it.
func borders(slices []session.Slice, at q.Nanoseconds) (before, after q.Nanoseconds) {
	after = slices[len(slices)-1].End
	for _, s := range slices {
		if s.Begin <= at {
			before = s.Begin
		} else if s.Begin < after {
			after = s.Begin
			break
		}
	}
	if last := slices[len(slices)-1].End; at >= last {
		before = last
	}
	if before == at {
		after = at
	}
	return before, after
}

// duration is a time as --from and --to take it: exact.
func duration(t q.Nanoseconds) string { return time.Duration(t).String() }

// check reports whether what the selection names exists in d.
func (s Selection) check(d *Data) error {
	processes := newIndex(d.Processes, func(r *session.Process) session.ProcessID { return r.ID })
	for _, id := range s.Processes {
		if at, ok := processes.find(id); !ok || at == none {
			return fmt.Errorf("%w: %d", ErrNoProcess, id)
		}
	}
	threads := newIndex(d.Threads, func(r *session.Thread) session.ThreadID { return r.ID })
	for _, id := range s.Threads {
		if at, ok := threads.find(id); !ok || at == none {
			return fmt.Errorf("%w: %d", ErrNoThread, id)
		}
	}
	if s.InTime() && s.InGCs() {
		return ErrGCsInTime
	}
	if s.InTime() {
		if _, _, ok := s.Span(d.Slices); !ok {
			return fmt.Errorf("%w: %s to %s", ErrNoSlice, s.From, s.To)
		}
	}
	return nil
}

// mostNamed is how many processes or threads are named one by one.
const mostNamed = 5

// Words say what is selected of a session, each a limit: "process 101 (Worker)", "1.00 s to 2.00 s (whole slices)";
// none: all.
func (s Selection) Words(of *session.Session) ([]string, error) {
	var out []string
	processes, err := of.Processes()
	if err != nil {
		return nil, err
	}
	threads, err := of.Threads()
	if err != nil {
		return nil, err
	}
	var names []string
	for _, p := range processes {
		if len(s.Processes) > 0 && s.HasProcess(p.ID) {
			names = append(names, fmt.Sprintf("%d (%s)", p.PID, p.Name))
		}
	}
	out = append(out, list("process", "processes", names)...)
	names = nil
	threadName := threadNamer(processes)
	for _, t := range threads {
		if len(s.Threads) > 0 && slices.Contains(s.Threads, t.ID) {
			names = append(names, fmt.Sprintf("%d (%s)", t.OSID, threadName(&t)))
		}
	}
	out = append(out, list("thread", "threads", names)...)
	if s.InTime() {
		all, err := of.Slices()
		if err != nil {
			return nil, err
		}
		from, to, _ := s.Span(all)
		out = append(out, fmt.Sprintf("%s to %s (whole slices)", from, to))
	}
	if s.terms.Marks != "" && !s.InTime() {
		out = append(out, "the marks "+s.terms.Marks+" (in whole slices, which are all of the recording)")
	}
	if s.InGCs() {
		out = append(out, s.GCs.String())
	}
	for _, kind := range s.terms.named() {
		out = append(out, kind.words()...)
	}
	return append(out, s.terms.filterWords()...), nil
}

func list(one, many string, names []string) []string {
	switch n := len(names); {
	case n == 0:
		return nil
	case n == 1:
		return []string{one + " " + names[0]}
	case n > mostNamed:
		return []string{fmt.Sprintf("%s %s and %d more", many, strings.Join(names[:mostNamed], ", "), n-mostNamed)}
	}
	return []string{many + " " + strings.Join(names, ", ")}
}

// Notes say in sentences which part of a session is selected, and how stacks are shown; none: all of it, as it was
// recorded. more is added to the first.
func (s Selection) Notes(of *session.Session, more string) ([]string, error) {
	only, err := s.Words(of)
	if err != nil {
		return nil, err
	}
	var out []string
	if len(only) > 0 {
		out = append(out, "Only "+strings.Join(only, ", ")+more+".")
	}
	if hidden := s.terms.Hide; len(hidden) > 0 {
		out = append(out, "Without the functions "+strings.Join(hidden, " or ")+
			": what they did counts for their callers.")
	}
	if s.code != nil {
		out = append(out, s.code.note())
	}
	if s.FoldRecursion {
		out = append(out, FoldNote)
	}
	return out, nil
}

// FoldNote says what folded recursion is.
const FoldNote = "Recursion is folded: a call of a function that is on the stack already is part of that function's " +
	"first call."

// threadNamer returns what names threads as views do.
func threadNamer(processes []session.Process) func(*session.Thread) string {
	pids := map[session.ProcessID]int64{}
	for i := range processes {
		pids[processes[i].ID] = processes[i].PID
	}
	return func(t *session.Thread) string { return t.DisplayName(pids[t.Process]) }
}
