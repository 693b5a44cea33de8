package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/clrprof/clrprof/internal/capture/imported"
	"github.com/clrprof/clrprof/internal/files/openfile"
	"github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/session/secrets"
)

// importFlags are the flags of the import command.
type importFlags struct {
	output    string
	force     bool
	arguments secrets.Keep
}

func newImportCommand(e *environment) *cobra.Command {
	f := &importFlags{}
	cmd := &cobra.Command{
		Use:   "import FILE [-o SESSION]",
		Short: "Make a session of a file that dotnet-trace or dotnet-monitor recorded",
		Long: "Make a session of a file that dotnet-trace or dotnet-monitor recorded: a .nettrace file. It has\n" +
			"the sampled allocations with their types, stacks and threads (AllocationSampled of .NET 10, or\n" +
			"AllocationTick), and the garbage collections. All numbers of objects are estimates, as with\n" +
			"clrprof attach --sampled. Lines are known where the assembly that ran, and its PDB, are where they\n" +
			"were. CPU samples and other events are left out, and counted.",
		Example: "  dotnet-trace collect -p 1234 --profile gc-verbose -o app.nettrace\n" +
			"  clrprof import app.nettrace\n" +
			"  clrprof import app.nettrace -o before.clrprof\n" +
			"  clrprof report app.clrprof types",
		Args: arguments(1, 1, "a FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, stop := endAtSignal(cmd.Context())
			defer stop()
			return f.run(ctx, e, args[0])
		},
	}
	cmd.Flags().StringVarP(&f.output, "output", "o", "",
		"the session file (default: FILE with .clrprof, in this folder)")
	cmd.Flags().BoolVarP(&f.force, "force", "f", false, "overwrite the file")
	addArguments(cmd.Flags(), &f.arguments)
	return cmd
}

func (f *importFlags) run(ctx context.Context, e *environment, path string) error {
	if f.output == "-" {
		return usage("import needs a file for -o: a session is not written to standard output")
	}
	name := filepath.Base(path)
	output := cmp.Or(f.output, strings.TrimSuffix(name, filepath.Ext(name))+".clrprof")
	if info, err := os.Lstat(output); err == nil && !info.IsDir() && !f.force {
		return exit(exitUnwritable, existsError(output))
	}
	n := newNotes(e.stderr)
	n.startWork()
	defer n.clear()
	spareMemory(e.getenv)
	trace, err := readNettrace(ctx, n, path)
	if err != nil {
		return importError(path, err)
	}
	w, err := session.Create(output, f.force)
	if err != nil {
		return exit(exitUnwritable, err)
	}
	res, err := f.write(n, w, trace, name)
	if err == nil {
		err = complete(n, w, made{})
	}
	if err == nil {
		err = w.ReleaseClaim()
	}
	if err != nil {
		err = errors.Join(err, w.Close(), os.Remove(output))
		return exit(exitUnwritable, fmt.Errorf("importing %s: %w", path, err))
	}
	for _, line := range importedWords(res) {
		n.say("%s", line)
	}
	n.say("session %s", output)
	return exit(exitUnwritable, w.Close())
}

// importError gives an error of reading the file its exit code.
func importError(path string, err error) error {
	if errors.Is(err, context.Canceled) {
		return err
	}
	return exit(exitUnreadable, fmt.Errorf("importing %s: %w", path, err))
}

// readNettrace reads a file, until it is not wanted any more.
func readNettrace(ctx context.Context, n *notes, path string) (*imported.Trace, error) {
	file, err := openfile.OpenRegular(path)
	if err != nil {
		return nil, err
	}
	defer file.Close() // nothing was written
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	in := &countedReader{ctx: ctx, r: file}
	return imported.ReadNettrace(in, func(events uint64) {
		n.work("reading: %d %%, %s", 100*in.bytes/max(info.Size(), 1), quantity.Count(events).Of("event"))
	})
}

// countedReader counts what was read, and ends when the work is not wanted any more.
type countedReader struct {
	ctx   context.Context
	r     io.Reader
	bytes int64
}

// Read reads from the reader within.
func (c *countedReader) Read(b []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := c.r.Read(b)
	c.bytes += int64(n)
	return n, err
}

// write writes a session up to the state in which names are looked for.
func (f *importFlags) write(n *notes, w *session.Writer, trace *imported.Trace, name string) (*imported.Result, error) {
	n.work("writing the session")
	res, err := trace.Write(w, f.arguments)
	if err != nil {
		return nil, err
	}
	facts := map[string]string{
		session.KeyVersion: Version, session.KeyMode: session.ModeMemory, session.KeyObjects: session.ObjectsSampled,
		session.KeyCreated:  res.Head.Created.Format(time.RFC3339),
		session.KeyDuration: fmt.Sprint(int64(res.Duration)),
		session.KeyNote:     "imported from " + name + ": " + strings.Join(importedWords(res), "; "),
	}
	tellArguments(facts, f.arguments)
	if err := w.SetInfo(facts); err != nil {
		return nil, err
	}
	return res, w.SetState(session.Recorded)
}

// importedWords say what a session has of a file, and what not.
func importedWords(r *imported.Result) []string {
	sampler := map[string]string{session.SamplerRandom: " (AllocationSampled)",
		session.SamplerTicks: " (AllocationTick)"}
	out := []string{fmt.Sprintf("%s of allocations%s, %s, %s of process %d %s",
		quantity.Count(r.Samples).Of("sample"), sampler[r.Sampler],
		quantity.Count(r.Collections).Of("garbage collection"), quantity.Count(r.Methods).Of("method"),
		r.Head.PID, r.Process)}
	processor, others := quantity.Count(0), quantity.Count(0)
	for i := range r.LeftOut {
		if l := &r.LeftOut[i]; l.IsProcessor() {
			processor += quantity.Count(l.Events)
		} else {
			others += quantity.Count(l.Events)
		}
	}
	if processor > 0 {
		out = append(out, fmt.Sprintf("not imported: %s (a session has no place for them)", processor.Of("CPU sample")))
	}
	if others > 0 {
		out = append(out, fmt.Sprintf("not imported: %s of other kinds", others.Of("event")))
	}
	if r.Samples == 0 {
		out = append(out, "without allocations: dotnet-trace records them with --profile gc-verbose")
	}
	if r.Unnamed > 0 {
		out = append(out, fmt.Sprintf("not named: %s on stacks, of code that the file does not describe",
			quantity.Count(r.Unnamed).Of("place")))
	}
	if r.Lost > 0 {
		out = append(out, fmt.Sprintf("missing: %s, for which the runtime had no room",
			quantity.Count(r.Lost).Of("event")))
	}
	if r.Cut {
		out = append(out, "the file ends in the middle: what is missing is not known")
	}
	return out
}
