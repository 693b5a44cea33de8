package recording

import (
	"github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/session/pieces"
)

// Process is a process of a recording.
type Process struct {
	recording *Recording
	id        session.ProcessID
	died      bool // without having shut down
	names     names
	tree      tree
	threads   []*Thread
	lifetime  lifetime
	timings   timings
	counts    counts

	level        level             // of the process
	byFunctions  level             // the same, by the functions that its threads are in
	threadLevels map[uint32]*level // by the source's id
	paused       spans             // nothing of the process was recorded
	marked       bool              // its begin is

	sites   pieces.List[short] // ids, by index
	newRows []session.Site     // that are not written yet
	counted amounts            // what earlier slices hold of each site
	losses  map[string]session.Loss
}

// NewProcess adds a process to the recording.
func (r *Recording) NewProcess() *Process {
	r.next.process++
	p := &Process{recording: r, id: r.next.process, names: newNames(), lifetime: newLifetime(),
		threadLevels: map[uint32]*level{}, losses: map[string]session.Loss{}}
	p.paused = r.control.global.off.copy()
	r.processes = append(r.processes, p)
	return p
}

// ID is the process's id in the session.
func (p *Process) ID() session.ProcessID { return p.id }

// Write writes the row of the process, or replaces it.
func (p *Process) Write(row session.Process) error {
	row.ID = p.id
	p.died = row.EndState == session.EndDied
	return p.recording.w.ReplaceProcesses([]session.Process{row})
}

// WriteLosses writes all that is lost of a process, as far as it changed. A reason that is not among them any more is
// no loss: what was missing was found.
func (p *Process) WriteLosses(losses []session.Loss) error {
	now := map[string]session.Loss{}
	var rows []session.Loss
	for _, l := range losses {
		l.Process = p.id
		if now[l.Reason] = l; l != p.losses[l.Reason] {
			rows = append(rows, l)
		}
	}
	for reason := range p.losses {
		if _, ok := now[reason]; !ok {
			rows = append(rows, session.Loss{Process: p.id, Reason: reason})
		}
	}
	p.losses = now
	return p.recording.w.ReplaceLosses(rows)
}

// NotProbed tells why calls of a function are not seen.
func (p *Process) NotProbed(function session.FunctionID, reason string) error {
	return p.recording.w.ReplaceNotProbed([]session.NotProbed{{Function: function, Reason: reason}})
}

// AddLoss adds an event of a loss that the source has not reported; of one that it reported there is nothing to add.
func (p *Process) AddLoss(reason string) error {
	if _, reported := p.losses[reason]; reported {
		return nil
	}
	loss := session.Loss{Process: p.id, Reason: reason, Events: 1}
	p.losses[reason] = loss
	return p.recording.w.ReplaceLosses([]session.Loss{loss})
}

// Thread is a thread of a process.
type Thread struct {
	row   session.Thread
	ended bool
	stale bool // to be written again
}

// AddThread adds a thread, which has not ended.
func (p *Process) AddThread(row session.Thread) *Thread {
	r := p.recording
	r.next.thread++
	row.ID, row.Process = r.next.thread, p.id
	t := &Thread{row: row, stale: true}
	p.threads = append(p.threads, t)
	return t
}

// ID is the thread's id in the session.
func (t *Thread) ID() session.ThreadID { return t.row.ID }

// OSID is the operating system's id of the thread; 0: the row stands for several.
func (t *Thread) OSID() int64 { return t.row.OSID }

// Name is the thread's name, "" without one.
func (t *Thread) Name() string { return t.row.Name }

// Rename gives the thread another name.
func (t *Thread) Rename(name string) { t.row.Name, t.stale = name, true }

// Identify says which thread it is.
func (t *Thread) Identify(osID int64, name string) {
	t.row.OSID, t.row.Name, t.stale = osID, name, true
}

// End says when the thread ended.
func (t *Thread) End(at quantity.Nanoseconds) { t.row.End, t.ended, t.stale = at, true, true }

// Continue says that the thread has not ended: another one has got the row of one that had.
func (t *Thread) Continue() { t.ended, t.stale = false, true }

// Ended returns when the thread ended, if that is known.
func (t *Thread) Ended() (quantity.Nanoseconds, bool) { return t.row.End, t.ended }

// Threads is how many threads have been seen.
func (p *Process) Threads() int { return len(p.threads) }

// RunningThreads is how many threads have not ended.
func (p *Process) RunningThreads() int {
	n := 0
	for _, t := range p.threads {
		if !t.ended {
			n++
		}
	}
	return n
}

// WriteThreads writes rows that changed; threads whose end was not seen end at the given time: with their process, or
// now if it runs. Some rows may stand for several threads.
func (p *Process) WriteThreads(end quantity.Nanoseconds, sets []session.ThreadSet) error {
	var rows []session.Thread
	for _, t := range p.threads {
		if !t.ended && t.row.End != end {
			t.row.End = end
			t.stale = true
		}
		if t.stale {
			rows = append(rows, t.row)
		}
		t.stale = false
	}
	if err := p.recording.w.ReplaceThreads(rows); err != nil {
		return err
	}
	return p.recording.w.ReplaceThreadSets(sets)
}

// WriteScopes writes how often and how long threads were in functions that limit what is recorded.
func (r *Recording) WriteScopes(rows []session.ThreadScope) error {
	return r.w.ReplaceThreadScopes(rows)
}

// WriteTestCases writes what cases of tests allocated.
func (r *Recording) WriteTestCases(rows []session.TestCase) error { return r.w.ReplaceTestCases(rows) }

// NextInteraction returns the id of a row of the table interaction.
func (r *Recording) NextInteraction() session.InteractionID {
	r.next.interaction++
	return r.next.interaction
}

// WriteInteractions adds rows of the table interaction, or replaces those with the same ids.
func (r *Recording) WriteInteractions(rows []session.Interaction) error {
	return r.w.ReplaceInteractions(rows)
}

// InteractionStack writes the stack of a caller, and returns its id.
func (p *Process) InteractionStack(frames []session.InteractionFrame) (session.InteractionStackID, error) {
	r := p.recording
	r.next.interactionStack++
	for i := range frames {
		frames[i].Stack = r.next.interactionStack
	}
	return r.next.interactionStack, r.w.InsertInteractionFrames(frames)
}

// Snapshot is what a heap said of itself at one moment. Rows need no process.
type Snapshot struct {
	Total   session.Snapshot
	Types   []session.SnapshotType
	Sites   []session.SnapshotSite
	Roots   []session.SnapshotRoot
	Paths   []session.SnapshotPath
	Statics []session.SnapshotStatic
	Holders []session.SnapshotHolder
}

// WriteSnapshot writes the snapshot of a process: one at most, after all that it refers to is written.
func (p *Process) WriteSnapshot(s *Snapshot) error {
	s.Total.Process = p.id
	for i := range s.Types {
		s.Types[i].Process = p.id
	}
	for i := range s.Roots {
		s.Roots[i].Process = p.id
	}
	for i := range s.Paths {
		s.Paths[i].Process = p.id
	}
	for i := range s.Statics {
		s.Statics[i].Process = p.id
	}
	for i := range s.Holders {
		s.Holders[i].Process = p.id
	}
	w := p.recording.w
	if err := w.InsertSnapshots([]session.Snapshot{s.Total}); err != nil {
		return err
	}
	if err := w.InsertSnapshotTypes(s.Types); err != nil {
		return err
	}
	if err := w.InsertSnapshotSites(s.Sites); err != nil {
		return err
	}
	if err := w.InsertSnapshotRoots(s.Roots); err != nil {
		return err
	}
	if err := w.InsertSnapshotPaths(s.Paths); err != nil {
		return err
	}
	if err := w.InsertSnapshotStatics(s.Statics); err != nil {
		return err
	}
	return w.InsertSnapshotHolders(s.Holders)
}
