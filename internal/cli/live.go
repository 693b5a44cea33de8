package cli

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/clrprof/clrprof/internal/capture/control"
	"github.com/clrprof/clrprof/internal/capture/live"
	"github.com/clrprof/clrprof/internal/present/web"
	"github.com/clrprof/clrprof/internal/session"
)

// endPoll is how often a page that watches a recording of another clrprof looks whether the session is complete.
const endPoll = 300 * time.Millisecond

// watchRecording gives someone what another clrprof tells of its recording.
func watchRecording(peer control.Peer) web.Watch {
	return func(ctx context.Context, after uint64, send func(id uint64, message []byte) error) error {
		c, err := peer.Ask(requestLive, liveArguments{After: after})
		if err != nil {
			return err
		}
		defer c.Close()
		defer context.AfterFunc(ctx, func() { c.Close() })() // ends the waiting below
		for {
			text, err := c.Next(0)
			if errors.Is(err, io.EOF) {
				return nil
			}
			if err != nil {
				return err
			}
			m, err := readMessage(text)
			if err == nil {
				err = send(m.ID, text)
			}
			if err != nil {
				return err
			}
		}
	}
}

// finished waits until the session of another clrprof's recording is complete, or was cut off.
func finished(ctx context.Context, path string) (*session.Session, error) {
	tick := time.NewTicker(endPoll)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-tick.C:
		}
		stage, err := session.StageOf(ctx, path)
		if err != nil {
			return nil, err
		}
		if !stage.IsWritten() {
			return session.Open(path)
		}
	}
}

// anyPort is an address that only this machine's users reach, with a port that is free.
const anyPort = "127.0.0.1:0"

// livePage is the page of a recording that goes on, and then of its session.
type livePage struct {
	notes    *notes
	feed     *live.Feed
	listener net.Listener // nil: there is no page
	server   *web.Server  // nil: there is no session yet
	serving  *serving
}

// servePage listens for the page of a recording, if there is to be one.
func (r *runFlags) servePage(n *notes, feed *live.Feed) (*livePage, error) {
	p := &livePage{notes: n, feed: feed}
	if r.live == "" {
		return p, nil
	}
	var err error
	if p.listener, err = net.Listen("tcp", r.live); err != nil {
		return nil, usage("--live=%s: %v", r.live, err)
	}
	return p, nil
}

// open serves the page from now on: the session is there.
func (p *livePage) open(path string) {
	if p.listener == nil {
		return
	}
	var err error
	if p.server, err = web.NewLive(p.listener.Addr().String(), path, p.feed.Follow); err != nil {
		p.notes.say("there is no page: %v", err)
		return
	}
	p.serving = serveOn(p.server.HTTP(), p.listener)
	p.notes.say("watch it at %s", p.server.URL())
	if p.server.IsRemote() {
		p.notes.say(remoteWarning)
	}
}

// stay shows the session to who has opened the page, until Ctrl-C.
func (p *livePage) stay(path string) error {
	if p.serving == nil || !p.server.Entered() {
		return nil
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	s, err := session.Open(path)
	if err != nil {
		return readError(err)
	}
	p.server.Finish(s)
	p.notes.say("the page now shows the session; Ctrl-C ends")
	idle, err := p.serving.until(ctx)
	closeIdle(&idle, s)
	return err
}

// close ends the page if it is still there.
func (p *livePage) close() {
	switch {
	case p.serving != nil:
		_ = p.serving.http.Close() // nothing is left to be said
	case p.listener != nil:
		_ = p.listener.Close() // the same
	}
}
