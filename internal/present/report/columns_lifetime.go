package report

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/clrprof/clrprof/internal/analysis"
	"github.com/clrprof/clrprof/internal/dotnet/usercode"
	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
)

// endKeys are what the columns of lifetimes begin with: the generations, and alive.
var endKeys = [session.Generations + 1]string{"gen0", "gen1", "gen2", "loh", "poh", "alive"}

var endTitles = [session.Generations + 1]string{"Gen 0", "Gen 1", "Gen 2", "LOH", "POH", "Alive"}

// ended returns the part of a lifetime with a position of endKeys.
func ended(l *analysis.Lifetime, end int) q.Amount {
	if end < session.Generations {
		return l.Dead[end]
	}
	return l.Alive()
}

// ofEnd returns what an end is a part of: on the large object heap nothing is sampled.
func ofEnd(l *analysis.Lifetime, end int) q.Amount {
	if end == session.GenerationLarge {
		return q.Amount{}
	}
	return l.Born
}

// lifetimeKeys are the keys of the columns of lifetimes, with a prefix: "", inclusive_ or exclusive_.
func lifetimeKeys(prefix string) string {
	var b strings.Builder
	for _, unit := range []string{"instances", "bytes"} {
		for _, key := range endKeys {
			b.WriteString(prefix + key + "_" + unit + " ")
		}
	}
	return b.String()
}

// bothLifetimes are the keys of the columns of lifetimes by both rules.
var bothLifetimes = keys(lifetimeKeys("inclusive_") + lifetimeKeys("exclusive_"))

// diedKeys are the keys of the objects that died.
func diedKeys() string {
	return strings.NewReplacer("alive_instances ", "", "alive_bytes ", "").Replace(lifetimeKeys(""))
}

// lifetimeColumns makes the columns of what became of objects. A row without lifetimes has empty cells there.
func lifetimeColumns() []Column {
	var out []Column
	for _, v := range []struct {
		prefix, title string
		lifetime      func(*context, *Row) *analysis.Lifetime
	}{
		{"", "", func(_ *context, r *Row) *analysis.Lifetime { return r.lifetime }},
		{"inclusive_", "Incl. ", func(c *context, r *Row) *analysis.Lifetime { return c.lifetimesOf(r, true) }},
		{"exclusive_", "Excl. ", func(c *context, r *Row) *analysis.Lifetime { return c.lifetimesOf(r, false) }},
	} {
		for end, key := range endKeys {
			cell := func(value func(*context, q.Amount, q.Amount) Cell) func(*context, *Row) Cell {
				return func(c *context, r *Row) Cell {
					l := v.lifetime(c, r)
					if l == nil {
						return Cell{Empty: true}
					}
					return value(c, ended(l, end), ofEnd(l, end))
				}
			}
			title := v.title + endTitles[end]
			if v.prefix != "" {
				title = v.title + strings.ToLower(endTitles[end])
			}
			out = append(out,
				Column{Key: v.prefix + key + "_instances", Title: title, Kind: Count,
					cell: cell((*context).objectsCell)},
				Column{Key: v.prefix + key + "_bytes", Title: title + " bytes", Kind: Bytes,
					cell: cell((*context).bytesCell)})
		}
	}
	return append(out, Column{Key: "stack", Title: "Stack", Kind: Name, cell: stackCell},
		Column{Key: "from", Title: "From", Kind: Name, cell: fromCell, Cut: CutBeginning})
}

// fromCell is where the user's code comes in: its innermost frame, or else the innermost one that has a line.
func fromCell(c *context, r *Row) Cell {
	if r.from != (analysis.Place{}) {
		return textCell(c.placeText(r.from))
	}
	if r.node == 0 {
		return Cell{Empty: true}
	}
	stack, err := c.source.Stack(r.node, maxStack)
	if err != nil {
		return Cell{Empty: true}
	}
	chosen := analysis.Place{}
	for _, f := range stack {
		if c.isUser(f.Function) {
			return textCell(c.placeText(analysis.Place(f)))
		}
		if f.Line != 0 && chosen.Line == 0 {
			chosen = analysis.Place(f)
		}
	}
	if chosen.Line == 0 {
		return Cell{Empty: true}
	}
	return textCell(c.placeText(chosen))
}

// isUser reports whether a function is user code.
func (c *context) isUser(id session.FunctionID) bool {
	f := c.functions.get(id)
	return f.Kind != session.FunctionExtern && usercode.Origin(c.modules.get(f.Module).Origin).IsUser()
}

// placeText names a place in the source: Cart.Add Cart.cs:31; without its line, if that is not known.
func (c *context) placeText(p analysis.Place) string {
	name := c.frameName(p.Function)
	if p.Line == 0 {
		return name
	}
	return name + " " + c.lineText(p.Line)
}

// lineText is the file's name and where a statement begins: Csv.cs:14.
func (c *context) lineText(id session.LineID) string {
	l := c.lines.get(id)
	return path.Base(c.files.get(l.File).Path) + ":" + c.linePosition(l)
}

// wholeLineText is the file's name and a line, whichever statement of it is meant: Csv.cs:14.
func (c *context) wholeLineText(id session.LineID) string {
	l := c.lines.get(id)
	return path.Base(c.files.get(l.File).Path) + ":" + strconv.FormatInt(l.LineBegin, 10)
}

// wholeLine is placeText without the statement of the line.
func (c *context) wholeLine(p analysis.Place) string {
	return c.frameName(p.Function) + " " + c.wholeLineText(p.Line)
}

// maxStack bounds the functions in the column stack: a stack can be 65,536 deep, and a program that wants all of it
// asks the session.
const maxStack = 64

// ellipsis stands for what is left out.
const ellipsis = "…"

// stackCell is the call path of a site, from the root on.
func stackCell(c *context, r *Row) Cell {
	if r.node == 0 {
		return Cell{Empty: true}
	}
	var names []string
	stack, err := c.source.Stack(r.node, maxStack+1)
	if err != nil || len(stack) == 0 {
		return Cell{Empty: true}
	}
	for i := len(stack) - 1; i >= 0; i-- {
		names = append(names, c.functionName(stack[i].Function))
	}
	if len(stack) > maxStack {
		names[0] = ellipsis
	}
	return textCell(strings.Join(names, " › "))
}

// lifetimesOf is the lifetime of a function's or a path's row.
func (c *context) lifetimesOf(r *Row, inclusive bool) *analysis.Lifetime {
	var both analysis.LifetimeAmounts
	switch {
	case r.kind == rowProcess:
		both.Inclusive = c.lifetimes.processes[r.process]
	case r.kind != rowFunction || c.lifetimes.types != nil:
		return nil
	case c.lifetimes.paths != nil:
		both = c.lifetimes.paths[r.path]
	case c.lifetimes.functions != nil:
		both = c.lifetimes.functions[r.function]
	default:
		return nil
	}
	if inclusive {
		return &both.Inclusive
	}
	return &both.Exclusive
}

// shownLifetimes are the lifetimes that the columns of a view need; nil: not these.
type shownLifetimes struct {
	types     map[session.TypeID]analysis.Lifetime
	functions map[session.FunctionID]analysis.LifetimeAmounts
	paths     map[session.PathID]analysis.LifetimeAmounts
	processes map[session.ProcessID]analysis.Lifetime
	lines     map[session.LineID]analysis.Lifetime
	places    map[analysis.UserPlace]analysis.Lifetime // in user code
}

// attachLifetimes gives rows of types and lines their lifetimes.
func (b *builder) attachLifetimes(list []Row) {
	for i := range list {
		r := &list[i]
		switch {
		case r.kind == rowType && b.lifetimes.types != nil:
			l := b.lifetimes.types[r.typ]
			r.lifetime = &l
		case r.kind == rowLine && b.lifetimes.lines != nil:
			l := b.lifetimes.lines[r.line]
			r.lifetime = &l
		}
	}
}

// endingNotes adds when the processes that are selected began to end.
func (c *context) endingNotes(out []Note) ([]Note, error) {
	s := c.source.Session()
	endings, err := s.ProcessEndings()
	if err != nil {
		return nil, err
	}
	endings = slices.DeleteFunc(endings, func(e session.ProcessEnding) bool {
		return !c.source.Selection().HasProcess(e.Process)
	})
	if len(endings) == 0 {
		return out, nil
	}
	gcs, err := s.GCs()
	if err != nil {
		return nil, err
	}
	process := map[session.GCID]session.ProcessID{}
	for _, g := range gcs {
		process[g.ID] = g.Process
	}
	rows, err := s.GCFreed()
	var freed q.Amount
	frees := map[session.ProcessID]bool{}
	for _, f := range rows {
		if p := process[f.GC]; c.source.Selection().HasProcess(p) {
			frees[p] = true
			freed = freed.Add(f.Amount)
		}
	}
	// Every small program exits; where it freed nothing then, all ends are the same moment.
	endings = slices.DeleteFunc(endings, func(e session.ProcessEnding) bool {
		return e.Sign == session.SignExit && !frees[e.Process]
	})
	if len(endings) == 0 {
		return out, err
	}
	objects := Things{int(freed.Allocations), "object"}
	if len(endings) > 1 {
		return append(out, note(NoteEndings, Things{len(endings), "process"}, freed.Bytes, objects)), err
	}
	kinds := map[string]NoteKind{session.SignSignal: NoteEndingSignal, session.SignHost: NoteEndingHost,
		session.SignExit: NoteEndingExit}
	kind, known := kinds[endings[0].Sign]
	if !known {
		return out, err // of a later clrprof
	}
	before := max(0, c.processes.get(endings[0].Process).End-endings[0].Begin)
	return append(out, note(kind, before, freed.Bytes, objects)), err
}

// lifetimeNotes say how the numbers of lifetimes came about.
func (c *context) lifetimeNotes() ([]Note, error) {
	rows, err := c.source.Session().ProcessLifetimes()
	if err != nil {
		return nil, err
	}
	known, unknown := 0, 0
	for _, r := range rows {
		if !c.source.Selection().HasProcess(r.Process) {
			continue
		}
		if r.AliveKnown {
			known++
		} else {
			unknown++
		}
	}
	var out []Note
	if known+unknown > 0 {
		out = append(out, note(NoteBackground))
	}
	switch {
	case c.source.Selection().Spans():
		out = append(out, note(NoteSpan))
	case unknown == 0 && known > 0:
		out = append(out, note(NoteAlive))
		return c.endingNotes(out)
	case known == 0 && unknown > 0:
		out = append(out, note(NoteNotCollected))
	case unknown > 0:
		out = append(out, note(NoteAliveMostly, Things{unknown, "process"}))
	}
	return out, nil
}
