package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/clrprof/clrprof/internal/files/openfile"
)

// errNobodyWrites says that a pipe has no other end.
var errNobodyWrites = errors.New("it is a pipe that nobody writes to")

// readGiven reads a file that a flag names, of at most so many bytes: a regular one or a pipe, which is how a shell
// names what a command prints. It waits for who writes to a pipe until the context is done, and not for somebody to
// begin. Errors are those of openfile.ReadRegular.
func readGiven(ctx context.Context, path string, most int64) ([]byte, error) {
	if info, err := os.Stat(path); err != nil || info.Mode()&fs.ModeNamedPipe == 0 {
		return openfile.ReadRegular(path, most)
	}
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOCTTY, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close() // nothing was written
	stop := context.AfterFunc(ctx, func() { _ = f.SetReadDeadline(time.Unix(0, 1)) })
	defer stop()
	text, err := io.ReadAll(io.LimitReader(f, most+1))
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		return nil, err
	case len(text) == 0:
		return nil, fmt.Errorf("%s: %w", path, errNobodyWrites)
	case int64(len(text)) > most:
		return nil, fmt.Errorf("%s: %w: it has more than %d bytes", path, openfile.ErrTooLarge, most)
	}
	return text, nil
}

// endAtSignal returns a context that is done at SIGINT or SIGTERM, which then ends well what waits for it. A second
// signal ends clrprof as if there were no first one: something may hang that cannot be told to end.
func endAtSignal(parent context.Context) (context.Context, context.CancelFunc) {
	ctx, stop := signal.NotifyContext(parent, os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	return ctx, stop
}
