package cli

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/cookiejar"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clrprof/clrprof/internal/testkit/journaltest"
)

// filesBelow describes all that is in folders: kinds, rights, owners, times of change and contents.
func filesBelow(t *testing.T, folders ...string) map[string]string {
	t.Helper()
	out := map[string]string{}
	add := func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		owner := info.Sys().(*syscall.Stat_t)
		text := fmt.Sprintf("%s of %d:%d, %s", info.Mode(), owner.Uid, owner.Gid, info.ModTime())
		if info.Mode().IsRegular() {
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			text += fmt.Sprintf(", %d bytes, SHA-256 %x", len(b), sha256.Sum256(b))
		}
		out[path] = text
		return nil
	}
	for _, folder := range folders {
		if err := filepath.WalkDir(folder, add); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// foreignUser is a user who is not root, of whom nothing needs to exist.
const foreignUser = 12345

// plantedFile is a file that another user could put beside a session.
type plantedFile struct {
	suffix  string // of its name, after the session's
	content []byte
	link    bool // content is where it leads
	foreign bool // it belongs to another user
}

// plantedJournal is what a session lies beside.
type plantedJournal struct {
	name     string
	files    []plantedFile
	foreign  bool // the session belongs to another user
	logged   bool // the session says that it has a write-ahead log
	readable bool // the session is read as it is, or as it was before the journal
}

// plantedJournals are those of a session; victim is the file that they would delete.
func plantedJournals(original []byte, victim string) []plantedJournal {
	rewrites := journaltest.Rewrite(original)
	size := journaltest.PageSize(original)
	deletes := journaltest.Delete(rewrites, size, victim)
	journal := func(b []byte) []plantedFile { return []plantedFile{{suffix: "-journal", content: b}} }
	out := []plantedJournal{
		{name: "none", readable: true},
		{name: "rewrites the session", files: journal(rewrites), readable: true},
		{name: "deletes a file", files: journal(deletes)},
		{name: "deletes a file without a page",
			files: journal(journaltest.Delete(rewrites[:journaltest.HeaderSize], size, victim))},
		{name: "garbage", files: journal(bytes.Repeat([]byte("garbage"), 1000)), readable: true}, // as one cut off early
		{name: "empty", files: journal(nil), readable: true},
		{name: "a link", files: []plantedFile{{suffix: "-journal", content: []byte(victim), link: true}}},
		{name: "a log", logged: true, readable: true,
			files: []plantedFile{{suffix: "-wal", content: []byte("no log")}, {suffix: "-shm", content: []byte("no index")}}},
		{name: "a log to come", logged: true, readable: true},
	}
	if os.Geteuid() == 0 {
		out = append(out,
			plantedJournal{name: "another user's",
				files: []plantedFile{{suffix: "-journal", content: rewrites, foreign: true}}},
			plantedJournal{name: "another user's, with that user's session", foreign: true,
				files: []plantedFile{{suffix: "-journal", content: deletes, foreign: true}}})
	}
	return out
}

// plant writes a session with what lies beside it.
func (p *plantedJournal) plant(path string, original []byte) error {
	session := bytes.Clone(original)
	if p.logged {
		session[18], session[19] = 2, 2 // the versions of the format to write and to read
	}
	files := append([]plantedFile{{content: session, foreign: p.foreign}}, p.files...)
	var err error
	for _, f := range files {
		at := path + f.suffix
		if f.link {
			err = errors.Join(err, os.Symlink(string(f.content), at))
			continue
		}
		err = errors.Join(err, os.WriteFile(at, f.content, 0o600))
		if f.foreign {
			err = errors.Join(err, os.Chown(at, foreignUser, foreignUser))
		}
	}
	return err
}

// readingOnce are all commands that read a session and end by themselves.
func readingOnce() (out [][]string) {
	for _, c := range reading() {
		if c[0] != "view" && c[0] != "export" { // viewOnce, and forgedReading replaces what was exported before
			out = append(out, c)
		}
	}
	out = append(out, forgedReading()...)
	return append(out, []string{"ctl", "SESSION", "mark", "here"}, []string{"sql", "SESSION", "PRAGMA journal_mode = DELETE"})
}

// viewOnce runs the command view until its page has answered a few requests.
func viewOnce(t *testing.T, paths ...string) error {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	r, w := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		e := &environment{stdout: w, stderr: io.Discard, getenv: func(string) string { return "" }}
		err := (&viewFlags{listen: anyPort}).run(e, ctx, paths)
		w.Close()
		ended <- err
	}()
	var line strings.Builder
	one := make([]byte, 1)
	for {
		if n, err := r.Read(one); err != nil || n == 1 && one[0] == '\n' {
			break
		}
		line.WriteByte(one[0])
	}
	go io.Copy(io.Discard, r)
	if address, token, served := strings.Cut(line.String(), "/?token="); served {
		jar, err := cookiejar.New(nil)
		if err != nil {
			t.Fatal(err)
		}
		client := &http.Client{Jar: jar}
		for _, path := range []string{"/?token=" + token, "/api/session", "/api/summary", "/api/view?view=functions",
			"/api/timeline", "/api/schema"} {
			answer, err := client.Get(address + path)
			if err != nil {
				t.Fatal(err)
			}
			if answer.StatusCode != http.StatusOK {
				t.Errorf("%s: %s", path, answer.Status)
			}
			answer.Body.Close()
		}
		client.CloseIdleConnections()
	}
	cancel()
	return <-ended
}

// TestForgedJournals: whatever lies beside a session, no command that reads it deletes, changes or makes a file there or
// where a journal says. A journal that is not believed is refused in one line; beside any other, each command does what
// it does beside none.
func TestForgedJournals(t *testing.T) {
	inFolder(t)
	original, err := os.ReadFile("good.clrprof")
	if err != nil {
		t.Fatal(err)
	}
	victim, err := filepath.Abs("elsewhere/victim")
	if err != nil {
		t.Fatal(err)
	}
	const path = "theirs/forged.clrprof"
	alone := map[string]int{} // exit codes without a journal, by command
	for i, p := range plantedJournals(original, victim) {
		if err := errors.Join(os.RemoveAll("theirs"), os.RemoveAll("elsewhere"), os.Mkdir("theirs", 0o700),
			os.Mkdir("elsewhere", 0o700), os.WriteFile(victim, []byte{0}, 0o600), p.plant(path, original)); err != nil {
			t.Fatal(err)
		}
		before := filesBelow(t, "theirs", "elsewhere")
		unchanged := func(command string) {
			if diff := cmp.Diff(before, filesBelow(t, "theirs", "elsewhere")); diff != "" {
				t.Fatalf("%s: %s changes files (-before +after):\n%s", p.name, command, diff)
			}
		}
		for _, arguments := range readingOnce() {
			command := strings.Join(arguments, " ")
			code, output := runMain(arguments, path)
			unchanged(command)
			if i == 0 {
				alone[command] = code
			}
			refused := !p.readable && code == exitUnreadable && strings.Count(output, "\n") == 1
			if same := code == alone[command] && (p.readable || code != exitOK); !same && !refused {
				t.Errorf("%s: %s: exit code %d, without a journal %d: %.500s", p.name, command, code, alone[command], output)
			}
		}
		for _, paths := range [][]string{{path}, {"good.clrprof", path}} {
			err := viewOnce(t, paths...)
			if unchanged("view"); p.readable != (err == nil) {
				t.Errorf("%s: view: %v", p.name, err)
			}
		}
	}
	read := 0
	for _, code := range alone {
		if code == exitOK {
			read++
		}
	}
	if read < len(alone)/2 {
		t.Errorf("%d of %d commands read a session without a journal: the test tests less", read, len(alone))
	}
}
