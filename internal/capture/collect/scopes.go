package collect

import (
	"slices"

	"github.com/clrprof/clrprof/internal/capture/arena"
	"github.com/clrprof/clrprof/internal/capture/instrument"
	"github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/wire"
)

// scopes are how often and how long the threads of a process were in functions that limit what is recorded.
type scopes struct {
	rows    []wire.Scope // as they were read last, by the thread's id less one
	written map[session.ThreadID]session.ThreadScope
	missing quantity.Count // functions without probes
}

// read takes what the agent tells. A row is of a thread that the log has described.
func (s *scopes) read(a *arena.Arena) {
	rows := a.Scopes()
	s.rows = make([]wire.Scope, len(rows))
	for i := range rows {
		s.rows[i] = arena.Scope(&rows[i])
	}
}

// unlimited is how many functions could not have the probes by which they limit what is recorded, and how many
// processes could have none at all.
func (r *Recorder) unlimited() quantity.Count {
	n := quantity.Count(0)
	for _, p := range r.processes {
		n += p.scopes.missing
	}
	return n
}

// isOff says whether nothing of a thread is recorded because of the functions that it is in.
func (s *scopes) isOff(thread uint32) bool {
	return thread != 0 && int(thread) <= len(s.rows) && s.rows[thread-1].Off != 0
}

// write writes the rows that changed, up to now: CLOCK_MONOTONIC.
func (s *scopes) write(r *Recorder, p *process, now quantity.Nanoseconds) error {
	var rows []session.ThreadScope
	for i, row := range s.rows {
		thread, known := p.threads.id(uint32(i + 1))
		out := session.ThreadScope{Thread: thread, Inside: spells(row.Inside, now), Outside: spells(row.Outside, now)}
		if !known || out == s.written[thread] || row.Inside.Times+row.Outside.Times == 0 {
			continue
		}
		if s.written == nil {
			s.written = map[session.ThreadID]session.ThreadScope{}
		}
		s.written[thread] = out
		rows = append(rows, out)
	}
	return r.rec.WriteScopes(rows)
}

func spells(s wire.Spells, now quantity.Nanoseconds) session.Spells {
	out := session.Spells{Times: quantity.Count(s.Times), Length: quantity.Nanoseconds(s.NS)}
	if s.SinceNS != 0 {
		out.Length += max(0, now-quantity.Nanoseconds(s.SinceNS))
	}
	return out
}

// unmet are the limits of which no function was met in any process.
func (r *Recorder) unmet() []instrument.Limit {
	return slices.DeleteFunc(slices.Clone(r.control.limits), func(s instrument.Limit) bool {
		for _, p := range r.processes {
			for _, f := range p.names.marked {
				if s.Matches(f.module, f.typ, f.method) {
					return true
				}
			}
		}
		return false
	})
}
