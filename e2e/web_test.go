package e2e

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
)

const (
	webClients  = 8   // at once
	webRequests = 150 // of each, a third of each kind
)

// TestWeb profiles a web server under load, in each mode, on each runtime that can run it: every answer is right, and
// what the handlers made is what they say.
func TestWeb(t *testing.T) {
	t.Parallel()
	for _, flags := range dotnettest.Some([][]string{nil, {"--memory"}, {"--time", "--memory"}}) {
		for _, runtime := range dotnettest.NeedRuntimes(t, 8) {
			t.Run(strings.Join(flags, " ")+"/"+runtime.Name, func(t *testing.T) {
				t.Parallel()
				r := recordWeb(t, runtime, flags)
				checkSession(t, r.session)
				compareTruth(t, r, runtime)
			})
		}
	}
}

// TestWebTimed times a web server: its handlers were called once for each request, and the functions of ASP.NET Core
// that it calls are known by their signatures, also those called before any assembly of ASP.NET Core was loaded.
func TestWebTimed(t *testing.T) {
	t.Parallel()
	const each = webClients * webRequests / 3
	want := map[string]int64{"Get": each, "GetLater": each, "Text": each, "Make": 2 * each, "Run": 1}
	for _, runtime := range dotnettest.NeedRuntimes(t, 8) {
		t.Run(runtime.Name, func(t *testing.T) {
			r := recordWeb(t, runtime, timeOnly)
			checkTimeSession(t, r.session)
			compareCallsByName(t, r,
				"f.raw_type = 'Web.Handlers' AND f.raw_name IN ('Get', 'GetLater', 'Text', 'Make') OR "+
					"f.raw_type LIKE '%.WebApplication' AND f.raw_name = 'Run'", want)
			for _, f := range query[struct{ Name string }](t, r.session, "SELECT m.name || ' ' || f.name AS name "+
				"FROM function f JOIN module m ON m.id = f.module_id WHERE m.path = '' AND m.name LIKE 'Microsoft.%' "+
				"OR f.name LIKE '%(?)%'") {
				t.Errorf("a function without a signature, or of no file: %s", f.Name)
			}
			readTimedWeb(t, r)
		})
	}
}

// readTimedWeb checks that a person finds what requests did, though Main waits all the time for the end of the server.
func readTimedWeb(t *testing.T, r result) {
	t.Helper()
	if tree := run(t, "report", r.session, "calltree").stdout; !strings.Contains(tree, "Handlers.GetLater(int)") {
		t.Errorf("the call tree does not show what requests did:\n%s", tree)
	}
	if summary := run(t, "report", r.session, "summary").stdout; !containsAll(summary, []string{"What your async methods await",
		"Handlers.GetLater(int) [async]", "waiting for the end of Main"}) {
		t.Errorf("the summary does not say what is awaited:\n%s", summary)
	}
}

// recordWeb records the server while all requests are sent.
func recordWeb(t *testing.T, runtime dotnettest.Runtime, flags []string) result {
	t.Helper()
	dll := dotnettest.Target(t, "Web", dotnettest.Options{Framework: dotnettest.Net8, Web: true})
	r := recordWhile(t, runtime.Command(dll), flags, func(line string) {
		if address, ok := strings.CutPrefix(line, "listening "); ok {
			loadWeb(t, address)
		}
	})
	if r.exit != 0 {
		t.Fatalf("exit code %d\n%s%s", r.exit, r.stdout, r.stderr)
	}
	return r
}

// recordWhile is record for a target that somebody talks to: said is called with each line that it prints, as soon as
// it does.
func recordWhile(t *testing.T, target *exec.Cmd, flags []string, said func(line string)) result {
	t.Helper()
	path, in, args := recordArgs(t, target, flags)
	cmd := exec.Command(binary, args...)
	cmd.Stdin, cmd.Env, cmd.Dir = in.stdin, in.env, in.dir
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var stderr, text bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for lines := bufio.NewScanner(io.TeeReader(stdout, &text)); lines.Scan(); {
		said(lines.Text())
	}
	_ = cmd.Wait() // its exit code is in the result
	return result{exit: exitCode(cmd.ProcessState), stdout: text.String(), stderr: stderr.String(), session: path}
}

// loadWeb sends all requests and ends the server.
func loadWeb(t *testing.T, address string) {
	t.Helper()
	asked := askAtOnce(func(client *http.Client, c int) (err error) {
		for i := range webRequests {
			err = errors.Join(err, askWeb(client, address, c, i))
		}
		return err
	})
	if err := errors.Join(asked, stopWeb(address)); err != nil {
		t.Errorf("asking the server: %v", err)
	}
}

// askAtOnce lets all clients ask at once.
func askAtOnce(ask func(client *http.Client, c int) error) error {
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: webClients}}
	defer client.CloseIdleConnections()
	errs := make([]error, webClients)
	var all sync.WaitGroup
	for c := range webClients {
		all.Go(func() { errs[c] = ask(client, c) })
	}
	all.Wait()
	return errors.Join(errs...)
}

// stopWeb ends the server.
func stopWeb(address string) error {
	answer, err := http.Post(address+"/stop", "", nil)
	if err != nil {
		return err
	}
	return answer.Body.Close()
}

// askWeb sends the i-th request of a client and checks the answer.
func askWeb(client *http.Client, address string, c, i int) error {
	id := c*webRequests + i
	path, want := "/text", "Web.Note"
	if i%3 != 0 {
		path = fmt.Sprintf("/%s/%d", []string{"", "order", "later"}[i%3], id)
		line := func(n int) string { return fmt.Sprintf(`{"article":"article","price":%d}`, id+n) }
		want = fmt.Sprintf(`{"id":%d,"lines":[%s,%s,%s]}`, id, line(0), line(1), line(2))
	}
	answer, err := client.Get(address + path)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		return fmt.Errorf("reading the answer of %s: %w", path, err)
	}
	if answer.StatusCode != http.StatusOK || string(body) != want {
		return fmt.Errorf("%s answers %s %q, want %q", path, answer.Status, body, want)
	}
	return nil
}
