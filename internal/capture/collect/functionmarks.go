package collect

import (
	"fmt"

	"github.com/clrprof/clrprof/internal/capture/instrument"
	"github.com/clrprof/clrprof/internal/capture/probes"
	"github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/wire"
)

// pointNames are added to the names of marks at functions; that after one is what Clrprof.Control adds at the end of a
// section.
var pointNames = [wire.Points]string{wire.PointAfter: " end", wire.PointTop: " top", wire.PointBottom: " bottom"}

// markedFunction is a function whose calls or returns the agent marks.
type markedFunction struct {
	module, typ, method string            // as patterns know them
	marked              [wire.Points]bool // there was a mark at this point
}

func newMarkedFunction(module string, row *session.Function) *markedFunction {
	return &markedFunction{module: module, typ: row.RawType, method: row.RawName}
}

// name is Namespace.Outer/Nested.Method.
func (f *markedFunction) name() string {
	if f.typ == "" {
		return f.method
	}
	return f.typ + "." + f.method
}

// markAt takes the patterns of functions that the agents mark.
func (r *Recorder) markAt(patterns []instrument.MarkAt) {
	r.control.markAt = patterns
	r.control.met = make([]bool, len(patterns))
}

// unmarked are the patterns at whose functions nothing was marked.
func (r *Recorder) unmarked() []instrument.MarkAt {
	var out []instrument.MarkAt
	for i, m := range r.control.markAt {
		if !r.control.met[i] {
			out = append(out, m)
		}
	}
	return out
}

// addFunctionMark takes a mark at a function.
func (p *process) addFunctionMark(r *Recorder, record *wire.FunctionMark) error {
	f := p.names.marked[record.Function]
	if f == nil || record.Point >= wire.Points {
		return fmt.Errorf("%w: a mark at function %d", wire.ErrCorrupt, record.Function)
	}
	name := f.name() + pointNames[record.Point]
	thread, _ := p.threads.id(record.Thread)
	r.rec.Mark(session.Mark{Time: quantity.Nanoseconds(record.TimeNS) - r.start, Name: name, Process: p.rec.ID(),
		Thread: thread, Source: session.MarkFunction})
	if !f.marked[record.Point] {
		f.marked[record.Point] = true
		for i, m := range r.control.markAt {
			r.control.met[i] = r.control.met[i] || m.Point == int(record.Point) &&
				m.Matches(f.module, f.typ, f.method)
		}
	}
	return nil
}

// addNotProbed takes the reason why a function has no probes.
func (p *process) addNotProbed(record *wire.NotProbed) error {
	f, ok := p.names.functions[record.Function]
	reason := probes.Refusal(record.Reason).String()
	if !ok || reason == "" {
		return fmt.Errorf("%w: function %d has no probes for the reason %d", wire.ErrCorrupt, record.Function,
			record.Reason)
	}
	return p.rec.NotProbed(f.id, reason)
}
