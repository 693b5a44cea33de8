package session

var pathValueTable = tableOf("path_value", func(c *cells, r *PathValue) {
	integer(c, &r.ID)
	integer(c, &r.Parent)
	c.int64(&r.Level)
	integer(c, &r.Process)
	integer(c, &r.Function)
	amounts(c, &r.Amounts)
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
