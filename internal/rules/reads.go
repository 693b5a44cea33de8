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

// Names of the counters that small-reads looks at (package counter).
const (
	counterRead      = "process.read"
	counterReadCalls = "process.read_calls"
)

// Limits of small-reads. A read system call takes about a microsecond, as long as copying some kilobytes: of pieces of
// less than 1 KiB the calls take most of the time, and 10,000 of them in a second 1 % of a processor.
const (
	smallRead         = q.Bytes(1024)
	leastReadsASecond = 10_000
	leastReadsPercent = 10 // of a process's system calls that a line's calls are, to be named
)

// reads are system calls that read, and what they read.
type reads struct {
	calls  q.Count
	bytes  q.Bytes
	length q.Nanoseconds // in which
}

// small reports whether they read less at once than is good.
func (r reads) small() bool {
	return r.calls > 0 && r.bytes >= 0 && r.bytes < smallRead*q.Bytes(r.calls)
}

// processReads is what a process read between samples.
type processReads struct {
	process *session.Process
	all     reads // between its first sample and its last one
	few     reads // in those spans between two samples in which they were small
}

// often reports whether a process has small reads that matter.
func (p *processReads) often() bool {
	return p.few.calls >= leastCalls && float64(p.few.calls)*1e9 >= leastReadsASecond*float64(p.all.length)
}

// counterID returns the id of a counter, 0 if the session does not know it.
func counterID(counters []session.Counter, name string) int64 {
	at := slices.IndexFunc(counters, func(c session.Counter) bool { return c.Name == name })
	if at < 0 {
		return 0
	}
	return counters[at].ID
}

// readsOf returns what the selected processes read that have two samples, in the order of id.
func readsOf(src *analysis.Source) ([]processReads, error) {
	s := src.Session()
	counters, err := s.Counters()
	if err != nil {
		return nil, err
	}
	calls, read := counterID(counters, counterReadCalls), counterID(counters, counterRead)
	if calls == 0 || read == 0 {
		return nil, nil
	}
	values, err := s.CounterValues()
	if err != nil {
		return nil, err
	}
	samples := map[session.ProcessID]map[q.Nanoseconds]reads{}
	for _, v := range values {
		of := samples[v.Process]
		if of == nil && (v.Counter == calls || v.Counter == read) {
			of = map[q.Nanoseconds]reads{}
			samples[v.Process] = of
		}
		x := of[v.Time]
		switch v.Counter {
		case calls:
			x.calls = q.Count(v.Value)
		case read:
			x.bytes = q.Bytes(v.Value)
		default:
			continue
		}
		of[v.Time] = x
	}
	processes, err := s.Processes()
	var out []processReads
	for i := range processes {
		of := samples[processes[i].ID]
		if len(of) > 1 && src.Selection().HasProcess(processes[i].ID) {
			p := processReads{process: &processes[i]}
			p.addUp(of)
			out = append(out, p)
		}
	}
	return out, err
}

// addUp adds up by how much sums grew from sample to sample.
func (p *processReads) addUp(samples map[q.Nanoseconds]reads) {
	times := slices.Sorted(maps.Keys(samples))
	for i, at := range times[1:] {
		before, now := samples[times[i]], samples[at]
		span := reads{now.calls - before.calls, now.bytes - before.bytes, at - times[i]}
		p.all.add(span)
		if span.small() {
			p.few.add(span)
		}
	}
}

func (r *reads) add(more reads) {
	r.calls, r.bytes, r.length = r.calls+more.calls, r.bytes+more.bytes, r.length+more.length
}

// smallReads makes the find of the rule: processes, and the lines in them that call functions that read.
func smallReads() finder {
	says := func(x *Finding, n Names) string {
		return fmt.Sprintf("%s of %s, in a process that reads in small pieces", x.Calls.Of("call"),
			n.Function(x.Function))
	}
	lines := timed(isRead, func(x *Finding) bool { return x.Calls >= leastCalls }, says)
	return finder{says: says, calls: isRead, search: func(f *facts, r *Rule) search {
		called := lines.search(f, r)
		return search{called.add, func() []Finding {
			var found []Finding
			small := map[session.ProcessID]q.Count{}
			for i := range f.reads {
				if p := &f.reads[i]; p.often() {
					small[p.process.ID] = p.few.calls
					found = append(found, p.finding(r))
				}
			}
			return append(found, slices.DeleteFunc(called.found(), func(x Finding) bool {
				of := small[f.processOf.get(x.From.Function)]
				return of == 0 || x.Calls*100 < of*leastReadsPercent
			})...)
		}}
	}}
}

// finding says how the process reads.
func (p *processReads) finding(r *Rule) Finding {
	text := fmt.Sprintf("process %d (%s) made %s that read %.1f B each on average, in %s", p.process.PID,
		p.process.Name, p.few.calls.Of("system call"), float64(p.few.bytes)/float64(p.few.calls), p.few.length)
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
	at := max(0, strings.LastIndex(name, "."))
	owner, method := name[:at], strings.TrimPrefix(name[at:], ".")
	if !strings.HasPrefix(method, "Read") || method == "ReadByte" || !strings.HasPrefix(owner, "System.IO.") {
		return false
	}
	return owner == "System.IO.RandomAccess" || strings.HasSuffix(owner, "Stream") &&
		!strings.HasSuffix(owner, "MemoryStream") && owner != "System.IO.BufferedStream"
}
