package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"github.com/clrprof/clrprof/internal/capture/control"
	"github.com/clrprof/clrprof/internal/present/web"
	"github.com/clrprof/clrprof/internal/session"
)

// viewFlags are the flags of the view command.
type viewFlags struct {
	unfinished unfinishedFlags
	listen     string
	open       bool
}

func newViewCommand(e *environment) *cobra.Command {
	v := &viewFlags{}
	cmd := &cobra.Command{
		Use:   "view SESSION [OLDER]",
		Short: "Show a session in a browser",
		Long: "Serve a page that shows a session, and print its address. The page is part of clrprof and needs no\n" +
			"network. It shows the same numbers as report. With two sessions it also compares the first with\n" +
			"the second, older one.\n\n" +
			"If the session is being recorded, the page shows the recording, and the session when the program\n" +
			"has ended. Such a session can also be named by the id of a recorded process.\n\n" +
			"The address works once, in the browser that opens it. Other users of the machine and other pages\n" +
			"cannot read the session. Ctrl-C ends it.",
		Example: "  clrprof view app.clrprof\n" +
			"  clrprof view app.clrprof --open\n" +
			"  clrprof view 4711\n" +
			"  clrprof view after.clrprof before.clrprof --listen 127.0.0.1:8123",
		Args: arguments(1, 2, "a SESSION"),
		RunE: func(cmd *cobra.Command, args []string) error { return v.run(e, cmd.Context(), args) },
	}
	f := cmd.Flags()
	v.unfinished.add(cmd)
	f.StringVar(&v.listen, "listen", anyPort, "address and port to serve the page on; port 0: any free port")
	f.BoolVar(&v.open, "open", false, "open the page in the default browser (xdg-open)")
	return cmd
}

func (v *viewFlags) run(e *environment, ctx context.Context, paths []string) error {
	if len(paths) == 1 {
		peer, err := findRecording(paths)
		if err != nil {
			return err
		}
		if paths[0] = peer.Session; peer.IsServed() {
			return v.watch(e, ctx, peer)
		}
	}
	var sessions []*session.Session
	idle := true // nothing reads the sessions: only then can they be closed
	for _, path := range paths {
		s, err := v.unfinished.open(ctx, e, path)
		if err != nil {
			return readError(err)
		}
		defer closeIdle(&idle, s)
		sessions = append(sessions, s)
	}
	listener, err := net.Listen("tcp", v.listen)
	if err != nil {
		return usage("--listen %s: %w", v.listen, err)
	}
	server, err := web.New(listener.Addr().String(), sessions...)
	if err != nil {
		listener.Close()
		return err
	}
	idle, err = serve(e, ctx, server, listener, v.open)
	return err
}

// watch shows a recording that goes on, and its session when it has ended.
func (v *viewFlags) watch(e *environment, ctx context.Context, peer control.Peer) error {
	listener, err := net.Listen("tcp", v.listen)
	if err != nil {
		return usage("--listen %s: %w", v.listen, err)
	}
	server, err := web.NewLive(listener.Addr().String(), peer.Session, watchRecording(peer))
	if err != nil {
		listener.Close()
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan *session.Session, 1) // nil: it is not to be had
	go func() {
		s, err := finished(ctx, peer.Session)
		if err == nil {
			server.Finish(s)
		}
		ended <- s
	}()
	idle, err := serve(e, ctx, server, listener, v.open)
	stop()
	if s := <-ended; s != nil {
		closeIdle(&idle, s)
	}
	return err
}

// closeIdle closes a session unless an answer that takes long still reads it: then the end of clrprof does.
func closeIdle(idle *bool, s *session.Session) {
	if *idle {
		s.Close()
	}
}

// goodbye is how long answers may take to end after Ctrl-C.
const goodbye = 2 * time.Second

// serve answers until Ctrl-C, which is how it ends well. idle: no request is being answered any more.
func serve(e *environment, ctx context.Context, server *web.Server, listener net.Listener, open bool) (idle bool,
	err error) {
	ctx, stop := endAtSignal(ctx)
	defer stop()
	if _, err := fmt.Fprintf(e.stdout, "%s\n", server.URL()); err != nil {
		listener.Close()
		return true, written(err)
	}
	fmt.Fprintln(e.stderr, "clrprof: open this address in a browser; Ctrl-C ends")
	if server.IsRemote() {
		fmt.Fprintf(e.stderr, "clrprof: %s\n", remoteWarning)
	}
	serving := serveOn(server.HTTP(), listener)
	if open {
		opener, err := openBrowser(ctx, server)
		if err != nil {
			fmt.Fprintf(e.stderr, "clrprof: no browser was opened: %v\n", err)
		} else {
			removed := make(chan struct{})
			go func() {
				opener.removeAfter(ctx, server.Entry())
				close(removed)
			}()
			defer func() { <-removed }()
			defer stop() // also where the server ended by itself
		}
	}
	return serving.until(ctx)
}

// serving is a server at work.
type serving struct {
	http    *http.Server
	ended   chan error    // how it ended
	goodbye time.Duration // how long answers may take to end after the server was told to
}

// serveOn begins to serve.
func serveOn(h *http.Server, listener net.Listener) *serving {
	s := &serving{h, make(chan error, 1), goodbye}
	go func() { s.ended <- h.Serve(listener) }()
	return s
}

// until serves until the context ends, which is how it ends well. idle: no request is being answered any more.
func (s *serving) until(ctx context.Context) (idle bool, err error) {
	select {
	case err := <-s.ended:
		return false, fmt.Errorf("serving the page: %w", err)
	case <-ctx.Done():
	}
	last, cancel := context.WithTimeout(context.Background(), s.goodbye)
	defer cancel()
	err = s.http.Shutdown(last)
	if err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return false, fmt.Errorf("ending the server: %w", err)
	}
	if err := <-s.ended; !errors.Is(err, http.ErrServerClosed) {
		return false, fmt.Errorf("serving the page: %w", err)
	}
	return err == nil, nil
}
