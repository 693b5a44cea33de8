package report

// callersView shows who calls a function, and whom it calls.
var callersView = View{
	Name:     "callers",
	Short:    "the callers and callees of a function",
	Argument: "FUNCTION",
	Text:     Options{Top: 20},
	Needs:    NeedsFunction,
	TakesAll: true,
	Async:    true,
	columns:  keys("type " + identity + "root_function_name level " + amounts),
	text:     keys("name type " + textAmounts + " module"),
	sort:     "inclusive_bytes",
	build:    buildCallers,
	timed: timedView{
		columns: keys(timeKeys(true)),
		text:    keys("type " + textTimes),
		both:    keys("type " + textBoth),
		sort:    "elapsed_inclusive",
	},
}

// Roles of the rows of the callers view, as in the reference's reports.
const (
	roleCaller  = "caller"
	roleCurrent = "current"
	roleCallee  = "callee"
)

// AllFunctions is the argument of the view callers that means each function, not one.
const AllFunctions = "*"

func buildCallers(b *builder) error {
	if b.options.Argument == "" {
		return &UnknownError{What: "function", Name: ""}
	}
	if err := b.joinAsync(); err != nil {
		return err
	}
	if b.options.Argument == AllFunctions {
		return b.callersOfAll()
	}
	matches, err := b.matching(b.options.Argument)
	if err != nil {
		return err
	}
	return b.eachCurrent(matches, b.callersOf)
}

// callersOfAll makes the rows of each function, its callers before and its callees after it.
func (b *builder) callersOfAll() error {
	functions, err := b.functionRows()
	if err != nil {
		return err
	}
	return b.eachCurrent(b.sorted(functions), b.callersOf)
}

// callRows makes the rows of a call: of the caller below the callee, and of the callee below the caller.
func (c *context) callRows(call *call) (caller, callee Row) {
	caller = c.functionRow(call.caller, call.amounts)
	caller.role, caller.root, caller.level, caller.time = roleCaller, call.callee, 1, call.time
	caller.process = c.functions.get(call.callee).Process
	callee = c.functionRow(call.callee, call.amounts)
	callee.role, callee.root, callee.level, callee.time = roleCallee, call.caller, 1, call.time
	return caller, callee
}

// callersOf adds the rows of a function.
func (b *builder) callersOf(current Row, callers, callees []Row) {
	b.table.Rows = append(b.table.Rows, b.limit(callers, exclusiveCost)...)
	b.table.Rows = append(b.table.Rows, current)
	b.table.Rows = append(b.table.Rows, b.limit(callees, exclusiveCost)...)
}
