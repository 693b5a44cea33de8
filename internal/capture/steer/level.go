package steer

// Op is what can be done to a level.
type Op string

// The operations on levels. A level is on when it is started, which at first it is, and not suspended more often than
// resumed.
const (
	Start   Op = "start"
	Stop    Op = "stop"
	Suspend Op = "pause"
	Resume  Op = "resume"
)

// Level is the state of all processes, of one, or of a thread. The zero Level is on.
type Level struct {
	Stopped   bool  `json:"stopped"`
	Suspended int32 `json:"suspended"` // how often it is suspended; below zero: resumed more often than suspended
}

// On reports whether the level lets anything be recorded.
func (l Level) On() bool { return !l.Stopped && l.Suspended <= 0 }

// After is the level after an operation.
func (l Level) After(op Op) Level {
	switch op {
	case Start:
		l.Stopped = false
	case Stop:
		l.Stopped = true
	case Suspend:
		l.Suspended++
	case Resume:
		l.Suspended--
	}
	return l
}
