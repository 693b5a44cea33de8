package analysis

import (
	"os"
	"path/filepath"
	"testing"

	"pgregory.net/rapid"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/testkit/sessiontest"
)

// TestTimesSurviveNonsense puts values into the recorded tables of times that no session can have. What is computed of
// them does not matter, that something is does: a check must end, and say it if anything does not add up.
func TestTimesSurviveNonsense(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "good")
	open(t, sessiontest.Timed(), path).Close()
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	columns := []string{"process_time SET inside_ns", "process_time SET outside_ns",
		"process_time SET ticks_per_second", "process_time SET process_id",
		"timing SET thread_id", "timing SET node_id", "timing_value SET slice_id", "timing_value SET timing_id",
		"timing_value SET calls", "timing_value SET ended",
		"timing_value SET made", "timing_value SET elapsed_ns", "timing_value SET waited_ns",
		"timing_value SET wait_intervals", "timing_value SET off_cpu_ns",
		"timing_extreme SET timing_id", "timing_extreme SET min_elapsed_inclusive_ns",
		"timing_extreme SET max_application_exclusive_ns",
		"timing_running SET timing_id", "timing_running SET calls", "timing_running SET elapsed_ns",
		"thread SET process_id", "thread SET end_ns",
		"process SET end_state", "node SET parent_id", "node SET instruction_id", "instruction SET line_id",
		"function SET process_id"}
	rapid.Check(t, func(t *rapid.T) {
		bad := filepath.Join(dir, "bad")
		if err := os.WriteFile(bad, good, 0o644); err != nil {
			t.Fatal(err)
		}
		err := sessiontest.Change(bad, func(conn *sqlite.Conn) error {
			for range rapid.IntRange(1, 4).Draw(t, "changes") {
				value := rapid.SampledFrom([]any{int64(-1), int64(0), int64(1), int64(2), int64(1 << 31),
					int64(1 << 62), int64(-1 << 63), 1e300, "running", []byte{0xff}}).Draw(t, "value")
				query := "UPDATE OR IGNORE " + rapid.SampledFrom(columns).Draw(t, "column") + " = ?"
				if rapid.Bool().Draw(t, "some rows") {
					query += " WHERE rowid % 2 = 0"
				}
				// Some columns refuse some values, and tables without row ids the condition: then nothing is changed.
				_ = sqlitex.ExecuteTransient(conn, query, &sqlitex.ExecOptions{Args: []any{value}})
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		s, err := session.Open(bad)
		if err != nil {
			return
		}
		defer s.Close()
		if _, err := Check(s); err != nil {
			t.Fatal(err)
		}
		for _, f := range []Selection{{Processes: []session.ProcessID{1}}, {Threads: []session.ThreadID{2}, From: 1}} {
			if v, err := Open(s, f); err == nil {
				v.Range("*")
			}
		}
	})
}
