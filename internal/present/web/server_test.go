package web_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clrprof/clrprof/internal/present/web"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/testkit/analysistest"
	"github.com/clrprof/clrprof/internal/testkit/sessiontest"
)

// served is a server with a browser that is logged in.
type served struct {
	t       *testing.T
	server  *web.Server
	at      string // its address
	session *session.Session
	paths   []string // of the session, and of the older one if there is one
	client  *http.Client
	entered *http.Response // the answer to the first request
}

// serve serves a made-up session, and older ones it is compared with.
func serve(t *testing.T, b *sessiontest.Builder, older ...*sessiontest.Builder) *served {
	t.Helper()
	var sessions []*session.Session
	for i, b := range append([]*sessiontest.Builder{b}, older...) {
		path := filepath.Join(t.TempDir(), []string{"made.clrprof", "older.clrprof"}[i])
		sessions = append(sessions, analysistest.Open(t, b, path))
	}
	return serveOpened(t, sessions)
}

// serveOpened serves a session, and older ones it is compared with.
func serveOpened(t *testing.T, sessions []*session.Session) *served {
	t.Helper()
	var paths []string
	for _, s := range sessions {
		paths = append(paths, s.Path())
	}
	h := httptest.NewUnstartedServer(nil)
	server, err := web.New(h.Listener.Addr().String(), sessions...)
	if err != nil {
		t.Fatal(err)
	}
	h.Config.Handler = server
	h.Start()
	t.Cleanup(h.Close)
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	out := &served{t: t, server: server, at: h.URL, session: sessions[0], paths: paths, client: &http.Client{Jar: jar}}
	out.client.CheckRedirect = func(r *http.Request, _ []*http.Request) error { out.entered = r.Response; return nil }
	first, err := out.client.Get(server.URL() + "&view=types")
	if err != nil {
		t.Fatal(err)
	}
	first.Body.Close()
	if first.StatusCode != http.StatusOK || first.Request.URL.Query().Has("token") ||
		first.Request.URL.Query().Get("view") != "types" {
		t.Fatalf("entering: %s at %s", first.Status, first.Request.URL)
	}
	return out
}

// ask sends a request and returns the answer's status and body.
func (s *served) ask(method, path string, change func(*http.Request)) (*http.Response, string) {
	s.t.Helper()
	r, err := http.NewRequest(method, s.at+path, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	if change != nil {
		change(r)
	}
	if r.Host != "" && r.Host != r.URL.Host { // the jar keeps the cookie for the address alone
		r.AddCookie(s.entered.Cookies()[0])
	}
	got, err := s.client.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer got.Body.Close()
	b, err := io.ReadAll(got.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return got, string(b)
}

// get decodes an answer.
func (s *served) get(path string, into any) {
	s.t.Helper()
	got, body := s.ask(http.MethodGet, path, nil)
	if got.StatusCode != http.StatusOK {
		s.t.Fatalf("%s: %s: %s", path, got.Status, body)
	}
	if err := json.Unmarshal([]byte(body), into); err != nil {
		s.t.Fatalf("%s: %v", path, err)
	}
}

// TestOnlyTheUser: nobody reads a session who has not opened the address that was printed, and it opens once.
func TestOnlyTheUser(t *testing.T) {
	s := serve(t, sessiontest.Shop())
	cookie := s.entered.Cookies()[0]
	if !cookie.HttpOnly || cookie.SameSite != http.SameSiteStrictMode || cookie.Path != "/" {
		t.Errorf("cookie %v", cookie)
	}
	if location := s.entered.Header.Get("Location"); location != "/?view=types" {
		t.Errorf("redirected to %s", location)
	}
	stranger := &http.Client{}
	for _, path := range []string{"/", "/?token=" + strings.Repeat("0", 48), "/api/session", "/app.js",
		"/api/view?view=functions", "/nothing"} {
		got, err := stranger.Get(s.at + path)
		if err != nil {
			t.Fatal(err)
		}
		got.Body.Close()
		if got.StatusCode != http.StatusForbidden || len(got.Cookies()) > 0 {
			t.Errorf("a stranger's %s: %s", path, got.Status)
		}
	}
	again, err := stranger.Get(s.server.URL())
	if err != nil {
		t.Fatal(err)
	}
	again.Body.Close()
	if again.StatusCode != http.StatusForbidden {
		t.Errorf("the address worked twice: %s", again.Status)
	}
}

// TestPrefetch: a browser that looks ahead does not use up the address.
func TestPrefetch(t *testing.T) {
	s := analysistest.Open(t, sessiontest.Shop(), filepath.Join(t.TempDir(), "made.clrprof"))
	server, err := web.New("127.0.0.1:80", s)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []int{http.StatusForbidden, http.StatusSeeOther} {
		r := httptest.NewRequest(http.MethodGet, server.URL(), nil)
		if i == 0 {
			r.Header.Set("Sec-Purpose", "prefetch;prerender")
		}
		w := httptest.NewRecorder()
		server.ServeHTTP(w, r)
		if w.Code != want {
			t.Errorf("request %d: %d", i, w.Code)
		}
	}
}

// TestOnlyThisPage: requests that another page or another name of the host sends are refused, also with the cookie.
func TestOnlyThisPage(t *testing.T) {
	s := serve(t, sessiontest.Shop())
	host := strings.TrimPrefix(s.at, "http://")
	_, port, _ := strings.Cut(host, ":")
	for name, change := range map[string]func(*http.Request){
		"another host":          func(r *http.Request) { r.Host = "evil.example:" + port },
		"another port":          func(r *http.Request) { r.Host = "127.0.0.1:1" },
		"another page":          func(r *http.Request) { r.Header.Set("Origin", "http://evil.example") },
		"a page without origin": func(r *http.Request) { r.Header.Set("Origin", "null") },
		"another site":          func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") },
		"the same site":         func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "same-site") },
	} {
		if got, _ := s.ask(http.MethodGet, "/api/session", change); got.StatusCode != http.StatusForbidden {
			t.Errorf("%s: %s", name, got.Status)
		}
	}
	for name, change := range map[string]func(*http.Request){
		"the page": func(r *http.Request) {
			r.Header.Set("Origin", s.at)
			r.Header.Set("Sec-Fetch-Site", "same-origin")
		},
		"localhost": func(r *http.Request) { r.Host = "localhost:" + port },
	} {
		if got, body := s.ask(http.MethodGet, "/api/session", change); got.StatusCode != http.StatusOK {
			t.Errorf("%s: %s %s", name, got.Status, body)
		}
	}
}

// TestHeaders: each answer has the policy, and methods that change things there are none.
func TestHeaders(t *testing.T) {
	s := serve(t, sessiontest.Shop())
	for _, path := range []string{"/", "/app.js", "/app.css", "/api/session", "/api/view?view=nothing"} {
		got, _ := s.ask(http.MethodGet, path, nil)
		for name, part := range map[string]string{"Content-Security-Policy": "default-src 'none'; script-src 'self'; " +
			"style-src 'self'", "X-Content-Type-Options": "nosniff",
			"Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin",
			"Referrer-Policy": "no-referrer", "Cache-Control": "no-store"} {
			if !strings.HasPrefix(got.Header.Get(name), part) {
				t.Errorf("%s: %s: %q", path, name, got.Header.Get(name))
			}
		}
		if !strings.Contains(got.Header.Get("Content-Security-Policy"), "require-trusted-types-for 'script'") {
			t.Errorf("%s: no trusted types", path)
		}
	}
	for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodDelete, http.MethodPatch} {
		if got, _ := s.ask(method, "/api/session", nil); got.StatusCode != http.StatusMethodNotAllowed {
			t.Errorf("%s: %s", method, got.Status)
		}
	}
}

// TestMistakes: what is asked wrongly is said as JSON, in one sentence.
func TestMistakes(t *testing.T) {
	s := serve(t, sessiontest.Shop())
	for path, want := range map[string]string{
		"/api/view?view=functoins":                                  `there is no view "functoins": did you mean functions or function?`,
		"/api/view?view=functions&sort=bites":                       `there is no column "bites"`,
		"/api/view?view=callers":                                    "view callers needs the name of a function",
		"/api/view?view=callers&argument=Nobody":                    `there is no function "Nobody"`,
		"/api/view?view=functions&offset=-1":                        `offset "-1" is not a whole number`,
		"/api/view?view=functions&time=1..2":                        `time "1..2" is not a span of time`,
		"/api/view?view=functions&gc=7..3":                          `gc "7..3" is not a span of collections`,
		"/api/view?view=functions&process=nobody":                   `there is no process "nobody"`,
		"/api/view?view=functions&mark=nothing":                     `mark "nothing" is not a span: want A..B`,
		"/api/view?view=functions&mark=nothing..":                   `mark "nothing..": there is no mark "nothing"`,
		"/api/view?view=functions&filter=type":                      "an operator",
		"/api/tree?bottom-up=1&of_process=1&of_path=3.4":            "the tree has no such row",
		"/api/tree?bottom-up=1&hot=1":                               "a tree from below has no hot path",
		"/api/tree?of_path=x":                                       `of_path "x" is not a number`,
		"/api/view?view=functions&argument=" + url.QueryEscape("X"): "takes no argument",
	} {
		got, body := s.ask(http.MethodGet, path, nil)
		var said struct{ Error string }
		if err := json.Unmarshal([]byte(body), &said); err != nil || got.StatusCode != http.StatusBadRequest ||
			!strings.Contains(said.Error, want) {
			t.Errorf("%s: %s %s, want %q", path, got.Status, body, want)
		}
	}
}
