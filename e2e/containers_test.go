package e2e

import (
	"encoding/json"
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
)

// appUID is the user in Microsoft's images of .NET, APP_UID.
const appUID = 1654

// inContainer makes a root of a container as an engine would, in a name space of mounts of its own, and runs a command in
// it: folders of this machine are its layers, read-only, and it has neither a shell nor any other program.
const inContainer = `set -eu
root=$1 shm=$2; shift 2
mount -t tmpfs -o mode=755 none "$root"
mkdir -p "$root/usr" "$root/proc" "$root/tmp" "$root/dev/shm"
ln -s usr/lib "$root/lib"
ln -s usr/lib64 "$root/lib64"
while [ "$1" != -- ]; do
  mkdir -p "$root$2"
  mount --bind "$1" "$root$2"
  mount -o remount,bind,ro "$root$2"
  shift 2
done
shift
touch "$root/dev/null"
mount --bind /dev/null "$root/dev/null"
mount -t proc none "$root/proc"
mount -t tmpfs -o mode=1777 none "$root/tmp"
mount --bind "$shm" "$root/dev/shm"
mount -o remount,ro "$root"
cd /
exec "$@"`

// sample is a file of samples/containers.
func sample(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("../samples/containers", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// imageOf returns the environment and the command of the last image of a Dockerfile.
func imageOf(t *testing.T, text string) (env map[string]string, command []string) {
	t.Helper()
	env = map[string]string{}
	text = strings.ReplaceAll(text[strings.LastIndex(text, "\nFROM "):], "\\\n", "")
	for line := range strings.Lines(text) {
		instruction, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch instruction {
		case "ENV":
			for _, kv := range strings.Fields(rest) {
				name, value, _ := strings.Cut(kv, "=")
				env[name] = value
			}
		case "ENTRYPOINT":
			if err := json.Unmarshal([]byte(rest), &command); err != nil {
				t.Fatal(err)
			}
		}
	}
	return env, command
}

// TestContainerSamples: the samples say what clrprof env prints.
func TestContainerSamples(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	agent := "/opt/clrprof/libclrprof-linux-x64.so"
	var printed struct{ Variables map[string]string }
	if err := json.Unmarshal([]byte(s.run("env", "--json", "--agent", agent).stdout), &printed); err != nil {
		t.Fatal(err)
	}
	env, command := imageOf(t, sample(t, "Dockerfile"))
	if diff := cmp.Diff(printed.Variables, env); diff != "" || !slices.Equal(command, []string{"dotnet", "/app/shop.dll"}) {
		t.Errorf("the Dockerfile (-printed +there), command %q:\n%s", command, diff)
	}
	words := func(text string) string { return strings.Join(strings.Fields(text), " ") }
	pod := words(sample(t, "pod.yaml"))
	_, wanted, _ := strings.Cut(words(s.run("env", "kubernetes", "--agent", agent).stdout), "env:")
	wanted, _, _ = strings.Cut(wanted, " volumes:")
	if !strings.Contains(pod, wanted) {
		t.Errorf("pod.yaml has not: %s", wanted)
	}
}

// container is a service in a container.
type container struct {
	*service
	folder string // of the test
	shm    string // what the container has as /dev/shm
}

// startContainer starts Steps as the sample's image does: chiseled, without a right, and without a place to write but
// 64 MiB of shared memory and /tmp.
func startContainer(t *testing.T) *container {
	t.Helper()
	if os.Getuid() != 0 || exec.Command("unshare", "--pid", "--mount", "--fork", "--mount-proc", "true").Run() != nil {
		t.Skip("needs the right to make namespaces")
	}
	if target, err := os.Readlink("/lib64"); err != nil || target != "usr/lib64" {
		t.Skip("the libraries of this machine are not below /usr")
	}
	s := newSandbox(t)
	runtime := dotnettest.Need(t).Newest()
	c := &container{folder: t.TempDir(), shm: filepath.Join(s.root, "container-shm")}
	agent, root := filepath.Join(c.folder, "agent"), filepath.Join(c.folder, "root")
	if r := s.run("env", "--copy-agent", agent, "--libc", "glibc"); r.exit != 0 {
		t.Fatalf("exit code %d: %s", r.exit, r.stderr)
	}
	if err := errors.Join(os.Mkdir(root, 0o755), os.Mkdir(c.shm, 0o755)); err != nil {
		t.Fatal(err)
	}
	s.mount(c.shm, 64<<20, 0) // as much as Docker gives
	if err := os.Chmod(c.shm, 0o777|os.ModeSticky); err != nil {
		t.Fatal(err)
	}
	env, _ := imageOf(t, sample(t, "Dockerfile"))
	env["DOTNET_SYSTEM_GLOBALIZATION_INVARIANT"] = "true" // as the image has it
	dll := dotnettest.Target(t, "Steps", dotnettest.Options{})
	command := []string{"unshare", "--pid", "--mount", "--fork", "--kill-child", "sh", "-c", inContainer, "sh", root, c.shm,
		"/usr/lib", "/usr/lib", "/usr/lib64", "/usr/lib64", publish(t, runtime.Root), "/usr/share/dotnet",
		publish(t, filepath.Dir(dll)), "/app", agent, "/opt/clrprof", "--", "env", "-i", s.mark()}
	for _, name := range slices.Sorted(maps.Keys(env)) {
		command = append(command, name+"="+env[name])
	}
	command = append(command, "/usr/sbin/chroot", "--userspec="+itoa(appUID)+":"+itoa(appUID), root, "/usr/share/dotnet/dotnet",
		"/app/Steps.dll")
	c.service = s.startWith(command, s.env)
	c.ready()
	c.pid = s.dotnet()
	return c
}

// TestContainer: root of the host records a service in a chiseled image.
func TestContainer(t *testing.T) {
	t.Parallel()
	c := startContainer(t)
	a := c.attach("chiseled")
	c.do("make 60")
	c.detach(a)
	a.counted(map[string]int64{"Steps.Item": 60})
	c.finish()
}

// TestContainerSidecar: so does clrprof in a container beside it, as the same user, which shares its processes and
// /dev/shm: as pod.yaml has it.
func TestContainerSidecar(t *testing.T) {
	t.Parallel()
	c := startContainer(t)
	root, out := filepath.Join(c.folder, "beside"), filepath.Join(c.folder, "out")
	for _, dir := range []string{root, out} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	tool := filepath.Dir(binary)
	if err := os.Chmod(tool, 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := c.s.command()
	cmd.Path, cmd.Args = "/usr/bin/nsenter", []string{"nsenter", "--target", itoa(c.pid), "--pid", "unshare", "--mount", "sh",
		"-c", inContainer, "sh", root, c.shm, tool, "/usr/local/bin", "--", "env", "-i",
		c.s.mark(), "/usr/sbin/chroot", "--userspec=" + itoa(appUID) + ":" + itoa(appUID), root,
		"/usr/local/bin/" + filepath.Base(binary), "attach", "steps", "--no-report", "-o", "/tmp/s.clrprof"}
	p := c.s.startCommand(cmd)
	await(t, "attached", func() bool {
		if p.hasEnded() {
			t.Fatalf("attach has ended: %s", p.said())
		}
		return strings.Contains(p.said(), "recording process")
	})
	var beside int
	for _, pid := range c.s.processes() {
		if exe, err := os.Readlink(filepath.Join("/proc", itoa(pid), "exe")); err == nil &&
			filepath.Base(exe) == filepath.Base(binary) {
			beside = pid
		}
	}
	folder, err := os.Open(filepath.Join("/proc", itoa(beside), "root/tmp")) // it stays when the container ends
	if err != nil {
		t.Fatal(err)
	}
	defer folder.Close()
	c.do("make 60")
	if err := unix.Kill(beside, unix.SIGINT); err != nil {
		t.Fatal(err)
	}
	if r := p.wait(); r.exit != 0 {
		t.Errorf("exit code %d: %s", r.exit, r.stderr)
	}
	session := filepath.Join(out, "s.clrprof")
	if err := copyFile(filepath.Join("/proc/self/fd", itoa(int(folder.Fd())), "s.clrprof"), session); err != nil {
		t.Fatal(err)
	}
	(&attachment{process: p, session: session}).counted(map[string]int64{"Steps.Item": 60})
	c.finish()
}
