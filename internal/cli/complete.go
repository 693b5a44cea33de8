package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"
	"golang.org/x/term"

	"github.com/clrprof/clrprof/internal/analysis"
	"github.com/clrprof/clrprof/internal/analysis/rules"
	"github.com/clrprof/clrprof/internal/capture/collect"
	"github.com/clrprof/clrprof/internal/pattern"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/session/symbols"
)

// made is what is known of a recorded session beside what it has.
type made struct {
	counted analysis.Counted // the sums of its timings; nil: nobody has them
	names   *resolving       // its names and lines; nil: nobody looked for them
}

// complete brings a recorded session to its last state: names and lines, then the derived tables. It is right to
// call for a session in any state but recording. The session stays open.
func complete(n *notes, w *session.Writer, of made) error {
	// What the recording kept is of no more use, but by itself Go would look only after the heap had grown by what is
	// read now. Where it kept little, that is little, too.
	w.ReleaseChunks()
	if liveHeap() > spareRoom {
		runtime.GC()
	}
	state, err := w.State()
	if err != nil {
		return err
	}
	if state == session.Recorded {
		if err := resolve(n, w, of.names); err != nil {
			return err
		}
	}
	if state != session.Complete {
		err := rules.Complete(w, func(percent int) {
			n.work("adding up: %d %%", percent)
		}, of.counted)
		if err != nil {
			return err
		}
	}
	n.clear()
	return nil
}

// resolve stores names and lines: those that are known, or else it finds them.
func resolve(n *notes, w *session.Writer, known *resolving) error {
	if known == nil {
		known = startResolving(w.Session)
	}
	out, err := known.wait(w.Session, func(done, total int) {
		n.work("names and lines: %d of %d modules, %d %%", done, total, 100*done/max(total, 1))
	})
	if err != nil {
		return err
	}
	return w.Batch(func() error {
		if err := out.Write(w); err != nil {
			return err
		}
		return w.SetState(session.Resolved)
	})
}

// resolving finds names and lines while something else is done.
type resolving struct {
	done chan struct{}                         // closed at the end
	all  chan *session.Session                 // the session once all is written to it; closed: it is not to be had
	tell atomic.Pointer[func(done, total int)] // how far it is, to who waits for it; nil: nobody does
	read *session.Session                      // what was received from all
	out  symbols.Output
	err  error // they were not looked for
}

// startResolving reads what names and lines are made from, and begins to find them.
func startResolving(s *session.Session) *resolving {
	r := &resolving{done: make(chan struct{}), all: make(chan *session.Session, 1)}
	in, err := symbols.Read(s)
	in.Allocated, in.CalledFrom = r.allocated, r.calledFrom
	if err == nil {
		in.Mine, err = mine(s)
	}
	if err != nil {
		r.err = err
		close(r.done)
		return r
	}
	go func() {
		defer close(r.done)
		r.out = symbols.Resolve(in, symbols.OpenFile, func(done, total int) {
			if tell := r.tell.Load(); tell != nil {
				(*tell)(done, total)
			}
		})
	}()
	return r
}

// allocated waits until the session has all objects, and reads those of some functions: see symbols.Input.
func (r *resolving) allocated(functions map[session.FunctionID]bool) map[session.FunctionID]map[session.TypeID]bool {
	s := r.whole()
	if s == nil {
		return nil
	}
	return symbols.AllocatedBy(s, functions)
}

// calledFrom waits likewise, and reads what happened at some return addresses.
func (r *resolving) calledFrom(
	at map[session.InstructionID]bool) map[session.InstructionID]symbols.CalledFrom {
	s := r.whole()
	if s == nil {
		return nil
	}
	return symbols.ReadCalledFrom(s, at)
}

// whole waits until the session has all that was recorded; nil: it is not to be had. Only the search calls it.
func (r *resolving) whole() *session.Session {
	if r.read == nil {
		r.read = <-r.all
	}
	return r.read
}

// abandon ends the search, of which nobody wants to know the result.
func (r *resolving) abandon() { close(r.all) }

// wait returns what was found once it is, given the session with all that was recorded, which it reads meanwhile, and
// tells how far it is.
func (r *resolving) wait(s *session.Session, tell func(done, total int)) (*symbols.Output, error) {
	r.tell.Store(&tell)
	r.all <- s
	<-r.done
	return &r.out, r.err
}

// optionMine is the key of --mine among the options that a session records.
const optionMine = "mine"

// mine says which modules are the user's own by --mine of the run; nil if that was not given.
func mine(s *session.Session) (func(module string) bool, error) {
	info, err := s.Info()
	if err != nil {
		return nil, err
	}
	var options map[string]json.RawMessage
	var texts []string
	if json.Unmarshal([]byte(info[session.KeyOptions]), &options) != nil ||
		json.Unmarshal(options[optionMine], &texts) != nil {
		return nil, nil // without the flag, or of a damaged session: the rules decide
	}
	patterns, err := compileMine(texts)
	if err != nil || len(patterns) == 0 {
		return nil, err
	}
	return func(module string) bool { return pattern.First(patterns, pattern.ModuleNames(module)) != "" }, nil
}

func compileMine(texts []string) ([]pattern.Pattern, error) {
	var patterns []pattern.Pattern
	for _, text := range texts {
		p, err := pattern.Compile(text)
		if err != nil {
			return nil, fmt.Errorf("--mine: %w", err)
		}
		patterns = append(patterns, p)
	}
	return patterns, nil
}

func newRecoverCommand(e *environment) *cobra.Command {
	output, force := "", false
	cmd := &cobra.Command{
		Use:   "recover DIRECTORY -o FILE",
		Short: "Write the session of a run that could not write its own",
		Long: "Write the session of a run whose own file could not be written, for example because the\n" +
			"disk was full. That run printed the DIRECTORY, which has its data. The directory is removed\n" +
			"afterwards, unless a process of that run is still running. A call trace of that run\n" +
			"(--trace) is written, too. Of data that is damaged the session has what can be read, its\n" +
			"losses say what cannot, and the directory is kept.",
		Example: "  clrprof recover /dev/shm/clrprof-1000-123456 -o saved.clrprof",
		Args:    arguments(1, 1, "a DIRECTORY"),
		RunE: func(_ *cobra.Command, args []string) error {
			if output == "" {
				return usage("recover needs -o FILE, the session to write: see clrprof recover --help")
			}
			spareMemory(e.getenv)
			facts := sessionFacts(time.Now())
			facts[session.KeyNote] = "recovered from the memory of a run that could not write its session"
			found, err := collect.Recover(args[0], output, force, facts, isConsistent)
			if err != nil {
				return exit(exitUnwritable, fmt.Errorf("recover: %w", err))
			}
			defer found.Session.Close()
			n := newNotes(e.stderr)
			n.startWork()
			if found.Running {
				n.say("a process is still running: the session has what it did so far, and %s is kept", args[0])
			}
			if found.Damaged > 0 {
				processes := plural(found.Damaged, "damaged process", "damaged processes")
				n.say("%s: the session has what can be read of it; clrprof report %s losses says what "+
					"cannot, and %s is kept", processes, output, args[0])
			}
			if err := complete(n, found.Session, made{counted: found.Sums}); err != nil {
				return exit(exitUnwritable, fmt.Errorf("completing the session %s: %w", output, err))
			}
			if err := found.Session.ReleaseClaim(); err != nil {
				return exit(exitUnwritable, fmt.Errorf("completing the session %s: %w", output, err))
			}
			n.say("session %s", output)
			return recoverTrace(n, found, force)
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "", "the session file")
	cmd.Flags().BoolVarP(&force, "force", "f", false, "overwrite the file")
	return cmd
}

// isConsistent reports whether a session does not contradict itself.
func isConsistent(s *session.Session) (bool, error) {
	violations, err := analysis.Check(s)
	return len(violations) == 0, err
}

// sessionFacts are the facts about a new session that do not depend on the command.
func sessionFacts(now time.Time) map[string]string {
	facts := map[string]string{
		session.KeyVersion: Version, session.KeyCreated: now.UTC().Format(time.RFC3339),
		session.KeyMode: session.ModeMemory,
	}
	if host, err := os.Hostname(); err == nil {
		facts[session.KeyHost] = host
	}
	var system unix.Utsname
	if unix.Uname(&system) == nil {
		facts[session.KeyCPU] = map[string]string{"x86_64": "x64",
			"aarch64": "arm64"}[unix.ByteSliceToString(system.Machine[:])]
		facts[session.KeySystem] = unix.ByteSliceToString(system.Sysname[:]) + " " +
			unix.ByteSliceToString(system.Release[:])
	}
	return facts
}

// notes prints what clrprof says beside a target: one line at a time, and on a terminal a line of progress that
// the next line replaces.
type notes struct {
	mu       sync.Mutex
	w        io.Writer
	terminal bool
	shown    bool
	begin    time.Time // of the work that nobody waits for gladly
	line     string    // that is shown of it
}

// worthSaying is how long work takes that is not over before somebody asks what it is.
const worthSaying = time.Second

func newNotes(w io.Writer) *notes {
	return &notes{w: w, terminal: isTerminal(w)}
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// say prints a line.
func (n *notes) say(format string, args ...any) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.erase()
	fmt.Fprintf(n.w, "clrprof: "+format+"\n", args...)
}

// progress replaces the line of progress, on terminals only.
func (n *notes) progress(format string, args ...any) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.terminal {
		return
	}
	n.erase()
	fmt.Fprint(n.w, strings.TrimSpace(fmt.Sprintf("clrprof: "+format, args...)))
	n.shown = true
}

// startWork says that the work begins that work tells of.
func (n *notes) startWork() { n.begin = time.Now() }

// work is progress, once the work has taken a while.
func (n *notes) work(format string, args ...any) {
	if line := fmt.Sprintf(format, args...); line != n.line && time.Since(n.begin) >= worthSaying {
		n.line = line
		n.progress("%s", line)
	}
}

// clear removes the line of progress.
func (n *notes) clear() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.erase()
}

func (n *notes) erase() {
	if n.shown {
		fmt.Fprint(n.w, "\r\x1b[K")
		n.shown = false
	}
}
