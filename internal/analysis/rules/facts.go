package rules

import (
	"strings"

	"github.com/clrprof/clrprof/internal/analysis"
	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
)

// facts is what rules look at.
type facts struct {
	*analysis.Uses
	types      rowsByID[session.TypeID, *session.Type]
	functions  rowsByID[session.FunctionID, string] // names as in metadata, with their types
	parameters rowsByID[session.FunctionID, string] // as in names
	gcs        []session.GC
	endKnown   bool                            // of all processes it is known what was alive when they ended
	callers    map[session.GCID]analysis.Place // who asked for collections
	own        map[session.GCID]bool           // of gcs: clrprof asked for them
	pinned     q.Count                         // Σ over collections
	detailed   q.Count                         // collections of which pinned is known
	duration   q.Nanoseconds                   // of the processes, together, without clrprof's part of pauses
	params     map[session.ParamsArray]bool
	reads      []processCalls
	writes     []processCalls
	processOf  rowsByID[session.FunctionID, session.ProcessID]
	lacks      map[data]string // of a session, in words
}

// lacksOf says what a session lacks, if a rule cannot tell, that no option would have given it.
func lacksOf(s *session.Session) (map[data]string, error) {
	out := map[data]string{}
	_, known, err := s.ParamsArrays()
	if err != nil {
		return nil, err
	}
	counters, err := s.Counters()
	if err != nil {
		return nil, err
	}
	timed, err := s.ProcessTimes()
	if len(timed) > 0 {
		out[times] = uncalled
	}
	if !known {
		out[paramsArrays] = newer
	}
	for what, d := range map[data]*direction{readCalls: reading, writeCalls: writing} {
		if counterID(counters, d.bytes) != 0 && counterID(counters, d.calls) == 0 {
			out[what] = newer
		}
	}
	return out, err
}

// rowsByID finds rows by their ids, which are asked for millions of times. They are added in ascending order.
type rowsByID[ID ~uint32 | ~int64, T any] struct {
	dense  []T      // of the ids 1, 2, …, as collectors number rows
	sparse map[ID]T // the others
}

func (r *rowsByID[ID, T]) add(id ID, row T) {
	if int64(id) == int64(len(r.dense))+1 {
		r.dense = append(r.dense, row)
		return
	}
	if r.sparse == nil {
		r.sparse = map[ID]T{}
	}
	r.sparse[id] = row
}

// get returns a row, the zero value if there is none.
func (r *rowsByID[ID, T]) get(id ID) T {
	if at := int64(id) - 1; at >= 0 && at < int64(len(r.dense)) {
		return r.dense[at]
	}
	return r.sparse[id]
}

// gather reads what rules look at, of uses those that are asked for.
func gather(src *analysis.Source, asked func(*facts) *analysis.UsesOf) (*facts, error) {
	f := &facts{}
	types, err := src.Session().Types()
	if err != nil {
		return nil, err
	}
	for i := range types {
		f.types.add(types[i].ID, &types[i])
	}
	functions, err := src.Session().Functions()
	if err != nil {
		return nil, err
	}
	for i := range functions {
		f.functions.add(functions[i].ID, functions[i].MetadataName())
		_, parameters, _ := strings.Cut(functions[i].Name, "(")
		f.parameters.add(functions[i].ID, strings.TrimSuffix(parameters, ")"))
		f.processOf.add(functions[i].ID, functions[i].Process)
	}
	if f.lacks, err = lacksOf(src.Session()); err != nil {
		return nil, err
	}
	params, _, err := src.Session().ParamsArrays()
	if err != nil {
		return nil, err
	}
	f.params = make(map[session.ParamsArray]bool, len(params))
	for _, p := range params {
		f.params[p] = true
	}
	if f.reads, err = reading.callsOf(src); err != nil {
		return nil, err
	}
	if f.writes, err = writing.callsOf(src); err != nil {
		return nil, err
	}
	if f.Uses, err = src.Uses(asked(f)); err != nil {
		return nil, err
	}
	return f, f.gatherGCs(src)
}

// gatherGCs reads the collections that are selected.
func (f *facts) gatherGCs(src *analysis.Source) error {
	sel := src.Selection()
	processes, err := src.Session().Processes()
	if err != nil {
		return err
	}
	followed, err := src.Session().ProcessLifetimes()
	if err != nil {
		return err
	}
	of, ended := map[session.ProcessID]bool{}, map[session.ProcessID]bool{}
	f.endKnown = f.Lifetimes
	for _, p := range followed {
		of[p.Process], ended[p.Process] = true, p.AliveKnown
		f.endKnown = f.endKnown && p.AliveKnown
	}
	for _, p := range processes {
		if sel.HasProcess(p.ID) && of[p.ID] {
			f.duration += p.End - p.Begin
		}
	}
	gcs, err := src.Session().GCs()
	if err != nil {
		return err
	}
	chosen := map[session.GCID]bool{}
	for _, g := range gcs {
		if sel.HasProcess(g.Process) {
			f.gcs, chosen[g.ID] = append(f.gcs, g), true
			f.duration = max(0, f.duration-g.Agent)
		}
	}
	if f.own, err = ownOf(src.Session(), gcs, ended); err != nil {
		return err
	}
	if f.callers, err = analysis.GCCallers(src.Session()); err != nil {
		return err
	}
	details, err := src.Session().GCDetails()
	for _, d := range details {
		if chosen[d.GC] {
			f.pinned, f.detailed = f.pinned+d.Pinned, f.detailed+1
		}
	}
	return err
}

// ownOf are the collections that clrprof asks for: when a process begins to end, when it has ended, and for a snapshot
// of its heap. Which process was followed until its end, ended says.
func ownOf(s *session.Session, gcs []session.GC, ended map[session.ProcessID]bool) (map[session.GCID]bool, error) {
	type collection struct {
		process session.ProcessID
		number  int64
	}
	asked, last := map[collection]bool{}, map[session.ProcessID]int64{}
	endings, err := s.ProcessEndings()
	if err != nil {
		return nil, err
	}
	for _, e := range endings {
		asked[collection{e.Process, e.GCNumber}] = true
	}
	snapshots, err := s.Snapshots()
	if err != nil {
		return nil, err
	}
	for _, t := range snapshots {
		asked[collection{t.Process, t.GCNumber}] = true
	}
	for _, g := range gcs {
		if ended[g.Process] {
			last[g.Process] = max(last[g.Process], g.Number)
		}
	}
	out := map[session.GCID]bool{}
	for _, g := range gcs {
		out[g.ID] = g.Induced && (asked[collection{g.Process, g.Number}] || g.Number == last[g.Process])
	}
	return out, nil
}

func (f *facts) has(what data) bool {
	switch what {
	case memory:
		return f.HasMemory
	case readCalls:
		return len(f.reads) > 0
	case writeCalls:
		return len(f.writes) > 0
	case paramsArrays:
		return f.HasMemory && f.lacks[paramsArrays] == ""
	case lifetimes:
		return f.Lifetimes
	}
	return f.Timed
}

// function is the name of a function as in metadata, with its type: System.String.Concat.
func (f *facts) function(id session.FunctionID) string { return f.functions.get(id) }

// method is the name of a function alone.
func (f *facts) method(id session.FunctionID) string {
	_, name, _ := strings.Cut(f.function(id), ".")
	return name[strings.LastIndex(name, ".")+1:]
}

// typeName is the name of a type as in metadata.
func (f *facts) typeName(id session.TypeID) string {
	if t := f.types.get(id); t != nil {
		return t.RawName
	}
	return ""
}

// isTrace reports whether objects of a type are what the runtime keeps the stack of a thrown exception in: no exception
// that is not thrown has one.
func (f *facts) isTrace(id session.TypeID) bool {
	t := f.types.get(id)
	return t != nil && t.Name == "sbyte[]"
}

// startsHost reports whether a use is the start of a server or a host, which no line repeats.
func (f *facts) startsHost(u *analysis.Use) bool {
	return len(u.Chain) > 0 && isHost(f.function(u.Chain[0]))
}

var isHost = prefixed("Microsoft.AspNetCore.Builder.WebApplication", "Microsoft.AspNetCore.Hosting.",
	"Microsoft.Extensions.Hosting.")

func (f *facts) trait(id session.TypeID) string {
	if t := f.types.get(id); t != nil {
		return t.Trait
	}
	return ""
}

// calls reports whether a function of a chain satisfies a condition on its name.
func (f *facts) calls(u *analysis.Use, is func(name string) bool) bool {
	for _, id := range u.Chain {
		if is(f.function(id)) {
			return true
		}
	}
	return false
}

// prefixed makes a condition: that a name begins with one of some.
func prefixed(prefixes ...string) func(string) bool {
	return func(name string) bool {
		for _, p := range prefixes {
			if strings.HasPrefix(name, p) {
				return true
			}
		}
		return false
	}
}
