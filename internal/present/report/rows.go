package report

import (
	"github.com/clrprof/clrprof/internal/analysis"
	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
)

// functionRow makes a row about a function.
func (c *context) functionRow(id session.FunctionID, v q.Amounts) Row {
	if id == analysis.AsyncRuntimeID {
		return Row{kind: rowFunction, async: analysis.AsyncRuntime, values: v}
	}
	f := c.functions.get(id)
	return Row{kind: rowFunction, function: id, module: f.Module, process: f.Process, values: v}
}

func both(a q.Amount) q.Amounts { return q.Amounts{Inclusive: a, Exclusive: a} }

func byBytes(w cost) int64 { return int64(w.amount.Bytes) }

func byTime(w cost) int64 { return int64(w.time.Elapsed) }

// heavier is what most rows are ordered by: time where there is any.
func (c *context) heavier() func(cost) int64 {
	if c.hasTime() {
		return byTime
	}
	return byBytes
}

func (c *context) lineRow(v session.LineValue) Row {
	row := c.functionRow(c.lines.get(v.Line).Function, both(v.Amount))
	row.kind, row.line = rowLine, v.Line
	return row
}

func (c *context) instructionRow(v session.InstructionValue) Row {
	in := c.instructions.get(v.Instruction)
	row := c.functionRow(in.Function, both(v.Amount))
	row.kind, row.line, row.instruction = rowInstruction, in.Line, v.Instruction
	return row
}
