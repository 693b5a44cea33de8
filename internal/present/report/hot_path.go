package report

import (
	"slices"

	"github.com/clrprof/clrprof/internal/analysis/calltree"
	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
)

// entryPoints are what compilers call the function that a program begins with: Main, what C# makes of one that is async
// and of statements at the top of a file, and those of F#.
var entryPoints = []string{"Main", entryOfAsyncMain, "<Main>$", "main", "main@"}

// isEntry reports whether a row of the call tree is the entry point of a program, below the row of the process or of
// the entry point that the compiler made for it.
func (c *context) isEntry(r, above *Row) bool {
	if r.kind != rowFunction || !c.isUser(r.function) ||
		!slices.Contains(entryPoints, c.functions.get(r.function).RawName) {
		return false
	}
	return above.kind == rowProcess || c.functions.get(above.function).RawName == entryOfAsyncMain
}

// idle is how long the entry points at and below a row were blocked: themselves, and in what they called of the
// framework. What Main waits for, threads, tasks or the end of a server, is on other paths: the wait is no work.
func (c *context) idle(of, above *Row) (q.Nanoseconds, error) {
	entry := above != nil && c.isEntry(of, above)
	if !entry && of.kind != rowProcess || of.time == nil {
		return 0, nil
	}
	sum := q.Nanoseconds(0)
	if entry {
		sum = of.time.Exclusive.Blocked
	}
	below, err := c.pathsBelow(of)
	for i := range below {
		r := &below[i]
		if entry && r.time != nil && r.function != 0 && !c.isUser(r.function) {
			sum += r.time.Inclusive.Blocked
			continue
		}
		part, err := c.idle(r, of)
		if err != nil {
			return 0, err
		}
		sum += part
	}
	return sum, err
}

// weighted is a row with what it weighs in the hot path: by time, without the waits of entry points.
func (c *context) weighted(r, above *Row, weight func(cost) int64) (calltree.Weighted[Row], error) {
	out := calltree.Weighted[Row]{Node: *r, Inclusive: weight(inclusiveCost(r)), Exclusive: weight(exclusiveCost(r))}
	if r.time == nil || above == nil || !isOfTime(weight) {
		return out, nil
	}
	idle, err := c.idle(r, above)
	own := q.Nanoseconds(0)
	switch {
	case c.isEntry(r, above):
		own = r.time.Exclusive.Blocked
	case above.idle && r.function != 0 && !c.isUser(r.function):
		idle, own = r.time.Inclusive.Blocked, r.time.Exclusive.Blocked
	}
	out.Inclusive, out.Exclusive = max(0, out.Inclusive-int64(idle)), max(0, out.Exclusive-int64(own))
	out.Node.idle = c.isEntry(r, above)
	return out, err
}

// isOfTime reports whether a row weighs by its time.
func isOfTime(weight func(cost) int64) bool { return weight(cost{time: q.Time{Elapsed: 1}}) != 0 }

// hotPath returns the hot path from a row of the call tree, without it: by what weighs, bytes or time.
func (c *context) hotPath(from Row, weight func(cost) int64) ([]Row, error) {
	return calltree.HotPath(from, weight(exclusiveCost(&from)), func(r Row) ([]calltree.Weighted[Row], error) {
		below, err := c.pathsBelow(&r)
		if recorded := c.recorded(below, weight); len(recorded) > 0 {
			below = recorded
		}
		var out []calltree.Weighted[Row]
		for i := range below {
			w, failed := c.weighted(&below[i], &r, weight)
			if failed != nil {
				return nil, failed
			}
			out = append(out, w)
		}
		return out, err
	})
}

// isExcluded reports whether a row stands for code that is not recorded.
func (c *context) isExcluded(r *Row) bool {
	f := c.functions.get(r.function)
	return r.function != 0 && f.Kind == session.FunctionPseudo && f.RawName == session.NameExcluded
}

// isCollection reports whether a function stands for garbage collections that threads waited for.
func (c *context) isCollection(id session.FunctionID) bool {
	f := c.functions.get(id)
	return id != 0 && f.Kind == session.FunctionPseudo && f.RawName == session.NameCollection
}

// recorded are those of some rows that weigh something, without those of code that is not recorded: the hot path goes
// past that, however much it is, as it ends there and leads nowhere.
func (c *context) recorded(rows []Row, weight func(cost) int64) []Row {
	var out []Row
	for i := range rows {
		if !c.isExcluded(&rows[i]) && weight(inclusiveCost(&rows[i])) > 0 {
			out = append(out, rows[i])
		}
	}
	return out
}

// passed is the row of code that is not recorded which the hot path from a row goes past, though it weighs more; nil:
// there is none.
func (c *context) passed(from Row, hot []Row, weight func(cost) int64) (*Row, error) {
	below, err := c.pathsBelow(&from)
	for i := range below {
		if r := &below[i]; len(hot) > 0 && c.isExcluded(r) && !c.isExcluded(&hot[0]) &&
			weight(inclusiveCost(r)) > weight(inclusiveCost(&hot[0])) {
			return r, err
		}
	}
	return nil, err
}

// share is the part of what a row weighs that another one does.
func share(of, part Row, weight func(cost) int64) q.Percent {
	return q.PercentOf(q.Bytes(weight(inclusiveCost(&part))), q.Bytes(weight(inclusiveCost(&of))))
}

// onlyHot shows the hot path of the root that weighs most.
func (b *builder) onlyHot(roots []Row) error {
	if len(roots) == 0 {
		return nil
	}
	heaviest, hot, err := b.hottest(roots)
	if err != nil {
		return err
	}
	b.table.Rows = append([]Row{heaviest}, hot...)
	b.noteHot()
	if err := b.noteWaited(&heaviest, hot); err != nil {
		return err
	}
	passed, err := b.passed(heaviest, hot, b.heavier())
	if passed != nil {
		b.note(NoteHotPassed, share(heaviest, *passed, b.heavier()), pick(b.hasTime(), "time", "bytes"))
	}
	return err
}

// noteWaited says how long entry points waited, if that is more than where the hot path ends took.
func (b *builder) noteWaited(of *Row, hot []Row) error {
	if !b.hasTime() || len(hot) == 0 || hot[len(hot)-1].time == nil {
		return nil
	}
	idle, err := b.idle(of, nil)
	last := &hot[len(hot)-1]
	least := last.time.Inclusive.Elapsed
	if last.idle {
		least -= idle
	}
	if err == nil && idle > least {
		b.note(NoteHotWaited, idle)
	}
	return err
}

// noteHot says what the hot path is of.
func (b *builder) noteHot() {
	b.note(NoteHotPath, pick(b.hasTime(), "time", "bytes"))
}

// hottest returns the root that weighs most, and the hot path below it.
func (c *context) hottest(roots []Row) (heaviest Row, hot []Row, err error) {
	if heaviest, err = c.heaviestOf(roots, c.heavier()); err != nil {
		return heaviest, nil, err
	}
	hot, err = c.hotPath(heaviest, c.heavier())
	return heaviest, hot, err
}

// heaviestOf is the first of some roots that weighs most, without the waits of entry points.
func (c *context) heaviestOf(roots []Row, weight func(cost) int64) (Row, error) {
	var out Row
	most := int64(-1)
	for i := range roots {
		r := &roots[i]
		weighs := weight(inclusiveCost(r))
		if isOfTime(weight) {
			idle, err := c.idle(r, nil)
			if err != nil {
				return out, err
			}
			weighs -= int64(idle)
		}
		if weighs > most || i == 0 {
			out, most = *r, weighs
		}
	}
	return out, nil
}
