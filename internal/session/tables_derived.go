package session

// fourColumns are the values of every derived table that has both rules.
const fourColumns = ", inclusive_allocations, exclusive_allocations, inclusive_bytes, exclusive_bytes"

var pathValueTable = table[PathValue]{
	"path_value", "id, parent_id, level, process_id, function_id" + fourColumns, "id",
	func(c *cells, r *PathValue) {
		integer(c, &r.ID)
		integer(c, &r.Parent)
		c.int64(&r.Level)
		integer(c, &r.Process)
		integer(c, &r.Function)
		amounts(c, &r.Amounts)
	},
}

var callValueTable = table[CallValue]{
	"call_value", "caller_id, callee_id" + fourColumns, "caller_id, callee_id",
	func(c *cells, r *CallValue) {
		integer(c, &r.Caller)
		integer(c, &r.Callee)
		amounts(c, &r.Amounts)
	},
}

var functionValueTable = table[FunctionValue]{
	"function_value", "function_id" + fourColumns, "function_id",
	func(c *cells, r *FunctionValue) {
		integer(c, &r.Function)
		amounts(c, &r.Amounts)
	},
}

var moduleValueTable = table[ModuleValue]{
	"module_value", "module_id" + fourColumns, "module_id",
	func(c *cells, r *ModuleValue) {
		integer(c, &r.Module)
		amounts(c, &r.Amounts)
	},
}

var lineValueTable = table[LineValue]{
	"line_value", "line_id, allocations, bytes", "line_id",
	func(c *cells, r *LineValue) {
		integer(c, &r.Line)
		amount(c, &r.Amount)
	},
}

var instructionValueTable = table[InstructionValue]{
	"instruction_value", "instruction_id, allocations, bytes", "instruction_id",
	func(c *cells, r *InstructionValue) {
		integer(c, &r.Instruction)
		amount(c, &r.Amount)
	},
}

var typeValueTable = table[TypeValue]{
	"type_value", "type_id, instances, bytes", "type_id",
	func(c *cells, r *TypeValue) {
		integer(c, &r.Type)
		amount(c, &r.Amount)
	},
}

var threadValueTable = table[ThreadValue]{
	"thread_value", "thread_id, allocations, bytes", "thread_id",
	func(c *cells, r *ThreadValue) {
		integer(c, &r.Thread)
		amount(c, &r.Amount)
	},
}

var processValueTable = table[ProcessValue]{
	"process_value", "process_id, allocations, bytes", "process_id",
	func(c *cells, r *ProcessValue) {
		integer(c, &r.Process)
		amount(c, &r.Amount)
	},
}
