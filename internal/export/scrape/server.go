package scrape

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"html"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/clrprof/clrprof/internal/analysis"
	"github.com/clrprof/clrprof/internal/export/pprof"
	"github.com/clrprof/clrprof/internal/present/origin"
	"github.com/clrprof/clrprof/internal/printable"
	"github.com/clrprof/clrprof/internal/session"
)

// Root is where Go's net/http/pprof serves profiles.
const Root = "/debug/pprof/"

// Times of a recording, in seconds.
const (
	// defaultSeconds is for requests that do not say for how long: three profiles one after the other are there within
	// the ten seconds that scrapers wait for one.
	defaultSeconds = 2
	// mostSeconds is as long as a person waits for an answer. Longer recordings are for clrprof attach --for, which
	// keeps what there is when it is interrupted.
	mostSeconds = 600
)

// Errors of Options.Record.
var (
	// ErrUnavailable means that the process cannot be recorded now, and perhaps later: it has ended, or another
	// recording goes on.
	ErrUnavailable = errors.New("the process cannot be recorded now")
	// ErrImpossible means that this process will never have such a profile.
	ErrImpossible = errors.New("the process cannot have this profile")
)

// Request says what is to be recorded.
type Request struct {
	Lifetimes bool // objects are followed
	Collect   bool // garbage is collected before the end, so that alive means reachable
	For       time.Duration
}

// Recorded is a session for a profile.
type Recorded struct {
	Session   *session.Session
	Selection analysis.Selection
	Notes     []string // sentences for the comments of the profile
	Release   func()   // when the session has been read
}

// Options say what is served, and to whom.
type Options struct {
	Listen  string // address of the listener, host and port; "": a Unix socket, for those who may open it
	Token   string // that requests must have; "": none
	Process string // id or name, as it stands on a command line
	// Record records the process until the time of the request is over or the context is done. Its error wraps
	// ErrUnavailable or ErrImpossible, or is a mistake. It is not called twice at a time.
	Record func(context.Context, Request) (*Recorded, error)
	// Threads returns how many threads the process has, by name.
	Threads func() (map[string]int64, error)
}

// Server answers requests for profiles.
type Server struct {
	options Options
	token   [sha256.Size]byte
	turns   turns
}

// New returns a server.
func New(o Options) *Server { return &Server{options: o, token: sha256.Sum256([]byte(o.Token))} }

// failure is an answer other than a profile, in a line.
type failure struct {
	status int
	text   string
}

// Error is the line.
func (f failure) Error() string { return f.text }

func fail(status int, format string, args ...any) error {
	return failure{status, fmt.Sprintf(format, args...)}
}

// ServeHTTP answers requests for profiles, and refuses all others.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	for name, value := range map[string]string{"Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
		"X-Content-Type-Options": "nosniff", "Cache-Control": "no-store", "Referrer-Policy": "no-referrer",
		"Cross-Origin-Resource-Policy": "same-origin"} {
		h.Set(name, value)
	}
	err := s.admit(w, r)
	if err == nil {
		err = s.answer(w, r)
	}
	if err != nil {
		s.explain(w, r, err)
	}
}

// admit refuses requests that are not for this server, or of those who have no right to them.
func (s *Server) admit(w http.ResponseWriter, r *http.Request) error {
	switch {
	case s.options.Token != "":
		given, is := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		have := sha256.Sum256([]byte(strings.TrimSpace(given))) // of the same length, whatever is given
		if !is || subtle.ConstantTimeCompare(have[:], s.token[:]) != 1 {
			w.Header().Set("WWW-Authenticate", "Bearer")
			return fail(http.StatusUnauthorized, "this server needs the token of --http-token-file: Authorization: Bearer TOKEN")
		}
	case s.options.Listen != "" && !origin.IsFor(s.options.Listen, r.Host):
		return fail(http.StatusForbidden, "this is not the address that clrprof listens on: use http://%s%s",
			s.options.Listen, Root)
	case !origin.IsSameSite(r):
		return fail(http.StatusForbidden, "the request came from a page of another site")
	}
	if r.Method != http.MethodGet {
		w.Header().Set("Allow", http.MethodGet)
		return fail(http.StatusMethodNotAllowed, "profiles can only be read, by GET")
	}
	return nil
}

// answer sends what is asked for.
func (s *Server) answer(w http.ResponseWriter, r *http.Request) error {
	name, below := strings.CutPrefix(r.URL.Path, Root)
	switch {
	case !below && (r.URL.Path == "/" || r.URL.Path+"/" == Root):
		http.Redirect(w, r, Root, http.StatusFound)
		return nil
	case below && name == "":
		return s.index(w)
	case below && name == threadCreate:
		return s.threads(w)
	}
	if k, known := find(name); below && known {
		return s.recorded(w, r, k)
	}
	if why := impossible[name]; below && why != "" {
		return fail(http.StatusNotImplemented, why, s.options.Process)
	}
	return fail(http.StatusNotFound, "there is no such profile: %s has a list", Root)
}

// query is what a request for a profile says.
type query struct {
	seconds int
	collect bool
	labels  []string
}

// parse reads the parameters. What it does not know it ignores, as Go does: scrapers add their own.
func parse(values url.Values) (query, error) {
	q := query{seconds: defaultSeconds, labels: []string{}}
	if text := values.Get("seconds"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > mostSeconds {
			return q, fail(http.StatusBadRequest, "seconds: want a whole number from 1 to %d", mostSeconds)
		}
		q.seconds = n
	}
	if text := values.Get("debug"); text != "" && text != "0" {
		return q, fail(http.StatusBadRequest, "debug: there are no profiles as text: go tool pprof -top reads them")
	}
	q.collect = values.Get("gc") != "" && values.Get("gc") != "0"
	for label := range strings.SplitSeq(values.Get("labels"), ",") {
		if label == "" {
			continue
		}
		if !slices.Contains(pprof.Labels(), label) {
			return q, fail(http.StatusBadRequest, "labels: want some of %s", strings.Join(pprof.Labels(), ","))
		}
		q.labels = append(q.labels, label)
	}
	return q, nil
}

// recorded records the process and sends the profile.
func (s *Server) recorded(w http.ResponseWriter, r *http.Request, k kind) error {
	q, err := parse(r.URL.Query())
	if err != nil {
		return err
	}
	request := Request{Lifetimes: k.lifetimes, Collect: q.collect && k.lifetimes,
		For: time.Duration(q.seconds) * time.Second}
	text, err := s.record(r.Context(), request, k, q.labels)
	if err != nil {
		return err
	}
	return send(w, k.name, text)
}

// record records the process and returns the profile. It is whole or not there: an answer that has begun cannot be
// taken back.
func (s *Server) record(ctx context.Context, request Request, k kind, labels []string) ([]byte, error) {
	if err := s.turns.take(ctx, request.For); err != nil {
		return nil, err
	}
	defer s.turns.give()
	defer context.AfterFunc(ctx, s.turns.end)()
	got, err := s.options.Record(ctx, request)
	if err != nil {
		return nil, err
	}
	defer got.Release()
	var text bytes.Buffer
	err = pprof.Write(&text, got.Session, got.Selection, k.options(labels, got.Notes))
	if errors.Is(err, pprof.ErrNoValues) {
		err = fmt.Errorf("%w: %w", ErrImpossible, err)
	}
	return text.Bytes(), err
}

// threads sends the profile of threads.
func (s *Server) threads(w http.ResponseWriter) error {
	threads, err := s.options.Threads()
	if err != nil {
		return err
	}
	named := map[string]int64{}
	for name, n := range threads {
		named[printable.Text(strings.ToValidUTF8(name, "\uFFFD"))] += n
	}
	var text bytes.Buffer
	err = pprof.WriteCounts(&text, threadCreate, named,
		[]string{"Threads that there are, by name: .NET does not say which code has started them."})
	if err != nil {
		return err
	}
	return send(w, threadCreate, text.Bytes())
}

// sendTime is how long a client may take to read an answer: minutes for the largest profiles over a slow network.
const sendTime = 2 * time.Minute

// send sends a profile as Go's server does.
func send(w http.ResponseWriter, name string, text []byte) error {
	// without it the answer may take for ever, which harms nobody but who reads it
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(sendTime))
	h := w.Header()
	h.Set("Content-Type", "application/octet-stream")
	h.Set("Content-Disposition", `attachment; filename="`+name+`"`)
	h.Set("Content-Length", strconv.Itoa(len(text)))
	_, _ = w.Write(text) // the client has disconnected
	return nil
}

// explain sends an error in a line.
func (s *Server) explain(w http.ResponseWriter, r *http.Request, err error) {
	var known failure
	status, text := http.StatusInternalServerError, err.Error()
	switch {
	case errors.As(err, &known):
		status = known.status
	case errors.Is(err, errBusy):
		status = http.StatusServiceUnavailable
		w.Header().Set("Retry-After", strconv.Itoa(s.turns.retryAfter()))
	case errors.Is(err, ErrUnavailable), r.Context().Err() != nil:
		status = http.StatusServiceUnavailable
	case errors.Is(err, ErrImpossible):
		status = http.StatusNotImplemented
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Go-Pprof", "1") // go tool pprof prints the text of such an error
	w.WriteHeader(status)
	fmt.Fprintf(w, "%s\n", printable.Text(strings.ReplaceAll(text, "\n", "; ")))
}

// index lists the profiles, for people.
func (s *Server) index(w http.ResponseWriter) error {
	var b strings.Builder
	process := html.EscapeString(printable.Text(s.options.Process))
	fmt.Fprintf(&b, "<!doctype html>\n<html lang=\"en\">\n<head><meta charset=\"utf-8\"><title>%s</title></head>\n<body>\n"+
		"<h1>Profiles of process %s</h1>\n<p>A request records the process for ?seconds=N (%d), and leaves it alone "+
		"afterwards.</p>\n<ul>\n", Root, process, defaultSeconds)
	item := func(name, says string) { fmt.Fprintf(&b, "<li><a href=\"%s\">%[1]s</a>: %s</li>\n", name, says) }
	for _, k := range kinds {
		item(k.name, k.says)
	}
	item(threadCreate, "the threads that there are, by name")
	fmt.Fprintf(&b, "</ul>\n<p>Not to be had here:</p>\n<ul>\n")
	for _, name := range slices.Sorted(maps.Keys(impossible)) {
		fmt.Fprintf(&b, "<li>%s: %s</li>\n", name, fmt.Sprintf(impossible[name], process))
	}
	fmt.Fprintf(&b, "</ul>\n</body>\n</html>\n")
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write([]byte(b.String())) // the client has disconnected
	return nil
}

// Limits of connections.
const (
	headerTime = 10 * time.Second // for a request, which has no body
	mostHeader = 16 << 10         // bytes of its header
)

// HTTP makes the server that listens. Requests end with the context.
func (s *Server) HTTP(ctx context.Context) *http.Server {
	h := &http.Server{Handler: s, ReadHeaderTimeout: headerTime, MaxHeaderBytes: mostHeader,
		BaseContext: func(net.Listener) context.Context { return ctx }}
	h.SetKeepAlivesEnabled(false) // so that a connection is a request, and their number is bounded
	return h
}
