package e2e

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
)

// endpointTruth is what ASP.NET Core says of an endpoint of the target Routes, and what the target knows of it.
type endpointTruth struct {
	Token int64 // of its method; 0: not said
	Verbs string
	Route string
	Calls int64
	Made  int64
}

// unsaidRoutes are the routes that the code does not say: by the route that ASP.NET Core knows.
var unsaidRoutes = map[string]string{
	"GET /kept/x":     "GET …/x",      // of a builder that others may store in a field
	"GET /b/either":   "GET …/either", // of one of two
	"GET /variable/2": "",             // not a constant
}

// said is how the session says the route of an endpoint.
func (e *endpointTruth) said() string {
	route := "/" + strings.Trim(e.Route, "/")
	if e.Verbs != "" && !strings.Contains(e.Verbs, ",") { // of MapMethods the code does not say them
		route = e.Verbs + " " + route
	}
	if said, ok := unsaidRoutes[route]; ok {
		return said
	}
	return route
}

// TestRoutes: which requests a function answers is what ASP.NET Core says, and what is done in it counts for its route,
// also after it has waited.
func TestRoutes(t *testing.T) {
	t.Parallel()
	modes := [][]string{{"--memory"}, {"--time", "--memory"}, nil}
	o := dotnettest.Options{Framework: dotnettest.Net8, Web: true}
	recordInTurn(t, "Routes", o, modes, 1, func(t *testing.T, r result, mode []string) {
		checkSession(t, r.session)
		compareRoutes(t, r)
		compareEndpoints(t, r, slices.Contains(mode, "--time"))
	})
}

// saidRoutes are the routes of methods as the session says them, by token.
func saidRoutes(truth []endpointTruth) map[int64][]string {
	said := map[int64][]string{}
	for _, e := range truth {
		if e.Token != 0 && e.said() != "" {
			said[e.Token] = append(said[e.Token], e.said())
		}
	}
	for _, routes := range said {
		slices.Sort(routes)
	}
	return said
}

// compareRoutes compares the routes of functions.
func compareRoutes(t *testing.T, r result) {
	t.Helper()
	want := saidRoutes(truthRows[endpointTruth](t, r.stdout, "endpoint"))
	type function struct {
		Token       int64
		Name, Route string
		RawName     string `json:"raw_name"`
	}
	have, named := map[int64][]string{}, map[string]string{}
	machines := 0
	for _, f := range query[function](t, r.session, `SELECT f.token, f.name, f.route, f.raw_name FROM function f
		WHERE f.route <> '' ORDER BY f.raw_name = 'MoveNext'`) {
		if f.RawName == "MoveNext" {
			machines++
			if of := named[f.Name[:max(0, strings.LastIndex(f.Name, " ["))]]; of != f.Route {
				t.Errorf("%s: route %q, its method has %q", f.Name, f.Route, of)
			}
			continue
		}
		named[f.Name] = f.Route
		if f.Route != "GET /context" { // ASP.NET Core does not say of which method
			have[f.Token] = strings.Split(f.Route, ", ")
		}
	}
	if d := cmp.Diff(want, have); d != "" || machines != 8 {
		t.Errorf("routes by token (-truth +session): %s\n%d are of state machines, want 8", d, machines)
	}
}

// compareEndpoints compares what was done in endpoints.
func compareEndpoints(t *testing.T, r result, timed bool) {
	t.Helper()
	type endpoint struct {
		Route string
		Made  int64 `json:"inclusive_allocations"`
		Calls int64
	}
	want, have := map[string]endpoint{}, map[string]endpoint{}
	truth := truthRows[endpointTruth](t, r.stdout, "endpoint")
	said := saidRoutes(truth)
	for _, e := range truth {
		route := e.said()
		if route == "" {
			route = "(outside of endpoints)"
		} else if e.Token != 0 {
			route = strings.Join(said[e.Token], ", ")
		}
		sum := endpoint{route, want[route].Made + e.Made, want[route].Calls + e.Calls}
		if route == "(outside of endpoints)" || !timed {
			sum.Calls = 0
		}
		want[route] = sum
	}
	for _, e := range view[endpoint](t, r.session, "endpoints", "--type", "Routes.Made") {
		if e.Made != 0 {
			have[e.Route] = endpoint{e.Route, e.Made, 0}
		}
	}
	if timed {
		for _, e := range view[endpoint](t, r.session, "endpoints") {
			if of, ok := have[e.Route]; ok && !strings.HasPrefix(e.Route, "(") {
				of.Calls = e.Calls
				have[e.Route] = of
			}
		}
	}
	if d := cmp.Diff(want, have); d != "" {
		t.Errorf("endpoints (-truth +session): %s", d)
	}
	for _, named := range []string{"GET /same/b", "PATCH /api/Items/y", "GET /lambda/{id}"} {
		if out := run(t, "report", r.session, "callers", named).stdout; !strings.Contains(out, "Handlers.Same()") &&
			!strings.Contains(out, "ItemsController.Several()") && !strings.Contains(out, "GET /lambda/{id} λ Routes.cs:") {
			t.Errorf("callers %q:\n%s", named, out)
		}
	}
	summary := run(t, "report", r.session, "--width", "120", "--top", "50").stdout
	if !strings.Contains(summary, "\nEndpoints: ") || !strings.Contains(summary, "PUT /async/{id:int}") {
		t.Errorf("the summary does not say what the endpoints did, the most %v:\n%s",
			slices.MaxFunc(slices.Collect(maps.Values(want)), func(a, b endpoint) int { return int(a.Made - b.Made) }), summary)
	}
}
