package scrape

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// mostConnections bounds connections, each of which takes a file and a goroutine: more than there are scrapers of one
// process. Others wait until one ends.
const mostConnections = 64

// Listen listens on host:port, or on a Unix socket, which only this user may open: unix:PATH.
func Listen(ctx context.Context, address string, unixPath string) (net.Listener, error) {
	if unixPath == "" {
		l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
		if err != nil {
			return nil, err
		}
		return limit(l), nil
	}
	// Linux gives the file of the socket the mode that the socket has, so that nobody else may open it in between.
	config := net.ListenConfig{Control: func(_, _ string, raw syscall.RawConn) error {
		var chmod error
		err := raw.Control(func(fd uintptr) { chmod = unix.Fchmod(int(fd), 0o600) })
		return errors.Join(err, chmod)
	}}
	l, err := config.Listen(ctx, "unix", unixPath)
	if errors.Is(err, unix.EADDRINUSE) {
		return nil, fmt.Errorf("%s exists: remove it if nothing listens there", unixPath)
	}
	if err != nil {
		return nil, err
	}
	return limit(l), nil
}

// limited is a listener that accepts so many connections at a time.
type limited struct {
	net.Listener
	places chan struct{}
	closed chan struct{}
	once   sync.Once
}

func limit(l net.Listener) *limited {
	return &limited{Listener: l, places: make(chan struct{}, mostConnections), closed: make(chan struct{})}
}

// Accept waits for a place, and then for a connection.
func (l *limited) Accept() (net.Conn, error) {
	select {
	case l.places <- struct{}{}:
	case <-l.closed:
		return nil, net.ErrClosed
	}
	c, err := l.Listener.Accept()
	if err != nil {
		<-l.places
		return nil, err
	}
	return &placed{Conn: c, leave: sync.OnceFunc(func() { <-l.places })}, nil
}

// Close ends waiting.
func (l *limited) Close() error {
	l.once.Do(func() { close(l.closed) })
	return l.Listener.Close()
}

// placed is a connection that has a place.
type placed struct {
	net.Conn
	leave func()
}

// Close gives the place to another connection.
func (p *placed) Close() error {
	defer p.leave()
	return p.Conn.Close()
}
