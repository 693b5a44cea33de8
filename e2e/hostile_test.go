package e2e

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/clrprof/clrprof/internal/capture/control"
	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
	"github.com/clrprof/clrprof/internal/testkit/safefstest"
	"github.com/clrprof/clrprof/internal/wire"
)

// hostileRounds is how often each attack is tried.
var hostileRounds = flag.Int("hostile", 1, "how often another user tries each attack")

// hostileMemory is what clrprof may need to say that an answer is none: a line has at most 16 MiB.
const hostileMemory = 300 << 20

// plant puts links to a file, and odd files, into each directory that appears in a folder, as often as it can until
// stopped: what its user may do, and nothing else.
func plant(folder, secret string, random *rand.Rand, stop *atomic.Bool) error {
	names := []string{wire.OptionsFile, wire.ControlFile, "keep", "session", "trace"}
	for !stop.Load() {
		entries, err := os.ReadDir(folder)
		if err != nil {
			return err
		}
		for _, e := range entries {
			path := filepath.Join(folder, e.Name())
			if !e.IsDir() || !strings.HasPrefix(e.Name(), fmt.Sprintf("clrprof-%d-", nobody)) {
				continue
			}
			name := filepath.Join(path, names[random.IntN(len(names))])
			switch random.IntN(4) { // what fails was not there any more, or is there already
			case 0:
				_ = os.Remove(name)
				_ = os.Symlink(secret, name)
			case 1:
				_ = unix.Mkfifo(filepath.Join(path, fmt.Sprintf("%d-1.arena", random.IntN(9)+1)), 0o666)
			case 2:
				_ = os.Symlink(secret, name)
				_ = os.Symlink(secret, filepath.Join(path, "7-7.arena"))
			case 3:
				if !strings.HasSuffix(path, "-away") && os.Rename(path, path+"-away") == nil {
					_ = os.Symlink(filepath.Dir(secret), path)
				}
			}
		}
		runtime.Gosched()
	}
	return nil
}

// sweep removes what an attack has left in a folder, but for the files of dormant agents.
func sweep(t *testing.T, folder string) {
	t.Helper()
	for _, name := range list(t, folder) {
		if !strings.HasPrefix(name, wire.DormantPrefix) {
			if err := os.RemoveAll(filepath.Join(folder, name)); err != nil {
				t.Error(err)
			}
		}
	}
}

// TestHostileProcess: the user of a process to which root attaches puts links in the way: no file of root's becomes that
// user's or another one, the process goes on, and without the attack it is recorded exactly.
func TestHostileProcess(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs two users")
	}
	theirs := newSandbox(t).asUser()
	x := theirs.startService(dotnettest.Need(t).Newest())
	theirs.uid = -1 // from here on root runs clrprof, and has a folder of its own
	own := t.TempDir()
	theirs.env = append(theirs.env, "CLRPROF_SHM="+own)
	secret := safefstest.Secret(t)
	for seed := range uint64(2 * *hostileRounds) {
		stop := &atomic.Bool{}
		planting := safefstest.AsNobody(t, func() error {
			return plant(theirs.shm, secret, rand.New(rand.NewPCG(seed, 36)), stop)
		})
		flags := []string{"--time", "--memory"}[seed%2]
		r := theirs.run("attach", itoa(x.pid), flags, "--for", "50ms", "--no-report", "-f", "-o",
			filepath.Join(own, "attacked.clrprof"))
		stop.Store(true)
		if err := <-planting; err != nil {
			t.Fatal(err)
		}
		if strings.Contains(r.stderr, "goroutine ") || r.exit == 125 {
			t.Errorf("seed %d: exit code %d: %s", seed, r.exit, r.stderr)
		}
		safefstest.Unharmed(t, secret)
		x.letsGo()
		sweep(t, theirs.shm)
	}
	a := x.attach("theirs")
	x.do("make 60")
	x.detach(a)
	a.counted(map[string]int64{"Steps.Item": 60})
	x.finish()
	safefstest.Unharmed(t, secret)
}

// forge makes, as nobody, what looks like a recording of a process in a folder for all, and returns its session.
func forge(t *testing.T, folder string, pid int, answer func(net.Conn)) (session string) {
	t.Helper()
	path := filepath.Join(folder, fmt.Sprintf("clrprof-%d-%d", nobody, pid))
	session = path + ".clrprof"
	err := <-safefstest.AsNobody(t, func() error {
		if err := errors.Join(os.Mkdir(path, 0o700), os.WriteFile(session, nil, 0o600),
			os.Symlink(session, filepath.Join(path, "session")),
			os.WriteFile(filepath.Join(path, itoa(pid)+"-1.arena"), nil, 0o600)); err != nil {
			return err
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		t.Cleanup(func() { f.Close() }) // nothing was written
		if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); err != nil {
			return err
		}
		l, err := net.Listen("unix", session+control.Suffix)
		if err != nil {
			return err
		}
		t.Cleanup(func() { l.Close() }) // its folder may be gone
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				go answer(c)
			}
		}()
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return session
}

// answerAlways sends a text to whoever comes, again and again if it has no end.
func answerAlways(text string, again bool) func(net.Conn) {
	return func(c net.Conn) {
		for {
			if _, err := c.Write([]byte(text)); err != nil || !again {
				return
			}
		}
	}
}

// TestHostileSockets: what another user says of a recording is an error of one line, in little memory, and soon; and
// about processes of others it counts for nothing.
func TestHostileSockets(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs two users")
	}
	for name, tt := range map[string]struct {
		answer func(net.Conn)
		says   string
	}{
		"wrong":   {answerAlways("{\"a\":1}\n{\"done\":true}\n", false), "is not recording"},
		"silent":  {answerAlways("", false), "no answer in"},
		"endless": {answerAlways(strings.Repeat("a", 1<<20), true), "no recording sends that"},
		"no JSON": {answerAlways("hello\n", false), "not JSON"},
		"deep":    {answerAlways(strings.Repeat("[", 1<<20)+"\n", false), "not JSON"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSandbox(t)
			if err := os.Chmod(s.shm, 0o777|os.ModeSticky); err != nil {
				t.Fatal(err)
			}
			defer sweep(t, s.shm)
			theirs, roots := sleepAs(t, nobody), sleepAs(t, 0)
			forge(t, s.shm, theirs, tt.answer)
			forge(t, s.shm, roots, tt.answer)
			for _, command := range [][]string{{"ctl", itoa(theirs), "status", "--timeout", "2s"},
				{"ctl", itoa(theirs), "pause", "--timeout", "2s"}, {"top", itoa(theirs), "--json"}} {
				if command[0] == "top" && name == "silent" {
					continue // it waits for half a minute
				}
				r := s.bounded(command...)
				if r.exit != 121 || !strings.Contains(r.stderr, tt.says) {
					t.Errorf("%v: exit code %d, want 121 and %q: %.500s", command, r.exit, tt.says, r.stderr)
				}
				oneLine(t, r)
			}
			r := s.bounded("ctl", itoa(roots), "status")
			if r.exit != 121 || !strings.Contains(r.stderr, "is not being recorded") {
				t.Errorf("exit code %d: %.500s", r.exit, r.stderr)
			}
		})
	}
}

// sleepAs starts a process of a user that does nothing.
func sleepAs(t *testing.T, uid uint32) (pid int) {
	t.Helper()
	cmd := exec.Command("sleep", "600")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill() // an error means that it has ended
		cmd.Wait()         // it was killed
	})
	return cmd.Process.Pid
}

// bounded runs clrprof, which must end soon and need little memory.
func (s *sandbox) bounded(args ...string) result {
	s.t.Helper()
	cmd := s.command(args...)
	timer := time.AfterFunc(time.Minute, func() { cmd.Process.Kill() }) // then its exit code is another one
	defer timer.Stop()
	r := s.finish(cmd)
	if usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok && usage.Maxrss<<10 > hostileMemory {
		s.t.Errorf("%v: %d MiB", args, usage.Maxrss>>10)
	}
	return r
}
