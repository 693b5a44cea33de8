package e2e

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
)

// mount puts an empty file system of so many bytes over a directory of the sandbox.
func (s *sandbox) mount(dir string, bytes int, flags uintptr) {
	s.t.Helper()
	if os.Getuid() != 0 {
		s.t.Skip("only root can mount")
	}
	if err := unix.Mount("tmpfs", dir, "tmpfs", flags, "mode=755,size="+itoa(bytes)); err != nil {
		s.t.Skipf("no right to mount: %v", err)
	}
	if s.uid >= 0 {
		if err := os.Chown(dir, s.uid, s.uid); err != nil {
			s.t.Fatal(err)
		}
	}
	s.unmounts = append(s.unmounts, dir)
}

// record runs a command under clrprof into s.clrprof, with more flags if need be.
func (s *sandbox) record(command []string, flags ...string) result {
	s.t.Helper()
	r := s.run(append(append([]string{"run", "--no-report", "-o", "s.clrprof"}, flags...),
		append([]string{"--"}, command...)...)...)
	r.session = filepath.Join(s.out, "s.clrprof")
	return r
}

// keptIn finds the directory that clrprof says it has kept.
var keptIn = regexp.MustCompile(`clrprof recover (\S+) -o FILE`)

// recovered runs what clrprof says is to be done when a session could not be written, and checks the session.
func (s *sandbox) recovered(r result, runtime dotnettest.Runtime) {
	s.t.Helper()
	match := keptIn.FindStringSubmatch(r.stderr)
	if match == nil {
		s.t.Fatalf("it does not say how to recover: %q", r.stderr)
	}
	if other := s.record([]string{"true"}, "-o", filepath.Join(s.tmp, "other.clrprof")); other.exit != codeNoRuntime {
		s.t.Errorf("a run in between: %d, %s", other.exit, other.stderr)
	}
	path := filepath.Join(s.root, "recovered.clrprof")
	recovering := s.run("recover", match[1], "-o", path)
	if recovering.exit != 0 {
		s.t.Fatalf("recover: exit code %d: %s", recovering.exit, recovering.stderr)
	}
	checkSession(s.t, path)
	r.session = path
	compareTruth(s.t, r, runtime)
	if note := query[struct{ Value string }](s.t, path, "select value from info where key = 'note'"); len(note) != 1 {
		s.t.Error("the session does not say that it was recovered")
	}
}

// TestSessionDirectoryFull: whenever the file system of the session gets full, the target is not disturbed, clrprof
// says it in a line, and nothing is lost: the session is readable, or its data can be recovered.
func TestSessionDirectoryFull(t *testing.T) {
	t.Parallel()
	in := dotnettest.Need(t)
	recoveries, readable := 0, 0
	tooSmall, enough := 0, 0 // for the recording; for all
	try := func(size int) {
		s := newSandbox(t)
		s.mount(s.out, size, 0)
		r := s.record(s.target(in.Newest(), "Children", "child", "3"))
		if r.exit == 0 {
			checkSession(t, r.session)
			if enough == 0 || size < enough {
				enough = size
			}
			return
		}
		oneLine(t, r)
		if r.exit != codeUnwritable || !strings.Contains(r.stderr, "full") {
			t.Errorf("%d bytes: exit code %d: %s", size, r.exit, r.stderr)
		}
		switch {
		case r.stdout == "": // the target was not started: not even an empty session fits
			if left := list(t, s.out); len(left) != 0 {
				t.Errorf("%d bytes: nothing was recorded, but %v is there", size, left)
			}
		case keptIn.MatchString(r.stderr):
			recoveries++
			tooSmall = max(tooSmall, size)
			s.recovered(r, in.Newest())
		default: // the recording is whole, only its names or sums are missing
			readable++
			checkSession(t, r.session)
			compareTruth(t, withoutLines(r), in.Newest())
		}
	}
	for _, size := range []int{64 << 10, 160 << 10, 192 << 10, 224 << 10, 256 << 10, 288 << 10, 320 << 10, 352 << 10,
		368 << 10, 384 << 10, 400 << 10, 448 << 10, 512 << 10, 544 << 10, 576 << 10, 608 << 10, 640 << 10} {
		try(size)
	}
	// How large a session is depends on how long its program takes, here too.
	for readable == 0 && enough-tooSmall > os.Getpagesize() {
		try((tooSmall + enough) / 2 &^ (os.Getpagesize() - 1))
	}
	if recoveries == 0 || readable == 0 {
		t.Errorf("%d recoveries, %d sessions without sums: want both cases tested", recoveries, readable)
	}
}

// withoutLines drops what a session whose names were not resolved cannot know.
func withoutLines(r result) result {
	var kept []string
	for _, line := range strings.SplitAfter(r.stdout, "\n") {
		if !strings.Contains(line, `"truth":"line"`) {
			kept = append(kept, line)
		}
	}
	r.stdout = strings.Join(kept, "")
	return r
}

// TestFileSizeLimit: a limit of the size of files that is reached during the run is as a full file system.
func TestFileSizeLimit(t *testing.T) {
	t.Parallel()
	in := dotnettest.Need(t)
	s := newSandbox(t)
	p := s.start(append([]string{"run", "--no-report", "-o", "s.clrprof", "--"},
		s.target(in.Newest(), "Echo", "signal")...)...)
	p.expect("ready")
	limit := unix.Rlimit{Cur: 32 << 10, Max: 32 << 10}
	if err := unix.Prlimit(p.cmd.Process.Pid, unix.RLIMIT_FSIZE, &limit, nil); err != nil {
		t.Fatal(err)
	}
	p.signal(unix.SIGINT)
	r := p.wait()
	oneLine(t, r, "cannot write the session")
	if r.exit != 10 {
		t.Errorf("exit code %d, want the target's own", r.exit)
	}
	if r.stdout != "ready\nSIGINT\n" {
		t.Errorf("the target says %q", r.stdout)
	}
	// Readers see what was there before the write that was cut off, and leave its journal as it is.
	if seen := s.run("report", "s.clrprof", "header"); seen.exit != 0 || !strings.Contains(seen.stdout, "cut off") {
		t.Errorf("what was written before: exit code %d: %s%s", seen.exit, seen.stdout, seen.stderr)
	}
	if err := os.Remove(filepath.Join(s.out, "s.clrprof-journal")); err != nil {
		t.Errorf("the reader took the journal: %v", err)
	}
	r.stdout = `{"truth":"end"}` + "\n" + `{"truth":"note","name":"nothing"}`
	s.recovered(r, in.Newest())
}

// TestUnwritable: a session that cannot be made is said in one line before the command is started.
func TestUnwritable(t *testing.T) {
	t.Parallel()
	in := dotnettest.Need(t)
	s := newSandbox(t)
	command := s.target(in.Newest(), "Exits", "return")
	if r := s.record(command); r.exit != 7 {
		t.Fatalf("exit code %d: %s", r.exit, r.stderr)
	}
	first, err := os.ReadFile(filepath.Join(s.out, "s.clrprof"))
	if err != nil {
		t.Fatal(err)
	}
	forbidden := filepath.Join(s.out, "forbidden")
	if err := errors.Join(os.Mkdir(forbidden, 0o700), os.Chmod(forbidden, 0o500)); err != nil {
		t.Fatal(err)
	}
	s.asUser()
	command = s.target(in.Newest(), "Exits", "return")
	for _, tt := range []struct {
		flags []string
		words []string
	}{
		{[]string{"-o", "missing/s.clrprof"}, []string{"missing/s.clrprof", "no such file or directory"}},
		{[]string{"-f", "-o", "missing/s.clrprof"}, []string{"directory", "out/missing: no such file or directory"}},
		{[]string{"-o", "missing/%p.clrprof"}, []string{"no such file or directory"}},
		{[]string{"-o", "forbidden/s.clrprof"}, []string{"forbidden/s.clrprof", "permission denied"}},
		{[]string{"-o", "s.clrprof/x"}, []string{"s.clrprof/x", "not a directory"}},
		{[]string{"-o", "s.clrprof"}, []string{"s.clrprof", "exists", "-f"}},
		{[]string{"-o", "."}, []string{"exists"}},
		{[]string{"-f", "-o", "."}, []string{"not a regular file"}},
		{[]string{"-o", s.out}, []string{s.out, "exists"}},
		{[]string{"-o", "/dev/full"}, []string{"/dev/full", "exists"}},
		{[]string{"-f", "-o", "/dev/full"}, []string{"/dev/full", "not a regular file"}},
		{[]string{"-f", "-o", "/dev/null"}, []string{"/dev/null", "not a regular file"}},
	} {
		r := s.record(command, tt.flags...)
		oneLine(t, r, tt.words...)
		if r.exit != codeUnwritable || r.stdout != "" {
			t.Errorf("%v: exit code %d, want %d; the target says %q", tt.flags, r.exit, codeUnwritable, r.stdout)
		}
	}
	if now, err := os.ReadFile(filepath.Join(s.out, "s.clrprof")); err != nil || string(now) != string(first) {
		t.Errorf("the first session has changed: %v", err)
	}
	if d := cmp.Diff([]string{"forbidden", "s.clrprof"}, list(t, s.out)); d != "" {
		t.Errorf("what is left: %s", d)
	}
}

// TestReplace: -f replaces a session when there is a new one, and not before.
func TestReplace(t *testing.T) {
	t.Parallel()
	in := dotnettest.Need(t)
	s := newSandbox(t)
	if r := s.record(s.target(in.Newest(), "Children", "child", "1")); r.exit != 0 {
		t.Fatalf("exit code %d: %s", r.exit, r.stderr)
	}
	// The journal of a killed writer must not be applied to another file.
	if err := os.WriteFile(filepath.Join(s.out, "s.clrprof-journal"), []byte("of another file"), 0o600); err != nil {
		t.Fatal(err)
	}
	old := s.total("s.clrprof")
	for _, command := range []string{"no-such-command-anywhere", s.root} {
		if r := s.record([]string{command}, "-f"); r.exit != codeNoTarget || s.total("s.clrprof") != old {
			t.Errorf("%s: exit code %d, want %d; the session has %d allocations, had %d", command, r.exit, codeNoTarget,
				s.total("s.clrprof"), old)
		}
	}
	r := s.record(s.target(in.Newest(), "Children", "child", "5"), "-f")
	if r.exit != 0 {
		t.Fatalf("exit code %d: %s", r.exit, r.stderr)
	}
	checkSession(t, r.session)
	compareTruth(t, r, in.Newest())
	if d := cmp.Diff([]string{"s.clrprof"}, list(t, s.out)); d != "" {
		t.Errorf("what is left: %s", d)
	}
}

// TestNames: the patterns of -o.
func TestNames(t *testing.T) {
	t.Parallel()
	in := dotnettest.Need(t)
	s := newSandbox(t)
	command := s.target(in.Newest(), "Exits", "return")
	for _, tt := range []struct{ pattern, want string }{
		{"%e-%p.x", `^Exits-[0-9]+\.x$`},
		{"%t", `^[0-9]{8}-[0-9]{6}$`},
		{"a%b%%p", `^a%b%[0-9]+$`},
		{"", `^Exits\.[0-9]+\.[0-9]{8}-[0-9]{6}\.clrprof$`},
	} {
		args := []string{"run", "--no-report", "-o", tt.pattern}
		if tt.pattern == "" {
			args = args[:2]
		}
		r := s.run(append(args, command...)...)
		names := list(t, s.out)
		if r.exit != 7 || len(names) != 1 || !regexp.MustCompile(tt.want).MatchString(names[0]) ||
			!strings.Contains(r.stderr, "session "+names[0]) {
			t.Errorf("-o %q: exit code %d, files %q: %s", tt.pattern, r.exit, names, r.stderr)
		}
		for _, name := range names {
			if err := os.Remove(filepath.Join(s.out, name)); err != nil {
				t.Error(err)
			}
		}
	}
}
