package web

import (
	"crypto/rand"
	"crypto/subtle"
	"embed"
	"encoding/hex"
	"fmt"
	"html"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/clrprof/clrprof/internal/present/origin"
	"github.com/clrprof/clrprof/internal/present/report"
	"github.com/clrprof/clrprof/internal/session"
)

//go:embed dist
var dist embed.FS

// Limits of what the server keeps.
const (
	// selections whose sums are kept, each as large as the session: of two sessions all, this one and the one before
	maxReaders = 6
	maxTables  = 16 // tables that are kept for scrolling and searching, and as many summaries and timelines
)

// policy is the Content-Security-Policy: the page's own files alone, and no text that becomes markup.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; " +
	"trusted-types 'none'"

// Server serves the page of one session, of two that are compared, or of a recording that goes on.
type Server struct {
	sessions []*session.Session // the one that is shown, and the older one it is compared with, if any
	opened   os.FileInfo        // of the one that is shown, as it was when it was opened; nil: it could not be had
	mux      *http.ServeMux
	listen   string // address that it listens on
	cookie   string // name of the cookie, which must differ between servers on one host
	secret   string // value of the cookie
	mu       turns
	token    string        // what the first address carries; "" when it was used
	entered  chan struct{} // closed when it was used
	readers  []*reader
	tables   []*keptTable
	most     int // tables are kept, and other things
	loading  func(*report.Sources)

	recorded string        // path of the session that is being recorded
	watch    Watch         // tells of that recording
	finished chan struct{} // closed when there are sessions; nil: there were from the start
}

// New makes a server for a listener's address. Of two sessions, the first is the one that is shown, the second the
// older one that it is compared with. Sessions belong to the server until it is closed by its caller.
func New(listen string, sessions ...*session.Session) (*Server, error) {
	_, port, err := net.SplitHostPort(listen)
	if err != nil {
		return nil, fmt.Errorf("the address to listen on: %w", err)
	}
	s := &Server{sessions: sessions, mux: http.NewServeMux(), listen: listen, cookie: "clrprof_" + port,
		secret: random(), token: random(), entered: make(chan struct{}), most: maxTables,
		mu: newTurns(), loading: (*report.Sources).Load}
	s.remember()
	s.mux.HandleFunc("GET /{$}", s.page)
	for _, file := range []string{"app.js", "app.css"} {
		s.mux.HandleFunc("GET /"+file, func(w http.ResponseWriter, r *http.Request) { s.file(w, file) })
	}
	s.Handle("GET /api/session", s.describe)
	s.Handle("GET /api/live", s.live)
	s.ofSession("GET /api/summary", s.summary)
	s.ofSession("GET /api/view", s.view)
	s.ofSession("GET /api/tsv", s.tsv)
	s.ofSession("GET /api/tree", s.tree)
	s.ofSession("GET /api/timeline", s.timeline)
	s.ofSession("GET /api/counter", s.counter)
	s.ofSession("GET /api/flame", s.flame)
	s.ofSession("GET /api/compare", s.compare)
	s.ofSession("GET /api/source", s.source)
	s.ofSession("GET /api/schema", s.schema)
	s.ofSession("POST /api/sql", s.sql)
	return s, nil
}

// remember keeps which file the session is.
func (s *Server) remember() {
	if len(s.sessions) > 0 {
		s.opened, _ = os.Stat(s.sessions[0].Path()) // queries need it, and say so
	}
}

func random() string {
	b := make([]byte, 24)
	_, _ = rand.Read(b) // never fails
	return hex.EncodeToString(b)
}

// Handle adds an answer to requests of the page. An error is sent as JSON.
func (s *Server) Handle(pattern string, answer func(http.ResponseWriter, *http.Request) error) {
	s.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		if err := survive(answer, w, r); err != nil {
			writeError(w, err)
		}
	})
}

// bug is an error that is a mistake in clrprof, of one answer.
type bug struct{ what any }

// Error asks for a report.
func (b bug) Error() string {
	return fmt.Sprintf("internal error: %v: please report it, with the session if you can", b.what)
}

// survive answers a request, and makes an error of a panic: others are answered as if there were none.
func survive(answer func(http.ResponseWriter, *http.Request) error, w http.ResponseWriter, r *http.Request,
) (err error) {
	defer func() {
		if what := recover(); what != nil {
			err = bug{what}
		}
	}()
	return answer(w, r)
}

// URL is the address to open, which works once.
func (s *Server) URL() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return "http://" + reachable(s.listen) + "/?token=" + s.token
}

// Redirect is a page that leads to URL. As a file that only this user can read it keeps the token from the arguments of
// the program that opens it, which all users can see.
func (s *Server) Redirect() []byte {
	address := html.EscapeString(s.URL())
	return fmt.Appendf(nil, `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="referrer" content="no-referrer">
<meta http-equiv="refresh" content="0; url=%s">
<title>clrprof</title>
</head>
<body><a href="%[1]s">The session</a></body>
</html>
`, address)
}

// Entry is closed when somebody has opened the page.
func (s *Server) Entry() <-chan struct{} { return s.entered }

// IsRemote reports whether other machines may reach the server.
func (s *Server) IsRemote() bool {
	host, _, _ := net.SplitHostPort(s.listen)
	ip := net.ParseIP(host)
	return ip == nil || !ip.IsLoopback()
}

// reachable is an address to open instead of one that means all of the machine's: the first that other machines may
// know, or that of the machine itself.
func reachable(listen string) string {
	host, port, err := net.SplitHostPort(listen)
	if ip := net.ParseIP(host); err != nil || ip == nil || !ip.IsUnspecified() {
		return listen
	}
	own := net.IPv4(127, 0, 0, 1)
	addresses, _ := net.InterfaceAddrs() // without, there is still the machine itself
	for _, a := range addresses {
		if n, ok := a.(*net.IPNet); ok && n.IP.IsGlobalUnicast() && (own.IsLoopback() || own.To4() == nil) {
			own = n.IP
		}
	}
	return net.JoinHostPort(own.String(), port)
}

// ServeHTTP answers requests of the page and refuses all others.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	for name, value := range map[string]string{"Content-Security-Policy": policy, "X-Content-Type-Options": "nosniff",
		"Cross-Origin-Opener-Policy":   "same-origin",
		"Cross-Origin-Resource-Policy": "same-origin", "Referrer-Policy": "no-referrer", "Cache-Control": "no-store"} {
		h.Set(name, value)
	}
	switch {
	case !origin.IsFor(s.listen, r.Host):
		refuse(w, "This is not the address that clrprof listens on.")
	case !isOwnRequest(r):
		refuse(w, "The request came from another page.")
	case r.Method == http.MethodGet && r.URL.Path == "/" && r.URL.Query().Has("token"):
		s.enter(w, r)
	case !s.isKnown(r):
		refuse(w, "Open the address that clrprof printed. It works once: reload this page if you have just opened "+
			"it, or else start clrprof view again.")
	default:
		s.mux.ServeHTTP(w, r)
	}
}

func refuse(w http.ResponseWriter, why string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(http.StatusForbidden)
	fmt.Fprintln(w, why)
}

func (s *Server) isKnown(r *http.Request) bool {
	c, err := r.Cookie(s.cookie)
	return err == nil && subtle.ConstantTimeCompare([]byte(c.Value), []byte(s.secret)) == 1
}

// enter exchanges the token of the address for the cookie.
func (s *Server) enter(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	given := query.Get("token")
	s.mu.Lock()
	good := s.token != "" && subtle.ConstantTimeCompare([]byte(given), []byte(s.token)) == 1
	early := strings.Contains(r.Header.Get("Sec-Purpose")+r.Header.Get("Purpose"), "prefetch")
	if good && !early {
		s.token = ""
		close(s.entered)
	}
	s.mu.Unlock()
	switch {
	case good && !early:
		http.SetCookie(w, &http.Cookie{Name: s.cookie, Value: s.secret, Path: "/", HttpOnly: true,
			SameSite: http.SameSiteStrictMode})
	case early || !s.isKnown(r):
		refuse(w, "This address has been used, or is not the one that clrprof printed. Start clrprof view again for "+
			"a new one.")
		return
	}
	query.Del("token")
	target := url.URL{Path: "/", RawQuery: query.Encode()}
	if r.Header.Get("Sec-Fetch-Site") == "cross-site" {
		// Another page led here, such as that of Redirect. The browser sends a strict cookie to what this page leads
		// to, but not to what it is redirected to on the way from the other one.
		w.Header().Set("Refresh", "0; url="+target.String())
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		return
	}
	http.Redirect(w, r, target.String(), http.StatusSeeOther)
}

const index = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>clrprof</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/app.css">
<script src="/app.js" defer></script>
</head>
<body><div id="app"><noscript>This page needs JavaScript; clrprof report shows the same in a terminal.</noscript></div></body>
</html>
`

func (s *Server) page(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	fmt.Fprint(w, index)
}

// file answers with a file of the bundle.
func (s *Server) file(w http.ResponseWriter, name string) {
	b, err := dist.ReadFile("dist/" + name)
	if err != nil {
		writeError(w, err)
		return
	}
	kind := "text/javascript; charset=utf-8"
	if strings.HasSuffix(name, ".css") {
		kind = "text/css; charset=utf-8"
	}
	w.Header().Set("Content-Type", kind)
	_, _ = w.Write(b) // who went away needs no answer
}

// Timeouts of a server: an answer can take long, a request must not.
const headerTimeout = 10 * time.Second

// HTTP makes the server that listens.
func (s *Server) HTTP() *http.Server {
	return &http.Server{Handler: s, ReadHeaderTimeout: headerTimeout}
}

// isOwnRequest reports whether a request is the page's own, or the user's who opens it. A link to the page may stand on
// any page.
func isOwnRequest(r *http.Request) bool {
	return origin.IsSameSite(r) || r.URL.Path == "/" && r.Method == http.MethodGet && origin.IsSameOrigin(r)
}
