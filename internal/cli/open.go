package cli

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/clrprof/clrprof/internal/present/web"
)

// remoteWarning is said where other machines may reach a page.
const remoteWarning = "other machines may reach this address, and nothing that they send or get is encrypted: who sees " +
	"the traffic can read the session. ssh -L leads to a page that only this machine serves"

// opener is a browser that is being started.
type opener struct {
	folder string // with the file that leads to the page; "": there is none
}

// openBrowser starts the browser. The address of the page has a token, and all users see the arguments of all
// processes: so the browser gets a file of this user's, which leads there.
func openBrowser(ctx context.Context, server *web.Server) (*opener, error) {
	place := os.Getenv("XDG_RUNTIME_DIR")
	if info, err := os.Stat(place); err != nil || !isOwn(info) { // as after sudo -E
		place = os.TempDir()
	}
	folder, err := os.MkdirTemp(place, "clrprof-view-") // 0700
	if err != nil {
		return nil, err
	}
	o := &opener{folder}
	file := filepath.Join(folder, "open.html")
	if err := os.WriteFile(file, server.Redirect(), 0o600); err != nil {
		return nil, errors.Join(err, o.remove())
	}
	cmd := exec.CommandContext(ctx, "xdg-open", (&url.URL{Scheme: "file", Path: file}).String())
	if err := cmd.Start(); err != nil {
		return nil, errors.Join(err, o.remove())
	}
	go func() { _ = cmd.Wait() }() // it may be the browser, and so run for hours
	return o, nil
}

// removeAfter removes the file when the page was opened, or is not to be opened any more.
func (o *opener) removeAfter(ctx context.Context, opened <-chan struct{}) {
	select {
	case <-opened:
	case <-ctx.Done():
	}
	_ = o.remove() // a folder of the user's session, or of temporary files: it does not outlive these
}

func (o *opener) remove() error {
	if err := os.RemoveAll(o.folder); err != nil {
		return fmt.Errorf("removing the page that opens the session's page: %w", err)
	}
	return nil
}
