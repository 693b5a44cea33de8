package report

import (
	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
)

// ipsView is the list of instructions.
var ipsView = View{
	Name:    "ips",
	Short:   "one row per instruction that allocated or called",
	Text:    Options{Top: 30},
	places:  true,
	columns: keys(position + "instruction_address " + exclusive),
	text: keys("instruction_address function place exclusive_bytes exclusive_bytes_percent exclusive_allocations " +
		"exclusive_allocations_percent module"),
	sort:  "exclusive_bytes",
	build: buildInstructions,
	timed: timedView{
		columns: keys(timeKeys(false)),
		text:    keys("instruction_address function place " + elapsedBoth + "calls cpu_inclusive cpu_exclusive module"),
		both: keys("instruction_address function place " + elapsedBoth +
			"exclusive_bytes exclusive_bytes_percent calls module"),
		sort: "elapsed_inclusive",
	},
}

func buildInstructions(b *builder) error {
	list, err := b.instructionRows()
	if err != nil {
		return err
	}
	b.table.Rows = b.limit(b.withoutInstruction(list), exclusiveCost)
	return nil
}

// withoutInstruction adds a row of what is at no known instruction to those of instructions, so that the rows add up to
// the whole.
func (b *builder) withoutInstruction(list []Row) []Row {
	var placed q.Amount
	var calls, running q.Count
	var placedTime q.Time
	for i := range list {
		r := &list[i]
		placed, placedTime = placed.Add(r.values.Exclusive), placedTime.Add(exclusiveCost(r).time)
		if r.time != nil {
			calls, running = calls+r.time.Calls, running+r.time.Running
		}
	}
	amount, time := b.shown.Sub(placed), b.shownTime.Inclusive.Sub(placedTime)
	if !amount.IsZero() {
		b.note(NoteUnplacedBytes, q.PercentOf(amount.Bytes, b.total.Bytes))
	}
	row := Row{kind: rowOutside, text: "(no instruction)", values: both(amount)}
	if b.hasTime() {
		b.note(NoteWithoutInstruction, q.PercentOf(b.elapsed(time), b.elapsed(b.totalTime.Inclusive)))
		row.time = place(session.TimeValue{Calls: b.shownTime.Calls - calls, Running: b.shownTime.Running - running,
			Times: q.Times{Inclusive: time, Exclusive: time}})
	}
	if amount.IsZero() && (row.time == nil || row.time.TimeValue == session.TimeValue{}) {
		return list
	}
	return append(list, row)
}
