package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/clrprof/clrprof/internal/analysis/rules"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/testkit/sessiontest"
)

// reading are the commands that read a session: SESSION stands for it.
func reading() [][]string {
	out := [][]string{
		{"report", "SESSION"}, {"report", "SESSION", "functions"}, {"check-session", "SESSION"},
		{"check", "SESSION", "--budget", "budget.toml"}, {"budget", "init", "SESSION", "-o", "-"},
		{"sql", "SESSION", "select 1"}, {"mcp", "SESSION"}, {"view", "SESSION"},
		{"diff", "SESSION", "good.clrprof"}, {"diff", "good.clrprof", "SESSION"},
		{"view", "good.clrprof", "SESSION"}, {"check", "good.clrprof", "--budget", "budget.toml", "--baseline", "SESSION"},
		{"ctl", "SESSION", "status"}, {"ctl", "SESSION", "wait", "end"}, {"top", "SESSION"}, {"counters", "SESSION"},
		{"recover", "SESSION", "-o", "recovered.clrprof"},
	}
	for _, f := range exportFormats {
		out = append(out, []string{"export", "SESSION", "--format", f.name, "-o", "exported"})
	}
	return out
}

// inFolder makes a folder the current one that has a good session and a budget.
func inFolder(t *testing.T) {
	t.Helper()
	t.Chdir(t.TempDir())
	if err := errors.Join(writeComplete(sessiontest.Shop(), "good.clrprof"),
		os.WriteFile("budget.toml", []byte("[[limit]]\nname = \"all\"\nmetric = \"bytes\"\nmax = \"1G\"\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
}

// run runs clrprof in this process.
func runMain(arguments []string, path string) (code int, output string) {
	args := make([]string, len(arguments))
	for i, a := range arguments {
		if args[i] = a; a == "SESSION" {
			args[i] = path
		}
	}
	var out bytes.Buffer
	code = Main(args, strings.NewReader(""), &out, &out)
	return code, out.String()
}

// TestOddFiles: what is no regular file is refused as a session, and as a file of limits or of clauses, in one line.
func TestOddFiles(t *testing.T) {
	inFolder(t)
	if err := errors.Join(unix.Mkfifo("fifo", 0o600), os.Mkdir("folder", 0o700), os.Symlink("fifo", "link")); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", "socket")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for _, command := range reading() { // they can succeed, so that it is the file that they refuse
		switch command[0] {
		case "view", "ctl", "top", "recover": // which wait, or are about something else
			continue
		}
		if code, output := runMain(command, "good.clrprof"); code != exitOK {
			t.Errorf("%s: %d: %s", command, code, output)
		}
		if err := os.RemoveAll("exported"); err != nil {
			t.Fatal(err)
		}
	}
	commands := append(reading(), []string{"check", "good.clrprof", "--budget", "SESSION"},
		[]string{"report", "good.clrprof", "--filter", "SESSION"},
		[]string{"export", "good.clrprof", "--format", "json", "-o", "-", "--filter", "SESSION"})
	for _, path := range []string{"fifo", "link", "folder", "socket", "/dev/zero", "/dev/tty"} {
		for _, command := range commands {
			code, output := runMain(command, path)
			if code < exitUsage || code > exitUnwritable || strings.Count(output, "\n") != 1 {
				t.Errorf("%s of %s: %d: %s", command, path, code, output)
			}
		}
	}
}

// TestOddPaths: a session can name a pipe as a module or a source file. Reports say that it is no file, and no command
// waits for somebody to write to it.
func TestOddPaths(t *testing.T) {
	folder := t.TempDir()
	t.Chdir(folder)
	b := sessiontest.Shop()
	odd := func(path *string, name string) {
		*path = filepath.Join(folder, name)
		if err := unix.Mkfifo(*path, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for i := range b.Modules {
		odd(&b.Modules[i].Path, fmt.Sprintf("%d.dll", i))
	}
	for i := range b.SourceFiles {
		odd(&b.SourceFiles[i].Path, fmt.Sprintf("%d.cs", i))
	}
	if err := writeComplete(b, "odd.clrprof"); err != nil {
		t.Fatal(err)
	}
	code, output := runMain([]string{"report", "odd.clrprof", "function", "Orders.Load"}, "")
	if code != exitOK || !strings.Contains(output, "it is not a file") {
		t.Errorf("%d: %s", code, output)
	}
	for _, command := range reading() {
		switch command[0] {
		case "view", "ctl", "top", "recover", "diff", "check": // these wait, or need other files
			continue
		}
		if code, output := runMain(command, "odd.clrprof"); code != exitOK {
			t.Errorf("%s: %d: %s", command, code, output)
		}
		if err := os.RemoveAll("exported"); err != nil {
			t.Fatal(err)
		}
	}
}

// TestGivenPipe: a pipe is read like a file, also for longer than one read; who waits for one stops when the context is
// done.
func TestGivenPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "fifo")
	if err := unix.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := readGiven(t.Context(), path, 100); !errors.Is(err, errNobodyWrites) {
		t.Errorf("without a writer: %v", err)
	}
	writer, err := os.OpenFile(path, os.O_RDWR, 0) // both ends: it does not wait
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := readGiven(ctx, path, 100); !errors.Is(err, context.Canceled) {
		t.Errorf("a silent writer: %v", err)
	}
	if _, err := writer.WriteString("type = string"); err != nil {
		t.Fatal(err)
	}
	reader, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	if text, err := readGiven(t.Context(), path, 100); string(text) != "type = string" || err != nil {
		t.Errorf("%q, %v", text, err)
	}
}

// addFindings judges a session by the rules, as the end of a recording does.
func addFindings(t *testing.T, path string) {
	t.Helper()
	w, err := session.Edit(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(rules.Complete(w, func(int) {}, nil), w.Close()); err != nil {
		t.Fatal(err)
	}
}

// TestAbsentReferences: a finding that names what does not exist is damage that each command says in a line.
func TestAbsentReferences(t *testing.T) {
	inFolder(t)
	for _, column := range []string{"function_id", "type_id", "from_function_id", "from_line_id"} {
		for _, value := range []string{"99999", "4294967295"} {
			path := column + value + ".clrprof"
			if err := sessiontest.Broken().Write(path); err != nil {
				t.Fatal(err)
			}
			addFindings(t, path)
			if err := sessiontest.Change(path, func(conn *sqlite.Conn) error {
				return sqlitex.ExecuteTransient(conn, "UPDATE finding SET "+column+" = "+value, nil)
			}); err != nil {
				t.Fatal(err)
			}
			for _, command := range [][]string{{"report", "SESSION"}, {"report", "SESSION", "rules"},
				{"export", "SESSION", "--format", "sarif", "-o", "-"}, {"check-session", "SESSION"}} {
				if code, output := runMain(command, path); code != exitUnreadable {
					t.Errorf("%s with %s %s: %d: %s", command, column, value, code, output)
				}
			}
		}
	}
}

// TestStreamedQuery: what a query returns is printed as it comes, and a value that is too long is the query's mistake.
func TestStreamedQuery(t *testing.T) {
	inFolder(t)
	const rows = "with recursive n(i) as (select 1 union all select i+1 from n where i < 3000) " +
		"select i, hex(zeroblob(50000)) from n"
	for _, format := range []string{"--csv", "--tsv", "--json"} {
		begun := 0
		out := writerFunc(func(b []byte) (int, error) {
			begun += len(b)
			if begun > 1<<20 {
				return 0, errors.New("enough")
			}
			return len(b), nil
		})
		var stderr bytes.Buffer
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		code := Main([]string{"sql", "good.clrprof", rows, format}, strings.NewReader(""), out, &stderr)
		if code != exitUnwritable {
			t.Errorf("%s: %d: %s", format, code, stderr.String())
		}
		if runtime.ReadMemStats(&after); after.TotalAlloc-before.TotalAlloc > 100<<20 {
			t.Errorf("%s took %d MB for 1 MB of 300", format, (after.TotalAlloc-before.TotalAlloc)>>20)
		}
		code, output := runMain([]string{"sql", "SESSION", "select hex(zeroblob(60000000))", format}, "good.clrprof")
		if code != exitUsage || strings.Contains(output, "damaged") {
			t.Errorf("%s: %d: %s", format, code, output)
		}
	}
}

// TestTableOfQuery: a table is as wide as its widest value, so all rows of it are in memory, and they are bounded.
func TestTableOfQuery(t *testing.T) {
	inFolder(t)
	rows := func(n int) string {
		return fmt.Sprintf("with recursive n(i) as (select 1 union all select i+1 from n where i < %d) "+
			"select i, hex(zeroblob(500000)) from n", n)
	}
	code, output := runMain([]string{"sql", "SESSION", rows(33)}, "good.clrprof")
	if code != exitOK || strings.Count(output, "\n") != 34 {
		t.Errorf("%d: %d lines", code, strings.Count(output, "\n"))
	}
	code, output = runMain([]string{"sql", "SESSION", rows(34)}, "good.clrprof")
	if code != exitUsage || !strings.Contains(output, "more than 32 MB") || strings.Count(output, "\n") != 1 {
		t.Errorf("%d: %.300s", code, output)
	}
	code, output = runMain([]string{"sql", "SESSION", "select 1 as a, 2.5 as b, null as c, 'x' as d", "--json"}, "good.clrprof")
	if want := "[\n  {\"a\": 1, \"b\": 2.5, \"c\": null, \"d\": \"x\"}\n]\n"; code != exitOK || output != want {
		t.Errorf("%d: %q, want %q", code, output, want)
	}
	code, output = runMain([]string{"sql", "SESSION", "select 1 where 0", "--json"}, "good.clrprof")
	if code != exitOK || output != "[]\n" {
		t.Errorf("%d: %q", code, output)
	}
}

// TestSafeReports: what a spreadsheet would run has an apostrophe before it in exported reports, if that is asked for.
func TestSafeReports(t *testing.T) {
	inFolder(t)
	if err := sessiontest.Change("good.clrprof", func(conn *sqlite.Conn) error {
		return sqlitex.ExecuteTransient(conn, "UPDATE thread SET name = '=cmd()'", nil)
	}); err != nil {
		t.Fatal(err)
	}
	export := []string{"export", "SESSION", "--summary", "Thread", "-o", "-", "--format"}
	for want, flags := range map[string][]string{`"=cmd()"`: {"csv"}, `"'=cmd()"`: {"csv", "--csv-safe"}} {
		if code, output := runMain(append(export, flags...), "good.clrprof"); code != exitOK || !strings.Contains(output, want) {
			t.Errorf("%v: %d: %s", flags, code, output)
		}
	}
	if code, output := runMain(append(export, "xml", "--csv-safe"), "good.clrprof"); code != exitUsage {
		t.Errorf("%d: %s", code, output)
	}
}

type writerFunc func([]byte) (int, error)

// Write calls the function.
func (w writerFunc) Write(b []byte) (int, error) { return w(b) }
