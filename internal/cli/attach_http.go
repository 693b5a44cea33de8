package cli

import (
	"context"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"golang.org/x/sys/unix"

	"github.com/clrprof/clrprof/internal/export/scrape"
	"github.com/clrprof/clrprof/internal/files/openfile"
)

// httpFlags are the flags of attach that serve profiles by HTTP.
type httpFlags struct {
	address   string // host:port, or unix: and a path; "": nothing is served
	tokenFile string
	token     string // that the file has
}

func (h *httpFlags) add(f *pflag.FlagSet) {
	f.StringVar(&h.address, "http", "", "serve profiles in the format of pprof at this address, such as 127.0.0.1:6060, "+
		"or unix:PATH: each request records the process for ?seconds=N")
	f.StringVar(&h.tokenFile, "http-token-file", "", "with --http: requests must have the token in this file "+
		"(Authorization: Bearer TOKEN), which addresses of other machines need")
}

// unixPrefix begins addresses that are paths of Unix sockets.
const unixPrefix = "unix:"

// withHTTP are the flags that attach takes with --http: the others say what becomes of one recording.
var withHTTP = []string{"http", "http-token-file", "newest", "sampled", "include", "exclude", "mine", "max-stack-depth",
	"memory-limit"}

// check refuses flags that do not go with --http.
func (h *httpFlags) check(set *pflag.FlagSet) error {
	if h.address == "" {
		if set.Changed("http") || set.Changed("http-token-file") {
			return usage("--http wants an address, such as 127.0.0.1:6060 or unix:PATH; --http-token-file needs it")
		}
		return nil
	}
	var err error
	set.Visit(func(f *pflag.Flag) {
		if err == nil && !slices.Contains(withHTTP, f.Name) {
			err = usage("--%s does not go with --http, whose requests say what is recorded", f.Name)
		}
	})
	return err
}

// Bounds of a token, in bytes: one that can be guessed is none, and HTTP has no room for large ones.
const leastToken, mostToken = 16, 1024

// readToken reads the token, if there is a file.
func (h *httpFlags) readToken() error {
	if h.tokenFile == "" {
		return nil
	}
	text, err := openfile.ReadRegular(h.tokenFile, mostToken)
	if err != nil {
		return usage("--http-token-file: %w", err)
	}
	h.token = strings.TrimSpace(string(text))
	isPrintable := !strings.ContainsFunc(h.token, func(r rune) bool { return r <= ' ' || r > '~' })
	if len(h.token) < leastToken || !isPrintable {
		return usage("--http-token-file %s: want a token of %d or more printable characters, such as openssl rand -hex 16 "+
			"prints", h.tokenFile, leastToken)
	}
	return nil
}

// listen listens, if the address is one that nobody else can use, or there is a token.
func (h *httpFlags) listen(ctx context.Context) (net.Listener, error) {
	path, isPath := strings.CutPrefix(h.address, unixPrefix)
	if !isPath {
		path = ""
		host, _, err := net.SplitHostPort(h.address)
		if err != nil {
			return nil, usage("--http %s: want an address with a port, such as 127.0.0.1:6060, or unix:PATH", h.address)
		}
		if ip := net.ParseIP(host); h.token == "" && host != "localhost" && (ip == nil || !ip.IsLoopback()) {
			return nil, usage("--http %s: other machines may reach this address, so it needs --http-token-file", h.address)
		}
	}
	l, err := scrape.Listen(ctx, h.address, path)
	if err != nil {
		return nil, usage("--http %s: %w", h.address, err)
	}
	return l, nil
}

// serveProfiles answers requests for profiles of a process until Ctrl-C, or until the process has ended.
func (a *attachFlags) serveProfiles(ctx context.Context, e *environment, argument string, choosesSamples bool) error {
	if err := a.http.readToken(); err != nil {
		return err
	}
	a.sampled = a.sampled || !choosesSamples
	a.lifetime = false // requests say it
	subject, err := newProfiled(a, argument)
	if err != nil {
		return err
	}
	defer subject.close()
	spareMemory(e.getenv)
	defer survive(unix.SIGXFSZ)()
	requests, stop := endAtSignal(ctx)
	defer stop()
	listener, err := a.http.listen(requests)
	if err != nil {
		return err
	}
	options := scrape.Options{Token: a.http.token, Process: argument, Record: subject.record, Threads: subject.threads}
	where := listener.Addr().String()
	if listener.Addr().Network() == "tcp" {
		options.Listen, where = where, "http://"+where+scrape.Root
	} else {
		where = unixPrefix + where
	}
	if _, err := fmt.Fprintln(e.stdout, where); err != nil {
		listener.Close()
		return written(err)
	}
	notes := newNotes(e.stderr)
	notes.say("profiles of process %s: Ctrl-C ends", argument)
	a.http.warn(notes, listener)
	done, end := context.WithCancel(requests) // the process ends, and requests that it was recorded for are answered
	defer end()
	go func() {
		defer end()
		if pid, ended := subject.awaitEnd(done); ended {
			notes.say("process %d has ended", pid)
		}
	}()
	serving := serveOn(scrape.New(options).HTTP(requests), listener)
	serving.goodbye = lastAnswers
	_, err = serving.until(done)
	return err
}

// lastAnswers is how long requests may take after the end: an agent has a minute to let the process go.
const lastAnswers = 70 * time.Second

// warn says who can read profiles, where that may be more than the user thinks.
func (h *httpFlags) warn(n *notes, l net.Listener) {
	of, isTCP := l.Addr().(*net.TCPAddr)
	switch {
	case !isTCP:
	case !of.IP.IsLoopback():
		n.say("other machines may reach this address, and nothing that they send or get is encrypted")
	case h.token == "":
		n.say("all users of this machine can read these profiles: --http-token-file or --http unix:PATH limits that")
	}
}

// profilesFolder makes the folder for sessions that live as long as a request.
func profilesFolder() (string, error) {
	folder, err := os.MkdirTemp("", "clrprof-http-") // 0700
	if err != nil {
		return "", exit(exitUnwritable, fmt.Errorf("making a folder for recordings: %w", err))
	}
	return folder, nil
}
