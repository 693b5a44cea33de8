package budget

import (
	"fmt"

	"github.com/clrprof/clrprof/internal/analysis"
	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
)

// onceFunctions are functions, as patterns, that fill once per process, or per thread, what they and all that they call
// make: static fields, what the framework keeps of a type or an enum from when it is first asked for it, and places for
// values of threads.
var onceFunctions = []string{"*..cctor", "System.RuntimeType.InitializeCache",
	"System.RuntimeType.RuntimeTypeCache.*", "System.RuntimeType.ActivatorCache.*",
	"System.Enum.GetEnumInfo<*>.InitializeEnumInfo", "System.Threading.ThreadLocal<*>.SetValueSlow"}

// onceTypes are patterns of types: the runtime makes one object of each of them for every type, assembly or module, and
// keeps it.
var onceTypes = []string{"System.RuntimeType", "System.RuntimeType.*", "System.Reflection.RuntimeAssembly",
	"System.Reflection.RuntimeModule"}

// onceLazily are, as clauses, the values of static fields that are made when they are first asked for: by a function
// that is written in a static constructor or beside the field, which is the same to the compiler.
const onceLazily = `not ((focus = "System.Lazy<*" or focus = "System.Threading.ThreadLocal<*") and ` +
	`focus = "*..cctor.<*")`

// onceSlots are, as clauses, what the runtime makes for thread statics of ThreadLocal, whose function makes nothing.
const onceSlots = `function <> "System.Threading.ThreadLocal<*>.get_Value"`

// poolFunctions are the functions of array pools, as a pattern.
const poolFunctions = "System.Buffers.*ArrayPool*"

// poolSizes is how many arrays of a type the shared pool keeps for a thread: one of each power of two from 16 on, and
// the list of these. A thread that had more made of a type did not give them back, or used more at a time than the pool
// keeps: that may be the cost of each call, and counts.
const poolSizes = 28

// steadyTerms narrows terms to what does not fill once per process or thread, as far as a session knows it. kept ends a
// sentence: it says that array pools count, because they made more than they fill with; "": they are left out.
func (l *Limit) steadyTerms(s *session.Session, terms analysis.Terms) (out analysis.Terms, kept string, err error) {
	focus := excluded(onceFunctions)
	out.Filter = onceLazily
	if !l.metric.times { // which are not known by type
		out.Types, out.Filter = excluded(onceTypes), analysis.JoinFilters(onceLazily, onceSlots)
	}
	arrays, fills, err := pooled(s, terms)
	switch {
	case err != nil:
		return out, "", err
	case fills:
		focus = append(focus, "!"+poolFunctions)
	default:
		kept = fmt.Sprintf("; the array pool made %d arrays of a type for a thread, more than it fills with once: they count",
			arrays)
	}
	out.Focus = focus
	return out, kept, nil
}

// excluded are patterns of what is left out.
func excluded(patterns []string) []string {
	var out []string
	for _, p := range patterns {
		out = append(out, "!"+p)
	}
	return out
}

// pooled returns the most objects of a type that array pools made for a thread on average, of what terms select, and
// whether of each type they made no more than a pool fills with.
func pooled(s *session.Session, terms analysis.Terms) (most q.Count, fills bool, err error) {
	sel, err := terms.And(analysis.Terms{Focus: []string{poolFunctions}}).Select(s)
	if err != nil {
		return 0, false, err
	}
	src, err := analysis.Open(s, sel)
	if err != nil {
		return 0, false, err
	}
	types, err := src.Types()
	if err != nil {
		return 0, false, err
	}
	for _, t := range types {
		most = max(most, t.Allocations)
	}
	threads, n := 0, q.Count(0)
	list, err := src.Threads()
	for _, t := range list {
		if t.Allocations > 0 {
			threads++
		}
	}
	if threads > 0 {
		n = (most + q.Count(threads) - 1) / q.Count(threads)
	}
	return n, n <= poolSizes, err
}

// leftOut says how much a limit leaves out as filling once.
func (l *Limit) leftOut(s *session.Session, b *Budget, m *measured) error {
	all := *l
	all.Steady = false
	whole, err := all.measure(s, b)
	if err != nil {
		return err
	}
	m.once = fmt.Sprintf("; without %s that fill once", l.metric.unit.print(whole.value-m.value)) + m.once
	return nil
}
