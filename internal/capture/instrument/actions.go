package instrument

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/clrprof/clrprof/internal/pattern"
	"github.com/clrprof/clrprof/internal/wire"
)

// Points of a function's call at which something can be done, by their numbers on the wire.
var points = [wire.Points]string{wire.PointBefore: "before", wire.PointAfter: "after", wire.PointTop: "top",
	wire.PointBottom: "bottom"}

// levels can be changed at functions.
var levels = []string{wire.LevelGlobal: "global", wire.LevelProcess: "process", wire.LevelThread: "thread"}

// action is what the agent gets: a bit of wire.ActionMark and so on, and of which functions.
type action struct {
	bit     int
	pattern pattern.Pattern
}

// Limit is what makes it depend on functions what is recorded: a Scope or a ControlAt. Its String is the flag by which
// it is given.
type Limit interface {
	fmt.Stringer
	// Matches says whether functions of this name are meant: module is the file name, typ the declaring type and method
	// the method, as in metadata.
	Matches(module, typ, method string) bool
	action() action
}

// MaxActions is how many patterns of marks and limits the agent has room for.
const MaxActions = 256

// ActionLines are patterns for the agent, each with the number of what is done at its functions: "12+pattern".
func ActionLines(marks []MarkAt, limits []Limit) ([]string, error) {
	var out []string
	for _, m := range marks {
		out = append(out, m.action().line())
	}
	for _, l := range limits {
		out = append(out, l.action().line())
	}
	if len(out) > MaxActions {
		return nil, fmt.Errorf("%d patterns of functions at which something is done: at most %d are possible", len(out),
			MaxActions)
	}
	return out, nil
}

func (a action) line() string { return strconv.Itoa(a.bit) + "+" + a.pattern.String() }

// parsePoints reads PATTERN, then words behind colons, each one of a list that is not there yet, in their order.
func parsePoints(text string, lists ...[]string) (pattern.Pattern, []int, error) {
	chosen := make([]int, len(lists))
	parts := strings.Split(text, ":")
	next := 0
	for _, word := range parts[1:] {
		at := -1
		for ; next < len(lists) && at < 0; next++ {
			at = slices.Index(lists[next], word)
			chosen[next] = max(at, 0)
		}
		if at < 0 || word == "" {
			return pattern.Pattern{}, nil, wantPoints(text, lists)
		}
	}
	if parts[0] == "" {
		return pattern.Pattern{}, nil, wantPoints(text, lists)
	}
	return pattern.Wildcard(parts[0]), chosen, nil
}

func wantPoints(text string, lists [][]string) error {
	want := "PATTERN"
	for _, list := range lists {
		words := slices.DeleteFunc(slices.Clone(list), func(w string) bool { return w == "" })
		want += "[:" + strings.Join(words, "|") + "]"
	}
	return fmt.Errorf("%q: want %s, such as Shop.Orders.Load:%s", text, want, lists[0][1])
}
