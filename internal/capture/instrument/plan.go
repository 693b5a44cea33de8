package instrument

import (
	"fmt"

	"github.com/clrprof/clrprof/internal/capture/probes"
	"github.com/clrprof/clrprof/internal/dotnet/usercode"
	"github.com/clrprof/clrprof/internal/pattern"
	"github.com/clrprof/clrprof/internal/wire"
)

// Mode says what of the code is recorded; see the package's table.
type Mode string

// The modes, as the command line and the agent name them.
const (
	Boundary Mode = "boundary"
	Mine     Mode = "mine"
	All      Mode = "all"
)

// Modes returns all modes, the default first.
func Modes() []Mode { return []Mode{Boundary, Mine, All} }

// DefaultSmall is the least IL, in bytes, of functions that --exclude-small alone leaves in. Getters and setters of
// fields have up to 9 bytes with their header, those that call one more function, or compare, up to 15 (optimised; what
// has local variables has a longer header, and is not small).
const DefaultSmall = 16

// Plan is all that decides about a function.
type Plan struct {
	Mode  Mode
	Rules Rules
	Mine  Rules // include patterns: modules that are the user's
	Small int   // functions with less IL, in bytes, are out
}

// Function is what the decision is about.
type Function struct {
	Module  string // the file's name
	Type    string // as in metadata: Namespace.Outer/Nested
	Method  string
	IL      int             // bytes of its body, as clrmeta.Image.BodySize counts them; 0: it has none
	Foreign usercode.Origin // whose code the module is, if it is not the user's
	Refused probes.Refusal  // why no probes can be put into its IL
	Async   bool            // the runtime suspends it itself
	Extern  bool            // it has no IL and is called all the same: clrmeta.Method.IsExtern
}

// Class says how a function is recorded.
type Class string

// Classes of functions.
const (
	Recorded     Class = "all calls"
	CalledByMine Class = "calls by your code"
	Out          Class = "no"
)

// foreign says in words whose code a module is.
var foreign = map[usercode.Origin]string{usercode.Framework: "framework", usercode.SDK: "of an SDK",
	usercode.Package:   "package",
	usercode.Generated: "made by the framework", usercode.Microsoft: "by Microsoft",
	usercode.Elsewhere: "not beside the program"}

// isCalled says if the calls of a function without IL are recorded: where your code names it, as one of an interface.
func (p Plan) isCalled(f Function, names pattern.Names) bool {
	isOutside := f.Foreign != "" || f.Extern
	if len(p.Rules.Include) > 0 && !f.Extern {
		isOutside = pattern.First(p.Rules.Include, names) == ""
	}
	return p.Mode == Boundary && p.Small == 0 && isOutside && pattern.First(p.Rules.Exclude, names) == ""
}

// byProbes says if calls are seen by probes in IL where the runtime allows that, rather than by hooks.
func (p Plan) byProbes() bool { return p.Mode == Mine || p.Mode == Boundary && p.Small == 0 }

// Decide returns how a function is recorded, and why in a few words.
func (p Plan) Decide(f Function) (Class, string) {
	class, why := p.decide(f)
	switch {
	case class == Recorded && f.Async:
		return Out, "the runtime suspends it itself (runtime-async)"
	case class == Recorded && f.Refused != probes.None && p.byProbes():
		return Out, "no probes: " + f.Refused.String()
	}
	return class, why
}

// decide is Decide by the rules alone.
func (p Plan) decide(f Function) (Class, string) {
	names := pattern.FunctionNames(f.Module, f.Type, f.Method)
	if f.IL == 0 && !p.isCalled(f, names) {
		return Out, "no IL"
	}
	if f.Module == wire.CoreLibrary && wire.IsHelper(f.Type, f.Method) {
		return Out, "a helper of the runtime"
	}
	if by := pattern.First(p.Rules.Exclude, names); by != "" {
		return Out, "excluded by " + by
	}
	if f.Extern && f.Foreign == "" {
		return CalledByMine, "no IL: recorded where it is called"
	}
	if f.IL < p.Small {
		return Out, fmt.Sprintf("smaller than %d bytes", p.Small)
	}
	if by := pattern.First(p.Rules.Include, names); by != "" {
		return Recorded, "included by " + by
	}
	outside := Out
	if p.Mode == Boundary {
		outside = CalledByMine
	}
	switch {
	case len(p.Rules.Include) > 0:
		return outside, "not included"
	case p.Mode == All:
		return Recorded, "all code"
	case f.Foreign == "":
		return Recorded, "your code"
	}
	return outside, foreign[f.Foreign]
}
