package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"

	"github.com/clrprof/clrprof/internal/present/report/encode"
)

// lessFlags have less end at once if all fits on the screen, keep colours, and leave the text there when it ends.
const lessFlags = "FRX"

// exitNoCommand is the code with which a shell says that there is no such command.
const exitNoCommand = 127

// pager shows what is written to it through a program that shows it screen by screen. It starts with the first byte.
type pager struct {
	terminal io.Writer
	stderr   io.Writer
	command  string // for a shell
	getenv   func(string) string
	process  *exec.Cmd
	to       io.WriteCloser
	closed   bool // the user has seen enough
}

// page has the rest of what a command prints go through a pager, if it is text for a person at a terminal.
func (o *outputFlags) page(e *environment, format encode.Format) {
	if format == asText && !o.noPager && isTerminal(e.stdout) && e.getenv("TERM") != "dumb" {
		if command := pagerCommand(e.getenv, exec.LookPath); command != "" {
			e.pager = &pager{terminal: e.stdout, stderr: e.stderr, command: command, getenv: e.getenv}
			e.stdout = e.pager
		}
	}
}

// pagerCommand is the user's pager, else less; "": there is none, or it would only copy.
func pagerCommand(getenv func(string) string, find func(string) (string, error)) string {
	if command, set := strings.TrimSpace(getenv("PAGER")), getenv("PAGER") != ""; set {
		if command == "cat" {
			return ""
		}
		return command
	}
	if _, err := find("less"); err != nil {
		return ""
	}
	return "less -" + lessFlags
}

// Write passes bytes on. When the pager has ended, because the user has seen enough, there is no more to do, and that
// is no error.
func (p *pager) Write(b []byte) (int, error) {
	if p.process == nil {
		if err := p.start(); err != nil {
			return 0, err
		}
	}
	if p.closed {
		return len(b), nil
	}
	n, err := p.to.Write(b)
	if errors.Is(err, syscall.EPIPE) || errors.Is(err, os.ErrClosed) {
		p.closed = true
		return len(b), nil
	}
	return n, err
}

func (p *pager) start() error {
	p.process = exec.Command("sh", "-c", p.command)
	p.process.Stdout, p.process.Stderr = p.terminal, p.stderr
	p.process.Env = os.Environ()
	if p.getenv("LESS") == "" {
		p.process.Env = append(p.process.Env, "LESS="+lessFlags)
	}
	var err error
	if p.to, err = p.process.StdinPipe(); err != nil {
		return fmt.Errorf("pager: %w", err)
	}
	signal.Ignore(os.Interrupt) // it is the pager's, as long as that runs
	if err := p.process.Start(); err != nil {
		signal.Reset(os.Interrupt)
		return fmt.Errorf("pager: %w", err)
	}
	return nil
}

// finish waits until the user has seen enough.
func (p *pager) finish() error {
	if p == nil || p.process == nil || p.process.Process == nil {
		return nil
	}
	defer signal.Reset(os.Interrupt)
	p.to.Close() // an error is that the pager has ended
	var exited *exec.ExitError
	if err := p.process.Wait(); errors.As(err, &exited) && exited.ExitCode() == exitNoCommand {
		return exit(exitUnwritable, fmt.Errorf("the pager %q does not exist: set PAGER to one that does, or use "+
			"--no-pager",
			p.command))
	}
	return nil // how a pager ends otherwise says nothing
}
