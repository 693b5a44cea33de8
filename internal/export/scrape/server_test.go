package scrape

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/pprof/profile"

	"github.com/clrprof/clrprof/internal/testkit/analysistest"
	"github.com/clrprof/clrprof/internal/testkit/sessiontest"
)

const token = "0123456789abcdef"

// served is a server of one session, and the requests that it got.
type served struct {
	t     *testing.T
	asked []Request
	err   error // of recordings
	*Server
}

// serveAging serves a session in which objects are followed.
func serveAging(t *testing.T, o Options) *served {
	t.Helper()
	s := analysistest.Open(t, sessiontest.Aging(), filepath.Join(t.TempDir(), "s.clrprof"))
	out := &served{t: t}
	o.Process = "4711"
	o.Record = func(_ context.Context, r Request) (*Recorded, error) {
		if out.asked = append(out.asked, r); out.err != nil {
			return nil, out.err
		}
		return &Recorded{Session: s, Notes: []string{"Said."}, Release: func() {}}, nil
	}
	o.Threads = func() (map[string]int64, error) {
		return map[string]int64{"\x1b.NET \xff": 2, "main": 1}, nil
	}
	out.Server = New(o)
	return out
}

// get asks for something; change may change the request.
func (s *served) get(path string, change func(*http.Request)) (int, string, http.Header) {
	s.t.Helper()
	r := httptest.NewRequest(http.MethodGet, "http://127.0.0.1:6060"+path, nil)
	if change != nil {
		change(r)
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w.Code, w.Body.String(), w.Header()
}

// profile reads a profile with the library of pprof, and returns its sums by name.
func (s *served) profile(path string) (map[string]int64, *profile.Profile) {
	s.t.Helper()
	code, body, _ := s.get(path, nil)
	p, err := profile.Parse(strings.NewReader(body))
	if err != nil || code != http.StatusOK {
		s.t.Fatalf("%s: %d, %v: %.100s", path, code, err, body)
	}
	out := map[string]int64{}
	for _, sample := range p.Sample {
		for i, v := range sample.Value {
			out[p.SampleType[i].Type] += v
		}
	}
	return out, p
}

// names are those of the values of a profile.
func names(p *profile.Profile) (out []string) {
	for _, v := range p.SampleType {
		out = append(out, v.Type+"/"+v.Unit)
	}
	return out
}

// TestProfiles: each profile has the values that Go's has, with the sums of the session, and is recorded as it was asked
// for.
func TestProfiles(t *testing.T) {
	s := serveAging(t, Options{})
	total := sessiontest.Aging()
	var objects, bytes int64
	for _, v := range total.SiteValues {
		objects, bytes = objects+int64(v.Allocations), bytes+int64(v.Bytes)
	}
	alloc := []string{"alloc_objects/count", "alloc_space/bytes"}
	heap := append(alloc, "inuse_objects/count", "inuse_space/bytes")
	for _, tt := range []struct {
		path   string
		values []string
		first  string
		asked  Request
	}{
		{"allocs?seconds=7", alloc, "alloc_space", Request{For: 7 * time.Second}},
		{"allocs", alloc, "alloc_space", Request{For: 2 * time.Second}},
		{"allocs?gc=1", alloc, "alloc_space", Request{For: 2 * time.Second}},
		{"heap?seconds=1&whatever=x", heap, "inuse_space", Request{Lifetimes: true, For: time.Second}},
		{"heap?gc=1", heap, "inuse_space", Request{Lifetimes: true, Collect: true, For: 2 * time.Second}},
		{"lifetime", append(alloc, "gen0_objects/count", "gen0_bytes/bytes", "gen1_objects/count", "gen1_bytes/bytes",
			"gen2_objects/count", "gen2_bytes/bytes", "loh_objects/count", "loh_bytes/bytes", "poh_objects/count",
			"poh_bytes/bytes", "inuse_objects/count", "inuse_space/bytes"), "alloc_space",
			Request{Lifetimes: true, For: 2 * time.Second}},
	} {
		s.asked = nil
		sums, p := s.profile(Root + tt.path)
		if d := cmp.Diff([]Request{tt.asked}, s.asked); d != "" {
			t.Errorf("%s: %s", tt.path, d)
		}
		if d := cmp.Diff(tt.values, names(p)); d != "" {
			t.Errorf("%s: %s", tt.path, d)
		}
		if sums["alloc_objects"] != objects || sums["alloc_space"] != bytes || p.DefaultSampleType != tt.first {
			t.Errorf("%s: %v, first %s; the session has %d objects, %d bytes", tt.path, sums, p.DefaultSampleType, objects, bytes)
		}
		if died := sums["gen0_objects"] + sums["gen1_objects"] + sums["gen2_objects"] + sums["loh_objects"] +
			sums["poh_objects"] + sums["inuse_objects"]; len(tt.values) > 4 && died != objects {
			t.Errorf("%s: %d objects died or are alive, of %d", tt.path, died, objects)
		}
		if d := cmp.Diff([]string{"Said."}, p.Comments); d != "" {
			t.Errorf("%s: comments: %s", tt.path, d)
		}
		for _, sample := range p.Sample {
			if len(sample.Label)+len(sample.NumLabel) > 0 {
				t.Fatalf("%s: labels: %v", tt.path, sample)
			}
		}
	}
	if _, p := s.profile(Root + "allocs?labels=type,thread"); len(p.Sample[0].Label["type"]) != 1 ||
		len(p.Sample[0].Label["thread"]) != 1 || len(p.Sample[0].Label) != 2 {
		t.Errorf("labels: %v", p.Sample[0].Label)
	}
	sums, p := s.profile(Root + "threadcreate")
	if sums["threadcreate"] != 3 || len(p.Function) != 2 || p.Function[1].Name != "\uFFFD.NET \uFFFD" {
		t.Errorf("threads: %v, %v", sums, p.Function)
	}
}

// TestRefused: what cannot be had is said in one line, with the right code, and nothing is recorded for it.
func TestRefused(t *testing.T) {
	s := serveAging(t, Options{Listen: "127.0.0.1:6060"})
	for _, tt := range []struct {
		path string
		code int
		says string
	}{
		{Root + "profile?seconds=3", 501, "clrprof attach 4711 --time"},
		{Root + "mutex", 501, "--meter System.Runtime"},
		{Root + "block", 501, "clrprof attach 4711 --time"},
		{Root + "goroutine", 501, "threadcreate"},
		{Root + "trace", 501, "clrprof run --trace"},
		{Root + "cmdline", 404, "no such profile"},
		{Root + "allocs/more", 404, "no such profile"},
		{"/allocs", 404, "no such profile"},
		{Root + "allocs?seconds=0", 400, "from 1 to 600"},
		{Root + "allocs?seconds=601", 400, "from 1 to 600"},
		{Root + "allocs?seconds=1.5", 400, "from 1 to 600"},
		{Root + "allocs?seconds=99999999999999999999", 400, "from 1 to 600"},
		{Root + "heap?debug=1", 400, "go tool pprof"},
		{Root + "heap?labels=colour", 400, "type"},
	} {
		code, body, header := s.get(tt.path, nil)
		if code != tt.code || !strings.Contains(body, tt.says) || strings.Count(body, "\n") != 1 ||
			header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: %d %q", tt.path, code, body)
		}
	}
	for _, method := range []string{http.MethodPost, http.MethodHead, http.MethodPut, http.MethodDelete, http.MethodOptions} {
		code, _, header := s.get(Root+"heap", func(r *http.Request) { r.Method = method })
		if code != http.StatusMethodNotAllowed || header.Get("Allow") != http.MethodGet {
			t.Errorf("%s: %d", method, code)
		}
	}
	for name, change := range map[string]func(*http.Request){
		"another host":          func(r *http.Request) { r.Host = "evil.example:6060" },
		"another port":          func(r *http.Request) { r.Host = "127.0.0.1:1" },
		"no port":               func(r *http.Request) { r.Host = "127.0.0.1" },
		"a page":                func(r *http.Request) { r.Header.Set("Origin", "http://evil.example") },
		"a page without scheme": func(r *http.Request) { r.Header.Set("Origin", "null") },
		"another site":          func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") },
	} {
		if code, body, _ := s.get(Root+"heap", change); code != http.StatusForbidden {
			t.Errorf("%s: %d %s", name, code, body)
		}
	}
	if len(s.asked) != 0 {
		t.Errorf("recorded: %v", s.asked)
	}
	if code, _, _ := s.get(Root+"heap", func(r *http.Request) { r.Host = "localhost:6060" }); code != http.StatusOK {
		t.Errorf("localhost: %d", code)
	}
}

// TestToken: without the token nothing is answered; with it the name of the host does not matter.
func TestToken(t *testing.T) {
	s := serveAging(t, Options{Listen: "10.0.0.1:6060", Token: token})
	for _, given := range []string{"", "Bearer", "Bearer ", "Bearer 0123456789abcde", "Bearer 0123456789abcdef0", "Basic " + token,
		token, "bearer"} {
		code, body, header := s.get(Root+"heap", func(r *http.Request) { r.Header.Set("Authorization", given) })
		if code != http.StatusUnauthorized || header.Get("WWW-Authenticate") != "Bearer" || strings.Contains(body, token) {
			t.Errorf("%q: %d %s", given, code, body)
		}
	}
	if len(s.asked) != 0 {
		t.Errorf("recorded: %v", s.asked)
	}
	code, _, _ := s.get(Root+"heap", func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+token) })
	if code != http.StatusOK {
		t.Errorf("the token: %d", code)
	}
}

// TestErrors: what goes wrong with a recording has the code that says whether to ask again.
func TestErrors(t *testing.T) {
	s := serveAging(t, Options{})
	for _, tt := range []struct {
		err  error
		code int
	}{
		{fmt.Errorf("%w: process 4711 has ended", ErrUnavailable), 503},
		{fmt.Errorf("%w: it has background collections", ErrImpossible), 501},
		{errors.New("two\nlines"), 500},
	} {
		s.err = tt.err
		want := strings.ReplaceAll(tt.err.Error(), "\n", "; ") + "\n"
		if code, body, _ := s.get(Root+"heap", nil); code != tt.code || body != want {
			t.Errorf("%v: %d %q", tt.err, code, body)
		}
	}
	shop := analysistest.Open(t, sessiontest.Timed(), filepath.Join(t.TempDir(), "s.clrprof"))
	s.options.Record = func(context.Context, Request) (*Recorded, error) {
		return &Recorded{Session: shop, Release: func() {}}, nil
	}
	if code, body, _ := s.get(Root+"allocs", nil); code != http.StatusNotImplemented || !strings.Contains(body, "none of these") {
		t.Errorf("without allocations: %d %s", code, body)
	}
}

// TestIndex: the list names all profiles, and the process as it is called and not as markup.
func TestIndex(t *testing.T) {
	s := serveAging(t, Options{})
	s.options.Process = "<script>"
	for _, path := range []string{"/", "/debug/pprof"} {
		if code, _, header := s.get(path, nil); code != http.StatusFound || header.Get("Location") != Root {
			t.Errorf("%s: %d %v", path, code, header)
		}
	}
	code, body, _ := s.get(Root, nil)
	if code != http.StatusOK || strings.Contains(body, "<script>") || !strings.Contains(body, "&lt;script&gt;") {
		t.Errorf("%d %s", code, body)
	}
	for _, name := range []string{"allocs", "heap", "lifetime", "threadcreate", "profile", "mutex", "block"} {
		if !strings.Contains(body, name) {
			t.Errorf("no %s in %s", name, body)
		}
	}
}

// TestTurns: one request records at a time. Others wait in their order, as many and as long as is bounded; who goes away
// leaves the place to the next one.
func TestTurns(t *testing.T) { synctest.Test(t, testTurns) }

func testTurns(t *testing.T) {
	var x turns
	if err := x.take(t.Context(), time.Minute); err != nil {
		t.Fatal(err)
	}
	if err := x.take(t.Context(), time.Second); !errors.Is(err, errBusy) || x.retryAfter() != 61 {
		t.Errorf("behind a long recording: %v, ask again in %d s", err, x.retryAfter())
	}
	time.Sleep(time.Minute - longestWait) // of the bubble's clock
	var order []int
	failed := make([]error, mostWaiting+1)
	wait := func(n int, ctx context.Context) {
		go func() {
			failed[n] = x.take(ctx, 0)
			order = append(order, n)
		}()
		synctest.Wait()
	}
	gone, cancel := context.WithCancel(t.Context())
	wait(1, gone)
	for n := 2; n <= mostWaiting; n++ {
		wait(n, t.Context())
	}
	if err := x.take(t.Context(), 0); !errors.Is(err, errBusy) {
		t.Errorf("one more than may wait: %v", err)
	}
	cancel()
	synctest.Wait()
	if !errors.Is(failed[1], context.Canceled) {
		t.Errorf("who has gone: %v", failed[1])
	}
	for range mostWaiting {
		x.give()
		synctest.Wait()
	}
	if d := cmp.Diff([]int{1, 2, 3, 4, 5, 6, 7, 8}, order); d != "" || errors.Join(failed[2:]...) != nil {
		t.Errorf("turns: %s, %v", d, failed)
	}
	if err := x.take(t.Context(), time.Minute); err != nil {
		t.Errorf("afterwards: %v", err)
	}
	if x.end(); x.retryAfter() != 1 {
		t.Errorf("behind one whose client has gone: %d s", x.retryAfter())
	}
	wait(1, t.Context())
	x.give()
	if synctest.Wait(); failed[1] != nil {
		t.Errorf("who waited for that: %v", failed[1])
	}
}

// TestTogether: of requests that come at the same time each is answered, and one is recorded at a time.
func TestTogether(t *testing.T) {
	s := analysistest.Open(t, sessiontest.Shop(), filepath.Join(t.TempDir(), "s.clrprof"))
	running := make(chan struct{}, 1)
	server := httptest.NewServer(New(Options{Process: "1", Record: func(context.Context, Request) (*Recorded, error) {
		select {
		case running <- struct{}{}:
		default:
			return nil, errors.New("two at a time")
		}
		return &Recorded{Session: s, Release: func() { <-running }}, nil
	}}))
	defer server.Close()
	codes := make(chan int)
	for range mostWaiting / 2 {
		go func() {
			answer, err := http.Get(server.URL + Root + "allocs?seconds=1")
			if err != nil {
				codes <- -1
				return
			}
			_, err = io.Copy(io.Discard, answer.Body)
			if err = errors.Join(err, answer.Body.Close()); err != nil {
				codes <- -2
			}
			codes <- answer.StatusCode
		}()
	}
	for range mostWaiting / 2 {
		if code := <-codes; code != http.StatusOK {
			t.Errorf("code %d", code)
		}
	}
}

// TestGone: a client that goes away ends its recording.
func TestGone(t *testing.T) {
	began, ended := make(chan struct{}), make(chan struct{})
	server := httptest.NewServer(New(Options{Process: "1", Record: func(ctx context.Context, _ Request) (*Recorded, error) {
		close(began)
		<-ctx.Done()
		close(ended)
		return nil, ctx.Err()
	}}))
	defer server.Close()
	ctx, cancel := context.WithCancel(t.Context())
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL+Root+"allocs?seconds=600", nil)
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		<-began
		cancel()
	}()
	if _, err := http.DefaultClient.Do(r); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	<-ended
}

// TestListen: a Unix socket is this user's alone; no more than so many connections are accepted, and closing the listener
// ends the waiting for one.
func TestListen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	l, err := Listen(t.Context(), "", path)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the socket: %v, %v", info, err)
	}
	if _, err := Listen(t.Context(), "", path); err == nil || !strings.Contains(err.Error(), "exists: remove it") {
		t.Errorf("a second one: %v", err)
	}
	var mine, theirs []net.Conn
	for range mostConnections {
		c, err := net.Dial("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		accepted, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		mine, theirs = append(mine, c), append(theirs, accepted)
	}
	accepted := make(chan error, 1)
	go func() {
		c, err := l.Accept()
		if err == nil {
			err = c.Close()
		}
		accepted <- err
	}()
	c, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-accepted:
		t.Fatalf("one more than may be: %v", err)
	default:
	}
	if err := errors.Join(theirs[0].Close(), <-accepted, c.Close()); err != nil {
		t.Error(err)
	}
	go func() {
		_, _ = l.Accept()
		_, err := l.Accept()
		accepted <- err
	}()
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if err := <-accepted; !errors.Is(err, net.ErrClosed) {
		t.Errorf("after the end: %v", err)
	}
	for i := range mine {
		if err := mine[i].Close(); err != nil {
			t.Error(err)
		}
	}
}
