package instrument

import (
	"fmt"

	"github.com/clrprof/clrprof/internal/pattern"
	"github.com/clrprof/clrprof/internal/wire"
)

// Scope limits what is recorded to calls of some functions, or to what is outside of them: a thread is recorded while
// a call of a function of one of the former is on its stack, if there are such scopes, and none of the latter. One of a
// process asks for that of any of its threads.
type Scope struct {
	Pattern pattern.Pattern
	Outside bool
	Process bool
}

// scopeLevels are those that a scope can have. Other processes would know of a call too late.
var scopeLevels = []string{"thread", "process"}

// Flags of clrprof run by which scopes are given.
const (
	FlagInside  = "record-inside"
	FlagOutside = "record-outside"
)

// ParseScopes reads patterns of functions, and refuses what the agent could not read.
func ParseScopes(inside, outside []string) ([]Scope, error) {
	var out []Scope
	for _, of := range []struct {
		flag  string
		texts []string
	}{{FlagInside, inside}, {FlagOutside, outside}} {
		var rules Rules
		for _, text := range of.texts {
			p, chosen, err := parsePoints(text, scopeLevels)
			if err != nil {
				return nil, fmt.Errorf("--%s: %w", of.flag, err)
			}
			out = append(out, Scope{p, of.flag == FlagOutside, chosen[0] == 1})
			rules.Include = append(rules.Include, p)
		}
		if err := rules.Check(); err != nil {
			return nil, fmt.Errorf("--%s: %w", of.flag, err)
		}
	}
	return out, nil
}

// String is the flag and the pattern, as they can be given.
func (s Scope) String() string {
	flag := FlagInside
	if s.Outside {
		flag = FlagOutside
	}
	if s.Process {
		return "--" + flag + " " + s.Pattern.String() + ":" + scopeLevels[1]
	}
	return "--" + flag + " " + s.Pattern.String()
}

// Matches says whether functions of this name are meant: module is the file name, typ the declaring type and method the
// method, as in metadata.
func (s Scope) Matches(module, typ, method string) bool {
	return s.Pattern.Match(pattern.FunctionNames(module, typ, method))
}

func (s Scope) action() action {
	bit := wire.ActionScope
	if s.Outside {
		bit++
	}
	if s.Process {
		bit += 2
	}
	return action{bit, s.Pattern}
}
