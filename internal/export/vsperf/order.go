package vsperf

// roles are how the original calls the rows of callers and callees.
var roles = map[string]string{"current": "Root", "caller": "Caller", "callee": "Callee"}

// roleKey is the column that says what a row of callers and callees is.
const roleKey = "type"

// order returns the numbers of the rows as the original orders them: a function comes before its callers, which the
// view has before it.
func (r *Report) order() []int {
	at := -1
	for i, c := range r.columns {
		if c.key == roleKey {
			at = i
		}
	}
	var out, callers []int
	for i := range r.table.Rows {
		switch {
		case r.table.IsRest(i):
			continue
		case at >= 0 && r.table.Cell(i, r.of[at]).Text == "caller":
			callers = append(callers, i)
			continue
		}
		out = append(append(out, i), callers...)
		callers = callers[:0]
	}
	return append(out, callers...)
}
