package control

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// ErrNoRecording means that nothing records into the session now.
var ErrNoRecording = errors.New("nothing is recorded into it now")

// Client is a request that is being answered.
type Client struct {
	conn  *net.UnixConn
	lines *bufio.Reader
}

// IsServed reports whether a recording answers for a session.
func IsServed(session string) bool {
	a, err := addressOf(session)
	if err != nil {
		return false
	}
	defer a.close()
	conn, err := net.DialUnix("unix", nil, a.unix())
	if err != nil {
		return false
	}
	return conn.Close() == nil
}

// Ask sends a request to the recording into a session.
func Ask(session, name string, arguments any) (*Client, error) {
	a, err := addressOf(session)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", session, err)
	}
	defer a.close()
	conn, err := net.DialUnix("unix", nil, a.unix())
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ECONNREFUSED) {
		return nil, fmt.Errorf("%s: %w", session, ErrNoRecording)
	}
	if err != nil {
		return nil, fmt.Errorf("connect to the recording of %s: %w", session, err)
	}
	text, err := json.Marshal(arguments)
	if err == nil {
		err = writeLine(conn, request{name, text})
	}
	if err != nil {
		conn.Close()
		return nil, fmt.Errorf("ask the recording of %s: %w", session, err)
	}
	return &Client{conn, bufio.NewReader(conn)}, nil
}

// Next reads the next value of the answer; io.EOF: there is none. Wait bounds the time, 0: it does not.
func (c *Client) Next(wait time.Duration) (json.RawMessage, error) {
	deadline := time.Time{}
	if wait > 0 {
		deadline = time.Now().Add(wait)
	}
	if err := c.conn.SetReadDeadline(deadline); err != nil {
		return nil, err
	}
	line, err := c.lines.ReadBytes('\n')
	if errors.Is(err, io.EOF) {
		return nil, errors.New("the recording ended in the middle of its answer")
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return nil, fmt.Errorf("no answer in %s", wait)
	}
	if err != nil {
		return nil, err
	}
	var end status
	if err := json.Unmarshal(line, &end); err == nil && end.Error != "" {
		return nil, errors.New(end.Error)
	} else if err == nil && end.Done {
		return nil, io.EOF
	}
	return line[:len(line)-1], nil
}

// Close ends the connection, and with it the request.
func (c *Client) Close() error { return c.conn.Close() }
