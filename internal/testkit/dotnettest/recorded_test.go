package dotnettest

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// tester is a test that can fail without failing the one that looks at it.
type tester struct {
	*testing.T
	name   string
	failed bool
	ended  []func()
}

func (t *tester) Name() string     { return t.name }
func (t *tester) Failed() bool     { return t.failed }
func (t *tester) Cleanup(f func()) { t.ended = append(t.ended, f) }

func (t *tester) end() {
	for _, f := range t.ended {
		f()
	}
}

// TestRecorder: what was recorded is there for others who record the same with the same clrprof, but not for a test that
// wants two recordings, nor after a failure.
func TestRecorder(t *testing.T) {
	parent, runs := t.TempDir(), 0
	t.Setenv("TMPDIR", "/nowhere")
	recorder := func(key string) *Recorder {
		r, err := NewRecorder()
		if err != nil {
			t.Fatal(err)
		}
		if len(r.key) != 64 || key == "" {
			t.Errorf("the key is %q", r.key)
		}
		r.parent, r.key = parent, key
		return r
	}
	record := func(r *Recorder, t *tester, exit int, env string, args ...string) (string, bool) {
		t.Helper()
		cmd := exec.Command("target", args...)
		cmd.Env = append(os.Environ(), env)
		rec, ok := r.Record(t, cmd, []string{"--memory"}, func(session string) Recording {
			runs++
			if err := os.WriteFile(session, []byte(env), 0o644); err != nil {
				t.Fatal(err)
			}
			return Recording{Exit: exit, Stdout: "said", Stderr: "session " + session}
		})
		if ok && exit == 0 && (rec.Stdout != "said" || rec.Stderr != "session "+rec.Session) {
			t.Errorf("recorded is %+v", rec)
		}
		return rec.Session, ok
	}
	r := recorder("a")
	one := &tester{T: t, name: "one"}
	first, ok := record(r, one, 0, "A=1", "x")
	if text, err := os.ReadFile(first); !ok || err != nil || string(text) != "A=1" {
		t.Errorf("the session holds %q, %v, %v", text, err, ok)
	}
	if _, ok := record(r, one, 0, "A=1", "x"); ok {
		t.Error("a test that asks twice gets the same twice")
	}
	two := &tester{T: t, name: "two", failed: true}
	if again, ok := record(r, two, 0, "A=1", "x"); !ok || again != first || runs != 1 {
		t.Errorf("another test gets %s after %d runs, want %s", again, runs, first)
	}
	if again, ok := record(recorder("a"), one, 0, "A=1", "x"); !ok || again != first || runs != 1 {
		t.Errorf("the next run gets %s after %d runs, want %s", again, runs, first)
	}
	two.end()
	if _, ok := record(recorder("a"), one, 0, "A=1", "x"); !ok || runs != 2 {
		t.Errorf("after a failure it is recorded %d times, want 2", runs)
	}
	record(r, one, 0, "A=2", "x")
	record(r, one, 0, "A=1", "y")
	record(recorder("b"), one, 0, "A=1", "x")
	if runs != 5 {
		t.Errorf("of four kinds %d are recorded, want 5 with the one after a failure", runs)
	}
	for range 2 {
		record(recorder("a"), one, 3, "A=3", "x")
	}
	if runs != 7 {
		t.Errorf("a failed target is recorded %d times, want 2", runs-5)
	}
	if _, ok := record(r, one, 0, "A=/nowhere/1"); ok {
		t.Error("what depends on a temporary directory is kept")
	}
	t.Setenv(recordVariable, "anew")
	if _, ok := record(recorder("a"), one, 0, "A=1", "x"); ok {
		t.Error("nothing is recorded anew")
	}
}

// TestPruneBytes: what was not used for longest goes, until the rest is small enough.
func TestPruneBytes(t *testing.T) {
	parent := t.TempDir()
	for _, name := range []string{"c", "a", "b", "d"} {
		dir := filepath.Join(parent, name)
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "file"), make([]byte, 100), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := touch(dir); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		keep int
		most int64
		left int
	}{{10, 400, 4}, {10, 399, 3}, {10, 250, 2}, {1, 1000, 1}} {
		if err := pruneBytes(parent, tt.keep, tt.most); err != nil {
			t.Fatal(err)
		}
		left, err := os.ReadDir(parent)
		if err != nil || len(left) != tt.left || left[len(left)-1].Name() != "d" {
			t.Errorf("of %+v are left %v, %v", tt, left, err)
		}
	}
}
