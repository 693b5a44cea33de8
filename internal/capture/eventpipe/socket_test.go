package eventpipe

import (
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// sleeper is a process that only waits, with more variables in its environment.
func sleeper(t *testing.T, environment ...string) int {
	t.Helper()
	cmd := exec.Command("sleep", "600")
	cmd.Env = append(os.Environ(), environment...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return cmd.Process.Pid
}

// serve answers one request at the socket of a process, and returns what it was.
func serve(t *testing.T, directory string, pid int, answer string) (request chan []byte) {
	t.Helper()
	name, err := socketName(pid)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chdir(directory); err != nil { // the path is too long for an address
		t.Fatal(err)
	}
	l, err := net.Listen("unix", name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	request = make(chan []byte, 1)
	go func() {
		c, err := l.Accept()
		if err != nil {
			close(request)
			return
		}
		b := make([]byte, 4096)
		n, _ := c.Read(b)
		_, _ = io.WriteString(c, answer)
		c.Close()
		request <- b[:n]
	}()
	return request
}

// TestStart: the request is as the protocol has it, byte by byte, and what follows the answer is the stream.
func TestStart(t *testing.T) {
	long := filepath.Join(t.TempDir(), strings.Repeat("long", 40))
	if err := os.Mkdir(long, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Chdir(long) // and back at the end
	pid := sleeper(t, "TMPDIR="+long)
	request := serve(t, long, pid, magic+"\x1c\x00\xff\x00\x00\x00"+"12345678"+"Nettrace")
	s, err := Start(pid, []Provider{{"AB", 0x0102, Critical, "C=1"}, {"D", 0, Verbose, ""}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	want := magic + "\x5b\x00\x02\x03\x00\x00" + "\x10\x00\x00\x00\x01\x00\x00\x00\x00\x02\x00\x00\x00" +
		"\x02\x01\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00" + "\x03\x00\x00\x00A\x00B\x00\x00\x00" +
		"\x04\x00\x00\x00C\x00=\x001\x00\x00\x00" +
		"\x00\x00\x00\x00\x00\x00\x00\x00\x05\x00\x00\x00\x02\x00\x00\x00D\x00\x00\x00\x00\x00\x00\x00"
	if got := string(<-request); got != want {
		t.Errorf("% x\nwant\n% x", got, want)
	}
	if stream, err := io.ReadAll(s); err != nil || string(stream) != "Nettrace" {
		t.Errorf("%q, %v", stream, err)
	}
}

// TestRefused: an error of the runtime, and rubbish, are errors as such.
func TestRefused(t *testing.T) {
	for answer, why := range map[string]string{
		magic + "\x18\x00\xff\xff\x00\x00\x85\x13\x13\x80": "error 80131385",
		magic + "\xff\xff\xff\x00\x00\x00":                 "begins with",
		"HTTP/1.1 400 Bad Request\r\n\r\n":                 "begins with",
		"":                                                 "does not answer",
	} {
		dir := t.TempDir()
		t.Chdir(dir)
		pid := sleeper(t, "TMPDIR="+dir)
		request := serve(t, dir, pid, answer)
		if _, err := Start(pid, []Provider{{"A", 0, Critical, ""}}); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%q: %v", answer, err)
		}
		<-request
	}
}

// TestNoSocket: a process that does not listen says why.
func TestNoSocket(t *testing.T) {
	dir := t.TempDir()
	for variable, why := range map[string]string{
		"DOTNET_EnableDiagnostics=0":     "runs with DOTNET_EnableDiagnostics=0",
		"DOTNET_EnableDiagnostics_IPC=0": "runs with DOTNET_EnableDiagnostics_IPC=0",
		"COMPlus_EnableDiagnostics=00":   "runs with COMPlus_EnableDiagnostics=0",
		"DOTNET_EnableDiagnostics=1":     "no diagnostics socket dotnet-diagnostic-",
	} {
		_, err := Start(sleeper(t, "TMPDIR="+dir, variable), []Provider{{"A", 0, Critical, ""}})
		if !errors.Is(err, ErrNoSocket) || !strings.Contains(err.Error(), why) {
			t.Errorf("%s: %v", variable, err)
		}
	}
	if _, err := Start(sleeper(t, "TMPDIR="+dir), []Provider{{"A", 0, Critical, ""}}); !errors.Is(err, ErrNotYet) {
		t.Errorf("no socket yet: %v", err)
	}
	if _, err := Start(1<<22+1, []Provider{{"A", 0, Critical, ""}}); !errors.Is(err, ErrNoSocket) {
		t.Errorf("no process: %v", err)
	}
}

// TestRequest: nothing that could harm the runtime is sent.
func TestRequest(t *testing.T) {
	long := strings.Repeat("A", maxText)
	for _, p := range [][]Provider{nil, make([]Provider, maxProviders+1), {{"", 0, Critical, ""}}, {{"A", 0, 9, ""}},
		{{"A\x00B", 0, Critical, ""}}, {{long + "A", 0, Critical, ""}}, {{long, 0, Critical, long}}} {
		if b, err := request(p); err == nil {
			t.Errorf("%d providers: %d bytes", len(p), len(b))
		}
	}
	for name, valid := range map[string]bool{"Shop.Orders": true, "A B": true, "Ä": true, "": false, "A;B": false,
		"A=B": false, "A,B": false, "A\\b": false, " A": false, "A\"": false} {
		if ValidName(name) != valid {
			t.Errorf("%q", name)
		}
	}
}

// TestForeignSocket: a link to another program's socket, or another process at the name, is sent nothing.
func TestForeignSocket(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	pid := sleeper(t, "TMPDIR="+dir)
	name, err := socketName(pid)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", "other")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := os.Symlink("other", name); err != nil {
		t.Fatal(err)
	}
	if _, err := Start(pid, []Provider{{"A", 0, Critical, ""}}); !errors.Is(err, ErrNoSocket) || !strings.Contains(err.Error(), "not a socket") {
		t.Errorf("%v", err)
	}
}
