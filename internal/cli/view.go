package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/web"
)

// viewFlags are the flags of the view command.
type viewFlags struct {
	listen string
	open   bool
}

func newViewCommand(e *environment) *cobra.Command {
	v := &viewFlags{}
	cmd := &cobra.Command{
		Use:   "view SESSION [OLDER]",
		Short: "Look at a session in a browser",
		Long: "Serve a page that shows a session, and print its address. The page comes from clrprof itself and needs no network; it\n" +
			"shows the same numbers as report. With two sessions it also compares the first with the second, older one.\n\n" +
			"The address works once, in the browser that opens it; other users of the machine and other pages cannot read\n" +
			"the session. Ctrl-C ends it.",
		Example: "  clrprof view app.clrprof\n" +
			"  clrprof view app.clrprof --open\n" +
			"  clrprof view after.clrprof before.clrprof --listen 127.0.0.1:8123",
		Args: arguments(1, 2, "a SESSION"),
		RunE: func(cmd *cobra.Command, args []string) error { return v.run(e, cmd.Context(), args) },
	}
	f := cmd.Flags()
	f.StringVar(&v.listen, "listen", "127.0.0.1:0", "address and port to serve the page on; port 0: any that is free")
	f.BoolVar(&v.open, "open", false, "open the page in the default browser (xdg-open)")
	return cmd
}

func (v *viewFlags) run(e *environment, ctx context.Context, paths []string) error {
	var sessions []*session.Session
	for _, path := range paths {
		s, err := session.Open(path)
		if err != nil {
			return readError(err)
		}
		defer s.Close()
		sessions = append(sessions, s)
	}
	listener, err := net.Listen("tcp", v.listen)
	if err != nil {
		return usage("--listen %s: %v", v.listen, err)
	}
	server, err := web.New(listener.Addr().String(), sessions...)
	if err != nil {
		listener.Close()
		return err
	}
	return serve(e, ctx, server, listener, v.open)
}

// goodbye is how long answers may take to end after Ctrl-C.
const goodbye = 2 * time.Second

// serve answers until Ctrl-C, which is how it ends well.
func serve(e *environment, ctx context.Context, server *web.Server, listener net.Listener, open bool) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	address := server.URL()
	if _, err := fmt.Fprintf(e.stdout, "%s\n", address); err != nil {
		listener.Close()
		return written(err)
	}
	fmt.Fprintln(e.stderr, "clrprof: open this address in a browser; Ctrl-C ends")
	if open {
		if err := exec.CommandContext(ctx, "xdg-open", address).Start(); err != nil {
			fmt.Fprintf(e.stderr, "clrprof: no browser was opened: %v\n", err)
		}
	}
	h := server.HTTP()
	ended := make(chan error, 1)
	go func() { ended <- h.Serve(listener) }()
	select {
	case err := <-ended:
		return fmt.Errorf("serving the page: %w", err)
	case <-ctx.Done():
	}
	last, cancel := context.WithTimeout(context.Background(), goodbye)
	defer cancel()
	if err := h.Shutdown(last); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("ending the server: %w", err)
	}
	if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serving the page: %w", err)
	}
	return nil
}
