package analysis

import (
	"path/filepath"
	"strings"
	"testing"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/testkit/sessiontest"
)

// TestCheckWaitsLost: CPU time that single calls cannot have had is a contradiction, unless the agent had no memory for
// what the operating system did.
func TestCheckWaitsLost(t *testing.T) {
	const forget = "UPDATE timing_value SET off_cpu_ns = 0, blocked_ns = 0, ready_ns = 0;"
	for script, want := range map[string]bool{
		forget: true,
		forget + "INSERT INTO loss VALUES (1, 'waits_lost', 1, 0, 0);": false,
	} {
		path := filepath.Join(t.TempDir(), "s")
		open(t, sessiontest.Timed(), path).Close()
		if err := sessiontest.Change(path, func(conn *sqlite.Conn) error {
			return sqlitex.ExecuteScript(conn, script, nil)
		}); err != nil {
			t.Fatal(err)
		}
		s, err := session.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		found, err := Check(s)
		if err != nil {
			t.Fatal(err)
		}
		have := false
		for _, v := range found {
			have = have || strings.HasPrefix(v.String(), "extremes: ")
		}
		if have != want {
			t.Errorf("%s: %v", script, found)
		}
	}
}
