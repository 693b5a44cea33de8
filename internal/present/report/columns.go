package report

import (
	"fmt"
	"path"
	"strings"

	"github.com/clrprof/clrprof/internal/analysis"
	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
)

// rowName is the cell of the column name, for every kind of row.
func rowName(c *context, r *Row) Cell {
	switch r.kind {
	case rowProcess:
		return textCell(c.processes.get(r.process).Name)
	case rowThread:
		return textCell(c.threadName(r.thread))
	case rowModule:
		return textCell(c.moduleName(r.module))
	case rowFunction, rowEvent:
		return textCell(asyncName(r, c.functionName))
	case rowCase:
		return textCell(WithoutParameters(c.functionName(r.function)) + r.text)
	case rowType, rowSite:
		return textCell(c.typeName(r.typ))
	case rowRoot:
		return textCell(rootName(r, c.functionName, c.staticName, c.typeName))
	case rowLine:
		return textCell(lineText(c.lines.get(r.line)))
	case rowBody:
		return textCell("(body)")
	case rowInstruction:
		return textCell(fmt.Sprintf("0x%x", uint64(c.instructions.get(r.instruction).Address)))
	}
	return textCell(r.text)
}

// shortRowName is rowName with short names.
func shortRowName(c *context, r *Row) string {
	switch r.kind {
	case rowFunction, rowEvent:
		return asyncName(r, c.rowFunctionName)
	case rowCase:
		return c.frameName(r.function) + r.text
	case rowType, rowSite:
		return c.shortTypeName(r.typ)
	case rowObject:
		if r.typ != 0 { // else several objects
			return c.shortTypeName(r.typ)
		}
	case rowRoot:
		return rootName(r, c.shortFunctionName, c.shortStaticName, c.shortTypeName)
	}
	return ""
}

// lineText names a statement inside its function: "line 12" or "lines 12-14".
func lineText(l *session.Line) string {
	if l.LineEnd > l.LineBegin {
		return fmt.Sprintf("lines %d-%d", l.LineBegin, l.LineEnd)
	}
	return fmt.Sprintf("line %d", l.LineBegin)
}

// lineName is the sortable key of the reference: file;[l,c]->[l,c].
func lineName(c *context, r *Row) Cell {
	l := c.lines.get(r.line)
	return textCell(fmt.Sprintf("%s;[%d,%d]->[%d,%d]", c.files.get(l.File).Path, l.LineBegin, l.ColumnBegin, l.LineEnd,
		l.ColumnEnd))
}

// placeCell is the file and line of a statement, or of a function for what is on none of its lines.
func placeCell(c *context, r *Row) Cell {
	switch line := c.functions.get(r.function).Line; {
	case r.kind == rowOutside:
		return textCell(r.text)
	case r.kind == rowBody && line == 0:
		return textCell("(body)")
	case r.kind == rowBody:
		return textCell(fmt.Sprintf("%s:%d (body)", path.Base(c.fileOf(r)), line))
	case r.line == 0:
		return Cell{Empty: true}
	}
	return textCell(c.lineText(r.line))
}

// lineCell is the first line of a row's function; empty if it is not known.
func lineCell(c *context, r *Row) Cell {
	line := c.functions.get(r.function).Line
	return Cell{Number: line, Empty: line == 0}
}

// hasModule and the like say which rows a column applies to.
func hasModule(r *Row) bool {
	return (r.async == analysis.AsyncNone || r.function != 0) && r.kind != rowProcess && r.kind != rowNamespace &&
		r.kind != rowRange && r.kind != rowOutside && r.kind != rowThread && r.kind != rowFact && r.kind != rowGC &&
		r.kind != rowLoss && (r.kind != rowRoot || r.function != 0 || r.typ != 0) && (r.kind != rowObject || r.typ != 0)
}

// it can be of several
func hasProcess(r *Row) bool {
	return r.kind != rowRange && (r.kind != rowFinding && r.kind != rowLoss || r.process != 0)
}

func isOne(r *Row) bool { return r.kind != rowThreads } // not several threads

func hasFunction(r *Row) bool { return r.function != 0 }

func hasLine(r *Row) bool { return r.line != 0 }

func when(applies func(*Row) bool, cell func(*context, *Row) Cell) func(*context, *Row) Cell {
	return func(c *context, r *Row) Cell {
		if !applies(r) {
			return Cell{Empty: true}
		}
		return cell(c, r)
	}
}

// number makes a cell function from one that returns an integer.
func number[T ~int64 | ~uint64](value func(*context, *Row) T) func(*context, *Row) Cell {
	return func(c *context, r *Row) Cell { return numberCell(value(c, r)) }
}

func pick(condition bool, yes, no string) string {
	if condition {
		return yes
	}
	return no
}

func text(value func(*context, *Row) string) func(*context, *Row) Cell {
	return func(c *context, r *Row) Cell { return textCell(value(c, r)) }
}

// allColumns are the columns of all views, by key. Views name the keys they have.
var allColumns = func() map[string]Column {
	all := map[string]Column{}
	for _, list := range [][]Column{identityColumns, placeColumns, processColumns, valueColumns(), timeColumns(),
		clockColumns,
		functionColumns, lifetimeColumns(), whereColumns(), ageColumns(), gcColumns(), whyColumns(), heapColumns(),
		ruleColumns, markColumns, interactionColumns, entryColumnList, partColumns, eventColumns, lossColumns} {
		for _, c := range list {
			all[c.Key] = c
		}
	}
	return all
}()

var identityColumns = []Column{
	{Key: "name", Title: "Name", Kind: Name, cell: rowName, short: shortRowName, Cut: CutParts},
	{Key: "kind", Title: "Kind", Kind: Text, cell: text(func(_ *context, r *Row) string { return string(r.kind) })},
	{Key: "level", Title: "Level", Kind: Number, cell: number(func(_ *context, r *Row) int64 {
		return int64(r.level)
	})},
	{Key: "type", Title: "Type", Kind: Text, cell: text(func(_ *context, r *Row) string { return r.role })},
	{Key: "section", Title: "Section", Kind: Text, cell: text(func(_ *context, r *Row) string { return r.role })},
	{Key: "root_function_name", Title: "Root function", Kind: Name, cell: text(func(c *context, r *Row) string {
		return c.functionName(r.root)
	}),
		short: func(c *context, r *Row) string { return c.shortFunctionName(r.root) }, Cut: CutParts},
	{Key: "key", Title: "Key", Kind: Text, cell: text(func(_ *context, r *Row) string { return r.key })},
	{Key: "value", Title: "Value", Kind: Name, cell: text(func(_ *context, r *Row) string { return r.text })},
	{Key: "value_number", Title: "Number", Kind: Number, cell: when(func(r *Row) bool { return r.isNumber },
		number(func(_ *context, r *Row) int64 { return r.number }))},
	{Key: "module", Title: "Module", Kind: Name, cell: when(hasModule, text(func(c *context, r *Row) string {
		return c.moduleName(r.module)
	}))},
	{Key: "module_path", Title: "Module path", Kind: Name, cell: when(hasModule, text(func(c *context, r *Row) string {
		return c.modules.get(r.module).Path
	}))},
	{Key: "process_id", Title: "PID", Kind: Number, cell: when(hasProcess, number(func(c *context, r *Row) int64 {
		return c.processes.get(r.process).PID
	}))},
	{Key: "process_name", Title: "Process", Kind: Name, cell: when(hasProcess, text(func(c *context, r *Row) string {
		return c.processes.get(r.process).Name
	}))},
	{Key: "thread_id", Title: "TID", Kind: Number, cell: when(isOne, number(func(c *context, r *Row) int64 {
		return c.threads.get(r.thread).OSID
	}))},
}

var placeColumns = []Column{
	{Key: "source_file", Title: "Source file", Kind: Name, cell: when(hasFunction, func(c *context, r *Row) Cell {
		file := c.fileOf(r)
		return Cell{Text: file, Empty: file == ""}
	})},
	{Key: "line", Title: "Line", Kind: Number, cell: when(hasFunction, func(c *context, r *Row) Cell {
		if r.line != 0 {
			return numberCell(c.lines.get(r.line).LineBegin)
		}
		return lineCell(c, r)
	})},
	{Key: "function", Title: "Function", Kind: Name, cell: when(hasFunction, text(func(c *context, r *Row) string {
		return c.functionName(r.function)
	})),
		short: func(c *context, r *Row) string {
			return pick(hasFunction(r), c.shortFunctionName(r.function), "")
		}, Cut: CutParts},
	{Key: "function_line", Title: "Function line", Kind: Number, cell: when(hasFunction, lineCell)},
	{Key: "place", Title: "Place", Kind: Name, cell: placeCell},
	{Key: "function_place", Title: "Place", Kind: Name, cell: when(hasFunction, func(c *context, r *Row) Cell {
		file, line := c.fileOf(r), c.functions.get(r.function).Line
		return Cell{Text: fmt.Sprintf("%s:%d", path.Base(file), line), Empty: file == "" || line == 0}
	})},
	{Key: "line_begin", Title: "Line", Kind: Number, cell: func(c *context, r *Row) Cell {
		if r.kind == rowBody {
			return lineCell(c, r)
		}
		return when(hasLine, number(func(c *context, r *Row) int64 { return c.lines.get(r.line).LineBegin }))(c, r)
	}},
	{Key: "column_begin", Title: "Column", Kind: Number, cell: when(hasLine, number(func(c *context, r *Row) int64 {
		return c.lines.get(r.line).ColumnBegin
	}))},
	{Key: "line_end", Title: "End line", Kind: Number, cell: when(hasLine, number(func(c *context, r *Row) int64 {
		return c.lines.get(r.line).LineEnd
	}))},
	{Key: "column_end", Title: "End column", Kind: Number, cell: when(hasLine, number(func(c *context, r *Row) int64 {
		return c.lines.get(r.line).ColumnEnd
	}))},
	{Key: "line_name", Title: "Line name", Kind: Name, cell: when(hasLine, lineName)},
	{Key: "instruction_address", Title: "Address", Kind: Address, cell: when(func(r *Row) bool {
		return r.instruction != 0
	},
		number(func(c *context, r *Row) session.Address { return c.instructions.get(r.instruction).Address }))},
}

// valueColumns makes the columns of amounts. A type, a thread or a process has one
// value, not an inclusive and an exclusive one, and its columns have the plain names.
func valueColumns() []Column {
	var out []Column
	for _, v := range []struct {
		key, title string
		amount     func(*Row) q.Amount
	}{
		{"inclusive_%s", "Incl. %s", func(r *Row) q.Amount { return r.values.Inclusive }},
		{"exclusive_%s", "Excl. %s", func(r *Row) q.Amount { return r.values.Exclusive }},
		{"%s", "%s", func(r *Row) q.Amount { return r.values.Inclusive }},
	} {
		names := [][2]string{{"allocations", "allocs"}}
		if v.key == "%s" {
			names = [][2]string{{"allocations", "Allocations"}, {"instances", "Instances"}}
		}
		for _, name := range names {
			key := fmt.Sprintf(v.key, name[0])
			out = append(out,
				Column{Key: key, Title: fmt.Sprintf(v.title, name[1]), Kind: Count,
					cell: func(c *context, r *Row) Cell { return c.objectsCell(v.amount(r), r.values.Inclusive) }},
				Column{Key: key + "_percent", Title: "%", Kind: Percent, cell: func(c *context, r *Row) Cell {
					a := v.amount(r)
					return c.shareCell(a, r.values.Inclusive, q.PercentOf(a.Allocations, c.total.Allocations))
				}})
		}
		key, title := fmt.Sprintf(v.key, "bytes"), fmt.Sprintf(v.title, "bytes")
		if v.key == "%s" {
			title = "Bytes"
		}
		out = append(out,
			Column{Key: key, Title: title, Kind: Bytes, cell: func(c *context, r *Row) Cell {
				return c.bytesCell(v.amount(r), r.values.Inclusive)
			}},
			Column{Key: key + "_percent", Title: "%", Kind: Percent, cell: func(c *context, r *Row) Cell {
				a := v.amount(r)
				return c.shareCell(a, r.values.Inclusive, q.PercentOf(a.Bytes, c.total.Bytes))
			}})
	}
	for i := range out {
		out[i].data = dataMemory
		if strings.HasPrefix(out[i].Key, "exclusive_") {
			out[i].cell = when(hasExclusive, out[i].cell)
		}
	}
	return out
}

// hasExclusive reports whether it is known what a row's function did itself: of a case of a test only the sum is.
func hasExclusive(r *Row) bool { return r.kind != rowCase }
