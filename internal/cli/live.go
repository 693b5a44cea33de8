package cli

import (
	"context"
	"net"
	"os"
	"os/signal"
	"syscall"

	"github.com/clrprof/clrprof/internal/live"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/web"
)

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
	if p.server, err = web.NewLive(p.listener.Addr().String(), path, watchFeed(p.feed)); err != nil {
		p.notes.say("there is no page: %v", err)
		return
	}
	p.serving = serveOn(p.server.HTTP(), p.listener)
	p.notes.say("watch it at %s", p.server.URL())
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
	p.notes.say("the page shows the session now; Ctrl-C ends")
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
