package session

import (
	"fmt"

	"github.com/clrprof/clrprof/internal/session/columns"
)

// ReplaceProcessTimes adds rows, or replaces those of the same process.
func (w *Writer) ReplaceProcessTimes(rows []ProcessTime) error {
	return put(w, replace, processTimeTable, rows)
}

// InsertTimings adds rows.
func (w *Writer) InsertTimings(rows []Timing) error { return put(w, add, timingTable, rows) }

// InsertTimingValues adds rows. They are written fastest in the order of slice and timing.
func (w *Writer) InsertTimingValues(rows []TimingValue) error {
	return put(w, add, timingValueTable, rows)
}

// InsertTimingInclusives adds rows. They are written fastest in the order of slice and timing.
func (w *Writer) InsertTimingInclusives(rows []TimingInclusive) error {
	return put(w, add, timingInclusiveTable, rows)
}

// InsertSystemEvents adds rows.
func (w *Writer) InsertSystemEvents(rows []SystemEvent) error {
	return put(w, add, systemEventTable, rows)
}

// InsertSystemEventCalls adds rows.
func (w *Writer) InsertSystemEventCalls(rows []SystemEventCall) error {
	return put(w, add, systemEventCallTable, rows)
}

// ReplaceSystemCalls adds rows, or replaces those of the same number.
func (w *Writer) ReplaceSystemCalls(rows []SystemCall) error {
	return put(w, replace, systemCallTable, rows)
}

// ReplaceCPUCounters adds rows, or replaces those of the same process and position.
func (w *Writer) ReplaceCPUCounters(rows []CPUCounter) error {
	return put(w, replace, cpuCounterTable, rows)
}

// InsertTimingCounts adds rows. They are written fastest in the order of slice and timing.
func (w *Writer) InsertTimingCounts(rows []TimingCount) error {
	return put(w, add, timingCountTable, rows)
}

// InsertTimingInclusiveCounts adds rows, as InsertTimingCounts.
func (w *Writer) InsertTimingInclusiveCounts(rows []TimingInclusiveCount) error {
	return put(w, add, timingInclusiveCountTable, rows)
}

// ReplaceTimingExtremes adds rows, or replaces those of the same timing: extremes are those of the whole run.
func (w *Writer) ReplaceTimingExtremes(rows []TimingExtreme) error {
	return put(w, replace, timingExtremeTable, rows)
}

// ReplaceTimingRunning adds rows, or replaces those of the same timing.
func (w *Writer) ReplaceTimingRunning(rows []TimingRunning) error {
	return put(w, replace, timingRunningTable, rows)
}

// InsertTimingBegan adds rows.
func (w *Writer) InsertTimingBegan(rows []TimingBegan) error {
	return put(w, add, timingBeganTable, rows)
}

// Derived tables of times whose rows can be made while others are written.
const (
	TableLineTime     = "line_time" // and instruction_time, which comes after it
	TablePathTime     = "path_time"
	TableCallTime     = "call_time"
	TableFunctionTime = "function_time"
	TableModuleTime   = "module_time"
)

// PathTimeRows are rows of the table path_time that are made when they are written: all at once are much memory.
type PathTimeRows struct {
	Rows int
	At   func(row int) PathTime // called by several goroutines at once
}

// WriteDerivedTimes replaces the contents of the derived tables of times, with paths in place of those of d unless they
// are nil. It calls wait before it writes one of the tables above, whose rows may be made until then.
func (w *Writer) WriteDerivedTimes(d *Derived, paths *PathTimeRows, wait func(table string)) error {
	return w.Batch(func() error {
		for _, write := range []func() error{
			func() error { return rewrite(w, userTimeTable, d.UserTimes) },
			func() error { wait(TableLineTime); return rewrite(w, lineTimeTable, d.LineTimes) },
			func() error { return rewrite(w, instructionTimeTable, d.InstructionTimes) },
			func() error { return rewrite(w, threadTimeTable, d.ThreadTimes) },
			func() error { return rewrite(w, processTimeValueTable, d.ProcessTimes) },
			func() error { return rewrite(w, functionAwaitTable, d.Awaits) },
			func() error { wait(TablePathTime); return w.writePathTimes(d, paths) },
			func() error { wait(TableCallTime); return rewrite(w, callTimeTable, d.CallTimes) },
			func() error { wait(TableFunctionTime); return rewrite(w, functionTimeTable, d.FunctionTimes) },
			func() error { wait(TableModuleTime); return rewrite(w, moduleTimeTable, d.ModuleTimes) },
		} {
			if err := write(); err != nil {
				return err
			}
		}
		return nil
	})
}

// pathRowsAtOnce is how many rows a chunk of path_time has at most: its fifty columns take as much memory as a whole
// chunk of other tables, and are made by all processors also where paths are some ten thousand.
const pathRowsAtOnce = 1 << 14

// writePathTimes replaces the contents of the table path_time, chunk by chunk. Chunks are made and encoded while the
// next tables are written.
func (w *Writer) writePathTimes(d *Derived, paths *PathTimeRows) error {
	if err := rewrite(w, pathTimeTable, d.PathTimes); err != nil || paths == nil {
		return err
	}
	for first := 0; first < paths.Rows; first += pathRowsAtOnce {
		f, err := w.newChunk(pathTimeTable.name, pathTimeTable.order == "id")
		if err != nil {
			return w.explain(err)
		}
		rows := min(pathRowsAtOnce, paths.Rows-first)
		w.packer.encode(f, func() {
			packEach(&f.block, pathTimeTable, rows, func(i int) PathTime { return paths.At(first + i) })
		})
	}
	return nil
}

// ProcessTimes returns the table process_time in the order of process.
func (s *Session) ProcessTimes() ([]ProcessTime, error) { return rows(s, processTimeTable) }

// Timings returns the table timing in the order of id.
func (s *Session) Timings() ([]Timing, error) { return rows(s, timingTable) }

// TimingValues returns the table timing_value in the order of slice and timing.
func (s *Session) TimingValues() ([]TimingValue, error) { return rows(s, timingValueTable) }

// TimingInclusives returns the table timing_inclusive in the order of slice and timing.
func (s *Session) TimingInclusives() ([]TimingInclusive, error) {
	return rows(s, timingInclusiveTable)
}

// EachTimingInclusive calls fn for each row of TimingInclusives. The row is overwritten by the next one.
func (s *Session) EachTimingInclusive(fn func(*TimingInclusive)) error {
	return scan(s, timingInclusiveTable, nil, fn)
}

// SystemEvents returns the table system_event in the order of id: those of a thread are in the order of time.
func (s *Session) SystemEvents() ([]SystemEvent, error) { return rows(s, systemEventTable) }

// SystemEventCalls returns the table system_event_call, the rows of an event one behind the other.
func (s *Session) SystemEventCalls() ([]SystemEventCall, error) { return rows(s, systemEventCallTable) }

// SystemCalls returns the table system_call in the order of number.
func (s *Session) SystemCalls() ([]SystemCall, error) { return rows(s, systemCallTable) }

// CPUCounters returns the table cpu_counter in the order of process and position.
func (s *Session) CPUCounters() ([]CPUCounter, error) { return rows(s, cpuCounterTable) }

// EachTimingCount calls fn for each row of timing_count. The row is overwritten by the next one.
func (s *Session) EachTimingCount(fn func(*TimingCount)) error {
	return scan(s, timingCountTable, nil, fn)
}

// EachTimingInclusiveCount calls fn for each row of timing_inclusive_count. The row is overwritten by the next one.
func (s *Session) EachTimingInclusiveCount(fn func(*TimingInclusiveCount)) error {
	return scan(s, timingInclusiveCountTable, nil, fn)
}

// ExtremeColumns are rows of timing_extreme, by column: numbers of TimingExtreme. Bounds are those of its Ranges, in
// their order, each Min before Max.
type ExtremeColumns struct {
	Timings []int64
	Bounds  [][]int64
}

// EachExtremeColumns calls fn with all rows of timing_extreme as they were written, some at a time, which the next ones
// overwrite: a later row of a timing replaces an earlier one, whose ranges are within its own.
func (s *Session) EachExtremeColumns(fn func(*ExtremeColumns)) error {
	err := s.eachChunk(timingExtremeTable.name, len(timingExtremeTable.columns), nil, func(b *columns.Block) error {
		fn(&ExtremeColumns{b.Columns[0], b.Columns[1:]})
		return nil
	})
	if err != nil {
		return s.explain(fmt.Errorf("reading table %s: %w", timingExtremeTable.name, err))
	}
	return nil
}

// TimingExtremes returns the table timing_extreme in the order of timing.
func (s *Session) TimingExtremes() ([]TimingExtreme, error) { return rows(s, timingExtremeTable) }

// TimingRunning returns the table timing_running in the order of timing.
func (s *Session) TimingRunning() ([]TimingRunning, error) { return rows(s, timingRunningTable) }

// TimingBegan returns the table timing_began in the order of timing.
func (s *Session) TimingBegan() ([]TimingBegan, error) { return rows(s, timingBeganTable) }

// FunctionAwaits returns the table function_await in the order of function.
func (s *Session) FunctionAwaits() ([]FunctionAwait, error) { return rows(s, functionAwaitTable) }

// PathTimes returns the table path_time in the order of id.
func (s *Session) PathTimes() ([]PathTime, error) { return rows(s, pathTimeTable) }

// EachPathTime calls fn for each row of path_time as it was written, which is nearly always the order of id. The row is
// overwritten by the next one.
func (s *Session) EachPathTime(fn func(*PathTime)) error {
	if s.absent[pathTimeTable.name] {
		return nil
	}
	return scan(s, pathTimeTable, nil, fn)
}

// EachPathCalls is EachPathTime for who needs the calls alone, of sixty columns: the times of a row are zero.
func (s *Session) EachPathCalls(fn func(*PathTime)) error {
	if s.absent[pathTimeTable.name] {
		return nil
	}
	return scan(s, pathCallsTable, nil, fn)
}

// CallTimes returns the table call_time in the order of caller and callee.
func (s *Session) CallTimes() ([]CallTime, error) { return rows(s, callTimeTable) }

// CallTimesOf returns the rows of CallTimes of which a function is the caller or the callee.
func (s *Session) CallTimesOf(function FunctionID) ([]CallTime, error) {
	out, err := selectWhere(s, callTimeTable, callsOf, int64(function))
	return out, s.explain(err)
}

// callsOf holds for the calls of, and by, a function.
const callsOf = "?1 IN (caller_id, callee_id)"

// HasLineTimes reports whether a function has rows in LineTimes.
func (s *Session) HasLineTimes(function FunctionID) (bool, error) {
	rows, err := rowsOf(s, lineTimeTable, &span{int64(function), int64(function)})
	return len(rows) > 0, err
}

// FunctionTimes returns the table function_time in the order of function.
func (s *Session) FunctionTimes() ([]FunctionTime, error) { return rows(s, functionTimeTable) }

// ModuleTimes returns the table module_time in the order of module.
func (s *Session) ModuleTimes() ([]ModuleTime, error) { return rows(s, moduleTimeTable) }

// LineTimes returns the table line_time in the order of function and line.
func (s *Session) LineTimes() ([]LineTime, error) { return rows(s, lineTimeTable) }

// InstructionTimes returns the table instruction_time in the order of instruction.
func (s *Session) InstructionTimes() ([]InstructionTime, error) {
	return rows(s, instructionTimeTable)
}

// ThreadTimes returns the table thread_time in the order of thread.
func (s *Session) ThreadTimes() ([]ThreadTime, error) { return rows(s, threadTimeTable) }

// ProcessTimeValues returns the table process_time_value in the order of process.
func (s *Session) ProcessTimeValues() ([]ProcessTimeValue, error) {
	return rows(s, processTimeValueTable)
}

// UserTimes returns the table user_time in the order of function and place. A session that an older clrprof completed
// has no rows in it.
func (s *Session) UserTimes() ([]UserTime, error) { return rows(s, userTimeTable) }
