package control

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// serve answers for a session with a long path.
func serve(t *testing.T, handlers map[string]Handler) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), strings.Repeat("a", 120))
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	session := newSession(t, dir)
	s, err := Listen(session, handlers)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(time.Minute); err != nil {
			t.Error(err)
		}
		if _, err := os.Lstat(session + Suffix); !os.IsNotExist(err) {
			t.Errorf("the socket is still there: %v", err)
		}
	})
	return session
}

// newSession makes a session, which has its file before it has a socket.
func newSession(t *testing.T, dir string) string {
	t.Helper()
	session := filepath.Join(dir, "app.clrprof")
	if err := os.WriteFile(session, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	return session
}

// ask returns all values of an answer, and how it ended.
func ask(t *testing.T, session, name string, arguments any) ([]string, error) {
	t.Helper()
	c, err := Ask(session, name, arguments)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var out []string
	for {
		v, err := c.Next(time.Minute)
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return out, err
		}
		out = append(out, string(v))
	}
}

func TestAnswers(t *testing.T) {
	session := serve(t, map[string]Handler{
		"twice": func(_ context.Context, arguments json.RawMessage, send func(any) error) error {
			return errors.Join(send(arguments), send(arguments))
		},
		"none": func(context.Context, json.RawMessage, func(any) error) error { return errors.New("not today") },
	})
	if out, err := ask(t, session, "twice", map[string]int{"n": 1}); err != nil ||
		strings.Join(out, " ") != `{"n":1} {"n":1}` {
		t.Errorf("%q %v", out, err)
	}
	if _, err := ask(t, session, "none", nil); err == nil || err.Error() != "not today" {
		t.Errorf("%v", err)
	}
	if _, err := ask(t, session, "else", nil); err == nil || err.Error() != `unknown request "else"` {
		t.Errorf("%v", err)
	}
	info, err := os.Lstat(session + Suffix)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info.Mode(), err)
	}
	if _, err := Listen(session, nil); !errors.Is(err, errListened) {
		t.Errorf("a second one: %v", err)
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(session, link); err != nil {
		t.Fatal(err)
	}
	if out, err := ask(t, link, "twice", 3); err != nil || len(out) != 2 {
		t.Errorf("by a link: %q %v", out, err)
	}
}

func TestNobody(t *testing.T) {
	session := filepath.Join(t.TempDir(), "app.clrprof")
	if _, err := Ask(session, "x", nil); !errors.Is(err, ErrNoRecording) {
		t.Errorf("%v", err)
	}
	newSession(t, filepath.Dir(session))
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: session + Suffix, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	l.Close() // as if killed
	if _, err := Ask(session, "x", nil); !errors.Is(err, ErrNoRecording) {
		t.Errorf("left behind: %v", err)
	}
	s, err := Listen(session, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(0); err != nil {
		t.Error(err)
	}
}

// TestIsServed: a recording that goes on is known by its socket, and what a killed one has left is none.
func TestIsServed(t *testing.T) {
	if session := serve(t, nil); !IsServed(session) {
		t.Error("a recording is not seen")
	}
	left := newSession(t, t.TempDir())
	if IsServed(left) {
		t.Error("there is none")
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: left + Suffix, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if IsServed(left) {
		t.Error("nobody listens any more")
	}
}

// TestRemoveLeft: only a socket at which nobody listens is removed, and nothing else of that name.
func TestRemoveLeft(t *testing.T) {
	session := filepath.Join(t.TempDir(), "app.clrprof")
	there := func() bool { _, err := os.Lstat(session + Suffix); return err == nil }
	remove := func(want bool) {
		t.Helper()
		if err := RemoveLeft(session); err != nil || there() == want {
			t.Errorf("%v, there: %v", err, there())
		}
	}
	remove(true) // there is none
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: session + Suffix, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	remove(false)
	if err := l.Close(); err != nil { // as if killed
		t.Fatal(err)
	}
	remove(true)
	if err := os.WriteFile(session+Suffix, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	remove(false)
}

// TestRubbish: what is no request, or too long, gets an error, and others are served meanwhile.
func TestRubbish(t *testing.T) {
	session := serve(t, map[string]Handler{"x": func(_ context.Context, _ json.RawMessage, send func(any) error) error {
		return send(1)
	}})
	a, err := addressOf(session)
	if err != nil {
		t.Fatal(err)
	}
	defer a.close()
	silent, err := net.DialUnix("unix", nil, a.unix())
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	for _, text := range []string{"rubbish\n", strings.Repeat("x", maxRequest+1)} {
		conn, err := net.DialUnix("unix", nil, a.unix())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := conn.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
		answer, _ := io.ReadAll(conn) // a reset after the answer is one too
		if len(text) < maxRequest && !strings.Contains(string(answer), `{"error":"the request is not JSON`) {
			t.Errorf("%.20q: %q", text, answer)
		}
		conn.Close()
	}
	if out, err := ask(t, session, "x", nil); err != nil || len(out) != 1 {
		t.Errorf("%q %v", out, err)
	}
}

// TestGone: the context of a handler ends with its client, and with the server.
func TestGone(t *testing.T) {
	began, ended := make(chan bool, 1), make(chan bool, 1)
	session := serve(t,
		map[string]Handler{"wait": func(ctx context.Context, _ json.RawMessage, _ func(any) error) error {
			began <- true
			<-ctx.Done()
			ended <- true
			return ctx.Err()
		}})
	c, err := Ask(session, "wait", nil)
	if err != nil {
		t.Fatal(err)
	}
	<-began
	c.Close()
	<-ended
}

// TestClose: a handler that does not end by itself does when the server's patience ends.
func TestClose(t *testing.T) {
	session := newSession(t, t.TempDir())
	began := make(chan bool)
	s, err := Listen(session,
		map[string]Handler{"wait": func(ctx context.Context, _ json.RawMessage, _ func(any) error) error {
			close(began)
			<-ctx.Done()
			return nil
		}})
	if err != nil {
		t.Fatal(err)
	}
	c, err := Ask(session, "wait", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	<-began
	if err := s.Close(time.Millisecond); err != nil {
		t.Error(err)
	}
	if _, err := c.Next(time.Minute); !errors.Is(err, io.EOF) {
		t.Errorf("%v", err)
	}
}

func TestWhoMay(t *testing.T) {
	for _, x := range []struct {
		user, owner int
		may         bool
	}{{1000, 1000, true}, {0, 1000, true}, {1001, 1000, false}, {1000, 0, false}, {0, 0, true}} {
		if mayControl(x.user, x.owner) != x.may {
			t.Errorf("%+v", x)
		}
	}
}
