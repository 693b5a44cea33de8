package cli

import (
	"bytes"
	"context"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/clrprof/clrprof/internal/testkit/sessiontest"
)

// TestMCP: the SDK's client starts the command, asks and leaves; nothing but the protocol is on standard output, and
// the command ends when its input does.
func TestMCP(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a process")
	}
	path := filepath.Join(t.TempDir(), "shop.clrprof")
	if err := writeComplete(sessiontest.Shop(), path); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("clrprof", "mcp", path)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	ctx := context.Background()
	c, err := sdk.NewClient(&sdk.Implementation{Name: "test"}, nil).Connect(ctx, &sdk.CommandTransport{Command: cmd},
		nil)
	if err != nil {
		t.Fatal(err, stderr.String())
	}
	if info := c.InitializeResult().ServerInfo; info.Name != "clrprof" || info.Version != Version {
		t.Errorf("%+v", info)
	}
	r, err := c.CallTool(ctx,
		&sdk.CallToolParams{Name: "view", Arguments: map[string]any{"view": "functions", "limit": 1,
			"sort": "exclusive_bytes"}})
	if err != nil || r.IsError {
		t.Fatal(err, r)
	}
	if text := r.Content[0].(*sdk.TextContent).Text; !strings.Contains(text, "string.Format(string, object)") ||
		!strings.Contains(text, `"truncated":true`) {
		t.Error(text)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if !cmd.ProcessState.Success() || stderr.Len() > 0 {
		t.Errorf("%v: %s", cmd.ProcessState, stderr.String())
	}
}
