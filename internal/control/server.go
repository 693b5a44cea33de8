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
	"time"

	"golang.org/x/sys/unix"
)

const (
	// MaxRequest is how many bytes a request has at most: far more than any that there is.
	MaxRequest = 1 << 16

	// MaxClients is how many are served at once: more than there are people at one recording.
	MaxClients = 64

	requestTime = 5 * time.Second // for a request of one line
	writeTime   = 5 * time.Second // for a line of the answer
)

// ErrListened means that another recording serves the session's socket.
var ErrListened = errors.New("another recording has the socket")

// Handler answers a request. Each call of send sends one value; an error that it returns ends the answer. The context
// ends with the client's connection, and when the server is closed.
type Handler func(ctx context.Context, arguments json.RawMessage, send func(any) error) error

// Server answers requests about one recording.
type Server struct {
	handlers map[string]Handler
	listener *net.UnixListener
	address  address
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
	listener, err := listen(a)
	if err != nil {
		a.close()
		return nil, fmt.Errorf("make the socket %s%s: %w", session, Suffix, err)
	}
	s := &Server{handlers: handlers, listener: listener, address: a, places: make(chan struct{}, MaxClients)}
	s.context, s.cancel = context.WithCancel(context.Background())
	s.clients.Add(1)
	go s.accept()
	return s, nil
}

// listen binds the socket, in place of one that a killed recording left behind.
func listen(a address) (*net.UnixListener, error) {
	listener, err := net.ListenUnix("unix", a.unix())
	if errors.Is(err, unix.EADDRINUSE) {
		conn, dialErr := net.DialUnix("unix", nil, a.unix())
		if dialErr == nil {
			conn.Close()
			return nil, ErrListened
		}
		if err := os.Remove(a.path()); err != nil {
			return nil, err
		}
		listener, err = net.ListenUnix("unix", a.unix())
	}
	if err != nil {
		return nil, err
	}
	listener.SetUnlinkOnClose(false) // Close does, by the same address
	if err := os.Chmod(a.path(), 0o600); err != nil {
		return nil, errors.Join(err, listener.Close(), os.Remove(a.path()))
	}
	return listener, nil
}

// Close removes the socket. Clients get what their handlers still send in the given time.
func (s *Server) Close(grace time.Duration) error {
	err := errors.Join(s.listener.Close(), os.Remove(s.address.path()))
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
			refuse(conn, fmt.Errorf("%d clients are served already", MaxClients))
		}
	}
}

// acceptPause is how long a server waits when it cannot accept a client.
const acceptPause = 100 * time.Millisecond

// refuse sends an error and nothing else.
func refuse(conn *net.UnixConn, err error) {
	_ = writeLine(conn, status{Error: err.Error()}) // who is not there any more need not know
	conn.Close()
}

// status ends an answer.
type status struct {
	Done  bool   `json:"done,omitempty"`
	Error string `json:"error,omitempty"`
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
	if err := s.answer(conn); err != nil {
		end = status{Error: err.Error()}
	}
	_ = writeLine(conn, end) // the same
}

func (s *Server) answer(conn *net.UnixConn) error {
	if err := allowed(conn); err != nil {
		return err
	}
	if err := conn.SetReadDeadline(time.Now().Add(requestTime)); err != nil {
		return err
	}
	line, err := bufio.NewReader(io.LimitReader(conn, MaxRequest)).ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("no request of at most %d bytes in %s", MaxRequest, requestTime)
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
	return handler(ctx, r.Arguments, func(v any) error { return writeLine(conn, v) })
}

// watchEnd ends the context when the client is gone: it sends nothing more.
func watchEnd(conn *net.UnixConn, cancel context.CancelFunc) {
	defer cancel()
	if conn.SetReadDeadline(time.Time{}) == nil {
		_, _ = conn.Read(make([]byte, 1)) // whatever it says
	}
}

// writeLine sends a value as a line.
func writeLine(conn *net.UnixConn, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	if err := conn.SetWriteDeadline(time.Now().Add(writeTime)); err != nil {
		return err
	}
	_, err = conn.Write(append(text, '\n'))
	return err
}

// allowed says whether the client is this user or root.
func allowed(conn *net.UnixConn) error {
	raw, err := conn.SyscallConn()
	if err != nil {
		return err
	}
	var cred *unix.Ucred
	var credErr error
	err = raw.Control(func(fd uintptr) {
		cred, credErr = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	})
	if err := errors.Join(err, credErr); err != nil {
		return err
	}
	if !mayControl(int(cred.Uid), os.Geteuid()) {
		return fmt.Errorf("user %d may not control a recording of user %d", cred.Uid, os.Geteuid())
	}
	return nil
}

func mayControl(user, owner int) bool { return user == owner || user == 0 }
