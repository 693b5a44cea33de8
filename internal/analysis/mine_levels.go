package analysis

import (
	"fmt"
	"math"

	q "github.com/clrprof/clrprof/internal/quantity"
)

// CodeLevels are how many levels of framework code are shown around user code, where only user code is shown: above it
// functions through which it was called, below it functions that it called, and those that these called.
type CodeLevels struct{ Callers, Callees int }

// DefaultCodeLevels are what is shown unless something else is wanted: what user code calls says what it does.
var DefaultCodeLevels = CodeLevels{Callees: 1}

// note says in a sentence what is shown.
func (l CodeLevels) note() string {
	const beyond = ": what the framework did beyond that counts for the "
	levels := func(n int) string { return q.Count(n).Of("level") }
	switch {
	case l == DefaultCodeLevels:
		return "Your code and what it calls" + beyond + "function that your code called."
	case l == CodeLevels{}:
		return "Your code alone: what the framework did counts for the function of yours that called it."
	case l.Callers == 0:
		return "Your code and " + levels(l.Callees) + " of what it calls" + beyond + "nearest caller that is shown."
	case l.Callees == 0:
		return "Your code and " + levels(l.Callers) + " of what calls it" + beyond + "nearest caller that is shown."
	}
	return fmt.Sprintf("Your code, %s of what it calls, and %s of what calls it%snearest caller that is shown.",
		levels(l.Callees), levels(l.Callers), beyond)
}

// nearCode says which framework code is so near to user code that it is shown, by node.
type nearCode struct {
	levels CodeLevels
	user   []bool
	below  []int32 // levels from the nearest user code above, of what was asked for by isFar; farOff: there is none
	above  []int32 // levels to the nearest user code below; nil: none of these are shown
}

// farOff is more levels than any stack has.
const farOff = math.MaxInt32

// nearUserCode prepares to say which framework code is shown; nil: all of it. above are the callers of the nodes.
func (d *Data) nearUserCode(sel Selection, above []int32) *nearCode {
	if sel.code == nil {
		return nil
	}
	c := &nearCode{levels: *sel.code, user: make([]bool, len(d.Nodes)), below: make([]int32, len(d.Nodes))}
	isUser := d.userFunctions()
	for i, f := range d.nodeFunction {
		c.user[i] = f >= 0 && isUser[f]
	}
	if c.levels.Callers > 0 {
		c.above = d.levelsToUserCode(sel, c.user, above)
	}
	return c
}

// levelsToUserCode are how many levels each node is above user code. What is hidden by its name is no level.
func (d *Data) levelsToUserCode(sel Selection, user []bool, above []int32) []int32 {
	out := make([]int32, len(d.Nodes))
	for i := range out {
		out[i] = farOff
	}
	for i := len(out) - 1; i >= 0; i-- { // what is called comes after its callers
		p := above[i]
		if p < 0 {
			continue
		}
		levels := out[i]
		switch {
		case sel.hidden[d.Nodes[i].Function]:
		case user[i]:
			levels = 1
		case levels != farOff:
			levels++
		}
		out[p] = min(out[p], levels)
	}
	return out
}

// isFar reports whether a node is framework code that is not shown, below a node that is shown, or below none. It must
// be asked of callers before what they call.
func (c *nearCode) isFar(node, caller int32) bool {
	below := int32(farOff)
	switch {
	case c.user[node]:
		below = 0
	case caller >= 0 && c.below[caller] != farOff:
		below = c.below[caller] + 1
	}
	c.below[node] = below
	return beyond(below, c.levels.Callees) && (c.above == nil || beyond(c.above[node], c.levels.Callers))
}

// beyond reports whether something is farther away than so many levels.
func beyond(levels int32, most int) bool { return levels == farOff || int(levels) > most }
