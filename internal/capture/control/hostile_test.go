package control

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/clrprof/clrprof/internal/testkit/safefstest"
)

// openFolder is a folder that all users can write, as /tmp without the sticky bit.
func openFolder(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "control")
	if err == nil {
		err = os.Chmod(dir, 0o777)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// listener is a socket beside a session at which answer answers each client.
func listener(t *testing.T, session string, answer func(net.Conn)) {
	t.Helper()
	l, err := net.Listen("unix", session+Suffix)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() }) // another user's name may be gone
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go answer(conn)
		}
	}()
}

// theirListener is another user's listener at the socket beside a session.
func theirListener(t *testing.T, session string) {
	t.Helper()
	err := <-safefstest.AsNobody(t, func() error { listener(t, session, func(net.Conn) {}); return nil })
	if err != nil {
		t.Fatal(err)
	}
}

// TestForeignSocket: what another user made beside a session is not who records into it, whoever listens there.
func TestForeignSocket(t *testing.T) {
	session := newSession(t, openFolder(t))
	impostor := func(says string) {
		t.Helper()
		if _, err := Ask(session, "x", nil); !errors.Is(err, ErrImpostor) || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, want one that says %q", err, says)
		}
		if IsServed(session) {
			t.Error("it counts as a recording")
		}
		if err := os.Remove(session + Suffix); err != nil {
			t.Fatal(err)
		}
	}
	theirListener(t, session)
	impostor("it is of user 65534")

	// the file is ours, and the listener is not
	theirListener(t, session)
	if err := os.Chown(session+Suffix, os.Geteuid(), -1); err != nil {
		t.Fatal(err)
	}
	impostor("user 65534 listens")

	// a link to a socket of ours, which is about something else
	elsewhere := newSession(t, openFolder(t))
	listener(t, elsewhere, func(net.Conn) {})
	if err := os.Symlink(elsewhere+Suffix, session+Suffix); err != nil {
		t.Fatal(err)
	}
	impostor("not a socket")
	if err := unix.Mkfifo(session+Suffix, 0o600); err != nil {
		t.Fatal(err)
	}
	impostor("not a socket")
}

// TestOfUser: a session of which somebody says that it is of a user's recording must be that user's.
func TestOfUser(t *testing.T) {
	session := serve(t, nil)
	if !OfUser(session, os.Geteuid()).IsServed() {
		t.Error("one's own is not seen")
	}
	if _, err := OfUser(session, safefstest.Nobody).Ask("x", nil); !errors.Is(err, ErrImpostor) {
		t.Errorf("%v", err)
	}
}

// TestHostileAnswers: a server that is silent, sends no JSON, or a line without end, is told of in one line.
func TestHostileAnswers(t *testing.T) {
	for name, tt := range map[string]struct {
		answer func(net.Conn)
		says   string
	}{
		"silent":  {func(net.Conn) {}, "no answer in"},
		"drips":   {func(c net.Conn) { c.Write([]byte(`{"a":`)) }, "no answer in"},
		"closes":  {func(c net.Conn) { c.Read(make([]byte, 1)); c.Close() }, ""},
		"no JSON": {func(c net.Conn) { c.Write([]byte("hello\n")) }, "not JSON"},
		"endless": {func(c net.Conn) {
			for part := bytes.Repeat([]byte{'a'}, 1<<20); ; {
				if _, err := c.Write(part); err != nil {
					return
				}
			}
		}, "more than 16777216 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			session := newSession(t, t.TempDir())
			listener(t, session, tt.answer)
			c, err := Ask(session, "x", nil)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			c.silent = 200 * time.Millisecond
			if tt.says == "more than 16777216 bytes" {
				c.silent = time.Minute
			}
			_, err = c.Next(0)
			if err == nil || errors.Is(err, io.EOF) || !strings.Contains(err.Error(), tt.says) ||
				strings.Contains(err.Error(), "\n") {
				t.Errorf("%v, want one line that says %q", err, tt.says)
			}
		})
	}
}

// pair is both ends of a connection.
func pair(t *testing.T) (a, b *net.UnixConn) {
	t.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	var ends []*net.UnixConn
	for _, fd := range fds {
		f := os.NewFile(uintptr(fd), "pair")
		conn, err := net.FileConn(f)
		if err := errors.Join(err, f.Close()); err != nil {
			t.Fatal(err)
		}
		of, ok := conn.(*net.UnixConn)
		if !ok {
			t.Fatal(conn)
		}
		t.Cleanup(func() { of.Close() }) // the test may have
		ends = append(ends, of)
	}
	return ends[0], ends[1]
}

// TestAlive: a server that is busy says that it is there, and a client waits for its values.
func TestAlive(t *testing.T) {
	server, client := pair(t)
	a := &answering{conn: server, alive: time.Millisecond}
	go a.stayAlive(t.Context())
	raw := make([]byte, len(`{"wait":true}`)+1)
	if _, err := io.ReadFull(client, raw); err != nil || string(raw) != `{"wait":true}`+"\n" {
		t.Fatalf("%q %v", raw, err)
	}
	if err := errors.Join(a.write(map[string]int{"n": 1}), a.write(status{Done: true})); err != nil {
		t.Fatal(err)
	}
	c := newClient(client)
	if v, err := c.Next(0); err != nil || string(v) != `{"n":1}` {
		t.Errorf("%s %v", v, err)
	}
	if _, err := c.Next(0); !errors.Is(err, io.EOF) {
		t.Errorf("%v", err)
	}
}

// TestLongAnswer: a server does not send what no client takes.
func TestLongAnswer(t *testing.T) {
	server, _ := pair(t)
	a := &answering{conn: server}
	if err := a.write(json.RawMessage(`"` + strings.Repeat("a", maxLine) + `"`)); err == nil ||
		!strings.Contains(err.Error(), "at most 16777216") {
		t.Errorf("%v", err)
	}
}

// TestListenBeside: the socket is its user's alone at once, and what else has its name stays.
func TestListenBeside(t *testing.T) {
	session := newSession(t, t.TempDir())
	if err := os.WriteFile(session+Suffix, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Listen(session, nil); !errors.Is(err, errListened) {
		t.Errorf("in place of a file: %v", err)
	}
	if text, err := os.ReadFile(session + Suffix); err != nil || string(text) != "mine" {
		t.Errorf("%q %v", text, err)
	}
	secret := filepath.Join(t.TempDir(), "secret")
	err := errors.Join(os.Remove(session+Suffix), os.WriteFile(secret, []byte("mine"), 0o644),
		os.Symlink(secret, session+Suffix))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Listen(session, nil); !errors.Is(err, errListened) && !errors.Is(err, errNoSocket) {
		t.Errorf("in place of a link: %v", err)
	}
	if info, err := os.Lstat(secret); err != nil || info.Mode().Perm() != 0o644 {
		t.Errorf("%v %v", info, err)
	}
}
