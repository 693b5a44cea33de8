package dotnettest

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// maxRecorded and maxRecordedBytes bound the recordings that are kept. A run of all tests makes some hundred that can
// be kept, most of them below a megabyte.
const (
	maxRecorded      = 1500
	maxRecordedBytes = 3 << 30
)

// recordVariable is "anew" where nothing recorded before is to be used.
const recordVariable = "CLRPROF_TEST_RECORD"

// Names of files in the directory of a recording. A test that failed marks its recording as suspect, so that the next
// run records again.
const (
	recordedSession = "e2e.clrprof"
	recordedResult  = "result.json"
	recordedSuspect = "suspect"
)

// Recording is what a target under clrprof left.
type Recording struct {
	Exit           int // as a shell says it
	Stdout, Stderr string
	Session        string `json:"-"` // path of the session, which must not be changed
}

// Recorder records targets for tests that are about sessions, and not about how they are recorded: each with the same
// flags and in the same environment once, for all tests, packages, runs and checkouts in which what records is the
// same. How analysis and reports read a session is no part of that, so a change of these records nothing again.
type Recorder struct {
	parent string // directory of the recordings
	key    string // of what records

	mu    sync.Mutex
	asked map[string]map[string]bool // tests by key of what they asked for
	turns map[string]*sync.Mutex     // by key: of two tests that ask at once, one waits for the other
}

// recording are the packages that decide what is in a session, with all that they import, and chooses is the one whose
// files choose how it is recorded; what that imports besides reads sessions.
var (
	recording = []string{"./internal/capture/agentbin", "./internal/capture/collect", "./internal/capture/launch"}
	chooses   = []string{"./internal/cli"}
)

// NewRecorder returns the recorder of this checkout's clrprof with this checkout's agent.
func NewRecorder() (*Recorder, error) {
	cache, err := cacheDir()
	if err != nil {
		return nil, err
	}
	key, err := recorderKey()
	if err != nil {
		return nil, fmt.Errorf("reading what records: %w", err)
	}
	return &Recorder{filepath.Join(cache, "recorded"), key, sync.Mutex{}, map[string]map[string]bool{},
		map[string]*sync.Mutex{}}, nil
}

// recorderKey hashes all that decides how clrprof records: its files, versions of modules, the agent's sources and
// compiler, the kernel.
func recorderKey() (string, error) {
	root, err := moduleRoot()
	if err != nil {
		return "", err
	}
	h := sha256.New()
	compiler, err := exec.Command("gcc", "--version").Output()
	if err != nil {
		return "", fmt.Errorf("asking gcc for its version: %w", err)
	}
	h.Write(compiler)
	files := []string{filepath.Join(root, "go.sum"), filepath.Join(root, "Makefile"), "/proc/sys/kernel/osrelease"}
	for _, packages := range [][]string{append([]string{"-deps"}, recording...), chooses} {
		const format = "{{if not .Standard}}{{range .GoFiles}}{{$.Dir}}/{{.}}\n{{end}}{{range .EmbedFiles}}{{$.Dir}}/{{.}}\n{{end}}{{end}}"
		cmd := exec.Command("go", append([]string{"list", "-f", format}, packages...)...)
		cmd.Dir = root
		out, err := cmd.Output()
		if err != nil {
			return "", fmt.Errorf("listing the files of %q: %w", packages, err)
		}
		files = append(files, strings.Fields(string(out))...)
	}
	if err := filepath.WalkDir(filepath.Join(root, "agent", "src"), func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			files = append(files, path)
		}
		return err
	}); err != nil {
		return "", err
	}
	for _, path := range files {
		ours := strings.HasPrefix(path, root+string(filepath.Separator)) || strings.HasPrefix(path, "/proc/")
		// Other modules are in go.sum, and the agent that is embedded has paths of the checkout in it.
		if !ours || filepath.Ext(path) == ".so" {
			continue
		}
		if err := hashFile(h, strings.TrimPrefix(path, root), path); err != nil {
			return "", err
		}
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// Tester is the part of testing.TB that a recorder needs.
type Tester interface {
	TB
	Name() string
	Failed() bool
	Cleanup(func())
}

// Record returns a recording of the target with these flags. If there is none yet, run makes it: with the session at
// that path. It is not kept if the target failed. Record returns false if the test must record by itself: if the target
// depends on what the test has made, which it may if it has standard input, a working directory, or a temporary
// directory in an argument or a variable; and if the test asks for the same a second time, to compare the two.
func (r *Recorder) Record(t Tester, target *exec.Cmd, flags []string,
	run func(session string) Recording) (rec Recording, kept bool) {
	t.Helper()
	key, ok := r.keyOf(target, flags)
	if !ok || os.Getenv(recordVariable) == "anew" {
		return Recording{}, false
	}
	r.mu.Lock()
	if r.asked[key] == nil {
		r.asked[key], r.turns[key] = map[string]bool{}, &sync.Mutex{}
	}
	again, turn := r.asked[key][t.Name()], r.turns[key]
	r.asked[key][t.Name()] = true
	r.mu.Unlock()
	if again {
		return Recording{}, false
	}
	turn.Lock()
	defer turn.Unlock()
	dir := filepath.Join(r.parent, key)
	rec, err := r.recordInto(dir, run)
	if err != nil {
		t.Fatalf("recording %q: %v", target.Args, err)
	}
	t.Cleanup(func() {
		if t.Failed() { // an error only means that the recording is gone already
			_ = os.WriteFile(filepath.Join(dir, recordedSuspect), []byte(t.Name()), 0o644)
		}
	})
	return rec, true
}

// recordInto returns the recording in dir, and makes it first if there is none.
func (r *Recorder) recordInto(dir string, run func(session string) Recording) (Recording, error) {
	if exists(filepath.Join(dir, recordedSuspect)) {
		if err := os.RemoveAll(dir); err != nil {
			return Recording{}, err
		}
	}
	if exists(dir) {
		if err := touch(dir); err != nil {
			return Recording{}, err
		}
		return readRecording(dir)
	}
	var failed *Recording
	err := fill(dir, func(tmp string) error {
		rec := run(filepath.Join(tmp, recordedSession))
		if rec.Exit != 0 {
			failed = &rec
			return errNotKept
		}
		rec.Stdout, rec.Stderr = strings.ReplaceAll(rec.Stdout, tmp, dir), strings.ReplaceAll(rec.Stderr, tmp, dir)
		return writeJSON(filepath.Join(tmp, recordedResult), rec)
	})
	if failed != nil {
		return *failed, nil
	}
	if err == nil {
		err = pruneBytes(r.parent, maxRecorded, maxRecordedBytes)
	}
	if err != nil {
		return Recording{}, err
	}
	return readRecording(dir)
}

// errNotKept is why the recording of a target that failed is not kept.
var errNotKept = errors.New("the target failed")

func readRecording(dir string) (Recording, error) {
	text, err := os.ReadFile(filepath.Join(dir, recordedResult))
	if err != nil {
		return Recording{}, err
	}
	rec := Recording{Session: filepath.Join(dir, recordedSession)}
	return rec, json.Unmarshal(text, &rec)
}

// keyOf hashes all that decides what is recorded, unless that depends on what a test has made.
func (r *Recorder) keyOf(target *exec.Cmd, flags []string) (string, bool) {
	if target.Stdin != nil || target.Dir != "" {
		return "", false
	}
	own := os.Environ()
	env := slices.DeleteFunc(slices.Clone(target.Env), func(kv string) bool { return slices.Contains(own, kv) })
	for _, text := range slices.Concat(target.Args, env, flags) {
		if strings.Contains(text, os.TempDir()) || strings.Contains(text, "/dev/shm") {
			return "", false
		}
	}
	h := sha256.New()
	fmt.Fprintf(h, "%s\n%q\n%q\n%q\n", r.key, target.Args, env, flags)
	return hex.EncodeToString(h.Sum(nil)[:16]), true
}

// pruneBytes is prune for directories that together may also have no more than so many bytes.
func pruneBytes(parent string, keep int, most int64) error {
	entries, err := os.ReadDir(parent)
	if err != nil {
		return err
	}
	sizes := map[string]int64{}
	var sum int64
	var names []string
	for _, e := range entries {
		files, err := os.ReadDir(filepath.Join(parent, e.Name()))
		if err != nil {
			continue // another process removed it
		}
		for _, f := range files {
			if fi, err := f.Info(); err == nil {
				sizes[e.Name()] += fi.Size()
			}
		}
		sum += sizes[e.Name()]
		names = append(names, e.Name())
	}
	if sum > most {
		mean := sum / int64(len(names))
		keep = min(keep, int(most/max(mean, 1)))
	}
	return prune(parent, keep)
}
