package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/clrprof/clrprof/internal/analysis/redact"
	"github.com/clrprof/clrprof/internal/session"
)

// redactFlags are the flags of the redact command.
type redactFlags struct {
	output     string
	force      bool
	unfinished unfinishedFlags
}

func newRedactCommand(e *environment) *cobra.Command {
	r := &redactFlags{}
	cmd := &cobra.Command{
		Use:   "redact SESSION -o FILE",
		Short: "Write a copy of a session that can be given away",
		Long: "Write a copy of a session that can be given away: arguments of commands, names of users and\n" +
			"hosts, folders, names of threads and marks, database commands, addresses of requests and tags\n" +
			"of counters are replaced, the same text always by the same word. All numbers stay the same.\n" +
			"Names of the code stay: of functions, types, modules, and of source files without folders.\n" +
			"A call trace (--trace) is a file of its own, and stays as it is: with names of processes and\n" +
			"threads, and names and texts of marks.",
		Example: "  clrprof redact app.clrprof -o public.clrprof",
		Args:    arguments(1, 1, "a SESSION"),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, stop := endAtSignal(cmd.Context())
			defer stop()
			return r.run(ctx, e, args[0])
		},
	}
	cmd.Flags().StringVarP(&r.output, "output", "o", "", "the copy to write")
	cmd.Flags().BoolVarP(&r.force, "force", "f", false, "replace the file if it exists")
	r.unfinished.addNoWait(cmd)
	return cmd
}

func (r *redactFlags) run(ctx context.Context, e *environment, path string) error {
	switch r.output {
	case "":
		return usage("redact needs -o FILE, the copy to write: see clrprof redact --help")
	case "-":
		return usage("redact needs -o FILE: a session is not written to standard output")
	}
	s, err := r.unfinished.open(ctx, e, path)
	if err != nil {
		return readError(err)
	}
	defer s.Close()
	s.Until(ctx)
	stage, err := s.Stage()
	if err != nil {
		return readError(err)
	}
	if stage != session.StageComplete {
		return exit(exitUnreadable, fmt.Errorf("session %s is not complete (%s): redact takes only complete sessions, "+
			"record it again", path, stage))
	}
	if isSameFile(path, r.output) {
		return usage("%s is the session itself: use -o for another name", r.output)
	}
	o, err := newOutput(r.output, r.force)
	if err != nil {
		return err
	}
	o.private = true // like every session
	var result redact.Result
	err = o.writePlace(func(place string) error {
		if result, err = redact.Write(s, place, Version); err != nil {
			return err
		}
		return session.RemoveJournal(o.file)
	})
	if err != nil {
		return err
	}
	tell(e, redactedNotes(result))
	_, err = fmt.Fprintln(e.stdout, r.output)
	return written(err)
}

// isSameFile reports whether two names are of one file.
func isSameFile(a, b string) bool {
	first, err := os.Stat(a)
	if err != nil {
		return false
	}
	second, err := os.Stat(b)
	return err == nil && os.SameFile(first, second)
}

// redactedNotes say what was replaced, and what was not.
func redactedNotes(result redact.Result) []string {
	var parts []string
	for _, c := range result.Counts {
		parts = append(parts, fmt.Sprintf("%s %d", c.Kind, c.Texts))
	}
	if len(parts) == 0 {
		parts = []string{"nothing"}
	}
	notes := []string{"Different texts that were replaced: " + strings.Join(parts, ", ") + "."}
	if result.Code > 0 {
		notes = append(notes, fmt.Sprintf("Names of the code stay, and %d of them have the name of a user or host "+
			"in them.", result.Code))
	}
	if result.Trace != "" {
		notes = append(notes, fmt.Sprintf("The call trace %s stays as it is: with names of processes and threads, and "+
			"names and texts of marks. Keep it to yourself if they are.", filepath.Base(result.Trace)))
	}
	return notes
}
