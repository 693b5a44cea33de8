package report

import (
	"cmp"

	"github.com/clrprof/clrprof/internal/analysis"
	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
)

// threadsView is the list of threads.
var threadsView = View{
	Name:    "threads",
	Short:   "the threads of the session",
	Text:    Options{Top: 50},
	columns: keys("unique_id process_id process_name thread_id name begin_ns end_ns " + allocations),
	text:    keys("name thread_id bytes bytes_percent allocations allocations_percent begin_ns end_ns process_id"),
	sort:    "bytes",
	build:   buildThreads,
	groups:  []string{string(analysis.ByName)},
	timed: timedView{
		columns: keys(timeKeys(false)),
		text:    keys("name thread_id " + textOwn + "begin_ns end_ns process_id"),
		both: keys("name thread_id " + textOwn +
			"bytes bytes_percent allocations allocations_percent begin_ns end_ns process_id"),
		sort: "elapsed_inclusive",
	},
}

func buildThreads(b *builder) error {
	values, err := b.source.Threads()
	if err != nil {
		return err
	}
	times, err := b.source.ThreadTimes()
	if err != nil {
		return err
	}
	of, timeOf := map[session.ThreadID]q.Amount{}, map[session.ThreadID]*rowTime{}
	for _, v := range values {
		of[v.Thread] = v.Amount
	}
	for _, t := range times {
		timeOf[t.Thread] = place(t.TimeValue)
	}
	var list []Row
	for _, t := range b.threads.list {
		if !b.source.Selection().HasThread(&t) {
			continue
		}
		list = append(list, Row{kind: rowThread, thread: t.ID, process: t.Process, values: both(of[t.ID]),
			time: b.orNone(timeOf[t.ID], t.Process)})
	}
	if err := b.noteAwaits(); err != nil {
		return err
	}
	b.noteThreads()
	if b.options.By != "" {
		return b.merged(list, b.groupOfThread)
	}
	b.table.Rows = b.limit(list, exclusiveCost)
	return nil
}

// groupOfThread is the row of all threads with the name of a thread's row.
func (b *builder) groupOfThread(r *Row) Row {
	return Row{kind: rowThreads, process: r.process, text: cmp.Or(b.threads.get(r.thread).Name, "(no name)")}
}
