package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/clrprof/clrprof/internal/capture/control"
	"github.com/clrprof/clrprof/internal/capture/live"
	"github.com/clrprof/clrprof/internal/present/report"
	"github.com/clrprof/clrprof/internal/present/report/text"
	"github.com/clrprof/clrprof/internal/present/top"
)

// onceRows is how many rows --once prints unless --top says another number.
const onceRows = 20

type topFlags struct {
	once, json bool
	sort       string
	list       string
	rows       int
	width      int
	color      string
}

// lists are those of the package top, by their numbers there.
var lists = []string{"functions", "types", "gcs"}

func newTopCommand(e *environment) *cobra.Command {
	o := &topFlags{}
	cmd := &cobra.Command{
		Use:   "top [SESSION|PID]",
		Short: "Watch a running recording: what allocates and is called now, and garbage collections",
		Long: "Watch what clrprof run records, while it runs: which functions and types allocate now, calls with\n" +
			"--time, and the heap after each garbage collection. Without an argument it watches your only\n" +
			"recording. The numbers are at most a quarter of a second old, of large recordings older: adding up\n" +
			"takes at most a hundredth of a processor. Watching costs the recorded program nothing. Rates are\n" +
			"of the last two seconds. The values of functions are exclusive.\n\n" +
			"Keys: 1 2 3 or tab choose the list, s and S the order; space stops the screen while the recording\n" +
			"continues; arrows and page keys scroll; q quits. Without a terminal it behaves as with --once.",
		Example: "  clrprof top\n" +
			"  clrprof top 1234 --sort objects/s\n" +
			"  clrprof top app.clrprof --once --list types\n" +
			"  clrprof top --json | jq '.total.bytes'",
		Args: arguments(0, 1),
		RunE: func(_ *cobra.Command, args []string) error { return o.run(e, args) },
	}
	f := cmd.Flags()
	f.BoolVar(&o.once, "once", false, "print the rates of a quarter of a second as text, then end")
	f.BoolVar(&o.json, "json", false, "print messages as JSON, one per line, until the recording ends; with "+
		"--once: one message with everything so far (docs/live.md)")
	f.StringVar(&o.sort, "sort", top.Orders()[0], "order of functions and types: "+strings.Join(top.Orders(), ", "))
	f.StringVar(&o.list, "list", lists[0], "the list that --once prints: "+strings.Join(lists, ", "))
	f.IntVar(&o.rows, "top", onceRows, "rows that --once prints, 0: all")
	f.IntVar(&o.width, "width", 0, "width of the output of --once, in columns (default: the terminal's; unlimited "+
		"without one)")
	f.StringVar(&o.color, "color", "auto", "colours: auto (in a terminal, unless NO_COLOR is set), always, never")
	return cmd
}

func (o *topFlags) run(e *environment, args []string) error {
	order := slices.Index(top.Orders(), o.sort)
	list := slices.Index(lists, o.list)
	switch {
	case order < 0:
		return exit(exitUsage, report.Unknown("--sort", o.sort, top.Orders()))
	case list < 0:
		return exit(exitUsage, report.Unknown("--list", o.list, lists))
	case o.rows < 0:
		return usage("--top cannot be negative")
	}
	layout, err := (&outputFlags{color: o.color, width: o.width}).text(e)
	if err != nil {
		return err
	}
	peer, err := findRecording(args)
	if err != nil {
		return err
	}
	c, err := ask(peer, requestLive, liveArguments{})
	if err != nil {
		return err
	}
	defer c.Close()
	switch {
	case o.json:
		return o.printJSON(e, c)
	case o.once || !isTerminal(e.stdout):
		return o.printOnce(e, c, top.Layout{Tab: top.Tab(list), Order: top.Order(order), Width: layout.Width,
			Color: layout.Color})
	}
	return show(e, c, top.Order(order), layout.Color)
}

func (o *topFlags) printJSON(e *environment, c *control.Client) error {
	for {
		text, err := c.Next(0)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			_, err = readMessage(text)
		}
		if err != nil {
			return exit(exitUnreadable, err)
		}
		if _, err := fmt.Fprintf(e.stdout, "%s\n", text); err != nil || o.once {
			return written(err)
		}
	}
}

// printOnce prints what the first two messages say: everything so far, and the rates between them.
func (o *topFlags) printOnce(e *environment, c *control.Client, l top.Layout) error {
	var v live.View
	for range 2 {
		m, err := nextMessage(c)
		if errors.Is(err, io.EOF) {
			break // the recording has ended
		}
		if err != nil {
			return exit(exitUnreadable, err)
		}
		v.Apply(m)
	}
	screen := top.NewScreen(&v)
	text, left := screen.Head(l, o.rows)
	if left > 0 {
		text += fmt.Sprintf("\n… %d more rows: --top 0 prints all", left)
	}
	_, err := fmt.Fprintln(e.stdout, text)
	return written(err)
}

func nextMessage(c *control.Client) (*live.Message, error) {
	text, err := c.Next(0)
	if err != nil {
		return nil, err
	}
	return readMessage(text)
}

// readMessage reads what a recording tells those who watch it.
func readMessage(text []byte) (*live.Message, error) {
	var m live.Message
	if err := json.Unmarshal(text, &m); err != nil {
		return nil, fmt.Errorf("a message of the recording: %w", err)
	}
	if !slices.Contains([]string{live.Start, live.Tick, live.End}, m.Event) || m.ID == 0 {
		return nil, errors.New("the program that answers is not recording: it does not send the messages of a recording")
	}
	return &m, nil
}

// show watches on the terminal until the user ends it.
func show(e *environment, c *control.Client, order top.Order, color bool) error {
	source := func() (*live.Message, error) { return nextMessage(c) }
	if f, ok := e.stdin.(*os.File); !ok || !term.IsTerminal(int(f.Fd())) {
		return usage("the keyboard is not a terminal: use --once or --json")
	}
	program := tea.NewProgram(top.NewModel(source, order, color), tea.WithInput(e.stdin), tea.WithOutput(e.stdout))
	last, err := program.Run()
	if err != nil && !errors.Is(err, tea.ErrInterrupted) {
		return exit(exitInternal, fmt.Errorf("the terminal: %w", err))
	}
	m, ok := last.(top.Model)
	switch {
	case !ok || m.Err() == nil:
		return nil
	case errors.Is(m.Err(), io.EOF):
		fmt.Fprintf(e.stderr, "clrprof: the recording has ended: clrprof report %s\n", text.Printable(m.Session()))
		return nil
	}
	return exit(exitUnreadable, m.Err())
}
