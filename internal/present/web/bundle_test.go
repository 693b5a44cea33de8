package web_test

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// fetchTime is how long packages may take to come.
const fetchTime = 3 * time.Minute

// TestBundle: the committed bundle is what web/src makes, its types are right, and it is small.
func TestBundle(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), fetchTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, "go", "run", ".", "-check")
	cmd.Dir = "../../../tools/webbuild"
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=")
	text, err := cmd.CombinedOutput()
	if err != nil && (ctx.Err() != nil || strings.Contains(string(text), "npm pack") ||
		strings.Contains(string(text), "dial tcp") || strings.Contains(string(text), "lookup ")) {
		t.Skipf("SKIPPED: the packages of the page cannot be had here, so its bundle was not made anew: %v\n%s", err,
			text)
	}
	if err != nil {
		t.Errorf("%v\n%s", err, text)
	}
}
