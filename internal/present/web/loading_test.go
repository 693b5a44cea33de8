package web

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clrprof/clrprof/internal/present/report"
	"github.com/clrprof/clrprof/internal/testkit/analysistest"
	"github.com/clrprof/clrprof/internal/testkit/sessiontest"
)

// answerOf asks a server for something, as the page does.
func answerOf(s *Server, path string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodGet, "http://"+s.listen+path, nil)
	r.AddCookie(&http.Cookie{Name: s.cookie, Value: s.secret})
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w
}

// TestLoading: as long as a source file is read, which can be for ever, other requests are answered.
func TestLoading(t *testing.T) {
	of := analysistest.Open(t, sessiontest.Shop(), filepath.Join(t.TempDir(), "made.clrprof"))
	s, err := New("127.0.0.1:80", of)
	if err != nil {
		t.Fatal(err)
	}
	files, err := of.SourceFiles()
	if err != nil {
		t.Fatal(err)
	}
	reading, goOn := make(chan bool), make(chan bool)
	s.loading = func(files *report.Sources) {
		reading <- true
		<-goOn
		files.Load()
	}
	for _, path := range []string{"/api/view?view=function&argument=" + url.QueryEscape("Shop.Orders.Load<Shop.Order>(int)"),
		"/api/source?path=" + url.QueryEscape(files[0].Path)} {
		slow := make(chan *httptest.ResponseRecorder)
		go func() { slow <- answerOf(s, path) }()
		select {
		case <-reading:
		case w := <-slow:
			t.Fatalf("%s reads no files: %s", path, w.Body)
		}
		if w := answerOf(s, "/api/view?view=types"); w.Code != http.StatusOK {
			t.Errorf("meanwhile: %s", w.Body)
		}
		goOn <- true
		if w := <-slow; w.Code != http.StatusOK || !strings.Contains(w.Body.String(), "source code is not shown") &&
			!strings.Contains(w.Body.String(), files[0].Path) {
			t.Errorf("%s: %s", path, w.Body)
		}
	}
}

// TestSurvive: a mistake in one answer is an error that says that it is one; all other requests are answered, also
// those that need the lock that it had.
func TestSurvive(t *testing.T) {
	s, err := New("127.0.0.1:80", analysistest.Open(t, sessiontest.Shop(), filepath.Join(t.TempDir(), "made.clrprof")))
	if err != nil {
		t.Fatal(err)
	}
	s.ofSession("GET /api/mistake", func(_ http.ResponseWriter, r *http.Request) error {
		if err := s.lock(r.Context()); err != nil {
			return err
		}
		defer s.mu.Unlock()
		var none []int
		return bad("%d", none[len(none)])
	})
	if w := answerOf(s, "/api/mistake"); w.Code != http.StatusInternalServerError ||
		!strings.Contains(w.Body.String(), "internal error: runtime error: index out of range") {
		t.Errorf("%d: %s", w.Code, w.Body)
	}
	if w := answerOf(s, "/api/view?view=types"); w.Code != http.StatusOK {
		t.Errorf("afterwards: %d: %s", w.Code, w.Body)
	}
}
