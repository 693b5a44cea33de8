package report

import (
	"cmp"
	"slices"

	"github.com/clrprof/clrprof/internal/session"
)

// lossesView is the list of losses, with what each of them means.
var lossesView = View{
	Name:  "losses",
	Short: "what is missing or inexact, which numbers that affects, and what to do about it",
	Text:  Options{Top: 40},
	columns: keys("reason missing events unit affected_allocations affected_bytes process_id process_name meaning " +
		"touches advice"),
	text:  keys("reason missing events unit affected_allocations affected_bytes process_name meaning"),
	build: buildLosses,
	timed: timedView{
		text: keys("reason missing events unit affected_allocations affected_bytes process_name meaning"),
		both: keys("reason missing events unit affected_allocations affected_bytes process_name meaning"),
	},
}

var lossColumns = []Column{
	{Key: "reason", Title: "Reason", Kind: Text, cell: loss(func(l *session.Loss) Cell { return textCell(l.Reason) })},
	{Key: "missing", Title: "Missing", Kind: Number, cell: loss(func(l *session.Loss) Cell {
		return Cell{Number: int64(asMissing(l))}
	})},
	{Key: "events", Title: "Events", Kind: Count, cell: loss(func(l *session.Loss) Cell {
		return numberCell(l.Events)
	})},
	{Key: "unit", Title: "Unit", Kind: Text, cell: loss(func(l *session.Loss) Cell { return textCell(l.Unit()) })},
	{Key: "affected_allocations", Title: "Allocations", Kind: Count, cell: loss(func(l *session.Loss) Cell {
		return Cell{Number: int64(l.Allocations), Empty: l.Allocations == 0}
	})},
	{Key: "affected_bytes", Title: "Bytes", Kind: Bytes, cell: loss(func(l *session.Loss) Cell {
		return Cell{Number: int64(l.Bytes), Empty: l.Bytes == 0}
	})},
	{Key: "meaning", Title: "Meaning", Kind: Name, Cut: CutEnd, cell: loss(func(l *session.Loss) Cell {
		return textCell(l.Meaning())
	})},
	{Key: "touches", Title: "Touches", Kind: Name, Cut: CutEnd, cell: loss(func(l *session.Loss) Cell {
		return textCell(l.Touches())
	})},
}

func loss(cell func(*session.Loss) Cell) func(*context, *Row) Cell {
	return func(_ *context, r *Row) Cell { return cell(r.loss) }
}

// asMissing is 1 for what is missing from all values, 0 for what is inexact.
func asMissing(l *session.Loss) int {
	if l.IsMissing() {
		return 1
	}
	return 0
}

// lost returns the losses of the processes that are selected: first what is missing, then what is inexact; those of a
// reason together.
func (c *context) lost() ([]session.Loss, error) {
	list, err := c.source.Session().Losses()
	list = slices.DeleteFunc(list, func(l session.Loss) bool { return !c.source.Selection().HasProcess(l.Process) })
	reasons := session.LossReasons()
	slices.SortStableFunc(list, func(a, b session.Loss) int {
		return cmp.Or(cmp.Compare(asMissing(&b), asMissing(&a)),
			cmp.Compare(slices.Index(reasons, a.Reason), slices.Index(reasons, b.Reason)),
			cmp.Compare(a.Reason, b.Reason), cmp.Compare(a.Process, b.Process))
	})
	return list, err
}

func buildLosses(b *builder) error {
	list, err := b.lost()
	if err != nil {
		return err
	}
	var rows []Row
	for i := range list {
		l := &list[i]
		rows = append(rows, Row{kind: rowLoss, process: l.Process, loss: l, text: l.Reason})
	}
	if b.options.Sort != "" {
		b.sorted(rows)
	}
	rows = b.first(rows, "more loss")
	if err := b.nameNotProbed(); err != nil {
		return err
	}
	b.table.Rows = rows
	// what the rows say need not be said again
	b.table.Losses = slices.DeleteFunc(b.table.Losses, func(n Note) bool { return n.Kind == NoteLoss })
	if len(b.options.Columns) == 0 && b.options.Sort == "" {
		b.table.Prose = ProseLosses
	}
	return nil
}

// maxNotProbed bounds the functions that are named: a screen of them. All are in the table function_not_probed.
const maxNotProbed = 20

// nameNotProbed says which functions have no probes, and why.
func (b *builder) nameNotProbed() error {
	list, err := b.source.Session().NotProbed()
	if err != nil {
		return err
	}
	list = slices.DeleteFunc(list, func(f session.NotProbed) bool {
		return !b.source.Selection().HasProcess(b.functions.get(f.Function).Process)
	})
	for i, f := range list {
		if i == maxNotProbed {
			b.next(NoteMore, Things{len(list) - i, "more function without probes"})
			break
		}
		b.next(NoteNotProbed, b.functionName(f.Function), f.Reason)
	}
	return nil
}

// Loss returns the loss that a row of losses is about, with the number and the name of its process.
func (t *Table) Loss(row int) (l session.Loss, pid int64, process string) {
	r := &t.Rows[row]
	p := t.context.processes.get(r.process)
	return *r.loss, p.PID, p.Name
}
