package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/clrprof/clrprof/internal/capture/control"
	"github.com/clrprof/clrprof/internal/capture/steer"
	"github.com/clrprof/clrprof/internal/present/report"
	"github.com/clrprof/clrprof/internal/present/report/text"
	"github.com/clrprof/clrprof/internal/quantity"
)

// ctlCommands are what clrprof ctl can ask for.
var ctlCommands = []string{steer.Status, string(steer.Suspend), string(steer.Resume), string(steer.Start),
	string(steer.Stop), steer.Mark, steer.Flush, steer.Collect, steer.Snapshot, steer.NameThread, steer.Detach, ctlWait}

type ctlFlags struct {
	json    bool
	pid     int
	thread  int64
	timeout time.Duration
}

func newCtlCommand(e *environment) *cobra.Command {
	c := &ctlFlags{}
	cmd := &cobra.Command{
		Use:   "ctl SESSION|PID COMMAND [NAME [TEXT]]",
		Short: "Inspect and control a running recording: pause, resume, mark, snapshot",
		Long: "Inspect and control a running recording. Name the recording by its session file, or by the process\n" +
			"id of a process that is being recorded. Commands:\n\n" +
			"  status           what is being recorded, and how much so far\n" +
			"  pause, resume    record nothing, and record again; two pauses need two resumes\n" +
			"  stop, start      the same by a switch: one start undoes any number of stops\n" +
			"  name-thread NAME give the thread of --thread a name in the session\n" +
			"  mark NAME [TEXT] mark this moment: see clrprof report SESSION marks\n" +
			"  flush            write to the session what was recorded so far\n" +
			"  gc               run a full garbage collection, and wait for its end\n" +
			"  snapshot         the same, and take a snapshot of the heap after it (needs --lifetime); after the\n" +
			"                   end of the recording, clrprof report SESSION snapshot shows the last one\n" +
			"  detach           end a recording of clrprof attach: the process continues unrecorded\n" +
			"  wait STATE       wait until a process is recorded (ready), something is recorded (recording) or\n" +
			"                   nothing is (paused), there is a mark (mark NAME), or the recording has ended\n" +
			"                   and the session is complete (end); the session need not exist yet,\n" +
			"                   nor need a process be recorded yet that is named by its id (but for end)\n\n" +
			"Commands apply to all processes, to the one of --process, or to a thread of --thread, which status\n" +
			"lists. If both pairs, several of these levels, or the program itself have paused recording, all\n" +
			"must be resumed. Exit codes: 120 a wrong command; 121 it is not being recorded, or the command is\n" +
			"not possible now; of wait: the condition was not true within --timeout, or can no longer become\n" +
			"true.",
		Example: "  clrprof ctl 4711 status\n" +
			"  clrprof ctl app.clrprof pause\n" +
			"  clrprof ctl app.clrprof mark 'after warm-up'\n" +
			"  clrprof ctl app.clrprof resume --process 4712\n" +
			"  clrprof ctl app.clrprof pause --thread 4720\n" +
			"  clrprof ctl app.clrprof name-thread loader --thread 4720\n" +
			"  clrprof ctl app.clrprof gc\n" +
			"  clrprof ctl app.clrprof snapshot\n" +
			"  clrprof ctl 4711 detach\n" +
			"  clrprof ctl app.clrprof wait ready --timeout 10s\n" +
			"  clrprof ctl app.clrprof wait mark loaded",
		Args: arguments(2, 4, "a SESSION or PID", "a COMMAND"),
		RunE: func(_ *cobra.Command, args []string) error { return c.run(e, args[0], args[1], args[2:]) },
	}
	f := cmd.Flags()
	f.BoolVar(&c.json, "json", false, "print the status as JSON")
	f.IntVar(&c.pid, "process", 0, "only the process with this id")
	f.Int64Var(&c.thread, "thread", 0, "only the thread with this id, of the only process that has it, or of --process")
	f.DurationVar(&c.timeout, "timeout", 30*time.Second, "wait this long for an answer; 0: without limit")
	return cmd
}

func (c *ctlFlags) run(e *environment, name, command string, args []string) error {
	if command == ctlWait {
		return c.wait(name, args)
	}
	if err := c.check(command, args); err != nil {
		return err
	}
	request := steer.Request{Command: command, PID: c.pid, Thread: c.thread}
	if len(args) > 0 {
		request.Name = args[0]
		request.Text = strings.Join(args[1:], "")
	}
	peer, err := findRecording([]string{name})
	if err != nil {
		return err
	}
	answer, err := askRecorder(peer, request, c.timeout)
	if err != nil {
		return err
	}
	if answer.Error != "" {
		code := exitUnreadable
		if answer.Code == steer.CodeUsage {
			code = exitUsage
		}
		return exit(code, fmt.Errorf("%s %s: %s", command, name, answer.Error))
	}
	return written(c.write(e.stdout, command, &answer.Report))
}

// check refuses what makes no sense.
func (c *ctlFlags) check(command string, args []string) error {
	isLevel := slices.Contains([]steer.Op{steer.Suspend, steer.Resume, steer.Start, steer.Stop}, steer.Op(command))
	isNamed := command == steer.Mark || command == steer.NameThread
	switch {
	case !slices.Contains(ctlCommands, command):
		return exit(exitUsage, report.Unknown("command", command, ctlCommands))
	case isNamed && len(args) == 0:
		return usage("clrprof ctl %s needs a NAME", command)
	case !isNamed && len(args) > 0:
		return usage("clrprof ctl %s takes no argument %q", command, args[0])
	case command == steer.NameThread && len(args) > 1:
		return usage("clrprof ctl name-thread takes no argument %q", args[1])
	case command == steer.NameThread && c.thread == 0:
		return usage("clrprof ctl name-thread needs --thread: clrprof ctl SESSION status lists threads")
	case c.thread < 0 || c.thread > math.MaxInt32 || c.thread != 0 && !isLevel && command != steer.NameThread:
		return usage("--thread is for pause, resume, stop, start and name-thread")
	case c.pid < 0 || c.pid != 0 && (command == steer.Mark || command == steer.Flush || command == steer.Status):
		return usage("--process is for pause, resume, stop, start, gc, snapshot and name-thread")
	}
	return nil
}

// requestSteer is the request of clrprof ctl.
const requestSteer = "control"

// steerHandler answers those who change a recording.
func steerHandler(queue *steer.Queue) control.Handler {
	return func(ctx context.Context, text json.RawMessage, send func(any) error) error {
		var request steer.Request
		if err := json.Unmarshal(text, &request); err != nil {
			return fmt.Errorf("the arguments: %w", err)
		}
		answer, err := queue.Ask(ctx, request)
		if err != nil {
			return err
		}
		return send(answer)
	}
}

// askRecorder has a recording do something. What does not report on a recording is no answer.
func askRecorder(peer control.Peer, request steer.Request, wait time.Duration) (answer steer.Response, err error) {
	client, err := ask(peer, requestSteer, request)
	if err != nil {
		return answer, err
	}
	defer client.Close()
	text, err := client.Next(wait)
	if err == nil {
		err = json.Unmarshal(text, &answer)
	}
	if err == nil && answer.Error == "" && (answer.Report.PID <= 0 || answer.Report.Session == "") {
		err = errors.New("the program that answers is not recording: its answer does not say what is recorded")
	}
	if err == nil {
		if _, end := client.Next(wait); !errors.Is(end, io.EOF) {
			err = fmt.Errorf("the answer has no end: %w", cmp.Or(end, errors.New("there is more than was asked for")))
		}
	}
	if err != nil {
		return steer.Response{}, exit(exitUnreadable, fmt.Errorf("%s: %w", peer.Session, err))
	}
	return answer, nil
}

func (c *ctlFlags) write(w io.Writer, command string, r *steer.Report) error {
	if c.json {
		encoder := json.NewEncoder(w)
		encoder.SetIndent("", "  ")
		return encoder.Encode(r)
	}
	if command == steer.Status {
		return writeStatus(w, r)
	}
	text := stateOf(r)
	if c.thread != 0 {
		text = c.stateOfThread(r)
	}
	if command == steer.NameThread {
		text = "named"
	}
	if command == steer.Detach {
		text = "detached"
	}
	if command == steer.Collect || command == steer.Snapshot {
		text = done[command] + " in " + plural(len(r.Done), "process", "processes")
	}
	_, err := fmt.Fprintln(w, text)
	return err
}

// stateOfThread says in words how the level of the thread is that was meant.
func (c *ctlFlags) stateOfThread(r *steer.Report) string {
	for _, p := range r.Processes {
		for _, t := range p.Running {
			if t.ID == c.thread && (c.pid == 0 || c.pid == p.PID) {
				return fmt.Sprintf("thread %d%s", t.ID, cmp.Or(offOf(t.Level), ": on"))
			}
		}
	}
	return fmt.Sprintf("thread %d has ended", c.thread)
}

// done says what the processes did that were asked.
var done = map[string]string{steer.Collect: "garbage collected", steer.Snapshot: "snapshot taken"}

// stateOf says in words whether something is recorded, and else what is to be done.
func stateOf(r *steer.Report) string {
	if r.Global.On() {
		return "recording"
	}
	return "not recording" + offOf(r.Global)
}

func times(n int32) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

func writeStatus(w io.Writer, r *steer.Report) error {
	var b strings.Builder
	state := stateOf(r)
	if r.State == steer.StateCompleting {
		state = "the recording has ended, and the session is being completed"
	}
	fmt.Fprintf(&b, "Session:   %s\nData:      %s\nState:     %s\n", text.Printable(r.Session),
		text.Printable(r.Modes), state)
	fmt.Fprintf(&b, "Age:       %s, paused for %s of it\n", quantity.Nanoseconds(r.AgeNS),
		quantity.Nanoseconds(r.PausedNS))
	fmt.Fprintf(&b, "Collector: process %d\nMarks:     %d\nPauses:    %d\n", r.PID, r.Marks, r.Pauses)
	writeTraceStatus(&b, r.Trace)
	for _, p := range r.Processes {
		fmt.Fprintf(&b, "Process %d: %s, .NET %s, %s; %s, %s in %s; the agent uses %s of %s", p.PID,
			text.Printable(p.Name), text.Printable(p.Runtime), text.Printable(p.State),
			plural(p.Threads, "thread", "threads"), quantity.Bytes(p.Bytes),
			plural(int(p.Allocations), "object", "objects"), quantity.Bytes(p.Used), quantity.Bytes(p.Limit))
		if p.Lost != 0 {
			fmt.Fprintf(&b, "; %s", plural(int(p.Lost), "loss", "losses"))
		}
		if p.ProbesOut != 0 {
			fmt.Fprintf(&b, "; probes removed from %s", plural(int(p.ProbesOut), "function", "functions"))
		}
		b.WriteString("\n")
		writeBuffers(&b, p.Buffers)
		for _, t := range p.Running {
			fmt.Fprintf(&b, "  thread %d%s%s\n", t.ID, named(t.Name), offOf(t.Level))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// writeTraceStatus says how full a call trace is, if there is one.
func writeTraceStatus(b *strings.Builder, t *steer.Trace) {
	if t == nil {
		return
	}
	fmt.Fprintf(b, "Trace:     %s of %s", plural(int(t.Events), "event", "events"), quantity.Count(t.Limit))
	switch {
	case t.Ring && t.Dropped > 0:
		fmt.Fprintf(b, ", the last ones; %s before these dropped", plural(int(t.Dropped), "event", "events"))
	case t.Dropped > 0:
		fmt.Fprintf(b, "; %s after these dropped", plural(int(t.Dropped), "event", "events"))
	}
	b.WriteString("\n")
}

// writeBuffers says which buffers have something, and how much.
func writeBuffers(b *strings.Builder, buffers []steer.Buffer) {
	before := "  buffers: "
	for _, x := range buffers {
		if x.Used != 0 {
			fmt.Fprintf(b, "%s%s %s", before, text.Printable(x.Name), quantity.Bytes(x.Used))
			before = ", "
		}
	}
	if before == ", " {
		b.WriteString("\n")
	}
}

func named(name string) string {
	if name == "" {
		return ""
	}
	return " " + text.Printable(name)
}

// offOf says why a level is off; "": it is on.
func offOf(l steer.Level) string {
	switch {
	case l.On():
		return ""
	case l.Stopped && l.Suspended > 0:
		return ": stopped, and paused " + times(l.Suspended)
	case l.Stopped:
		return ": stopped"
	}
	return ": paused " + times(l.Suspended)
}
