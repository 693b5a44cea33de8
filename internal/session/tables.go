package session

// The tables of schema.sql. A test compares each with the schema.

var processTable = tableOf("process", func(c *cells, r *Process) {
	integer(c, &r.ID)
	c.int64(&r.PID)
	c.int64(&r.ParentPID)
	c.text(&r.Name)
	c.text(&r.Path)
	c.longText(&r.Arguments)
	c.text(&r.RuntimeVersion)
	integer(c, &r.Begin)
	integer(c, &r.End)
	c.text(&r.EndState)
	integer(c, &r.AgentBytes)
	integer(c, &r.AgentPrivate)
	integer(c, &r.Compiled)
	integer(c, &r.CompiledTime)
	integer(c, &r.Recompiled)
	integer(c, &r.RecompiledTime)
	integer(c, &r.CompiledMissed)
	c.text(&r.Sampler)
})

var threadTable = tableOf("thread", func(c *cells, r *Thread) {
	integer(c, &r.ID)
	integer(c, &r.Process)
	c.int64(&r.OSID)
	c.text(&r.Name)
	integer(c, &r.Begin)
	integer(c, &r.End)
})

var threadSetTable = tableOf("thread_set", func(c *cells, r *ThreadSet) {
	integer(c, &r.Thread)
	integer(c, &r.Threads)
	c.text(&r.Name)
})

var threadScopeTable = tableOf("thread_scope", func(c *cells, r *ThreadScope) {
	integer(c, &r.Thread)
	integer(c, &r.Inside.Times)
	integer(c, &r.Inside.Length)
	integer(c, &r.Outside.Times)
	integer(c, &r.Outside.Length)
})

var testCaseTable = tableOf("test_case", func(c *cells, r *TestCase) {
	integer(c, &r.Function)
	c.longText(&r.Arguments)
	c.int64(&r.Number)
	integer(c, &r.Calls)
	amount(c, &r.Amount)
})

var interactionTable = tableOf("interaction", func(c *cells, r *Interaction) {
	integer(c, &r.ID)
	integer(c, &r.Process)
	c.text(&r.Kind)
	c.longText(&r.Text)
	c.bool(&r.HasText)
	integer(c, &r.Stack)
	integer(c, &r.Calls)
	integer(c, &r.Ended)
	integer(c, &r.Failed)
	integer(c, &r.Unwaited)
	integer(c, &r.Total)
	integer(c, &r.Min)
	integer(c, &r.Max)
})

var interactionFrameTable = tableOf("interaction_frame", func(c *cells, r *InteractionFrame) {
	integer(c, &r.Stack)
	c.int64(&r.Depth)
	integer(c, &r.Function)
	integer(c, &r.Instruction)
})

var moduleTable = tableOf("module", func(c *cells, r *Module) {
	integer(c, &r.ID)
	integer(c, &r.Process)
	c.text(&r.Name)
	c.text(&r.Path)
	c.text(&r.MVID)
	c.bool(&r.IsDynamic)
	c.text(&r.Symbols)
	c.text(&r.SymbolsPath)
	c.text(&r.Origin)
})

var typeTable = tableOf("type", func(c *cells, r *Type) {
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
})

var typeArgumentTable = tableOf("type_argument", func(c *cells, r *TypeArgument) {
	integer(c, &r.Type)
	c.int64(&r.Position)
	integer(c, &r.Argument)
})

var functionTable = tableOf("function", func(c *cells, r *Function) {
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
	c.text(&r.Test)
	c.text(&r.Route)
	c.text(&r.ILHash)
})

var functionArgumentTable = tableOf("function_argument", func(c *cells, r *FunctionArgument) {
	integer(c, &r.Function)
	c.int64(&r.Position)
	integer(c, &r.Argument)
})

var bodyTable = tableOf("body", func(c *cells, r *Body) {
	integer(c, &r.ID)
	integer(c, &r.Function)
	integer(c, &r.Address)
	c.int64(&r.Size)
	c.blob(&r.ILMap)
})

var instructionTable = tableOf("instruction", func(c *cells, r *Instruction) {
	integer(c, &r.ID)
	integer(c, &r.Function)
	integer(c, &r.Body)
	integer(c, &r.Address)
	c.int64(&r.NativeOffset)
	c.int64(&r.ILOffset)
	integer(c, &r.Line)
})

var nodeTable = tableOf("node", func(c *cells, r *Node) {
	integer(c, &r.ID)
	integer(c, &r.Parent)
	integer(c, &r.Process)
	integer(c, &r.Function)
	integer(c, &r.Instruction)
}).directly(func(c [][]int64, at int, r *Node) int64 {
	id, parent, process, function, instruction := c[0][at], c[1][at], c[2][at], c[3][at], c[4][at]
	*r = Node{NodeID(id), NodeID(parent), ProcessID(process), FunctionID(function), InstructionID(instruction)}
	return id | parent | process | function | instruction
})

var siteTable = tableOf("site", func(c *cells, r *Site) {
	integer(c, &r.ID)
	integer(c, &r.Thread)
	integer(c, &r.Node)
	integer(c, &r.Type)
	c.bool(&r.Frozen)
	integer(c, &r.Weight)
}).directly(func(c [][]int64, at int, r *Site) int64 {
	id, thread, node, typ, weight := c[0][at], c[1][at], c[2][at], c[3][at], c[5][at]
	*r = Site{SiteID(id), ThreadID(thread), NodeID(node), TypeID(typ), c[4][at] != 0, uint32(weight)}
	return id | thread | node | typ | weight
})

var sliceTable = tableOf("slice", func(c *cells, r *Slice) {
	integer(c, &r.ID)
	integer(c, &r.Begin)
	integer(c, &r.End)
})

var siteValueTable = tableOf("site_value", func(c *cells, r *SiteValue) {
	integer(c, &r.Slice)
	integer(c, &r.Site)
	amount(c, &r.Amount)
}).directly(func(c [][]int64, at int, r *SiteValue) int64 {
	*r = SiteValue{SliceID(c[0][at]), SiteID(c[1][at]), amountAt(c[2:], at)}
	return c[1][at]
})

var lossTable = tableOf("loss", func(c *cells, r *Loss) {
	integer(c, &r.Process)
	c.text(&r.Reason)
	integer(c, &r.Events)
	amount(c, &r.Amount)
})

var sourceFileTable = tableOf("source_file", func(c *cells, r *SourceFile) {
	integer(c, &r.ID)
	c.text(&r.Path)
})

var paramsArrayTable = tableOf("params_array", func(c *cells, r *ParamsArray) {
	integer(c, &r.Function)
	integer(c, &r.Line)
	integer(c, &r.Type)
})

var lineTable = tableOf("line", func(c *cells, r *Line) {
	integer(c, &r.ID)
	integer(c, &r.Function)
	integer(c, &r.File)
	c.int64(&r.LineBegin)
	c.int64(&r.ColumnBegin)
	c.int64(&r.LineEnd)
	c.int64(&r.ColumnEnd)
})
