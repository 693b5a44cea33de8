package report

import (
	"slices"
	"strings"

	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
)

// counterColumns are the columns of the CPU counters that were read at the events of threads: only the session knows
// which. They are of the views that have times.
type counterColumns struct {
	keys  []string
	text  []string // of these: those of text
	byKey map[string]Column
	// calls are the processes in which system calls were counted: intervals with one are not the program's own.
	calls map[session.ProcessID]bool
}

// readCounters reads which CPU counters there are. They are the same in all processes.
func (c *context) readCounters() error {
	c.counters = counterColumns{byKey: map[string]Column{}, calls: map[session.ProcessID]bool{}}
	counters, err := c.source.Session().CPUCounters()
	if err != nil || !c.hasTime() {
		return err
	}
	for i := range counters {
		c.counters.calls[counters[i].Process] = c.counters.calls[counters[i].Process] ||
			counters[i].Name == session.CounterSystemCalls
		at := int(counters[i].Position - 1)
		if at < 0 || at >= q.MaxCounters || c.counters.byKey[counterKey(counters[i].Name, "_inclusive")].Key != "" {
			continue
		}
		kind := Count
		if counters[i].Unit == "ns" {
			kind = Duration
		}
		for _, rule := range sumRules {
			key := counterKey(counters[i].Name, rule.key)
			value := func(t *rowTime) q.Count { return t.by(rule.inclusive).Counters[at] }
			c.counters.add(Column{Key: key, Title: counters[i].Name + rule.title, Kind: kind, data: dataTime,
				cell: timed(func(_ *context, t *rowTime) Cell { return numberCell(value(t)) })})
			c.counters.add(Column{Key: key + "_percent", Title: "%", Kind: Percent, data: dataTime,
				cell: timed(func(c *context, t *rowTime) Cell {
					return Cell{Percent: q.PercentOf(value(t), c.totalTime.Inclusive.Counters[at])}
				})})
			c.counters.text = append(c.counters.text, key)
		}
	}
	return nil
}

func (l *counterColumns) add(column Column) {
	l.keys = append(l.keys, column.Key)
	l.byKey[column.Key] = column
}

// counterKey is the key of a column: page_faults_inclusive.
func counterKey(name, rule string) string { return strings.ReplaceAll(name, "-", "_") + rule }

// column returns the column with a key.
func (c *context) column(key string) Column {
	if column, ok := allColumns[key]; ok {
		return column
	}
	return c.counters.byKey[key]
}

// counted says whether the view has columns of CPU counters.
func (v View) counted(c *context) bool {
	return v.timed.sort != "" && !v.section && len(c.counters.keys) > 0
}

// withCounters adds them, in text before the number of calls. Where text has no exclusive times, it has no exclusive
// counters: they are the same.
func (v View) withCounters(c *context) View {
	v.columns = slices.Concat(v.columns, c.counters.keys)
	text := slices.Clone(c.counters.text)
	if !slices.Contains(v.text, "elapsed_exclusive") {
		text = slices.DeleteFunc(text, func(key string) bool { return strings.HasSuffix(key, "_exclusive") })
	}
	at := slices.Index(v.text, "calls")
	if at < 0 {
		at = len(v.text)
	}
	v.text = slices.Insert(slices.Clone(v.text), at, text...)
	return v
}
