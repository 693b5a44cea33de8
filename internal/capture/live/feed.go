package live

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/session/symbols"
)

const (
	// MaxKept is how many messages are kept for watchers that come back: of ten seconds and more.
	MaxKept = 100

	// MaxGCs is how many garbage collections a message has, and how many are kept for those who come later: more than a
	// chart has points.
	MaxGCs = 600

	// MaxMarks is how many marks a message has, and how many are kept for those who come later: likewise.
	MaxMarks = 600

	// MaxPauses is how many begins and ends of pauses a message has, and how many are kept: likewise.
	MaxPauses = 600

	// MaxWatchers is how many watch at most: more than there are people at one recording.
	MaxWatchers = 64
)

// ErrTooMany means that MaxWatchers watch already.
var ErrTooMany = fmt.Errorf("%d watch this recording already", MaxWatchers)

// Feed passes what a recording counts on to those who watch it. One goroutine publishes, any number watch.
type Feed struct {
	session string
	wake    chan struct{} // capacity 1: somebody watches now

	mu       sync.Mutex
	watchers int
	ended    bool
	changed  chan struct{} // closed when there is a new message, or none will come
	kept     []Encoded     // the last messages
	last     uint64        // id of the last one
	state    *State        // that it ended with
	names    names
	gcs      happened[GC]
	marks    happened[Mark]
	pauses   happened[Pause]
	counters counters
}

// Encoded is a message in JSON, without a newline.
type Encoded struct {
	ID    uint64
	Event string
	JSON  []byte
}

// NewFeed makes a feed.
func NewFeed() *Feed {
	return &Feed{wake: make(chan struct{}, 1), changed: make(chan struct{}), names: newNames(),
		counters: newCounters()}
}

// SetSession says where the session is, before anybody watches.
func (f *Feed) SetSession(path string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.session = path
}

// Wanted says whether somebody watches: otherwise nothing has to be published.
func (f *Feed) Wanted() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.watchers > 0
}

// Wake has a value when somebody has come who waits for a state.
func (f *Feed) Wake() <-chan struct{} { return f.wake }

// Describe takes rows of what was recorded, from which names are made. Those that are known already may come again.
func (f *Feed) Describe(in *symbols.Input) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.names.describe(in)
}

// AddGC takes a garbage collection, whether somebody watches or not.
func (f *Feed) AddGC(gc GC) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.gcs.add(gc, MaxGCs)
}

// AddMark takes a mark that somebody made, whether somebody watches or not.
func (f *Feed) AddMark(m Mark) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.marks.add(m, MaxMarks)
}

// AddPause takes a pause that began or ended, whether somebody watches or not.
func (f *Feed) AddPause(p Pause) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.pauses.add(p, MaxPauses)
}

// AddCounters takes counters that are sampled.
func (f *Feed) AddCounters(rows []session.Counter) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.counters.describe(rows)
}

// AddCounterValues takes samples of counters, in the order of time, whether somebody watches or not.
func (f *Feed) AddCounterValues(values []session.CounterValue) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.counters.add(values)
}

// Publish makes a message of what is new in a state, which the feed keeps. Nothing may be published after the last one.
func (f *Feed) Publish(s *State, last bool) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	m := f.message(s, f.state, false)
	f.last++
	m.ID = f.last
	if last {
		m.Event = End
	}
	e, err := encode(&m)
	if err != nil {
		return err
	}
	if len(f.kept) == MaxKept {
		copy(f.kept, f.kept[1:])
		f.kept = f.kept[:MaxKept-1]
	}
	f.kept = append(f.kept, e)
	f.state, f.gcs.fresh, f.marks.fresh, f.pauses.fresh = s, 0, 0, 0
	clear(f.counters.fresh)
	f.tell()
	return nil
}

// Close says that nothing will be published any more. Watchers get what there is.
func (f *Feed) Close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ended = true
	f.tell()
}

func (f *Feed) tell() {
	close(f.changed)
	f.changed = make(chan struct{})
}

// message says what is new since before; nil: since the session's start. Of what happened it has what is new since the
// last message or, if that is what a watcher begins with, what was before.
func (f *Feed) message(s, before *State, begins bool) Message {
	m := Message{Event: Tick, Session: f.session, Mode: s.Mode, End: s.Time, Processes: s.Processes, Threads: s.Threads,
		Paused: s.Paused, Estimated: s.Estimated, Losses: addLosses(s.Losses)}
	if before == nil {
		m.Event, before = Start, &State{}
	}
	total := s.total()
	m.Begin, m.Total, m.New = before.Time, numbers(total), numbers(total.Sub(before.total()))
	m.Functions = f.functionTable(s.Functions, before.Functions, s.Calls)
	m.Types = f.typeTable(s.Types, before.Types)
	m.GCs.Rows, m.GCs.LeftOut, m.GCs.Total = f.gcs.reported(begins, MaxGCs)
	m.Marks.Rows, m.Marks.LeftOut, m.Marks.Total = f.marks.reported(begins, MaxMarks)
	m.Pauses.Rows, m.Pauses.LeftOut, m.Pauses.Total = f.pauses.reported(begins, MaxPauses)
	m.Counters = f.counters.reported(m.Event == Start)
	return m
}

func encode(m *Message) (Encoded, error) {
	text, err := json.Marshal(m)
	if err != nil {
		return Encoded{}, fmt.Errorf("encode a message: %w", err)
	}
	return Encoded{m.ID, m.Event, text}, nil
}

// Watcher gets the messages of a feed.
type Watcher struct {
	feed   *Feed
	at     uint64 // id of the last message that it got
	begins bool   // it gets everything so far
	newer  uint64 // then: as of a message with a higher id
}

// Watch begins to watch; after is the id of the last message that a watcher got earlier, 0 if it got none. What came
// after it follows if it is kept still; otherwise there is a start with everything so far.
func (f *Feed) Watch(after uint64) (*Watcher, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.watchers == MaxWatchers {
		return nil, ErrTooMany
	}
	f.watchers++
	w := &Watcher{feed: f, at: after}
	if !f.isKept(after) {
		w.begins = true
		if f.watchers == 1 { // the state is an old one, or there is none
			w.newer = f.last
		}
	}
	if f.watchers == 1 || w.begins { // a large recording rests long between two looks
		select {
		case f.wake <- struct{}{}:
		default:
		}
	}
	return w, nil
}

// Follow gives someone the messages after the one with an id, 0: all: send is called with each, until the last one was
// sent, the context ends, or send fails. The error is ErrTooMany, or that of the context or of send.
func (f *Feed) Follow(ctx context.Context, after uint64, send func(id uint64, text []byte) error) error {
	w, err := f.Watch(after)
	if err != nil {
		return err
	}
	defer w.Close()
	for {
		m, err := w.Next(ctx)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = send(m.ID, m.JSON)
		}
		if err != nil {
			return err
		}
	}
}

// isKept says whether all messages after one are kept.
func (f *Feed) isKept(after uint64) bool {
	return after != 0 && after <= f.last && (after == f.last || f.kept[0].ID <= after+1)
}

// Close ends the watching.
func (w *Watcher) Close() {
	w.feed.mu.Lock()
	defer w.feed.mu.Unlock()
	w.feed.watchers--
}

// Next waits for the next message. The error is io.EOF after the last one, or that of the context.
func (w *Watcher) Next(ctx context.Context) (Encoded, error) {
	for {
		e, found, changed, err := w.look()
		if found || err != nil {
			return e, err
		}
		select {
		case <-ctx.Done():
			return Encoded{}, ctx.Err()
		case <-changed:
		}
	}
}

// look returns the next message if there is one, or else what is closed when there may be.
func (w *Watcher) look() (e Encoded, found bool, changed <-chan struct{}, err error) {
	f := w.feed
	f.mu.Lock()
	defer f.mu.Unlock()
	if !w.begins && !f.isKept(w.at) { // it was too slow
		w.begins, w.newer = true, 0
	}
	switch {
	case w.begins && f.state != nil && (f.last > w.newer || f.ended):
		m := f.message(f.state, nil, true)
		if m.ID = f.last; f.isLast() {
			m.Event = End
		}
		e, err = encode(&m)
		w.begins, w.at = false, f.last
		return e, err == nil, nil, err
	case !w.begins && w.at < f.last:
		e = f.kept[w.at+1-f.kept[0].ID]
		w.at++
		return e, true, nil, nil
	case f.ended:
		return Encoded{}, false, nil, io.EOF
	}
	return Encoded{}, false, f.changed, nil
}

// isLast says whether the last message was the end.
func (f *Feed) isLast() bool { return len(f.kept) > 0 && f.kept[len(f.kept)-1].Event == End }
