package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/clrprof/clrprof/internal/capture/collect"
	"github.com/clrprof/clrprof/internal/capture/launch"
	"github.com/clrprof/clrprof/internal/capture/proc"
	"github.com/clrprof/clrprof/internal/capture/running"
	"github.com/clrprof/clrprof/internal/export/scrape"
	"github.com/clrprof/clrprof/internal/present/report/words"
	"github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
)

// endLook is the time between two looks whether a process still runs.
const endLook = 500 * time.Millisecond

// profiled is a process whose profiles are served: the one with an id, or the one that has a name when it is asked for,
// so that a service that was started again is found again.
type profiled struct {
	flags    *attachFlags
	argument string
	isNamed  bool
	pid      int
	begun    quantity.Nanoseconds // when it was started: its id may become another process's
	uid      int                  // whose it is: somebody else may start a program with its name
	folder   string               // for sessions
	busy     sync.WaitGroup       // recordings that go on
	mu       sync.Mutex
	sessions int // that were made
}

// newProfiled looks at the process, without changing it.
func newProfiled(a *attachFlags, argument string) (*profiled, error) {
	pid, err := processOf(argument, a.newest)
	if err != nil {
		return nil, err
	}
	found, err := running.Look(pid)
	begun, alive := proc.StartedAt(pid)
	switch {
	case !alive:
		return nil, exit(exitNoTarget, fmt.Errorf("there is no process %d", pid))
	case errors.Is(err, running.ErrNone):
		return nil, exit(exitNoRuntime, fmt.Errorf("process %d: %w", pid, err))
	case err != nil:
		return nil, exit(exitNoTarget, fmt.Errorf("process %d is another user's, or may not be looked into: it needs "+
			"sudo", pid))
	}
	if can := found.Abilities[running.Allocations]; can.Extent == running.None && found.State != running.Recorded {
		return nil, exit(exitNoRuntime, fmt.Errorf("process %d: %s", pid, can.Why))
	}
	folder, err := profilesFolder()
	if err != nil {
		return nil, err
	}
	_, isID := strconv.Atoi(argument)
	return &profiled{flags: a, argument: argument, isNamed: isID != nil, pid: pid, begun: begun, uid: found.UID,
		folder: folder}, nil
}

// close waits until the process is left alone, and removes what recordings have left.
func (p *profiled) close() {
	p.busy.Wait()
	_ = os.RemoveAll(p.folder) // of temporary files
}

// isAlive reports whether the process that was found last still runs.
func (p *profiled) isAlive() bool {
	begun, alive := proc.StartedAt(p.pid)
	return alive && begun == p.begun
}

// find returns the id of the process.
func (p *profiled) find() (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.isAlive():
		return p.pid, nil
	case !p.isNamed:
		return 0, fmt.Errorf("%w: process %d has ended", scrape.ErrUnavailable, p.pid)
	}
	pid, err := processOf(p.argument, p.flags.newest)
	if err != nil {
		return 0, fmt.Errorf("%w: %w", scrape.ErrUnavailable, err)
	}
	found, err := running.Look(pid)
	begun, alive := proc.StartedAt(pid)
	if err != nil || !alive || found.UID != p.uid {
		return 0, fmt.Errorf("%w: process %d is not one that is to be recorded", scrape.ErrUnavailable, pid)
	}
	p.pid, p.begun = pid, begun
	return pid, nil
}

// awaitEnd waits until the process has ended; false: the context has, or the process may be started again.
func (p *profiled) awaitEnd(ctx context.Context) (pid int, ended bool) {
	tick := time.NewTicker(endLook)
	defer tick.Stop()
	for p.isNamed || p.isAlive() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return 0, false
		}
	}
	return p.pid, true
}

// threads counts the threads of the process by the names that the kernel has for them.
func (p *profiled) threads() (map[string]int64, error) {
	pid, err := p.find()
	if err != nil {
		return nil, err
	}
	tasks, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		return nil, fmt.Errorf("%w: process %d has ended", scrape.ErrUnavailable, pid)
	}
	out := map[string]int64{}
	for _, task := range tasks {
		if name, err := proc.File(pid, "task/"+task.Name()+"/comm"); err == nil { // else it has ended
			out[strings.TrimSuffix(string(name), "\n")]++
		}
	}
	return out, nil
}

// newPath is that of a session.
func (p *profiled) newPath() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sessions++
	return filepath.Join(p.folder, strconv.Itoa(p.sessions)+".clrprof")
}

// record records the process for a request.
func (p *profiled) record(ctx context.Context, r scrape.Request) (*scrape.Recorded, error) {
	p.busy.Add(1)
	defer p.busy.Done()
	pid, err := p.find()
	if err != nil {
		return nil, err
	}
	a := *p.flags
	a.memory, a.lifetime, a.finalGC, a.roots, a.sample = true, r.Lifetimes, r.Collect, "off", 0
	a.steer.For, a.output = r.For, p.newPath()
	out, err := a.recordOnce(ctx, pid, r)
	if err != nil {
		return nil, errors.Join(unrecorded(ctx, err), os.RemoveAll(a.output))
	}
	out.Release = func() {
		_ = out.Session.Close()
		_ = os.Remove(a.output) // at the latest the folder is removed
	}
	return out, nil
}

// recordOnce records a process into a file, and opens that.
func (a *attachFlags) recordOnce(ctx context.Context, pid int, r scrape.Request) (*scrape.Recorded, error) {
	options, err := a.options(pid)
	if err != nil {
		return nil, err
	}
	quiet := newNotes(io.Discard)
	process, err := a.find(quiet, pid, &options)
	if err != nil {
		return nil, err
	}
	defer process.Close()
	options.Launch.MineFolder, options.Stop = userFolderOf(process), ctx.Done()
	nobody := &environment{stdin: strings.NewReader(""), stdout: io.Discard, stderr: io.Discard, getenv: os.Getenv}
	res, _, err := a.record(nobody, quiet, options, func(o collect.Options) (collect.Result, error) {
		return collect.Attach(o, process)
	})
	defer a.leave(res)
	switch {
	case err != nil:
		return nil, errors.Join(err, discard(res.Kept))
	case ctx.Err() != nil:
		return nil, errors.Join(ctx.Err(), res.Session.Close())
	}
	if err := errors.Join(resolve(quiet, res.Session, a.names), res.Session.Close()); err != nil {
		return nil, err
	}
	s, err := session.Open(res.Path)
	if err != nil {
		return nil, err
	}
	notes, err := profileNotes(s, process.IsLate(), r)
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	if !res.Running {
		notes = append(notes, fmt.Sprintf("Process %d ended while it was recorded.", pid))
	}
	return &scrape.Recorded{Session: s, Notes: notes}, nil
}

// discard removes the data of a recording whose session could not be written: there will be more requests.
func discard(kept string) error {
	if kept == "" {
		return nil
	}
	d, err := launch.OpenDirectory(kept)
	if err != nil {
		return err
	}
	return d.Discard()
}

// unrecorded says of an error whether it is worth to ask again.
func unrecorded(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("%w: the request was interrupted", scrape.ErrUnavailable)
	case errors.Is(err, launch.ErrNoDotnet), errors.Is(err, launch.ErrNoAgent), errors.Is(err, launch.ErrOtherAgent),
		errors.Is(err, collect.ErrNotRecorded):
		return fmt.Errorf("%w: %w", scrape.ErrImpossible, err)
	case errors.Is(err, launch.ErrNoProcess), errors.Is(err, launch.ErrAttached), errors.Is(err, launch.ErrDenied),
		errors.Is(err, collect.ErrNoAnswer):
		return fmt.Errorf("%w: %w", scrape.ErrUnavailable, err)
	}
	return err
}

// profileNotes say what whoever reads a profile has to know, in its comments.
func profileNotes(s *session.Session, isLate bool, r scrape.Request) ([]string, error) {
	var notes []string
	sampled, err := s.IsSampled()
	if err != nil {
		return nil, err
	}
	switch {
	case sampled:
		notes = append(notes, "The process was started without clrprof: objects of less than 85,000 bytes are estimated "+
			"from samples, one for about 100 KB.")
	case isLate:
		notes = append(notes, "The process was started without clrprof: only objects of 85,000 bytes and more are counted.")
	default:
		notes = append(notes, "Each object is counted.")
	}
	if r.Lifetimes {
		notes = append(notes, "Only objects that were allocated during the recording are in this profile.")
		if !r.Collect {
			notes = append(notes, "Alive means not collected yet: gc=1 collects garbage at the end.")
		}
	}
	losses, err := s.Losses()
	for _, l := range losses {
		notes = append(notes, fmt.Sprintf("Lost: %s: %s", words.LossAmount(l), l.Meaning()))
	}
	return notes, err
}
