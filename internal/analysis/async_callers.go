package analysis

import (
	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
)

// callerKey says which path of a tree one is: that of a function below another path.
type callerKey struct {
	parent, function int32
	process          session.ProcessID
}

// readSelected reads the paths that are selected; if async methods are on them, also all others, without values: what a
// method did after it had waited, on any thread and at any time, is below its callers, whatever of these is selected.
func (t *asyncTree) readSelected(v *Source) error {
	if err := t.read(v); err != nil {
		return err
	}
	if v.selection.isUnfiltered() || !t.hasMachine() {
		return nil
	}
	source, err := Open(v.session, v.selection.unfiltered())
	if err != nil {
		return err
	}
	selected := t.paths
	t.paths = nil
	if err := t.read(source); err != nil {
		return err
	}
	t.isPart = true
	at := make(map[callerKey]int32, len(t.paths))
	for i := range t.paths {
		p := &t.paths[i]
		p.id, p.own, p.hasTime, p.time = 0, q.Amount{}, false, session.PathTime{}
		at[callerKey{p.parent, p.function, p.process}] = int32(i)
	}
	position := make([]int32, len(selected))
	for i, p := range selected {
		if p.parent >= 0 {
			p.parent = position[p.parent]
		}
		n, ok := at[callerKey{p.parent, p.function, p.process}]
		if ok {
			t.paths[n] = p
		} else {
			n = int32(len(t.paths))
			t.paths = append(t.paths, p)
		}
		position[i] = n
	}
	return nil
}

// hasMachine reports whether a path is that of an async method.
func (t *asyncTree) hasMachine() bool {
	for i := range t.paths {
		if t.isMachine(int32(i)) {
			return true
		}
	}
	return false
}
