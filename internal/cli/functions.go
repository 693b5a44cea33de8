package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"github.com/clrprof/clrprof/internal/capture/collect"
	"github.com/clrprof/clrprof/internal/capture/instrument"
)

// functionFlags are the flags of the run command for what is done at calls of functions, besides recording them.
type functionFlags struct {
	markAt          []string
	markRequests    bool
	testCases       bool
	inside, outside []string
	controlAt       [4][]string // by place in controlFlags

	marks  []instrument.MarkAt // the same
	limits []instrument.Limit
	lines  []string // for the agent
}

// controlFlags are the flags by which functions change what is recorded, with what they say of themselves.
var controlFlags = [4]struct{ name, usage string }{
	{instrument.FlagStartAt, "begin recording at a call of one of these functions: PATTERN[:POINT][:LEVEL], with " +
		"POINT before|after|top|bottom and LEVEL global|process|thread; add --stopped to record nothing before"},
	{instrument.FlagStopAt, "stop recording at a call of one of these functions; arguments as for --start-at"},
	{instrument.FlagPauseAt, "add a pause at each call of these functions; arguments as for --start-at"},
	{instrument.FlagResumeAt, "undo one pause at each call of these functions; arguments as for --start-at"},
}

func (a *functionFlags) add(f *pflag.FlagSet) {
	f.StringSliceVar(&a.markAt, "mark-at", nil,
		"mark each call of these functions, named as for --include, or another point of the call: "+
			"PATTERN[:before|after|top|bottom], such as Shop.Orders.Load:after for each return")
	f.BoolVar(&a.markRequests, "mark-requests", false,
		"mark each request of an ASP.NET Core server when its endpoint has been chosen, with the endpoint's name")
	f.BoolVar(&a.testCases, "test-cases", false,
		"count what each case of a test with arguments allocates: [Theory], [TestCase], [DataRow] and so on have a row "+
			"for each case in clrprof report SESSION tests")
	f.StringSliceVar(&a.inside, instrument.FlagInside, nil,
		"record a thread only while it is in a call of one of these functions, named as for --include: the "+
			"functions and what they call; with :process after the name, record all threads of a process while one "+
			"is in such a call")
	f.StringSliceVar(&a.outside, instrument.FlagOutside, nil,
		"record a thread only while it is in no call of one of these functions, named as for --include; with "+
			":process after the name, record no thread of a process while one is in such a call")
	for i, c := range controlFlags {
		f.StringSliceVar(&a.controlAt[i], c.name, nil, c.usage)
	}
}

// check reads what was given.
func (a *functionFlags) check() (err error) {
	if a.marks, err = instrument.ParseMarks(a.markAt); err != nil {
		return usage("--mark-at: %v", err)
	}
	scopes, err := instrument.ParseScopes(a.inside, a.outside)
	if err != nil {
		return usage("%v", err)
	}
	a.limits = nil
	for _, s := range scopes {
		a.limits = append(a.limits, s)
	}
	for i, c := range controlFlags {
		controls, err := instrument.ParseControls(c.name, a.controlAt[i])
		if err != nil {
			return usage("%v", err)
		}
		for _, x := range controls {
			a.limits = append(a.limits, x)
		}
	}
	if a.lines, err = instrument.ActionLines(a.marks, a.limits); err != nil {
		return usage("%v", err)
	}
	return nil
}

// set adds what was given to the session's options.
func (a *functionFlags) set(to map[string]any) {
	given := map[string][]string{"mark_at": a.markAt, "record_inside": a.inside, "record_outside": a.outside}
	for i, c := range controlFlags {
		given[strings.ReplaceAll(c.name, "-", "_")] = a.controlAt[i]
	}
	if a.markRequests {
		to["mark_requests"] = true
	}
	if a.testCases {
		to["test_cases"] = true
	}
	for name, patterns := range given {
		if len(patterns) > 0 {
			to[name] = patterns
		}
	}
}

// howNamed is what to do when a pattern has matched nothing.
const howNamed = "clrprof list-functions lists names, which begin with a namespace; * stands for any characters"

// say says which of them did not do what they were given for.
func (a *functionFlags) say(notes *notes, res collect.Result) {
	for _, m := range res.Unmarked {
		notes.say("--mark-at %s: no mark was made: no recorded process called a function of this name; %s", m,
			howNamed)
	}
	if a.markRequests && res.Requests == 0 {
		notes.say("--mark-requests: no request was marked: in no recorded process ASP.NET Core chose an endpoint, " +
			"or the process runs on .NET Core 3.1")
	}
	if a.testCases && res.Cases == 0 {
		notes.say("--test-cases: no case of a test was seen: no recorded process called a test with parameters, its " +
			"assembly is precompiled, or the process runs on .NET Core 3.1")
	}
	if res.Unlimited > 0 {
		notes.say("%s: not everywhere: %v could not have probes, or runs on .NET Core 3.1, so more or less was "+
			"recorded than requested (clrprof report losses)", a.limitFlags(),
			res.Unlimited.Of("function or process"))
		return
	}
	for _, l := range res.Unmet {
		notes.say("%v: no function of this name was called; %s", l, howNamed)
	}
}

// limitFlags names the flags by which what is recorded depends on functions.
func (a *functionFlags) limitFlags() string {
	points := false
	for _, given := range a.controlAt {
		points = points || len(given) > 0
	}
	scopes := fmt.Sprintf("--%s, --%s", instrument.FlagInside, instrument.FlagOutside)
	switch {
	case points && len(a.inside)+len(a.outside) > 0:
		return scopes + ", --start-at and so on"
	case points:
		return "--start-at, --stop-at, --pause-at, --resume-at"
	}
	return scopes
}
