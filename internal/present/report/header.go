package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/session/secrets"
)

// headerView shows the facts about a session.
var headerView = View{
	Name:    "header",
	Short:   "properties of the session as a whole",
	columns: keys("key value value_number"),
	text:    keys("key value"),
	build:   buildHeader,
	timed: timedView{
		text: keys("key value"), both: keys("key value"),
	},
}

// addFact adds a fact to the rows. numbers has one element if a program can count with the fact: its exact number, in
// bytes, objects or nanoseconds.
type addFact func(key, value string, numbers ...int64)

// replacedArguments is how many values of arguments were replaced when they were recorded: of the processes, and of the
// command if it is none of these.
func replacedArguments(command string, processes []session.Process) q.Count {
	n := 0
	for _, p := range processes {
		n += strings.Count(p.Arguments, secrets.Replaced)
		if p.Arguments == command {
			command = ""
		}
	}
	return q.Count(n + strings.Count(command, secrets.Replaced))
}

func buildHeader(b *builder) error {
	b.table.Prose = ProseFacts
	info, err := b.source.Session().Info()
	if err != nil {
		return err
	}
	add := func(key, value string, numbers ...int64) {
		row := Row{kind: rowFact, key: key, text: value}
		if len(numbers) == 1 {
			row.number, row.isNumber = numbers[0], true
		}
		b.table.Rows = append(b.table.Rows, row)
	}
	count := func(key string, n q.Count) { add(key, n.String(), int64(n)) }
	names := make([]string, 0, len(info))
	for key := range info {
		names = append(names, key)
	}
	slices.Sort(names)
	for _, key := range names {
		if n, err := strconv.ParseInt(info[key], 10, 64); err == nil {
			add(key, info[key], n)
		} else {
			add(key, info[key])
		}
	}
	if n := replacedArguments(info[session.KeyCommand], b.processes.list); n > 0 {
		add("arguments replaced", fmt.Sprintf("%s that looked like secrets", counted(n, "value")), int64(n))
	}
	count("processes", q.Count(len(b.processes.list)))
	count("threads", b.threadCount(0))
	count("modules", q.Count(len(b.modules.list)))
	count("functions", q.Count(len(b.functions.list)))
	count("types", q.Count(len(b.types.list)))
	if b.hasMemory() {
		count("allocations", b.shown.Allocations)
		add("bytes", fmt.Sprintf("%s (%s)", b.shown.Bytes.Exact(), b.shown.Bytes), int64(b.shown.Bytes))
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
	count("losses", q.Count(len(losses)))
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
func (b *builder) headerNotes(add addFact, info map[string]string) error {
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
