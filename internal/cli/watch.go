package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/clrprof/clrprof/internal/capture/control"
	"github.com/clrprof/clrprof/internal/capture/live"
	"github.com/clrprof/clrprof/internal/capture/steer"
)

// requestLive is the request for the messages of a recording.
const requestLive = "live"

// liveArguments are those of the request.
type liveArguments struct {
	After uint64 `json:"after"` // id of the last message that the client got, 0: none
}

// watchHandlers answers those who watch a recording.
func watchHandlers(feed *live.Feed) map[string]control.Handler {
	return map[string]control.Handler{
		requestLive: func(ctx context.Context, text json.RawMessage, send func(any) error) error {
			var arguments liveArguments
			if err := json.Unmarshal(text, &arguments); err != nil {
				return fmt.Errorf("the arguments: %w", err)
			}
			return feed.Follow(ctx, arguments.After, func(_ uint64, message []byte) error {
				return send(json.RawMessage(message))
			})
		},
	}
}

// serveGrace is how long clients have to read what is left when a recording ends.
const serveGrace = 2 * time.Second

// socket is that of a recording.
type socket struct {
	feed   *live.Feed
	queue  *steer.Queue
	server *control.Server // nil: there is none
	err    error           // why
}

// open makes the socket of a session. Without it the recording is the same, and nobody can watch it.
func (s *socket) open(session string) {
	handlers := watchHandlers(s.feed)
	handlers[requestSteer] = steerHandler(s.queue)
	s.server, s.err = control.Listen(session, handlers)
}

func (s *socket) close() {
	if s.server != nil {
		_ = s.server.Close(serveGrace) // the recording is done
		s.server = nil
	}
}
