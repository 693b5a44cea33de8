package report

import (
	q "github.com/clrprof/clrprof/internal/quantity"
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
	b.table.Rows = b.limit(list, exclusiveCost)
	var placed q.Amount
	var placedTime q.Time
	for _, r := range list {
		placed, placedTime = placed.Add(r.values.Exclusive), placedTime.Add(exclusiveCost(&r).time)
	}
	if without := b.shown.Sub(placed); !without.IsZero() {
		b.note(NoteUnplacedBytes, q.PercentOf(without.Bytes, b.total.Bytes))
	}
	if b.hasTime() {
		without := b.shownTime.Inclusive.Sub(placedTime)
		b.note(NoteWithoutInstruction, q.PercentOf(b.elapsed(without), b.elapsed(b.totalTime.Inclusive)))
	}
	return nil
}
