package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/clrprof/clrprof/internal/capture/agentbin"
)

// Version is clrprof's version, as `clrprof version` prints it and sessions record it. The linker sets it in a release.
var Version = "0.1.0"

// Commit is the commit that this clrprof was built from, if the linker set it; otherwise Go may know it.
var Commit = ""

// shortCommit is how many digits of a commit text shows.
const shortCommit = 12

// versionFacts are what `clrprof version --json` prints.
type versionFacts struct {
	Version string       `json:"version"`
	Commit  string       `json:"commit"` // empty: unknown
	Go      string       `json:"go"`
	Agents  []agentFacts `json:"agents"` // empty: it was built without
}

// agentFacts are those of one build of the agent.
type agentFacts struct {
	RID     string `json:"rid"` // the runtime identifier of .NET
	Libc    string `json:"libc"`
	Machine string `json:"machine"`
	BuildID string `json:"build_id"` // of the ELF file, in hexadecimal digits
}

func newVersionCommand(e *environment) *cobra.Command {
	asJSON := false
	cmd := &cobra.Command{
		Use: "version", Short: "Print clrprof's version", Args: arguments(0, 0),
		Long: "Print clrprof's version and the commit that it was built from; as JSON also the version of Go, and\n" +
			"for each agent inside the C library and the machine that it is for, and its build id.",
		Example: "  clrprof version\n" +
			"  clrprof version --json",
		RunE: func(*cobra.Command, []string) error {
			if asJSON {
				return printVersionFacts(e.stdout)
			}
			revision := builtFrom()
			if len(revision) >= shortCommit {
				revision = " (" + revision[:shortCommit] + ")"
			}
			_, err := fmt.Fprintf(e.stdout, "clrprof %s%s\n", Version, revision)
			return written(err)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON: one object")
	return cmd
}

// builtFrom returns the commit, or nothing where it is unknown.
func builtFrom() string {
	if Commit != "" {
		return Commit
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				return s.Value
			}
		}
	}
	return ""
}

func printVersionFacts(w io.Writer) error {
	facts := versionFacts{Version: Version, Commit: builtFrom(), Go: runtime.Version(), Agents: []agentFacts{}}
	for _, l := range agentbin.Libraries() {
		id, err := agentbin.BuildID(l)
		if errors.Is(err, agentbin.ErrMissing) {
			continue
		}
		if err != nil {
			return fmt.Errorf("the agent for %s: %w", l, err)
		}
		facts.Agents = append(facts.Agents, agentFacts{RID: string(l), Libc: l.Libc(), Machine: l.Machine(),
			BuildID: fmt.Sprintf("%x", id)})
	}
	b, err := json.MarshalIndent(facts, "", "  ")
	if err == nil {
		_, err = fmt.Fprintf(w, "%s\n", b)
	}
	return written(err)
}
