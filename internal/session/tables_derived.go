package session

import q "github.com/clrprof/clrprof/internal/quantity"

var pathValueTable = tableOf("path_value", func(c *cells, r *PathValue) {
	integer(c, &r.ID)
	integer(c, &r.Parent)
	c.int64(&r.Level)
	integer(c, &r.Process)
	integer(c, &r.Function)
	amounts(c, &r.Amounts)
}).directly(func(c [][]int64, at int, r *PathValue) int64 {
	id, parent, process, function := c[0][at], c[1][at], c[3][at], c[4][at]
	*r = PathValue{PathID(id), PathID(parent), c[2][at], ProcessID(process), FunctionID(function), q.Amounts{
		Inclusive: q.Amount{Allocations: q.Count(c[5][at]), Bytes: q.Bytes(c[7][at])},
		Exclusive: q.Amount{Allocations: q.Count(c[6][at]), Bytes: q.Bytes(c[8][at])}}}
	return id | parent | process | function
})

var callValueTable = tableOf("call_value", func(c *cells, r *CallValue) {
	integer(c, &r.Caller)
	integer(c, &r.Callee)
	amounts(c, &r.Amounts)
})

var functionValueTable = tableOf("function_value", func(c *cells, r *FunctionValue) {
	integer(c, &r.Function)
	amounts(c, &r.Amounts)
})

var moduleValueTable = tableOf("module_value", func(c *cells, r *ModuleValue) {
	integer(c, &r.Module)
	amounts(c, &r.Amounts)
})

var lineValueTable = tableOf("line_value", func(c *cells, r *LineValue) {
	integer(c, &r.Line)
	amount(c, &r.Amount)
})

var instructionValueTable = tableOf("instruction_value", func(c *cells, r *InstructionValue) {
	integer(c, &r.Instruction)
	amount(c, &r.Amount)
})

var typeValueTable = tableOf("type_value", func(c *cells, r *TypeValue) {
	integer(c, &r.Type)
	amount(c, &r.Amount)
})

var threadValueTable = tableOf("thread_value", func(c *cells, r *ThreadValue) {
	integer(c, &r.Thread)
	amount(c, &r.Amount)
})

var processValueTable = tableOf("process_value", func(c *cells, r *ProcessValue) {
	integer(c, &r.Process)
	amount(c, &r.Amount)
})

var typePathTable = tableOf("type_path", func(c *cells, r *TypePath) {
	integer(c, &r.Type)
	c.int64(&r.Position)
	integer(c, &r.Function)
	c.int64(&r.Times)
	integer(c, &r.Bytes)
})

var causeTotalTable = tableOf("cause_total", func(c *cells, r *CauseTotal) {
	c.text(&r.Part)
	integer(c, &r.Causes)
	amount(c, &r.Amount)
})

var causeTable = tableOf("cause", func(c *cells, r *Cause) {
	c.int64(&r.Position)
	integer(c, &r.Type)
	integer(c, &r.FromFunction)
	integer(c, &r.FromLine)
	integer(c, &r.Function)
	amount(c, &r.Amount)
})

var ruleJudgedTable = tableOf("rule_judged", func(c *cells, r *RuleJudged) {
	c.text(&r.Rule)
	c.int64(&r.Edition)
	c.int64(&r.Hidden)
})

var findingTable = tableOf("finding", func(c *cells, r *Finding) {
	c.int64(&r.Position)
	c.text(&r.Rule)
	integer(c, &r.FromFunction)
	integer(c, &r.FromLine)
	integer(c, &r.Function)
	integer(c, &r.Type)
	amount(c, &r.Amount)
	integer(c, &r.Calls)
	integer(c, &r.Waited)
	integer(c, &r.Waits)
	c.longText(&r.Text)
	amount(c, &r.OfType)
})
