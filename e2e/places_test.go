package e2e

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
)

// layDotnet puts a .NET with one runtime into a folder, as packages install it.
func layDotnet(t *testing.T, runtime dotnettest.Runtime, folder string) {
	t.Helper()
	fxr := filepath.Dir(hostfxr(t, runtime))
	shared := filepath.Join("shared/Microsoft.NETCore.App", runtime.Name)
	if err := errors.Join(os.MkdirAll(folder, 0o755),
		publishTree(fxr, filepath.Join(folder, "host/fxr", filepath.Base(fxr))),
		publishTree(filepath.Join(runtime.Root, shared), filepath.Join(folder, shared)),
		copyFile(runtime.Dotnet, filepath.Join(folder, "dotnet"))); err != nil {
		t.Fatal(err)
	}
}

// TestPlacesOfDotnet: .NET is where distributions, snaps and users put it, found by the PATH alone, with no variable that
// names it; and a global.json asks for an SDK that is not there.
func TestPlacesOfDotnet(t *testing.T) {
	t.Parallel()
	runtime := dotnettest.Need(t).Newest()
	for _, tt := range []struct{ name, folder, bin, link string }{
		{"Debian", "usr/lib/dotnet", "usr/bin", "../lib/dotnet/dotnet"},
		{"Microsoft", "usr/share/dotnet", "usr/bin", "../share/dotnet/dotnet"},
		{"snap", "snap/dotnet/123/usr/lib/dotnet", "snap/bin", "../dotnet/current/usr/lib/dotnet/dotnet"},
		{"home", "home/Jane Doe/.dotnet", "bin", "../home/Jane Doe/.dotnet/dotnet"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newSandbox(t)
			command := s.target(runtime, "Threads", "3", "100")
			dll := command[slices.IndexFunc(command, func(a string) bool { return strings.HasSuffix(a, ".dll") })]
			layDotnet(t, runtime, filepath.Join(s.root, tt.folder))
			bin := filepath.Join(s.root, tt.bin)
			if err := errors.Join(os.MkdirAll(bin, 0o755), os.Symlink(tt.link, filepath.Join(bin, "dotnet")),
				os.WriteFile(filepath.Join(s.out, "global.json"),
					[]byte(`{"sdk": {"version": "99.9.100", "rollForward": "disable"}}`), 0o644)); err != nil {
				t.Fatal(err)
			}
			if tt.name == "snap" {
				if err := os.Symlink("123", filepath.Join(s.root, "snap/dotnet/current")); err != nil {
					t.Fatal(err)
				}
			}
			s.env = slices.DeleteFunc(s.env, func(kv string) bool {
				return strings.HasPrefix(kv, "DOTNET_ROOT") || strings.HasPrefix(kv, "PATH=")
			})
			s.env = append(s.env, "PATH="+bin+":"+os.Getenv("PATH"))
			r := s.record([]string{"dotnet", dll, "3", "100"})
			if r.exit != 0 {
				t.Fatalf("exit code %d: %s", r.exit, r.stderr)
			}
			compareTruth(t, r, runtime)
			checkProcess(t, r.session, runtime)
		})
	}
}

// dockerRefuses are the system calls that Docker's default filter refuses to a container without capabilities; those of
// ptrace it has allowed since Linux 4.8, and other engines refuse them still.
var dockerRefuses = []int{unix.SYS_ACCT, unix.SYS_ADD_KEY, unix.SYS_BPF, unix.SYS_CLOCK_ADJTIME, unix.SYS_CLOCK_SETTIME,
	unix.SYS_DELETE_MODULE, unix.SYS_FANOTIFY_INIT, unix.SYS_FINIT_MODULE, unix.SYS_GET_MEMPOLICY, unix.SYS_INIT_MODULE,
	unix.SYS_IO_URING_SETUP, unix.SYS_KCMP, unix.SYS_KEXEC_LOAD, unix.SYS_KEYCTL, unix.SYS_LOOKUP_DCOOKIE, unix.SYS_MBIND,
	unix.SYS_MOUNT, unix.SYS_MOVE_PAGES, unix.SYS_NAME_TO_HANDLE_AT, unix.SYS_OPEN_BY_HANDLE_AT, unix.SYS_PERF_EVENT_OPEN,
	unix.SYS_PIVOT_ROOT, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_PTRACE, unix.SYS_QUOTACTL,
	unix.SYS_REBOOT, unix.SYS_REQUEST_KEY, unix.SYS_SET_MEMPOLICY, unix.SYS_SETNS, unix.SYS_SETTIMEOFDAY, unix.SYS_SWAPON,
	unix.SYS_SWAPOFF, unix.SYS_SYSLOG, unix.SYS_UMOUNT2, unix.SYS_UNSHARE, unix.SYS_USERFAULTFD, unix.SYS_VHANGUP}

// asUnit confines a command as a hardened unit of systemd does: ProtectSystem=strict with one folder to write to,
// ProtectProc=invisible, User=, NoNewPrivileges= and CapabilityBoundingSet=.
const asUnit = `set -eu
mount --bind "$1" "$1"
mount -o remount,bind,ro /
mount -t proc -o hidepid=2 none /proc
shift
exec setpriv --reuid=65534 --regid=65534 --clear-groups --no-new-privs --bounding-set=-all --inh-caps=-all "$@"`

// TestConfined: clrprof and what it records are together in what engines and service managers put around programs, and
// objects are as exact as outside.
func TestConfined(t *testing.T) {
	t.Parallel()
	runtime := dotnettest.Need(t).Newest()
	refuse := filepath.Join(filepath.Dir(binary), "refuse")
	if text, err := exec.Command("gcc", "-Wall", "-Werror", "-o", refuse, "testdata/refuse.c").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	filter := []string{refuse}
	for _, call := range dockerRefuses {
		filter = append(filter, itoa(call))
	}
	filter = append(filter, "--")
	for _, tt := range []struct {
		name   string
		around func(s *sandbox) []string
		user   bool // without rights
	}{
		{"user name space", func(*sandbox) []string {
			return []string{"unshare", "--user", "--map-root-user", "--mount", "--pid", "--fork", "--mount-proc"}
		}, false},
		{"one in another", func(*sandbox) []string {
			return []string{"unshare", "--user", "--map-root-user", "unshare", "--user", "--map-root-user", "--pid", "--fork",
				"--mount-proc"}
		}, false},
		{"filter of Docker", func(*sandbox) []string { return filter }, true},
		{"hardened unit", func(s *sandbox) []string {
			return append([]string{"unshare", "--mount", "sh", "-c", asUnit, "sh", s.root}, filter...)
		}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newSandbox(t)
			if tt.user {
				s.asUser()
			}
			around := tt.around(s)
			if around[0] == "unshare" && exec.Command("unshare", around[1], "true").Run() != nil {
				t.Skip("needs the right to make namespaces")
			}
			args := slices.Concat(around, []string{binary, "run", "--no-report", "-o", "s.clrprof", "--"},
				s.target(runtime, "Threads", "3", "100"))
			cmd := s.command()
			path, err := exec.LookPath(args[0])
			if err != nil {
				t.Fatal(err)
			}
			cmd.Path, cmd.Args = path, args
			if tt.name == "hardened unit" {
				cmd.SysProcAttr = nil // it is root who confines it
			}
			r := s.finish(cmd)
			r.session = filepath.Join(s.out, "s.clrprof")
			if r.exit != 0 {
				t.Fatalf("exit code %d: %s", r.exit, r.stderr)
			}
			compareTruth(t, r, runtime)
		})
	}
}
