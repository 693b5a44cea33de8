package analysis

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/testkit/sessiontest"
)

// TestWithoutIDs: numbers and GUIDs in addresses are ids, and nothing else is.
func TestWithoutIDs(t *testing.T) {
	for text, want := range map[string]string{
		"GET http://shop/items/17":                               "GET http://shop/items/{id}",
		"GET http://shop:80/items/17/lines":                      "GET http://shop:80/items/{id}/lines",
		"GET http://10/5/":                                       "GET http://10/{id}/",
		"GET http://shop":                                        "GET http://shop",
		"GET /items/1/2":                                         "GET /items/{id}/{id}",
		"GET http://shop/v2/items/17a":                           "GET http://shop/v2/items/17a",
		"GET http://shop/3F2504E0-4F89-11D3-9A0C-0305E82C3301/x": "GET http://shop/{id}/x",
		"GET http://shop/3f2504e04f8911d39a0c0305e82c3301":       "GET http://shop/{id}",
		"GET http://shop/3f2504e04f8911d39a0c0305e82c33":         "GET http://shop/3f2504e04f8911d39a0c0305e82c33",
	} {
		if have := WithoutIDs(text); have != want {
			t.Errorf("%s: %s, want %s", text, have, want)
		}
	}
}

// TestInteractionsBy: the ways to group calls.
func TestInteractionsBy(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	if err := sessiontest.Random(1).Write(path); err != nil {
		t.Fatal(err)
	}
	w, err := session.Edit(path)
	if err != nil {
		t.Fatal(err)
	}
	row := func(id session.InteractionID, kind, text string, stack session.InteractionStackID) session.Interaction {
		return session.Interaction{ID: id, Process: 1, Kind: kind, Text: text, HasText: text != "", Stack: stack,
			Calls: 2, Ended: 2, Failed: 1, Total: 100, Min: 40, Max: 60}
	}
	err = errors.Join(w.ReplaceInteractions([]session.Interaction{
		row(1, session.InteractionHTTP, "GET http://shop/items/17", 1),
		row(2, session.InteractionHTTP, "GET http://shop/items/18", 1),
		row(3, session.InteractionHTTP, "GET http://shop/items/18", 2),
		row(4, session.InteractionDatabase, "SELECT /1", 2),
		row(5, session.InteractionDatabase, "SELECT /2", 2),
		row(6, session.InteractionDatabase, "", 2),
	}), w.InsertInteractionFrames([]session.InteractionFrame{{Stack: 1, Function: 1}, {Stack: 2, Function: 2}}), w.Close())
	if err != nil {
		t.Fatal(err)
	}
	s, err := session.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	type seen struct {
		Kind, Text string
		HasText    bool
		Texts, N   int
		From       session.FunctionID
	}
	for by, want := range map[By][]seen{
		ByText: {{"http", "GET http://shop/items/{id}", true, 2, 4, 1}, {"http", "GET http://shop/items/{id}", true, 1, 2, 2},
			{"database", "SELECT /1", true, 1, 2, 2}, {"database", "SELECT /2", true, 1, 2, 2},
			{"database", "", false, 1, 2, 2}},
		ByExact: {{"http", "GET http://shop/items/17", true, 1, 2, 1}, {"http", "GET http://shop/items/18", true, 1, 2, 1},
			{"http", "GET http://shop/items/18", true, 1, 2, 2}, {"database", "SELECT /1", true, 1, 2, 2},
			{"database", "SELECT /2", true, 1, 2, 2}, {"database", "", false, 1, 2, 2}},
		ByLine: {{"", "", false, 4, 8, 2}, {"http", "GET http://shop/items/{id}", true, 2, 4, 1}},
	} {
		list, err := Interactions(s, by)
		if err != nil {
			t.Fatal(err)
		}
		var have []seen
		for _, i := range list {
			have = append(have, seen{i.Kind, i.Text, i.HasText, int(i.Texts), int(i.Calls), i.From.Function})
			if i.Ended != i.Calls || i.Failed*2 != i.Calls || int64(i.Total) != 50*int64(i.Calls) || i.Min != 40 || i.Max != 60 {
				t.Errorf("by %s: %+v", by, i)
			}
		}
		if d := cmp.Diff(want, have); d != "" {
			t.Errorf("by %s (-want +have):\n%s", by, d)
		}
	}
}
