package eventpipe

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"
	"unicode/utf16"
)

// Provider is a source of events that a session asks for.
type Provider struct {
	Name      string
	Keywords  uint64 // events with one of these, or with none, are sent
	Level     Level  // events of this level, or graver, are sent
	Arguments string // NAME=VALUE;NAME=VALUE, for the provider itself
}

// Level is how grave an event is.
type Level uint32

// The levels. Events of the level Always are always sent.
const (
	Always Level = iota
	Critical
	Error
	Warning
	Informational
	Verbose
)

// Limits of a request: the runtime gets nothing that it may not have been tested with.
const (
	maxProviders = 256
	maxText      = 16 << 10 // UTF-16 units of a name or of arguments
)

// ErrRefused means that the runtime answered a request with an error.
var ErrRefused = errors.New("the runtime refuses it")

// refusal is an ErrRefused with the runtime's reason, an HRESULT.
type refusal struct{ code uint32 }

func (r *refusal) Error() string { return fmt.Sprintf("%v: error %08x", ErrRefused, r.code) }

func (r *refusal) Unwrap() error { return ErrRefused }

// Session is one that a process sends events of.
type Session struct {
	conn net.Conn
}

// The protocol (documentation/design-docs/ipc-protocol.md of dotnet/diagnostics).
const (
	magic              = "DOTNET_IPC_V1\x00"
	headerBytes        = 20
	setEventPipe       = 2
	collectTracing2    = 3 // all runtimes from 3.1 on have it
	setServer          = 0xFF
	answerOK           = 0x00
	formatNetTrace     = 1
	maxAnswer          = 4096 // an answer to this request has 8 bytes, an error 4 and perhaps a text
	megabytesInProcess = 16   // of events that the runtime keeps until they are read
)

// Start begins a session in a process.
func Start(pid int, providers []Provider) (*Session, error) {
	request, err := request(providers)
	if err != nil {
		return nil, err
	}
	conn, err := dial(pid)
	if err != nil {
		return nil, err
	}
	if err := ask(conn, request); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return &Session{conn}, nil
}

// Read reads the stream of events.
func (s *Session) Read(p []byte) (int, error) { return s.conn.Read(p) }

// Close ends the session: the runtime notices that nobody reads any more.
func (s *Session) Close() error { return s.conn.Close() }

// request makes the request for a session without a rundown.
func request(providers []Provider) ([]byte, error) {
	if len(providers) == 0 || len(providers) > maxProviders {
		return nil, fmt.Errorf("a session of %d providers: want 1 to %d", len(providers), maxProviders)
	}
	b := make([]byte, headerBytes)
	b = binary.LittleEndian.AppendUint32(b, megabytesInProcess)
	b = binary.LittleEndian.AppendUint32(b, formatNetTrace)
	b = append(b, 0) // no rundown
	b = binary.LittleEndian.AppendUint32(b, uint32(len(providers)))
	for _, p := range providers {
		if p.Name == "" || p.Level > Verbose {
			return nil, fmt.Errorf("provider %q of level %d", p.Name, p.Level)
		}
		b = binary.LittleEndian.AppendUint64(b, p.Keywords)
		b = binary.LittleEndian.AppendUint32(b, uint32(p.Level))
		for _, text := range []string{p.Name, p.Arguments} {
			var err error
			if b, err = appendText(b, text); err != nil {
				return nil, err
			}
		}
	}
	if len(b) > 1<<16-1 {
		return nil, fmt.Errorf("a request of %d bytes is too long", len(b))
	}
	putHeader(b, setEventPipe, collectTracing2)
	return b, nil
}

// putHeader fills in the header of a request of less than 64 KiB.
func putHeader(b []byte, set, command byte) {
	copy(b, magic)
	binary.LittleEndian.PutUint16(b[14:], uint16(len(b)))
	b[16], b[17] = set, command
}

// appendText appends a text as the protocol has it: the number of units with the 0 at the end, and these.
func appendText(b []byte, text string) ([]byte, error) {
	units := utf16.Encode([]rune(text))
	if len(units) > maxText || strings.ContainsRune(text, 0) {
		return nil, fmt.Errorf("a text of %d characters, or with a zero in it, cannot be sent", len(units))
	}
	if text == "" {
		return binary.LittleEndian.AppendUint32(b, 0), nil
	}
	b = binary.LittleEndian.AppendUint32(b, uint32(len(units)+1))
	for _, u := range append(units, 0) {
		b = binary.LittleEndian.AppendUint16(b, u)
	}
	return b, nil
}

// ask sends a request and reads the answer. What follows on the connection is the stream.
func ask(conn net.Conn, request []byte) error {
	if err := conn.SetDeadline(time.Now().Add(answerTime)); err != nil {
		return err
	}
	if _, err := conn.Write(request); err != nil {
		return fmt.Errorf("asking the runtime: %w", err)
	}
	if _, err := readAnswer(conn, maxAnswer); err != nil {
		return err
	}
	return conn.SetDeadline(time.Time{})
}

// readAnswer returns what an answer has after its header, at most so many bytes with it.
func readAnswer(r io.Reader, most int) ([]byte, error) {
	var header [headerBytes]byte
	if _, err := io.ReadFull(r, header[:]); err != nil {
		return nil, fmt.Errorf("the runtime does not answer: %w", err)
	}
	size := int(binary.LittleEndian.Uint16(header[14:]))
	if string(header[:len(magic)]) != magic || size < headerBytes || size > most || header[16] != setServer {
		return nil, fmt.Errorf("the runtime's answer begins with % x", header)
	}
	body := make([]byte, size-headerBytes)
	if _, err := io.ReadFull(r, body); err != nil {
		return nil, fmt.Errorf("the runtime does not answer: %w", err)
	}
	if header[17] != answerOK {
		code := uint32(0)
		if len(body) >= 4 {
			code = binary.LittleEndian.Uint32(body)
		}
		return nil, &refusal{code}
	}
	return body, nil
}
