package rules

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/clrprof/clrprof/internal/analysis"
	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
)

// direction is what small-reads and small-writes differ in.
type direction struct {
	bytes, calls string // names of the counters that it looks at (package counter)
	did, does    string
	is           func(name string) bool // functions that do it
	of           func(*facts) []processCalls
}

var (
	reading = &direction{"process.read", "process.read_calls", "read", "reads", isRead,
		func(f *facts) []processCalls { return f.reads }}
	writing = &direction{"process.written", "process.write_calls", "wrote", "writes", isWrite,
		func(f *facts) []processCalls { return f.writes }}
)

// Limits of small-reads and small-writes. Such a system call takes about a microsecond, as long as copying some
// kilobytes: of pieces of less than 1 KiB the calls take most of the time, and 10,000 of them in a second 1 % of a
// processor.
const (
	smallPiece       = q.Bytes(1024)
	leastASecond     = 10_000
	leastLinePercent = 10 // of a process's system calls that a line's calls are, to be named
)

// transfers are system calls that read or wrote, and what.
type transfers struct {
	calls  q.Count
	bytes  q.Bytes
	length q.Nanoseconds // in which
}

// small reports whether they read or wrote less at once than is good.
func (r transfers) small() bool {
	return r.calls > 0 && r.bytes >= 0 && r.bytes < smallPiece*q.Bytes(r.calls)
}

// processCalls is what a process read or wrote between samples.
type processCalls struct {
	process *session.Process
	all     transfers // between its first sample and its last one
	few     transfers // in those spans between two samples in which they were small
}

// often reports whether a process has small pieces that matter.
func (p *processCalls) often() bool {
	return p.few.calls >= leastCalls && float64(p.few.calls)*1e9 >= leastASecond*float64(p.all.length)
}

// counterID returns the id of a counter, 0 if the session does not know it.
func counterID(counters []session.Counter, name string) int64 {
	at := slices.IndexFunc(counters, func(c session.Counter) bool { return c.Name == name })
	if at < 0 {
		return 0
	}
	return counters[at].ID
}

// callsOf returns what the selected processes read or wrote that have two samples, in the order of id.
func (d *direction) callsOf(src *analysis.Source) ([]processCalls, error) {
	s := src.Session()
	counters, err := s.Counters()
	if err != nil {
		return nil, err
	}
	calls, size := counterID(counters, d.calls), counterID(counters, d.bytes)
	if calls == 0 || size == 0 {
		return nil, nil
	}
	values, err := s.CounterValues()
	if err != nil {
		return nil, err
	}
	samples := map[session.ProcessID]map[q.Nanoseconds]transfers{}
	for _, v := range values {
		of := samples[v.Process]
		if of == nil && (v.Counter == calls || v.Counter == size) {
			of = map[q.Nanoseconds]transfers{}
			samples[v.Process] = of
		}
		x := of[v.Time]
		switch v.Counter {
		case calls:
			x.calls = q.Count(v.Value)
		case size:
			x.bytes = q.Bytes(v.Value)
		default:
			continue
		}
		of[v.Time] = x
	}
	processes, err := s.Processes()
	var out []processCalls
	for i := range processes {
		of := samples[processes[i].ID]
		if len(of) > 1 && src.Selection().HasProcess(processes[i].ID) {
			p := processCalls{process: &processes[i]}
			p.addUp(of)
			out = append(out, p)
		}
	}
	return out, err
}

// addUp adds up by how much sums grew from sample to sample.
func (p *processCalls) addUp(samples map[q.Nanoseconds]transfers) {
	times := slices.Sorted(maps.Keys(samples))
	for i, at := range times[1:] {
		before, now := samples[times[i]], samples[at]
		span := transfers{now.calls - before.calls, now.bytes - before.bytes, at - times[i]}
		p.all.add(span)
		if span.small() {
			p.few.add(span)
		}
	}
}

func (r *transfers) add(more transfers) {
	r.calls, r.bytes, r.length = r.calls+more.calls, r.bytes+more.bytes, r.length+more.length
}

// smallPieces makes the find of a rule: processes, and the lines in them that call functions that read or write.
func smallPieces(d *direction) finder {
	says := func(x *Finding, n Names) string {
		return fmt.Sprintf("%s of %s, in a process that %s in small pieces", x.Calls.Of("call"),
			n.Function(x.Function), d.does)
	}
	floor := fmt.Sprintf("%s of less than %s, and so many a second", q.Count(leastCalls).Of("call"), smallPiece)
	lines := timed(d.is, manyCalls, says)
	return finder{says: says, calls: d.is, floor: floor, search: func(f *facts, r *Rule) search {
		called := lines.search(f, r)
		return search{called.add, func() []Finding {
			var found []Finding
			small := map[session.ProcessID]q.Count{}
			all := d.of(f)
			for i := range all {
				if p := &all[i]; p.often() {
					small[p.process.ID] = p.few.calls
					found = append(found, p.finding(r, d))
				}
			}
			return append(found, slices.DeleteFunc(called.found(), func(x Finding) bool {
				of := small[f.processOf.get(x.From.Function)]
				return of == 0 || x.Calls*100 < of*leastLinePercent
			})...)
		}}
	}}
}

// finding says how the process reads or writes.
func (p *processCalls) finding(r *Rule, d *direction) Finding {
	text := fmt.Sprintf("process %d (%s) made %s that %s %.1f B each on average, in %s", p.process.PID,
		p.process.Name, p.few.calls.Of("system call"), d.did, float64(p.few.bytes)/float64(p.few.calls), p.few.length)
	if p.few != p.all {
		text += fmt.Sprintf(" of %s between its first sample and its last one", p.all.length)
	}
	found := whole(r, q.Amount{}, "%s", text)[0]
	found.Calls = p.few.calls
	return found
}

// isRead reports whether a function reads a stream or a file, as its caller names it: what the stream is of, and
// whether it has a buffer, is not known of most.
func isRead(name string) bool {
	owner, method := ofFile(name)
	return owner && strings.HasPrefix(method, "Read") && method != "ReadByte"
}

// isWrite is isRead for what writes.
func isWrite(name string) bool {
	owner, method := ofFile(name)
	return owner && strings.HasPrefix(method, "Write") && method != "WriteByte"
}

// ofFile reports whether a function is of a stream that may be of a file, and returns its name without the type.
func ofFile(name string) (is bool, method string) {
	at := max(0, strings.LastIndex(name, "."))
	owner, method := name[:at], strings.TrimPrefix(name[at:], ".")
	return strings.HasPrefix(owner, "System.IO.") && (owner == "System.IO.RandomAccess" ||
		strings.HasSuffix(owner, "Stream") && !strings.HasSuffix(owner, "MemoryStream") &&
			owner != "System.IO.BufferedStream"), method
}
