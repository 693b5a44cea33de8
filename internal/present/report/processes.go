package report

import (
	"strings"

	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
)

// processesView is the list of processes.
var processesView = View{
	Name:  "processes",
	Short: "the processes of the session",
	Text:  Options{Top: 50},
	columns: keys("unique_id process_id parent_process_id name path arguments runtime_version begin_ns end_ns " +
		"end_state threads agent_bytes " + allocations),
	text: keys("name process_id bytes bytes_percent allocations allocations_percent threads end_state begin_ns " +
		"end_ns runtime_version agent_bytes parent_process_id"),
	sort:  "bytes",
	build: buildProcesses,
	timed: timedView{
		columns: keys(timeKeys(false) + "instrument mechanism acts_seen clock ticks_per_second agent_time_ns"),
		text: keys("name process_id " + textOwn +
			"threads end_state begin_ns end_ns runtime_version mechanism agent_bytes parent_process_id"),
		both: keys("name process_id " + textOwn + "bytes bytes_percent allocations allocations_percent threads " +
			"end_state begin_ns end_ns runtime_version mechanism agent_bytes parent_process_id"),
		sort: "elapsed_inclusive",
	},
}

func buildProcesses(b *builder) error {
	list, err := b.processRows()
	if err != nil {
		return err
	}
	seen := map[session.ProcessID]bool{}
	for _, r := range list {
		seen[r.process] = true
	}
	sel := b.source.Selection()
	for _, p := range b.processes.list { // those that did nothing are processes too
		if !seen[p.ID] && sel.HasProcess(p.ID) && len(sel.Threads) == 0 {
			list = append(list, Row{kind: rowProcess, process: p.ID, time: b.orNone(nil, p.ID)})
		}
	}
	b.noteThreads()
	b.table.Rows = b.limit(list, exclusiveCost)
	return nil
}

var processColumns = []Column{
	{Key: "unique_id", Title: "ID", Kind: Number, cell: when(isOne, number(func(_ *context, r *Row) int64 {
		if r.kind == rowThread {
			return int64(r.thread)
		}
		return int64(r.process)
	}))},
	{Key: "parent_process_id", Title: "Parent PID", Kind: Number, cell: number(func(c *context, r *Row) int64 {
		return c.processes.get(r.process).ParentPID
	})},
	{Key: "begin_ns", Title: "Begin", Kind: Time, cell: when(isOne, number(func(c *context, r *Row) q.Nanoseconds {
		if r.kind == rowThread {
			return c.threads.get(r.thread).Begin
		}
		return c.processes.get(r.process).Begin
	}))},
	{Key: "end_ns", Title: "End", Kind: Time, cell: when(isOne, number(func(c *context, r *Row) q.Nanoseconds {
		if r.kind == rowThread {
			return c.threads.get(r.thread).End
		}
		return c.processes.get(r.process).End
	}))},
	{Key: "end_state", Title: "Ended", Kind: Text, cell: text(func(c *context, r *Row) string {
		return c.processes.get(r.process).EndState
	})},
	{Key: "runtime_version", Title: "Runtime", Kind: Text, cell: text(func(c *context, r *Row) string {
		return c.processes.get(r.process).RuntimeVersion
	})},
	{Key: "path", Title: "Path", Kind: Name, cell: text(func(c *context, r *Row) string {
		return c.processes.get(r.process).Path
	})},
	{Key: "arguments", Title: "Arguments", Kind: Name, cell: text(func(c *context, r *Row) string {
		return c.processes.get(r.process).Arguments
	})},
	{Key: "agent_bytes", Title: "Agent memory", Kind: Bytes, cell: number(func(c *context, r *Row) q.Bytes {
		return c.processes.get(r.process).AgentBytes
	})},
	{Key: "threads", Title: "Threads", Kind: Count, cell: number(func(c *context, r *Row) q.Count {
		return c.threadCount(r.process)
	})},
}

// clockColumns say how the calls of a process were timed.
var clockColumns = []Column{
	{Key: "instrument", Title: "Instrumented", Kind: Text, data: dataTime,
		cell: clock(func(t *session.ProcessTime) Cell { return textCell(t.Instrument) })},
	{Key: "mechanism", Title: "Waits by", Kind: Text, data: dataTime, cell: clock(func(t *session.ProcessTime) Cell {
		return textCell(t.Mechanism)
	})},
	{Key: "acts_seen", Title: "Acts seen", Kind: Text, data: dataTime, cell: clockOf(func(c *context,
		t *session.ProcessTime) Cell {
		return textCell(c.actsSeen(t))
	})},
	{Key: "clock", Title: "Clock", Kind: Text, data: dataTime, cell: clock(func(t *session.ProcessTime) Cell {
		return textCell(t.Clock)
	})},
	{Key: "ticks_per_second", Title: "Ticks/s", Kind: Count, data: dataTime,
		cell: clock(func(t *session.ProcessTime) Cell { return numberCell(t.TicksPerSec) })},
	{Key: "agent_time_ns", Title: "Agent's part", Kind: Duration, data: dataTime,
		cell: clock(func(t *session.ProcessTime) Cell { return numberCell(t.Agent) })},
}

func clock(cell func(*session.ProcessTime) Cell) func(*context, *Row) Cell {
	return clockOf(func(_ *context, t *session.ProcessTime) Cell { return cell(t) })
}

// actsSeen are the acts of the operating system with which an interval is not application time.
func (c *context) actsSeen(t *session.ProcessTime) string {
	var out []string
	if t.Mechanism != session.MechanismNone {
		out = append(out, "context switches")
	}
	if c.counters.calls[t.Process] {
		out = append(out, "system calls")
	}
	return strings.Join(out, ", ")
}

func clockOf(cell func(*context, *session.ProcessTime) Cell) func(*context, *Row) Cell {
	return func(c *context, r *Row) Cell {
		for i := range c.timed {
			if c.timed[i].Process == r.process {
				return cell(c, &c.timed[i])
			}
		}
		return Cell{Empty: true}
	}
}
