package session

import (
	"bufio"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"zombiezen.com/go/sqlite/sqlitex"
)

// batchRows is how many rows of a plain table, and of a packed one, the writer of the tests puts into each batch:
// enough that most of its time passes inside commits.
const batchRows = 5000

// batch writes the i-th batch: a process, batchRows instructions and as many nodes.
func batch(w *Writer, i int) error {
	instructions, nodes := make([]Instruction, batchRows), make([]Node, batchRows)
	for k := range nodes {
		id := i*batchRows + k + 1
		instructions[k] = Instruction{ID: InstructionID(id), Function: 1, Body: BodyID(i)}
		nodes[k] = Node{ID: NodeID(id), Process: ProcessID(i + 1), Function: 1}
	}
	return w.Batch(func() error {
		return errors.Join(w.InsertProcesses([]Process{{ID: ProcessID(i + 1), Name: "App"}}),
			w.InsertInstructions(instructions), w.InsertNodes(nodes))
	})
}

// TestMain makes the test binary the writer that TestKilledWriter kills.
func TestMain(m *testing.M) {
	path := os.Getenv("CLRPROF_TEST_WRITE")
	if path == "" {
		os.Exit(m.Run())
	}
	w, err := Create(path, false)
	if err == nil {
		// A small cache makes SQLite write pages before the commit, as large batches do.
		err = sqlitex.ExecuteTransient(w.conn, "PRAGMA cache_size=20", nil)
	}
	for i := 0; err == nil; i++ {
		fmt.Println(i)
		err = batch(w, i)
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// TestKilledWriter kills a writer with SIGKILL at many moments and expects every batch to
// be in the file as a whole or not at all.
func TestKilledWriter(t *testing.T) {
	if testing.Short() {
		t.Skip("starts and kills processes")
	}
	t.Setenv("TMPDIR", t.TempDir()) // what is killed leaves its private folder
	own, shared := t.TempDir(), sharedFolder(t)
	for n := range 36 {
		path := filepath.Join(own, strconv.Itoa(n))
		if n%3 == 2 {
			path = filepath.Join(shared, strconv.Itoa(n))
		}
		begun := killWriter(t, path, n)
		w, err := Edit(path) // half of them by a writer: it recovers too
		if n%2 == 0 {
			var s *Session
			s, err = Open(path)
			w = &Writer{Session: s}
		}
		if err != nil {
			t.Fatalf("after %d batches: %v", begun, err)
		}
		if err := w.CheckFile(); err != nil {
			t.Error(err)
		}
		processes, err := w.Processes()
		nodes, err2 := w.Nodes()
		instructions, err3 := w.Instructions()
		if err := errors.Join(err, err2, err3, w.Close()); err != nil {
			t.Fatal(err)
		}
		if len(instructions) != len(nodes) || len(nodes) != batchRows*len(processes) || len(processes) < begun-1 ||
			len(processes) > begun+1 {
			t.Errorf("%d batches were begun: %d processes, %d instructions and %d nodes", begun, len(processes),
				len(instructions), len(nodes))
		}
		if n%2 == 0 { // a reader leaves all as it is; the next one finds the same
			continue
		}
		// A writer killed before it wrote the journal's header leaves an empty one, which
		// means nothing; any other must have been rolled back.
		if info, err := os.Stat(path + "-journal"); err == nil && info.Size() > 0 {
			t.Errorf("a journal of %d bytes is still there", info.Size())
		}
	}
}

// killWriter starts a writer and kills it while it writes its n-th batch or soon after.
// It returns how many batches it had begun.
func killWriter(t *testing.T, path string, n int) int {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "CLRPROF_TEST_WRITE="+path)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	begun := 0
	for begun <= n/4 && lines.Scan() {
		begun++
	}
	// Different amounts of work put the kill at different places of the commit.
	for i := range (n % 4) * 200 {
		os.Stat(filepath.Join(path, strconv.Itoa(i)))
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	for lines.Scan() {
		begun++
	}
	cmd.Wait()
	if err := lines.Err(); err != nil && !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	return begun
}

// TestCutCommit copies the file and its journal from the middle of a commit, which is
// what a kill there leaves, and opens the copy.
func TestCutCommit(t *testing.T) {
	t.Run("own", func(t *testing.T) { testCutCommit(t, t.TempDir()) })
	t.Run("shared", func(t *testing.T) { testCutCommit(t, sharedFolder(t)) })
}

// sharedFolder is one where all users can make, rename and remove files.
func sharedFolder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if isPrivate(filepath.Join(dir, "s")) {
		t.Fatal("a folder that everybody can write is private")
	}
	return dir
}

func testCutCommit(t *testing.T, dir string) {
	path := filepath.Join(dir, "a")
	w, err := Create(path, false)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if err := errors.Join(sqlitex.ExecuteTransient(w.conn, "PRAGMA cache_size=10", nil), batch(w, 0)); err != nil {
		t.Fatal(err)
	}
	copied := filepath.Join(dir, "b")
	err = w.Batch(func() error {
		// Changes in the middle of the file, more than the cache holds.
		if err := sqlitex.ExecuteTransient(w.conn, "UPDATE instruction SET function_id = 99", nil); err != nil {
			return err
		}
		return errors.Join(copyFile(path, copied), copyFile(path+"-journal", copied+"-journal"))
	})
	if err != nil {
		t.Fatal(err)
	}
	if raw, err := os.ReadFile(copied + "-journal"); err != nil || len(raw) < 1000 {
		t.Fatalf("the copy has no journal: the test tests nothing: %d bytes, %v", len(raw), err)
	}
	link := filepath.Join(t.TempDir(), "link") // the journal is beside the file
	if err := os.Symlink(copied, link); err != nil {
		t.Fatal(err)
	}
	before := contents(t, dir)
	for _, name := range []string{copied, link} {
		checkRolledBack(t, name)
	}
	if diff := cmp.Diff(before, contents(t, dir)); diff != "" {
		t.Errorf("reading changed files (-before +after):\n%s", diff)
	}
	w, err = Edit(copied)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if _, err := os.Stat(copied + journalSuffix); err == nil {
		t.Error("a writer leaves the journal")
	}
	checkRolledBack(t, copied)
}

// checkRolledBack checks that a session has nothing of the commit that TestCutCommit cut off.
func checkRolledBack(t *testing.T, path string) {
	t.Helper()
	s, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	instructions, err := s.Instructions()
	if err != nil || len(instructions) != batchRows {
		t.Fatal(len(instructions), err)
	}
	for _, n := range instructions {
		if n.Function != 1 {
			t.Fatalf("instruction %d has the value of the commit that was cut off", n.ID)
		}
	}
}

// contents returns what all files of a folder have, by name.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, f := range files {
		b, err := os.ReadFile(filepath.Join(dir, f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		out[f.Name()] = fmt.Sprintf("%d bytes, CRC %x", len(b), crc32.ChecksumIEEE(b))
	}
	return out
}

// TestForceOverKilledWriter replaces a session whose writer was killed inside a commit. The
// old journal must not be rolled back into the new file.
func TestForceOverKilledWriter(t *testing.T) {
	dir := t.TempDir()
	path, killed := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	w, err := Create(path, false)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if err := errors.Join(sqlitex.ExecuteTransient(w.conn, "PRAGMA cache_size=10", nil), batch(w, 0)); err != nil {
		t.Fatal(err)
	}
	err = w.Batch(func() error {
		return errors.Join(sqlitex.ExecuteTransient(w.conn, "UPDATE instruction SET function_id = 99", nil),
			copyFile(path, killed), copyFile(path+"-journal", killed+"-journal"))
	})
	if err != nil {
		t.Fatal(err)
	}
	fresh, err := Create(killed, true)
	if err != nil {
		t.Fatal(err)
	}
	defer fresh.Close()
	if nodes, err := fresh.Nodes(); len(nodes) != 0 || err != nil {
		t.Errorf("the new session has %d nodes, %v", len(nodes), err)
	}
	if err := errors.Join(batch(fresh, 0), fresh.CheckFile()); err != nil {
		t.Error(err)
	}
}

func copyFile(from, to string) error {
	b, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, b, 0o644)
}

// TestReadWhileRecording reads a session that a living writer has open, between its batches.
func TestReadWhileRecording(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	w, err := Create(path, false)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	for i := range 3 {
		if err := batch(w, i); err != nil {
			t.Fatal(err)
		}
		s, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		if nodes, err := s.Nodes(); len(nodes) != (i+1)*batchRows || err != nil {
			t.Errorf("%d nodes, %v", len(nodes), err)
		}
		s.Close()
	}
}
