package steer

// Commands of a Request besides the operations on levels.
const (
	Status = "status" // says how things are
	Mark   = "mark"   // notes a moment
	Flush  = "flush"  // writes to the session what was recorded up to now

	Detach   = "detach"   // ends a recording of a process that runs on, and makes its agent dormant again
	Collect  = "gc"       // makes processes collect their garbage
	Snapshot = "snapshot" // the same, and takes a snapshot of their heaps

	NameThread = "name-thread" // gives a thread another name in the session
)

// Request is what a client asks for.
type Request struct {
	Command string `json:"command"`          // Status and so on, or an Op
	PID     int    `json:"pid,omitempty"`    // of operations, Collect and Snapshot: one process; 0: all
	Thread  int64  `json:"thread,omitempty"` // of operations and NameThread: one thread, by a Thread's id; 0: all
	Name    string `json:"name,omitempty"`   // of a mark, or a thread
	Text    string `json:"text,omitempty"`   // of a mark
}

// Codes of an answer that says no.
const (
	CodeUsage   = "usage"   // the request makes no sense
	CodeProcess = "process" // no such process
	CodeThread  = "thread"  // no such thread, or several
	CodeRefused = "refused" // not in this state
)

// Response is the answer.
type Response struct {
	Error  string `json:"error,omitempty"`
	Code   string `json:"code,omitempty"`
	Report Report `json:"report"`
}

// States of a Report.
const (
	StateRecording  = "recording"  // also while nothing is recorded because of a pause
	StateCompleting = "completing" // the recording has ended, and the session gets its names and sums
)

// Report says how a recording is.
type Report struct {
	Session   string    `json:"session"`
	State     string    `json:"state"` // StateRecording or StateCompleting
	Modes     string    `json:"modes"`
	PID       int       `json:"pid"` // of clrprof
	AgeNS     int64     `json:"age_ns"`
	PausedNS  int64     `json:"paused_ns"` // of that: the global level was off
	Global    Level     `json:"global"`
	Recording bool      `json:"recording"` // the global level is on
	Slices    int64     `json:"slices"`
	Marks     int64     `json:"marks"`
	Pauses    int64     `json:"pauses"`
	Limit     int64     `json:"memory_limit"` // of the agent in each process, bytes
	Processes []Process `json:"processes"`
	Trace     *Trace    `json:"trace,omitempty"` // the call trace, where there is one
	Done      []int     `json:"done,omitempty"`  // process ids that did what was asked for
}

// Process is a process of a Report.
type Process struct {
	PID         int    `json:"pid"`
	Name        string `json:"name"`
	Runtime     string `json:"runtime"`
	State       string `json:"state"` // recording, paused, ended
	Level       Level  `json:"level"`
	PausedNS    int64  `json:"paused_ns"`
	Threads     int    `json:"threads"` // that have been seen
	Allocations int64  `json:"allocations"`
	Bytes       int64  `json:"bytes"`
	Used        int64  `json:"memory_used"` // by the agent, bytes
	Limit       int64  `json:"memory_limit"`
	Lost        int64  `json:"losses"`     // events
	ProbesOut   int64  `json:"probes_out"` // functions whose probes are taken out while nothing is recorded

	Buffers []Buffer `json:"buffers"` // of that memory

	Running []Thread `json:"running"` // the threads that have been seen and have not ended, as they began
}

// Trace is how full the file of a call trace is.
type Trace struct {
	Events  int64 `json:"events"`
	Limit   int64 `json:"limit"`   // of events
	Ring    bool  `json:"ring"`    // it keeps the last events, else the first
	Dropped int64 `json:"dropped"` // events for which there was no room
}

// Buffer is a part of the agent's memory. All share its limit.
type Buffer struct {
	Name  string `json:"name"`
	Used  int64  `json:"used"`  // bytes
	Limit int64  `json:"limit"` // bytes
}

// Thread is a thread of a Process.
type Thread struct {
	ID    int64  `json:"id"` // gettid, as the process itself has it
	Name  string `json:"name"`
	Level Level  `json:"level"`
}
