package e2e

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
)

// Codes of clrprof itself, as docs/cli.md lists them.
const (
	codeUsage      = 120
	codeUnreadable = 121
	codeUnwritable = 122
	codeNoTarget   = 123
	codeNoRuntime  = 124
)

// nobody is the user that tests take who run as root and want one who may do little.
const nobody = 65534

// patience is how long a fact that must come true may take on a machine that does much else.
const patience = 2 * time.Minute

// sandboxes counts them.
var sandboxes atomic.Int32

// sandbox is a place where clrprof can leave traces, all of which are looked for at the end of the test.
type sandbox struct {
	t    *testing.T
	root string
	uid  int      // who runs clrprof and the target; -1: who runs the test
	env  []string // for clrprof and the target
	// Directories: for arenas, for the agent, for temporary files, for sessions.
	shm, cache, tmp, out string
	unmounts             []string
	killed               bool // a clrprof that wrote: its journal can be left, as readers change nothing
}

func newSandbox(t *testing.T) *sandbox {
	t.Helper()
	// All names have the same length, since programs allocate strings for some.
	root := filepath.Join(os.TempDir(), fmt.Sprintf("clrprof-e2e-faults-%07d-%04d", os.Getpid(), sandboxes.Add(1)))
	s := &sandbox{t: t, root: root, uid: -1, shm: filepath.Join(root, "shm"), cache: filepath.Join(root, "cache"),
		tmp: filepath.Join(root, "tmp"), out: filepath.Join(root, "out")}
	for dir, mode := range map[string]os.FileMode{s.shm: 0o755, s.cache: 0o700, s.tmp: 0o755, s.out: 0o755} {
		if err := errors.Join(os.MkdirAll(dir, 0o755), os.Chmod(dir, mode)); err != nil {
			t.Fatal(err)
		}
	}
	s.env = append(dotnettest.Need(t).Env(), "CLRPROF_SHM="+s.shm, "XDG_CACHE_HOME="+s.cache, "TMPDIR="+s.tmp, s.mark())
	t.Cleanup(s.end)
	return s
}

// asUser lets clrprof run as a user without rights, if the test has the right to choose one. What that user reads is
// put beside the binary under test; a test whose directory for temporary files is in a private one, such as a home, is
// skipped.
func (s *sandbox) asUser() *sandbox {
	s.t.Helper()
	if os.Getuid() == 0 {
		for dir := s.root; dir != "/"; dir = filepath.Dir(dir) {
			if fi, err := os.Stat(dir); err != nil {
				s.t.Fatal(err)
			} else if fi.Mode()&0o001 == 0 {
				s.t.Skipf("runs as another user, who may not enter %s: set TMPDIR to a directory that everybody "+
					"may enter", dir)
			}
		}
		s.uid = nobody
		for _, dir := range []string{s.shm, s.cache, s.tmp, s.out} {
			if err := os.Chown(dir, nobody, nobody); err != nil {
				s.t.Fatal(err)
			}
		}
	}
	return s
}

func (s *sandbox) user() int {
	if s.uid >= 0 {
		return s.uid
	}
	return os.Getuid()
}

// unset takes variables out of the environment of clrprof and the target.
func (s *sandbox) unset(names ...string) {
	s.env = slices.DeleteFunc(s.env, func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return slices.Contains(names, name)
	})
}

func itoa(n int) string { return strconv.Itoa(n) }

// mark is a variable that all processes of the sandbox have in their environment, and no others.
func (s *sandbox) mark() string { return "E2E_SANDBOX=" + s.root }

// end asserts that nothing is left but sessions, the agent and what listens to meters in its cache, and what .NET itself leaves.
func (s *sandbox) end() {
	for _, pid := range s.processes() {
		s.t.Errorf("process %d still runs: %s", pid, procText(pid, "cmdline"))
		if err := unix.Kill(pid, unix.SIGKILL); err != nil {
			s.t.Log(err)
		}
	}
	s.expectEmpty(s.shm)
	s.expectEmpty(s.tmp, "dotnet-diagnostic-", "clr-debug-pipe-", ".dotnet", "clrprof-agent-", "CASESENSITIVETEST")
	if s.cache != "" {
		err := filepath.WalkDir(s.cache, func(path string, d fs.DirEntry, err error) error {
			ours := strings.HasPrefix(filepath.Base(path), "libclrprof-") || filepath.Base(path) == "Clrprof.Meters.dll"
			if err == nil && !d.IsDir() && !ours || strings.HasSuffix(path, ".tmp") {
				s.t.Errorf("in the cache: %s", path)
			}
			return err
		})
		if err != nil {
			s.t.Error(err)
		}
	}
	for _, name := range list(s.t, s.out) {
		if strings.HasPrefix(name, ".") || strings.HasSuffix(name, "-journal") && !s.killed {
			s.t.Errorf("beside the sessions: %s", name)
		}
	}
	for _, dir := range s.unmounts {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			s.t.Error(err)
		}
	}
	if err := os.RemoveAll(s.root); err != nil {
		s.t.Error(err)
	}
}

// expectEmpty looks for names in a directory that begin with none of the prefixes.
func (s *sandbox) expectEmpty(dir string, prefixes ...string) {
	s.t.Helper()
	for _, name := range list(s.t, dir) {
		if !slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(name, p) }) {
			s.t.Errorf("left in %s: %s", dir, name)
		}
	}
}

// list returns the names in a directory; there are none in one that does not exist.
func list(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// processes lists the living processes of the sandbox.
func (s *sandbox) processes() []int {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		s.t.Fatal(err)
	}
	var pids []int
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil &&
			slices.Contains(strings.Split(procText(pid, "environ"), "\x00"), s.mark()) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// procText reads a file of a process; "" if it is gone or a zombie.
func procText(pid int, name string) string {
	b, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), name))
	if err != nil {
		return ""
	}
	return string(b)
}

// await waits for what no event announces, by looking again and again.
func await(t *testing.T, what string, isSo func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !isSo() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("%s: not so after %v", what, patience)
		}
	}
}

// target is a .NET program as users of any rights can run it.
func (s *sandbox) target(runtime dotnettest.Runtime, name string, args ...string) []string {
	s.t.Helper()
	dll := dotnettest.Target(s.t, name, dotnettest.Options{})
	if s.uid == nobody {
		dll = filepath.Join(publish(s.t, filepath.Dir(dll)), filepath.Base(dll))
		runtime.Root = publish(s.t, runtime.Root)
		runtime.Dotnet = filepath.Join(runtime.Root, "dotnet")
	}
	s.env = append(s.env, "DOTNET_ROOT="+runtime.Root)
	return runtime.Args(dll, args...)
}

var (
	published   = map[string]string{}
	publishLock sync.Mutex
)

// publish links or copies a directory to where everybody can read it, beside the binary under test.
func publish(t *testing.T, dir string) string {
	t.Helper()
	publishLock.Lock()
	defer publishLock.Unlock()
	if to := published[dir]; to != "" {
		return to
	}
	if err := os.Chmod(filepath.Dir(binary), 0o755); err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(filepath.Dir(binary), "public"+strconv.Itoa(len(published)))
	if err := publishTree(dir, to); err != nil {
		t.Fatal(err)
	}
	published[dir] = to
	return to
}

// publishTree follows links: what they lead to may lie where only its owner can read.
func publishTree(from, to string) error {
	return filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		there := to + strings.TrimPrefix(path, from)
		if d.IsDir() {
			return os.MkdirAll(there, 0o755)
		}
		if d.Type()&fs.ModeSymlink != 0 {
			if path, err = filepath.EvalSymlinks(path); err != nil {
				return err
			}
			if fi, err := os.Stat(path); err == nil && fi.IsDir() {
				return publishTree(path, there)
			}
		}
		if os.Link(path, there) == nil {
			return nil
		}
		return copyFile(path, there)
	})
}

func copyFile(from, to string) error {
	st, err := os.Stat(from)
	if err != nil {
		return err
	}
	b, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, b, st.Mode().Perm())
}

// process is a running clrprof.
type process struct {
	t      *testing.T
	cmd    *exec.Cmd
	in     io.WriteCloser
	lines  *bufio.Scanner // of standard output
	stdout bytes.Buffer   // what lines has read
	unread *os.File       // what it reads from
	stderr string         // path
	ended  chan struct{}  // closed when clrprof has ended
}

// command prepares clrprof in the sandbox.
func (s *sandbox) command(args ...string) *exec.Cmd {
	cmd := exec.Command(binary, args...)
	cmd.Env, cmd.Dir = s.env, s.out
	if s.uid >= 0 {
		if err := os.Chmod(filepath.Dir(binary), 0o755); err != nil {
			s.t.Fatal(err)
		}
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(s.uid), Gid: uint32(s.uid)}}
	}
	return cmd
}

// run runs clrprof to its end.
func (s *sandbox) run(args ...string) result {
	s.t.Helper()
	return s.finish(s.command(args...))
}

func (s *sandbox) finish(cmd *exec.Cmd) result {
	s.t.Helper()
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var ended *exec.ExitError
	if err != nil && !errors.As(err, &ended) {
		s.t.Fatalf("%q: %v", cmd.Args, err)
	}
	return result{exit: exitCode(cmd.ProcessState), stdout: stdout.String(), stderr: stderr.String()}
}

// start starts clrprof and returns at once.
func (s *sandbox) start(args ...string) *process {
	s.t.Helper()
	return s.startCommand(s.command(args...))
}

func (s *sandbox) startCommand(cmd *exec.Cmd) *process {
	s.t.Helper()
	p := &process{t: s.t, cmd: cmd, ended: make(chan struct{})}
	// Pipes of its own: those of exec would be closed when clrprof ends, and the target may go on.
	stdin, in, err := os.Pipe()
	if err != nil {
		s.t.Fatal(err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { in.Close(); r.Close() }) // the test may have closed in
	cmd.Stdin, p.in = stdin, in
	stderr, err := os.CreateTemp(s.root, "stderr")
	if err != nil {
		s.t.Fatal(err)
	}
	p.stderr = stderr.Name()
	cmd.Stdout, cmd.Stderr = w, stderr
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	if err := errors.Join(stdin.Close(), w.Close(), stderr.Close()); err != nil {
		s.t.Fatal(err)
	}
	go func() {
		cmd.Wait() // its code is checked
		close(p.ended)
	}()
	s.t.Cleanup(func() { cmd.Process.Kill() }) // an error means that it has ended
	p.unread, p.lines = r, bufio.NewScanner(io.TeeReader(r, &p.stdout))
	return p
}

// expect reads a line of the target and compares it.
func (p *process) expect(want string) {
	p.t.Helper()
	if !p.lines.Scan() || p.lines.Text() != want {
		p.t.Fatalf("the target says %q, want %q: %v", p.lines.Text(), want, p.lines.Err())
	}
}

// output reads what the target prints until no process can print any more.
func (p *process) output() string {
	for p.lines.Scan() {
		continue
	}
	return p.stdout.String()
}

func (p *process) signal(s os.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.t.Fatal(err)
	}
}

// wait returns what clrprof left, when all that have its standard output have ended.
func (p *process) wait() result {
	p.t.Helper()
	stdout := p.output()
	<-p.ended
	return result{exit: exitCode(p.cmd.ProcessState), stdout: stdout, stderr: p.said()}
}

// said is what clrprof and the target have written to standard error up to now.
func (p *process) said() string {
	p.t.Helper()
	b, err := os.ReadFile(p.stderr)
	if err != nil {
		p.t.Fatal(err)
	}
	return string(b)
}

// hasEnded says whether clrprof has ended.
func (p *process) hasEnded() bool {
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}

// oneLine asserts that clrprof said one line, with these words, on standard error.
func oneLine(t *testing.T, r result, words ...string) {
	t.Helper()
	if !strings.HasPrefix(r.stderr, "clrprof: ") || strings.Index(r.stderr, "\n") != len(r.stderr)-1 {
		t.Errorf("standard error is not one line of clrprof: %q", r.stderr)
	}
	for _, w := range words {
		if !strings.Contains(r.stderr, w) {
			t.Errorf("%q is not in %q", w, r.stderr)
		}
	}
}

// endStates maps the name of each process to how it ended.
func endStates(t *testing.T, session string) map[string]string {
	t.Helper()
	states := map[string]string{}
	for _, row := range query[struct {
		Name  string `json:"name"`
		State string `json:"end_state"`
	}](t, session, "select name, end_state from process") {
		states[row.Name] += row.State
	}
	return states
}
