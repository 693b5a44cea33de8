package report

import (
	"fmt"
	"slices"
	"strconv"

	q "github.com/clrprof/clrprof/internal/quantity"
)

// headerView shows the facts about a session.
var headerView = View{
	Name:    "header",
	Short:   "properties of the session as a whole",
	columns: keys("key value"),
	text:    keys("key value"),
	build:   buildHeader,
	timed: timedView{
		text: keys("key value"), both: keys("key value"),
	},
}

func buildHeader(b *builder) error {
	b.table.Prose = ProseFacts
	info, err := b.source.Session().Info()
	if err != nil {
		return err
	}
	add := func(key, value string) {
		b.table.Rows = append(b.table.Rows, Row{kind: rowFact, key: key, text: value})
	}
	names := make([]string, 0, len(info))
	for key := range info {
		names = append(names, key)
	}
	slices.Sort(names)
	for _, key := range names {
		add(key, info[key])
	}
	add("processes", q.Count(len(b.processes.list)).String())
	add("threads", b.threadCount(0).String())
	add("modules", q.Count(len(b.modules.list)).String())
	add("functions", q.Count(len(b.functions.list)).String())
	add("types", q.Count(len(b.types.list)).String())
	if b.hasMemory() {
		add("allocations", b.shown.Allocations.String())
		add("bytes", fmt.Sprintf("%s (%s)", b.shown.Bytes.Exact(), b.shown.Bytes))
	}
	symbols := Summary{context: b.context}
	if err := symbols.countSymbols(); err != nil {
		return err
	}
	add("without symbols", fmt.Sprintf("%s of the %s functions that did something", symbols.WithoutSymbols,
		symbols.Functions))
	b.headerTimes(add)
	if err := b.headerNotes(add, info); err != nil {
		return err
	}
	losses, err := b.source.Session().Losses()
	if err != nil {
		return err
	}
	add("losses", strconv.Itoa(len(losses)))
	for _, l := range losses {
		what := counted(l.Events, l.Unit())
		if l.Unit() == "event" {
			what += fmt.Sprintf(", %s, %s", counted(l.Allocations, "allocation"), l.Bytes.Exact())
		}
		add("loss "+l.Reason, fmt.Sprintf("process %d: %s", b.processes.get(l.Process).PID, what))
	}
	return nil
}

// headerNotes says how the session was recorded: what a summary has no room for.
func (b *builder) headerNotes(add func(key, value string), info map[string]string) error {
	for _, n := range b.timeNotes(info) {
		if n.Kind != NoteRaw { // that is said
			b.table.Notes = append(b.table.Notes, n)
		}
	}
	lived, err := b.source.Session().ProcessLifetimes()
	if err != nil || len(lived) == 0 {
		return err
	}
	notes, err := b.lifetimeNotes()
	if err != nil {
		return err
	}
	b.table.Notes = append(b.table.Notes, notes...)
	out, err := b.source.Session().LeftOut()
	if err != nil {
		return err
	}
	var sum q.Amount
	for _, r := range out {
		sum = sum.Add(r.Amount)
	}
	add("left out", fmt.Sprintf("%s, %s (%s): made by the runtime for clrprof, or after the last collection",
		counted(sum.Allocations, "object"), sum.Bytes.Exact(), sum.Bytes))
	return nil
}
