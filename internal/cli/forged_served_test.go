package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/clrprof/clrprof/internal/analysis"
	"github.com/clrprof/clrprof/internal/present/mcp"
	"github.com/clrprof/clrprof/internal/present/report"
	"github.com/clrprof/clrprof/internal/present/web"
	"github.com/clrprof/clrprof/internal/session"
)

// isMistake reports whether an answer is about a mistake in clrprof, and not in the session or the request.
func isMistake(answer string) bool {
	return strings.Contains(answer, "internal error") || strings.Contains(answer, "goroutine ")
}

// viewArguments are what views can be of in any session, by what they need.
var viewArguments = map[report.Need]string{report.NeedsFunction: "*", report.NeedsCollections: "1 2"}

// toolRequest is a request of the Model Context Protocol.
type toolRequest struct {
	tool      string
	arguments map[string]any
}

// toolRequests use each tool in each way that reads other tables.
func toolRequests(tables []string) []toolRequest {
	const name = "forged.clrprof"
	out := []toolRequest{{"list_sessions", nil}, {"list_views", nil}, {"summary", map[string]any{"session": name}}}
	for _, v := range report.Views() {
		out = append(out, toolRequest{"view", map[string]any{"session": name, "view": v.Name, "argument": viewArguments[v.Needs],
			"limit": mcp.MostRows, "depth": 50}})
	}
	for _, by := range []string{"bytes", "elapsed", "alive_bytes"} {
		out = append(out, toolRequest{"explain_site", map[string]any{"session": name, "by": by, "limit": 50}})
	}
	for _, view := range analysis.ComparedViews() {
		out = append(out, toolRequest{"diff", map[string]any{"old": "good.clrprof", "new": name, "view": view,
			"limit": mcp.MostRows}})
	}
	for _, table := range tables {
		out = append(out, toolRequest{"sql", map[string]any{"session": name, "query": fmt.Sprintf("SELECT * FROM %q", table),
			"limit": mcp.MostRows}})
	}
	return out
}

// askTools asks for all that the server of the Model Context Protocol can say of sessions.
func askTools(t *testing.T, f forgery, memory *memoryWatch, sessions []*session.Session) (answered int) {
	t.Helper()
	here, there := sdk.NewInMemoryTransports()
	ended := make(chan error, 1)
	go func() { ended <- mcp.New(Version, sessions).Serve(t.Context(), there) }()
	c, err := sdk.NewClient(&sdk.Implementation{Name: "test"}, nil).Connect(t.Context(), here, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range toolRequests([]string{f.table}) {
		var answer *sdk.CallToolResult
		var err error
		memory.takes(fmt.Sprintf("%v: %v", f, r), func() {
			answer, err = c.CallTool(t.Context(), &sdk.CallToolParams{Name: r.tool, Arguments: r.arguments})
		})
		if err != nil {
			t.Errorf("%v: %v: %v", f, r, err)
			continue
		}
		text := answer.Content[0].(*sdk.TextContent).Text
		if !answer.IsError {
			answered++
		}
		if isMistake(text) || len(text) > mcp.MostBytes {
			t.Errorf("%v: %v: %d bytes: %.300s", f, r, len(text), text)
		}
	}
	if err := errors.Join(c.Close(), <-ended); err != nil {
		t.Errorf("%v: %v", f, err)
	}
	return answered
}

// pageRequests are those of all parts of the page.
func pageRequests() []string {
	out := []string{"session", "summary?all=1", "timeline", "schema", "tree?bottom-up=1", "tree?hot=1", "tree?of_process=1&of_path=1",
		"source?path=" + url.QueryEscape("/src/Shop/Orders.cs"), "counter?name=process.threads"}
	for _, v := range report.Views() {
		q := url.Values{"view": {v.Name}}
		if argument := viewArguments[v.Needs]; argument != "" {
			q.Set("argument", argument)
		}
		out = append(out, "view?"+q.Encode(), "view?find=a&reverse=1&"+q.Encode(), "tsv?"+q.Encode())
	}
	for _, metric := range []string{"inclusive_bytes", "inclusive_allocations", "elapsed_inclusive", "calls"} {
		for _, more := range []string{"", "&up=1", "&color=type", "&diff=new", "&async=logical"} {
			out = append(out, "flame?metric="+metric+more)
		}
	}
	for _, view := range analysis.ComparedViews() {
		out = append(out, "compare?of="+view)
	}
	return out
}

// askPage asks for all that the page shows of sessions.
func askPage(t *testing.T, f forgery, memory *memoryWatch, sessions []*session.Session) (answered int) {
	t.Helper()
	const address = "127.0.0.1:1"
	server, err := web.New(address, sessions...)
	if err != nil {
		t.Fatal(err)
	}
	first := httptest.NewRecorder()
	server.ServeHTTP(first, httptest.NewRequest(http.MethodGet, server.URL(), nil))
	cookies := first.Result().Cookies()
	if len(cookies) != 1 {
		t.Fatalf("%d: %s", first.Code, first.Body)
	}
	requests := []*http.Request{httptest.NewRequest(http.MethodPost, "http://"+address+"/api/sql",
		strings.NewReader(fmt.Sprintf(`{"query": "SELECT * FROM %s"}`, f.table)))}
	for _, path := range pageRequests() {
		requests = append(requests, httptest.NewRequest(http.MethodGet, "http://"+address+"/api/"+path, nil))
	}
	for _, r := range requests {
		r.AddCookie(cookies[0])
		w := httptest.NewRecorder()
		memory.takes(fmt.Sprintf("%v: %s", f, r.URL), func() { server.ServeHTTP(w, r) })
		switch body := w.Body.String(); {
		case w.Code == http.StatusOK:
			answered++
			if len(body) > mostOfAnswer {
				t.Errorf("%v: %s: %d bytes", f, r.URL, len(body))
			}
		case w.Code != http.StatusBadRequest && w.Code != http.StatusInternalServerError, isMistake(body),
			len(body) > mostOfError:
			t.Errorf("%v: %s: %d: %d bytes: %.300s", f, r.URL, w.Code, len(body), body)
		}
	}
	return answered
}

// Limits of the answers that the page gets about small sessions. Some of these sessions have a text of a megabyte in
// each row.
const (
	mostOfAnswer = 16 << 20
	mostOfError  = 1 << 20
)

// TestForgedServed: whatever number or text a session has in a column, the servers that assistants and the page ask
// answer each request, or say what is wrong with the session, in bounded memory, and answer the next one.
func TestForgedServed(t *testing.T) {
	memory := watchMemory(t)
	tools, pages, rounds := 0, 0, 0
	eachForgery(t, func(f forgery) {
		var sessions []*session.Session
		for _, path := range []string{"forged.clrprof", "good.clrprof"} {
			s, err := session.OpenUntil(context.Background(), path)
			if err != nil {
				if isMistake(err.Error()) || path != "forged.clrprof" {
					t.Errorf("%v: %s: %v", f, path, err)
				}
				return
			}
			defer s.Close()
			sessions = append(sessions, s)
		}
		rounds++
		tools += askTools(t, f, memory, sessions)
		pages += askPage(t, f, memory, sessions)
	})
	// Of some fifty and 150: samples have not what all views are about, and some forged sessions are refused.
	if tools < 10*rounds || pages < 25*rounds || rounds == 0 {
		t.Errorf("%d tools and %d parts of the page in %d rounds: the test tests less", tools, pages, rounds)
	}
}
