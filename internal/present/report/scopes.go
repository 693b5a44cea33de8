package report

import (
	"encoding/json"
	"slices"

	"github.com/clrprof/clrprof/internal/session"
)

// scopes are the flags by which a recording was limited to functions, or to what is outside of them.
type scopes struct {
	Inside  List `json:"record_inside"`
	Outside List `json:"record_outside"`
}

// scopesBy returns how a recording was limited. What a damaged session says is not said.
func scopesBy(info map[string]string) scopes {
	var out scopes
	if json.Unmarshal([]byte(info[session.KeyOptions]), &out) != nil {
		return scopes{}
	}
	return out
}

// scopes says how often and how long the threads that are shown were in functions that limit what is recorded.
func (c *context) scopes() ([]Note, error) {
	info, err := c.source.Session().Info()
	if err != nil {
		return nil, err
	}
	by := scopesBy(info)
	if len(by.Inside)+len(by.Outside) == 0 {
		return nil, nil
	}
	rows, err := c.source.Session().ThreadScopes()
	if err != nil {
		return nil, err
	}
	var inside, outside session.Spells
	var threads [2]int
	add := func(sum *session.Spells, n *int, s session.Spells) {
		if s.Times > 0 {
			*n++
		}
		sum.Times += s.Times
		sum.Length += s.Length
	}
	for _, r := range rows {
		if c.source.Selection().HasThread(c.threads.get(r.Thread)) {
			add(&inside, &threads[0], r.Inside)
			add(&outside, &threads[1], r.Outside)
		}
	}
	var out []Note
	if len(by.Inside) > 0 {
		out = append(out, scopeNote(NoteInside, by.Inside, threads[0], inside))
	}
	if len(by.Outside) > 0 {
		out = append(out, scopeNote(NoteOutside, by.Outside, threads[1], outside))
	}
	return out, nil
}

// neverInside returns the patterns of functions to which a recording was limited, if no thread was in a call of one.
func (c *context) neverInside(info map[string]string) (List, error) {
	by := scopesBy(info)
	if len(by.Inside) == 0 {
		return nil, nil
	}
	rows, err := c.source.Session().ThreadScopes()
	if err != nil || slices.ContainsFunc(rows, func(t session.ThreadScope) bool { return t.Inside.Times > 0 }) {
		return nil, err
	}
	return by.Inside, nil
}

func scopeNote(kind NoteKind, of List, threads int, s session.Spells) Note {
	return note(kind, of, Things{threads, "thread"}, Things{int(s.Times), "time"}, s.Length)
}
