package cli

import (
	"bytes"
	"html"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/clrprof/clrprof/internal/testkit/sessiontest"
)

// TestViewOpen: all users see the arguments of the browser, and the token is not in them. The file that is opened
// instead may be read by this user only, leads to the page, and is gone afterwards.
func TestViewOpen(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes")
	}
	dir := t.TempDir()
	path, told, runtime := filepath.Join(dir, "shop.clrprof"), filepath.Join(dir, "told"), filepath.Join(dir, "runtime")
	browser := "#!/bin/sh\necho \"$@\" > " + told + "\n"
	err := writeComplete(sessiontest.Shop(), path)
	for _, e := range []error{err, unix.Mkfifo(told, 0o600), os.Mkdir(runtime, 0o700),
		os.WriteFile(filepath.Join(dir, "xdg-open"), []byte(browser), 0o700)} {
		if e != nil {
			t.Fatal(e)
		}
	}
	var stdout, stderr bytes.Buffer
	cmd := exec.Command("clrprof", "view", path, "--open")
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"), "XDG_RUNTIME_DIR="+runtime)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Process.Kill()
	arguments, err := os.ReadFile(told) // waits for the browser
	if err != nil {
		t.Fatal(err)
	}
	opened, err := url.Parse(strings.TrimSpace(string(arguments)))
	if err != nil || opened.Scheme != "file" || !strings.HasPrefix(opened.Path, runtime+"/") {
		t.Fatalf("the browser opens %s: %v", arguments, err)
	}
	info, err := os.Stat(opened.Path)
	if err != nil || info.Mode() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	text, err := os.ReadFile(opened.Path)
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`content="0; url=(http://127\.0\.0\.1:\d+/\?token=[0-9a-f]{48})"`).FindSubmatch(text)
	if found == nil {
		t.Fatalf("it holds %s", text)
	}
	jar, _ := cookiejar.New(nil) // never fails
	client := &http.Client{Jar: jar}
	answer, err := client.Get(html.UnescapeString(string(found[1])))
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("%v, %v", answer, err)
	}
	answer.Body.Close()
	if err := cmd.Process.Signal(unix.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil || strings.TrimSpace(stdout.String()) != string(found[1]) {
		t.Errorf("%v: it printed %s%s", err, stdout.String(), stderr.String())
	}
	if left, err := os.ReadDir(runtime); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

// TestOpenerRemoves: the file goes when the page was opened, also while it is being served.
func TestOpenerRemoves(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "folder")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	opened := make(chan struct{})
	close(opened)
	(&opener{folder}).removeAfter(t.Context(), opened)
	if _, err := os.Stat(folder); err == nil {
		t.Error("it is there")
	}
}

// TestViewRemote: a page that other machines may reach has an address that can be opened, and a warning.
func TestViewRemote(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes")
	}
	path := filepath.Join(t.TempDir(), "shop.clrprof")
	if err := writeComplete(sessiontest.Shop(), path); err != nil {
		t.Fatal(err)
	}
	for listen, remote := range map[string]bool{"0.0.0.0:0": true, "[::]:0": true, "127.0.0.1:0": false} {
		cmd := exec.Command("clrprof", "view", path, "--listen", listen)
		stdout, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		stderr, err := cmd.StderrPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		defer cmd.Process.Kill()
		line := make([]byte, 200)
		n, err := stdout.Read(line)
		if err != nil {
			t.Fatal(err)
		}
		address, err := url.Parse(strings.TrimSpace(string(line[:n])))
		if host := address.Hostname(); err != nil || host == "0.0.0.0" || host == "::" || host == "" {
			t.Errorf("%s: it printed %s: %v", listen, line[:n], err)
		}
		jar, _ := cookiejar.New(nil) // never fails
		answer, err := (&http.Client{Jar: jar}).Get(address.String())
		if err != nil || answer.StatusCode != http.StatusOK {
			t.Fatalf("%s: %v, %v", listen, answer, err)
		}
		answer.Body.Close()
		if err := cmd.Process.Signal(unix.SIGTERM); err != nil {
			t.Fatal(err)
		}
		said, err := io.ReadAll(stderr)
		if err := cmd.Wait(); err != nil {
			t.Errorf("%s: %v", listen, err)
		}
		if strings.Contains(string(said), remoteWarning) != remote {
			t.Errorf("%s: it says %s: %v", listen, said, err)
		}
	}
}
