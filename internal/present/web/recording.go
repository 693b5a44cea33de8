package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/clrprof/clrprof/internal/present/report/text"
	"github.com/clrprof/clrprof/internal/session"
)

// Watch gives someone the messages of a recording, from the one after the id `after` on: send is called with each,
// until the recording or the context ends, or send fails.
type Watch func(ctx context.Context, after uint64, send func(id uint64, text []byte) error) error

// messageTime is how long a browser may take to accept a message: one that hangs is left.
const messageTime = 10 * time.Second

// NewLive makes a server for a recording that goes on, and is written to a session at a path. It shows what is
// reported of the recording, and from Finish on the session.
func NewLive(listen, path string, watch Watch) (*Server, error) {
	s, err := New(listen)
	if err != nil {
		return nil, err
	}
	s.recorded, s.watch, s.finished = path, watch, make(chan struct{})
	return s, nil
}

// Finish has the server show a session from now on, that of its recording. The session belongs to the server until it
// is closed by its caller.
func (s *Server) Finish(of *session.Session) {
	s.sessions = []*session.Session{of}
	s.remember()
	close(s.finished)
}

// Entered reports whether somebody has opened the page.
func (s *Server) Entered() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.token == ""
}

// isRecording reports whether the recording goes on. If not, there are sessions.
func (s *Server) isRecording() bool {
	if s.finished == nil {
		return false
	}
	select {
	case <-s.finished:
		return false
	default:
		return true
	}
}

// ofSession adds an answer that needs the session. It is made whole before any of it is sent: a slow reader holds
// nobody up.
func (s *Server) ofSession(pattern string, answer func(http.ResponseWriter, *http.Request) error) {
	s.Handle(pattern, func(w http.ResponseWriter, r *http.Request) error {
		if s.isRecording() {
			return bad("%s is being recorded: it can be viewed when the program has ended", s.recorded)
		}
		made := &answered{header: http.Header{}, code: http.StatusOK}
		if err := answer(made, r); err != nil {
			return err
		}
		for name, values := range made.header {
			w.Header()[name] = values
		}
		w.Header().Set("Content-Length", strconv.Itoa(made.Len()))
		w.WriteHeader(made.code)
		_, _ = w.Write(made.Bytes()) // who went away needs no answer
		return nil
	})
}

// live sends what is reported of the recording as events (HTML, 9.2 Server-sent events): messages, and in the end one
// named finished, when the session can be seen.
func (s *Server) live(w http.ResponseWriter, r *http.Request) error {
	if s.finished == nil {
		return bad("nothing is being recorded here")
	}
	after, _ := strconv.ParseUint(r.Header.Get("Last-Event-ID"), 10, 64) // 0, from the start, if there is none
	if text := r.URL.Query().Get("after"); after == 0 && text != "" {
		var err error
		if after, err = strconv.ParseUint(text, 10, 64); err != nil {
			return bad("after %q is no number of a message", text)
		}
	}
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	out := http.NewResponseController(w)
	send := func(format string, args ...any) error {
		if err := out.SetWriteDeadline(time.Now().Add(messageTime)); err != nil &&
			!errors.Is(err, http.ErrNotSupported) {
			return err
		}
		if _, err := fmt.Fprintf(w, format, args...); err != nil {
			return err
		}
		return out.Flush()
	}
	err := send("retry: 1000\n\n")
	if err == nil && s.isRecording() {
		err = s.watch(r.Context(), after, func(id uint64, text []byte) error {
			return send("id: %d\ndata: %s\n\n", id, text)
		})
	}
	if err != nil {
		said, _ := json.Marshal(map[string]string{"error": text.Printable(err.Error())}) // of a string: never fails
		// who went away needs no answer
		_ = send("event: failed\ndata: %s\n\n", said)
		return nil
	}
	select {
	case <-s.finished:
		_ = send("event: finished\ndata: {}\n\n") // the same
	case <-r.Context().Done():
	}
	return nil
}
