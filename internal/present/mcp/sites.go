package mcp

import (
	"cmp"
	"fmt"

	"github.com/clrprof/clrprof/internal/analysis"
	"github.com/clrprof/clrprof/internal/analysis/rules"
	"github.com/clrprof/clrprof/internal/session"
)

// byBytes is the value that sites are ordered by where a session does not have times.
const byBytes = "bytes"

// storedSites answers from what a session stores of its heaviest sites, without reading all of them; nil: it does not
// store what is asked for.
func storedSites(src *analysis.Source, in explainRequest) (map[string]any, error) {
	timed, err := src.ProcessesTimed()
	if err != nil || in.By != byBytes && (in.By != "" || len(timed) > 0) {
		return nil, err
	}
	until := in.Offset + cmp.Or(in.Limit, defaultSites)
	top, err := src.TopSites(until)
	if top == nil || err != nil || len(top.List) == 0 {
		return nil, err
	}
	followed, err := src.HasLifetimes()
	if err != nil {
		return nil, err
	}
	total, err := src.Total()
	if err != nil {
		return nil, err
	}
	n, err := newSiteNames(src)
	if err != nil {
		return nil, err
	}
	out, shown := []site{}, int64(0)
	list := top.List[min(in.Offset, len(top.List)):min(until, len(top.List))]
	for i := range list {
		r := &list[i]
		one := site{Type: n.Type(r.Type), Values: valuesOf(r.Lifetime, followed)}
		if one.Stack, one.Cut, err = n.stack(src, r.Node); err != nil {
			return nil, err
		}
		shown += int64(r.Born.Bytes)
		out = append(out, one)
	}
	left := int(top.More) + max(0, len(top.List)-until)
	return explained(in, left, map[string]any{"by": byBytes, "unit": "bytes", "total": int64(total.Bytes),
		"shown": shown, "sites": out})
}

// valuesOf are the values of a site that are not zero, by their names.
func valuesOf(l analysis.Lifetime, followed bool) map[string]int64 {
	values := analysis.LifetimeValues(followed)
	numbers := l.Values(len(values))
	out := map[string]int64{}
	for i, v := range values {
		if numbers[i] != 0 {
			out[v.Name] = numbers[i]
		}
	}
	return out
}

// siteNames are the names of what is on stacks.
type siteNames struct {
	*rules.SessionNames
	modules map[session.ModuleID]string
}

func newSiteNames(src *analysis.Source) (*siteNames, error) {
	names, err := rules.ReadNames(src)
	if err != nil {
		return nil, err
	}
	n := &siteNames{names, map[session.ModuleID]string{}}
	modules, err := src.Session().Modules()
	for _, m := range modules {
		n.modules[m.ID] = m.Name
	}
	return n, err
}

// stack prints a stack, and says how many frames of it are left out at its root.
func (n *siteNames) stack(src *analysis.Source, node session.NodeID) (stack []string, cut int, err error) {
	frames, err := src.Stack(node, mostDepth)
	if err != nil {
		return nil, 0, err
	}
	stack = []string{}
	for _, frame := range frames[:min(MostFrames, len(frames))] {
		f := n.FunctionRow(frame.Function)
		if f == nil {
			f = new(session.Function)
		}
		var line int64
		if at, _ := n.Position(analysis.Place{Line: frame.Line}); at != nil {
			line = at.LineBegin
		}
		stack = append(stack, frameText(f, n.modules[f.Module], n.File(f.File), line))
	}
	return stack, len(frames) - len(stack), nil
}

// mostDepth bounds the frames of a stack that are read: the agent's stacks are no deeper.
const mostDepth = 1 << 16

// frameText prints a frame: a function, and where in it the next one was called.
func frameText(f *session.Function, module, file string, line int64) string {
	text := f.DisplayName()
	switch {
	case file != "":
		text += fmt.Sprintf(" (%s:%d)", file, line)
	case module != "":
		text += " (" + module + ")"
	}
	return text
}
