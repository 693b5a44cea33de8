package session

// The tables of schema.sql. A test compares each with the schema.

var processTable = table[Process]{
	"process", "id, pid, parent_pid, name, path, arguments, runtime_version, begin_ns, end_ns, end_state, agent_bytes", "id",
	func(c *cells, r *Process) {
		integer(c, &r.ID)
		c.int64(&r.PID)
		c.int64(&r.ParentPID)
		c.text(&r.Name)
		c.text(&r.Path)
		c.text(&r.Arguments)
		c.text(&r.RuntimeVersion)
		integer(c, &r.Begin)
		integer(c, &r.End)
		c.text(&r.EndState)
		integer(c, &r.AgentBytes)
	},
}

var threadTable = table[Thread]{
	"thread", "id, process_id, os_id, name, begin_ns, end_ns", "id",
	func(c *cells, r *Thread) {
		integer(c, &r.ID)
		integer(c, &r.Process)
		c.int64(&r.OSID)
		c.text(&r.Name)
		integer(c, &r.Begin)
		integer(c, &r.End)
	},
}

var threadSetTable = table[ThreadSet]{
	"thread_set", "thread_id, threads, name", "thread_id",
	func(c *cells, r *ThreadSet) {
		integer(c, &r.Thread)
		integer(c, &r.Threads)
		c.text(&r.Name)
	},
}

var moduleTable = table[Module]{
	"module", "id, process_id, name, path, mvid, is_dynamic, symbols, symbols_path, origin", "id",
	func(c *cells, r *Module) {
		integer(c, &r.ID)
		integer(c, &r.Process)
		c.text(&r.Name)
		c.text(&r.Path)
		c.text(&r.MVID)
		c.bool(&r.IsDynamic)
		c.text(&r.Symbols)
		c.text(&r.SymbolsPath)
		c.text(&r.Origin)
	},
}

var typeTable = table[Type]{
	"type", "id, process_id, module_id, token, kind, rank, bounds, element_type_id, element_code, raw_name, name, trait", "id",
	func(c *cells, r *Type) {
		integer(c, &r.ID)
		integer(c, &r.Process)
		integer(c, &r.Module)
		integer(c, &r.Token)
		c.text(&r.Kind)
		c.int64(&r.Rank)
		c.bool(&r.Bounds)
		integer(c, &r.ElementType)
		c.int64(&r.ElementCode)
		c.text(&r.RawName)
		c.text(&r.Name)
		c.text(&r.Trait)
	},
}

var typeArgumentTable = table[TypeArgument]{
	"type_argument", "type_id, position, argument_type_id", "type_id, position",
	func(c *cells, r *TypeArgument) {
		integer(c, &r.Type)
		c.int64(&r.Position)
		integer(c, &r.Argument)
	},
}

var functionTable = table[Function]{
	"function", "id, process_id, module_id, token, type_id, kind, raw_type, raw_name, signature, name, file_id, line", "id",
	func(c *cells, r *Function) {
		integer(c, &r.ID)
		integer(c, &r.Process)
		integer(c, &r.Module)
		integer(c, &r.Token)
		integer(c, &r.Type)
		c.text(&r.Kind)
		c.text(&r.RawType)
		c.text(&r.RawName)
		c.blob(&r.Signature)
		c.text(&r.Name)
		integer(c, &r.File)
		c.int64(&r.Line)
	},
}

var functionArgumentTable = table[FunctionArgument]{
	"function_argument", "function_id, position, argument_type_id", "function_id, position",
	func(c *cells, r *FunctionArgument) {
		integer(c, &r.Function)
		c.int64(&r.Position)
		integer(c, &r.Argument)
	},
}

var bodyTable = table[Body]{
	"body", "id, function_id, address, size, il_map", "id",
	func(c *cells, r *Body) {
		integer(c, &r.ID)
		integer(c, &r.Function)
		integer(c, &r.Address)
		c.int64(&r.Size)
		c.blob(&r.ILMap)
	},
}

var instructionTable = table[Instruction]{
	"instruction", "id, function_id, body_id, address, native_offset, il_offset, line_id", "id",
	func(c *cells, r *Instruction) {
		integer(c, &r.ID)
		integer(c, &r.Function)
		integer(c, &r.Body)
		integer(c, &r.Address)
		c.int64(&r.NativeOffset)
		c.int64(&r.ILOffset)
		integer(c, &r.Line)
	},
}

var nodeTable = table[Node]{
	"node", "id, parent_id, process_id, function_id, instruction_id", "id",
	func(c *cells, r *Node) {
		integer(c, &r.ID)
		integer(c, &r.Parent)
		integer(c, &r.Process)
		integer(c, &r.Function)
		integer(c, &r.Instruction)
	},
}

var siteTable = table[Site]{
	"site", "id, thread_id, node_id, type_id, frozen", "id",
	func(c *cells, r *Site) {
		integer(c, &r.ID)
		integer(c, &r.Thread)
		integer(c, &r.Node)
		integer(c, &r.Type)
		c.bool(&r.Frozen)
	},
}

var sliceTable = table[Slice]{
	"slice", "id, begin_ns, end_ns", "id",
	func(c *cells, r *Slice) {
		integer(c, &r.ID)
		integer(c, &r.Begin)
		integer(c, &r.End)
	},
}

var siteValueTable = table[SiteValue]{
	"site_value", "slice_id, site_id, allocations, bytes", "slice_id, site_id",
	func(c *cells, r *SiteValue) {
		integer(c, &r.Slice)
		integer(c, &r.Site)
		amount(c, &r.Amount)
	},
}

var lossTable = table[Loss]{
	"loss", "process_id, reason, events, allocations, bytes", "process_id, reason",
	func(c *cells, r *Loss) {
		integer(c, &r.Process)
		c.text(&r.Reason)
		integer(c, &r.Events)
		amount(c, &r.Amount)
	},
}

var sourceFileTable = table[SourceFile]{
	"source_file", "id, path", "id",
	func(c *cells, r *SourceFile) {
		integer(c, &r.ID)
		c.text(&r.Path)
	},
}

var lineTable = table[Line]{
	"line", "id, function_id, file_id, line_begin, column_begin, line_end, column_end", "id",
	func(c *cells, r *Line) {
		integer(c, &r.ID)
		integer(c, &r.Function)
		integer(c, &r.File)
		c.int64(&r.LineBegin)
		c.int64(&r.ColumnBegin)
		c.int64(&r.LineEnd)
		c.int64(&r.ColumnEnd)
	},
}
