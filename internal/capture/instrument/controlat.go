package instrument

import (
	"fmt"

	"github.com/clrprof/clrprof/internal/pattern"
	"github.com/clrprof/clrprof/internal/wire"
)

// ControlAt says at which point of the calls of which functions the counters of a level are changed.
type ControlAt struct {
	Pattern pattern.Pattern
	Flag    string // FlagStartAt and so on
	Point   int    // wire.PointBefore and so on
	Level   int    // wire.LevelGlobal and so on
}

// Flags of clrprof run by which functions change what is recorded.
const (
	FlagStartAt  = "start-at"
	FlagStopAt   = "stop-at"
	FlagPauseAt  = "pause-at"
	FlagResumeAt = "resume-at"
)

// controlFlags are these flags, by the operation.
var controlFlags = []string{wire.ControlStart: FlagStartAt, wire.ControlStop: FlagStopAt,
	wire.ControlSuspend: FlagPauseAt, wire.ControlResume: FlagResumeAt}

// ParseControls reads PATTERN[:before|after|top|bottom][:global|process|thread] of one of the flags, and refuses what
// the agent could not read.
func ParseControls(flag string, texts []string) ([]ControlAt, error) {
	var out []ControlAt
	var rules Rules
	for _, text := range texts {
		p, chosen, err := parsePoints(text, points[:], levels)
		if err != nil {
			return nil, fmt.Errorf("--%s: %w", flag, err)
		}
		out = append(out, ControlAt{p, flag, chosen[0], max(chosen[1], wire.LevelGlobal)})
		rules.Include = append(rules.Include, p)
	}
	if err := rules.Check(); err != nil {
		return nil, fmt.Errorf("--%s: %w", flag, err)
	}
	return out, nil
}

// String is the flag and its value, as they can be given.
func (c ControlAt) String() string {
	out := "--" + c.Flag + " " + c.Pattern.String()
	if c.Point != wire.PointBefore {
		out += ":" + points[c.Point]
	}
	if c.Level != wire.LevelGlobal {
		out += ":" + levels[c.Level]
	}
	return out
}

// Matches says whether functions of this name are meant: module is the file name, typ the declaring type and method the
// method, as in metadata.
func (c ControlAt) Matches(module, typ, method string) bool {
	return c.Pattern.Match(pattern.FunctionNames(module, typ, method))
}

func (c ControlAt) action() action {
	op := wire.ControlStart
	for op < len(controlFlags)-1 && controlFlags[op] != c.Flag {
		op++
	}
	return action{wire.ActionControl + (3*(op-wire.ControlStart)+c.Level-wire.LevelGlobal)*wire.Points + c.Point,
		c.Pattern}
}
