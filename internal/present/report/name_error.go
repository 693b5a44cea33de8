package report

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/clrprof/clrprof/internal/analysis"
	shortnames "github.com/clrprof/clrprof/internal/dotnet/names"
)

// maxCandidates bounds how many possible meanings an error lists.
const maxCandidates = 10

// mostListed bounds how many names an error lists if none is near: the views, at least.
const mostListed = 25

// mostMeant bounds how many names an error suggests: more is no help.
const mostMeant = 2

// UnknownError says that a name means nothing, or more than one thing.
type UnknownError struct {
	What       string   // view, column, function, type, process, thread
	Name       string   // as it was given
	Candidates []string // what it may have meant, the likeliest first
	Ambiguous  bool     // it could mean each of the candidates
	Dead       bool     // it is that of a type without objects in the snapshot
}

// Error returns one line.
func (e *UnknownError) Error() string {
	listed := strings.Join(e.Candidates, ", ")
	switch {
	case e.Dead:
		return fmt.Sprintf("no object of %s %q was alive at the snapshot: lifetime --by type says when they died", e.What,
			e.Name)
	case e.Ambiguous:
		return fmt.Sprintf("%s %q is ambiguous: name one of: %s", e.What, e.Name, listed)
	case len(e.Candidates) > mostMeant:
		return fmt.Sprintf("there is no %s %q: there are %s", e.What, e.Name, listed)
	case listed != "":
		return fmt.Sprintf("there is no %s %q: did you mean %s?", e.What, e.Name, strings.Join(e.Candidates, " or "))
	}
	if strings.Contains(e.Name, "*") { // a pattern is not unknown
		return fmt.Sprintf("no %s matches %q", e.What, e.Name)
	}
	if where := listedIn[e.What]; where != "" {
		return fmt.Sprintf("there is no %s %q: %s", e.What, e.Name, where)
	}
	return fmt.Sprintf("there is no %s %q", e.What, e.Name)
}

// hasLongNames are what an error lists few of.
var hasLongNames = map[string]bool{"function": true, "range of functions": true, "type": true}

// listedIn says where there are all names, if they are too many for an error.
var listedIn = map[string]string{
	"function":            "the view functions lists what the session has",
	"range of functions":  "the view functions lists what the session has",
	"namespace":           "functions --by namespace lists what the session has",
	"type":                "the view types lists what the session has",
	"module":              "the view modules lists what the session has",
	"thread":              "the view threads lists what the session has",
	"process":             "the view processes lists what the session has",
	"column":              "clrprof report VIEW --help lists what a view has",
	"rule":                "docs/rules.md lists them",
	"collection":          "want a number that the view gcs lists",
	"pair of collections": "want the numbers of two collections that the view gcs lists, the earlier one first",
	"CPU counter":         "clrprof counters --cpu lists them",
}

// Known makes of an *analysis.TermError one that says what the term could have meant, or what there is. Other errors
// stay as they are.
func Known(err error) error {
	var term *analysis.TermError
	switch {
	case !errors.As(err, &term):
		return err
	case term.Ambiguous:
		return &UnknownError{What: term.What, Name: term.Text, Candidates: term.Names, Ambiguous: true}
	}
	return Unknown(term.What, term.Text, term.Names)
}

// Unknown makes an error that suggests the names nearest to name; if none is
// near, all of them when they are few.
func Unknown(what, name string, names []string) *UnknownError {
	type scored struct {
		name     string
		distance int
	}
	var near []scored
	names = distinct(names)
	for _, n := range names {
		if hasLongNames[what] {
			if d, ok := distanceToEnd(name, n); ok {
				near = append(near, scored{n, d})
				continue
			}
		}
		d := editDistance(name, n)
		if d <= 1+len(n)/3 || len(name) >= 3 && strings.Contains(n, name) || len(n) >= 3 && strings.Contains(name, n) {
			near = append(near, scored{n, d})
		}
	}
	slices.SortStableFunc(near, func(a, b scored) int { return a.distance - b.distance })
	e := &UnknownError{What: what, Name: name}
	for _, s := range near[:min(len(near), mostMeant)] {
		if hasLongNames[what] && s.distance > near[0].distance+1 {
			break // the first is much nearer
		}
		e.Candidates = append(e.Candidates, s.name)
	}
	most := mostListed
	if hasLongNames[e.What] {
		most = maxCandidates
	}
	if len(near) == 0 && len(names) <= most {
		e.Candidates = names
		e.Ambiguous = false
	}
	return e
}

// distinct leaves the first of equal names: threads share theirs.
func distinct(names []string) []string {
	seen := make(map[string]bool, len(names))
	var out []string
	for _, n := range names {
		if !seen[n] {
			seen[n] = true
			out = append(out, n)
		}
	}
	return out
}

// distanceToEnd is the distance of a name to the end of a long one that has as many parts, without its parameters, such
// as Order.Sum of Shop.Order.Sum(Item). ok: it is near.
func distanceToEnd(name, long string) (distance int, ok bool) {
	head, _ := shortnames.CutParameters(long)
	wanted, _ := shortnames.CutParameters(name)
	end := shortnames.LastParts(head, 1+strings.Count(wanted, "."))
	distance = editDistance(strings.ToLower(wanted), strings.ToLower(end))
	return distance, distance <= 1+min(len(wanted), len(end))/5
}

// editDistance is the Levenshtein distance in bytes.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		previous := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := previous
			if a[i] != b[j] {
				cost = 1 + min(previous, row[j], row[j+1])
			}
			previous, row[j+1] = row[j+1], cost
		}
	}
	return row[len(b)]
}
