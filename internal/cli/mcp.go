package cli

import (
	"context"
	"io"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/cobra"

	"github.com/clrprof/clrprof/internal/present/mcp"
	"github.com/clrprof/clrprof/internal/session"
)

// mostServed is how many sessions a server has open: each takes a few files and its tables once it was asked about.
const mostServed = 50

func newMCPCommand(e *environment) *cobra.Command {
	var unfinished unfinishedFlags
	cmd := &cobra.Command{
		Use:   "mcp SESSION…",
		Short: "Answer questions about sessions by the Model Context Protocol",
		Long: "Answer questions about sessions by the Model Context Protocol, on standard input and output, for\n" +
			"assistants in editors and other clients of the protocol. The tools are list_sessions, list_views,\n" +
			"summary, view, explain_site, diff and sql. They only read, and their answers are bounded and say\n" +
			"what they leave out.",
		Example: "  clrprof mcp app.clrprof\n" +
			"  clrprof mcp before.clrprof after.clrprof\n" +
			"  # in the configuration of a client: {\"command\": \"clrprof\", \"args\": [\"mcp\", " +
			"\"/path/to/app.clrprof\"]}",
		Args: arguments(1, mostServed, "a SESSION"),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, stop := endAtSignal(cmd.Context())
			defer stop()
			return serveMCP(ctx, e, &unfinished, args)
		},
	}
	unfinished.add(cmd)
	return cmd
}

func serveMCP(ctx context.Context, e *environment, unfinished *unfinishedFlags, paths []string) error {
	var sessions []*session.Session
	for _, path := range paths {
		s, err := unfinished.openComplete(ctx, e, path)
		if err != nil {
			return readError(err)
		}
		defer s.Close()
		sessions = append(sessions, s)
	}
	transport := &sdk.IOTransport{Reader: io.NopCloser(e.stdin), Writer: openWriter{e.stdout}}
	return mcp.New(Version, sessions).Serve(ctx, transport)
}

// openWriter is a writer that others may close, which stays open.
type openWriter struct{ io.Writer }

// Close does nothing.
func (openWriter) Close() error { return nil }
