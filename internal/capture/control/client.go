package control

import (
	"bufio"
	"bytes"
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

// Errors of clients.
var (
	// ErrNoRecording means that nothing records into the session now.
	ErrNoRecording = errors.New("nothing is recorded into it now")

	// ErrImpostor means that what answers for a session is not who records into it.
	ErrImpostor = errors.New("its socket is not that of the user who records into it")
)

// silentTime is how long a recording may say nothing: it says every aliveTime that it is there, unless it is stopped.
const silentTime = 30 * time.Second

// Peer is the recording into a session, as its clients know it.
type Peer struct {
	Session string // path
	owner   int    // whose the recording is; anyone: whose the session is
}

const anyone = -1

// Of is the recording into a session that somebody has named. Its socket must be of the user whose session it is.
func Of(session string) Peer { return Peer{session, anyone} }

// OfUser is the recording of a user into a session, about which somebody else may have said what it is.
func OfUser(session string, uid int) Peer { return Peer{session, uid} }

// Client is a request that is being answered.
type Client struct {
	conn   *net.UnixConn
	lines  *bufio.Reader
	silent time.Duration
}

// IsServed reports whether a recording answers for a session that somebody has named.
func IsServed(session string) bool { return Of(session).IsServed() }

// IsServed reports whether the recording answers.
func (p Peer) IsServed() bool {
	conn, err := p.connect()
	if err != nil {
		return false
	}
	return conn.Close() == nil
}

// connect connects to the socket. In the folder of a session others may make a socket too, or a link to another
// program's: so what has the name is looked at before it is used, and then who listens.
func (p Peer) connect() (*net.UnixConn, error) {
	a, err := addressOf(p.Session)
	if err != nil {
		return nil, err
	}
	defer a.close()
	owner, err := a.ownerOf()
	if err != nil { // a recording has its session before it has a socket
		return nil, err
	}
	if p.owner != anyone && owner != p.owner {
		return nil, fmt.Errorf("%w: the session is of user %d, the recording of user %d", ErrImpostor, owner, p.owner)
	}
	found, st, err := a.find()
	if errors.Is(err, errNoSocket) {
		return nil, fmt.Errorf("%w: %w", ErrImpostor, err)
	}
	if err != nil {
		return nil, err
	}
	defer found.Close() // nothing was written
	if int(st.Uid) != owner {
		return nil, fmt.Errorf("%w: it is of user %d, the session of user %d", ErrImpostor, st.Uid, owner)
	}
	conn, err := dial(found)
	if err != nil {
		return nil, err
	}
	peer, err := peerOf(conn)
	if err == nil && peer != owner && peer != os.Geteuid() {
		err = fmt.Errorf("%w: user %d listens, and the session is of user %d", ErrImpostor, peer, owner)
	}
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}

// Ask sends a request to the recording into a session that somebody has named.
func Ask(session, name string, arguments any) (*Client, error) {
	return Of(session).Ask(name, arguments)
}

// Ask sends a request to the recording.
func (p Peer) Ask(name string, arguments any) (*Client, error) {
	conn, err := p.connect()
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ECONNREFUSED) {
		return nil, fmt.Errorf("%s: %w", p.Session, ErrNoRecording)
	}
	if err != nil {
		return nil, fmt.Errorf("connect to the recording of %s: %w", p.Session, err)
	}
	text, err := json.Marshal(arguments)
	if err == nil {
		text, err = json.Marshal(request{name, text})
	}
	if err == nil {
		err = writeLine(conn, text)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("ask the recording of %s: %w", p.Session, err), conn.Close())
	}
	return newClient(conn), nil
}

func newClient(conn *net.UnixConn) *Client { return &Client{conn, bufio.NewReader(conn), silentTime} }

// Next reads the next value of the answer; io.EOF: there is none. Wait bounds the time, 0: it does not, as long as the
// recording says that it is there. A line of more than maxLine bytes is an error.
func (c *Client) Next(wait time.Duration) (json.RawMessage, error) {
	begun := time.Now()
	for {
		left, limit := c.silent, c.silent
		if wait > 0 {
			if rest := time.Until(begun.Add(wait)); rest < left {
				left, limit = rest, wait
			}
		}
		line, err := c.line(left)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return nil, fmt.Errorf("no answer in %s: it may be stopped", limit)
		}
		if err != nil {
			return nil, err
		}
		if !json.Valid(line) {
			return nil, errors.New("the answer is not JSON: no recording sends that")
		}
		var end status
		_ = json.Unmarshal(line, &end) // what is no object is a value
		switch {
		case end.Error != "":
			return nil, errors.New(end.Error)
		case end.Done:
			return nil, io.EOF
		case !end.Wait:
			return line, nil
		}
	}
}

// line reads a line, without its end.
func (c *Client) line(limit time.Duration) ([]byte, error) {
	if err := c.conn.SetReadDeadline(time.Now().Add(limit)); err != nil {
		return nil, err
	}
	var line []byte
	for {
		part, err := c.lines.ReadSlice('\n')
		if len(line)+len(part) > maxLine {
			return nil, fmt.Errorf("a line of the answer has more than %d bytes: no recording sends that", maxLine)
		}
		line = append(line, part...)
		if err == nil {
			return bytes.TrimSuffix(line, []byte("\n")), nil
		}
		if errors.Is(err, io.EOF) {
			return nil, errors.New("the recording ended in the middle of its answer")
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return nil, err
		}
	}
}

// Close ends the connection, and with it the request.
func (c *Client) Close() error { return c.conn.Close() }
