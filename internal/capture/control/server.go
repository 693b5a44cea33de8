package control

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// maxRequest is how many bytes a request has at most: far more than any that there is.
	maxRequest = 1 << 16

	// maxClients is how many are served at once: more than there are people at one recording.
	maxClients = 64

	// maxLine is how many bytes a line of an answer has at most. The longest, the status of a process with many
	// thousands of threads, have a tenth of that.
	maxLine = 16 << 20

	requestTime = 5 * time.Second // for a request of one line
	writeTime   = 5 * time.Second // for a line of the answer

	// aliveTime is after which time without a line the server says that it is still there.
	aliveTime = 5 * time.Second
)

// errListened means that another recording serves the session's socket.
var errListened = errors.New("another recording, or another file, has the name of the socket")

// Handler answers a request. Each call of send sends one value; an error that it returns ends the answer. The context
// ends with the client's connection, and when the server is closed.
type Handler func(ctx context.Context, arguments json.RawMessage, send func(any) error) error

// Server answers requests about one recording.
type Server struct {
	handlers map[string]Handler
	listener *net.UnixListener
	address  address
	made     *unix.Stat_t // the socket's file
	context  context.Context
	cancel   context.CancelFunc
	clients  sync.WaitGroup
	places   chan struct{}
}

// Listen makes the socket of a session and answers by these handlers, by name, until Close.
func Listen(session string, handlers map[string]Handler) (*Server, error) {
	a, err := addressOf(session)
	if err != nil {
		return nil, fmt.Errorf("make the socket of the session: %w", err)
	}
	listener, made, err := listen(a)
	if err != nil {
		a.close()
		return nil, fmt.Errorf("make the socket %s%s: %w", session, Suffix, err)
	}
	s := &Server{handlers: handlers, listener: listener, address: a, made: made,
		places: make(chan struct{}, maxClients)}
	s.context, s.cancel = context.WithCancel(context.Background())
	s.clients.Add(1)
	go s.accept()
	return s, nil
}

// listen binds the socket, in place of one that a killed recording left behind. It is this user's alone from the
// beginning: Linux gives the file the mode that the socket has.
func listen(a address) (*net.UnixListener, *unix.Stat_t, error) {
	config := net.ListenConfig{Control: func(_, _ string, raw syscall.RawConn) error {
		var chmod error
		err := raw.Control(func(fd uintptr) { chmod = unix.Fchmod(int(fd), 0o600) })
		return errors.Join(err, chmod)
	}}
	listener, err := config.Listen(context.Background(), "unix", a.path())
	if errors.Is(err, unix.EADDRINUSE) {
		free, leftErr := a.removeLeft()
		switch {
		case leftErr != nil:
			return nil, nil, leftErr
		case !free:
			return nil, nil, errListened
		}
		listener, err = config.Listen(context.Background(), "unix", a.path())
	}
	if err != nil {
		return nil, nil, err
	}
	of, ok := listener.(*net.UnixListener)
	if !ok {
		return nil, nil, errors.Join(errors.New("no UNIX socket"), listener.Close())
	}
	of.SetUnlinkOnClose(false) // Close does, by the same address
	found, st, err := a.find()
	if err != nil {
		return nil, nil, errors.Join(err, of.Close())
	}
	return of, st, found.Close()
}

// Close removes the socket. Clients get what their handlers still send in the given time.
func (s *Server) Close(grace time.Duration) error {
	err := errors.Join(s.listener.Close(), s.address.remove(s.made))
	timer := time.AfterFunc(grace, s.cancel)
	s.clients.Wait()
	timer.Stop()
	s.cancel()
	s.address.close()
	return err
}

func (s *Server) accept() {
	defer s.clients.Done()
	for {
		conn, err := s.listener.AcceptUnix()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil { // no file is left: those that are open will be closed
			time.Sleep(acceptPause)
			continue
		}
		select {
		case s.places <- struct{}{}:
			s.clients.Add(1)
			go s.serve(conn)
		default:
			refuse(conn, fmt.Errorf("%d clients are served already", maxClients))
		}
	}
}

// acceptPause is how long a server waits when it cannot accept a client.
const acceptPause = 100 * time.Millisecond

// refuse sends an error and nothing else.
func refuse(conn *net.UnixConn, err error) {
	_ = (&answering{conn: conn}).write(status{Error: err.Error()}) // who is not there any more need not know
	conn.Close()
}

// status is a line of an answer that is no value: it ends the answer, or says that there is more to come.
type status struct {
	Done  bool   `json:"done,omitempty"`
	Error string `json:"error,omitempty"`
	Wait  bool   `json:"wait,omitempty"`
}

// request is what a client sends.
type request struct {
	Request   string          `json:"request"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
}

func (s *Server) serve(conn *net.UnixConn) {
	defer func() {
		conn.Close()
		<-s.places
		s.clients.Done()
	}()
	end := status{Done: true}
	a := &answering{conn: conn, alive: aliveTime}
	if err := s.answer(conn, a); err != nil {
		end = status{Error: err.Error()}
	}
	_ = a.write(end) // the same
}

func (s *Server) answer(conn *net.UnixConn, a *answering) error {
	if err := allowed(conn); err != nil {
		return err
	}
	if err := conn.SetReadDeadline(time.Now().Add(requestTime)); err != nil {
		return err
	}
	line, err := bufio.NewReader(io.LimitReader(conn, maxRequest)).ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("no request of at most %d bytes in %s", maxRequest, requestTime)
	}
	var r request
	if err := json.Unmarshal(line, &r); err != nil {
		return fmt.Errorf("the request is not JSON: %w", err)
	}
	handler := s.handlers[r.Request]
	if handler == nil {
		return fmt.Errorf("unknown request %q", r.Request)
	}
	ctx, cancel := context.WithCancel(s.context)
	defer cancel()
	go watchEnd(conn, cancel)
	go a.stayAlive(ctx)
	return handler(ctx, r.Arguments, a.write)
}

// watchEnd ends the context when the client is gone: it sends nothing more.
func watchEnd(conn *net.UnixConn, cancel context.CancelFunc) {
	defer cancel()
	if conn.SetReadDeadline(time.Time{}) == nil {
		_, _ = conn.Read(make([]byte, 1)) // whatever it says
	}
}

// answering is an answer that is being sent.
type answering struct {
	conn    *net.UnixConn
	mu      sync.Mutex
	alive   time.Duration // after which time without a line it says that it goes on
	written time.Time     // when the last line was
}

// stayAlive says from time to time that the answer goes on, until the context ends.
func (a *answering) stayAlive(ctx context.Context) {
	tick := time.NewTicker(a.alive)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		a.mu.Lock()
		if ctx.Err() == nil && time.Since(a.written) >= a.alive {
			_ = a.writeLocked(status{Wait: true}) // who is not there any more need not know
		}
		a.mu.Unlock()
	}
}

// write sends a value as a line.
func (a *answering) write(v any) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.writeLocked(v)
}

func (a *answering) writeLocked(v any) error {
	a.written = time.Now()
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	if len(text) >= maxLine {
		return fmt.Errorf("the answer has %d bytes, and a line has at most %d", len(text), maxLine)
	}
	return writeLine(a.conn, text)
}

// writeLine sends a line.
func writeLine(conn *net.UnixConn, text []byte) error {
	if err := conn.SetWriteDeadline(time.Now().Add(writeTime)); err != nil {
		return err
	}
	_, err := conn.Write(append(text, '\n'))
	return err
}

// allowed says whether the client is this user or root.
func allowed(conn *net.UnixConn) error {
	user, err := peerOf(conn)
	if err != nil {
		return err
	}
	if !mayControl(user, os.Geteuid()) {
		return fmt.Errorf("user %d may not control a recording of user %d", user, os.Geteuid())
	}
	return nil
}

func mayControl(user, owner int) bool { return user == owner || user == 0 }
