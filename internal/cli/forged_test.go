package cli

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/clrprof/clrprof/internal/present/report"
	"github.com/clrprof/clrprof/internal/testkit/sessiontest"
)

var (
	forged     = flag.Int("forged", 12, "how many numbers of sessions are forged at random; 0: each column with each value")
	forgedSeed = flag.Int("forgedseed", 1, "which ones")
)

// forgedValues are what no collector writes where there is an id, a count or an index: what is absent, negative, and
// more than fits into 32 bits or a slice.
var forgedValues = []string{"99999999", "-1", "4294967296", "9223372036854775807", "-9223372036854775808"}

// forgedTexts are what names and texts of a session may have in them that is to be dangerous for who prints, stores or
// follows them, as expressions of SQL.
var forgedTexts = []string{"''", longText, "char(27) || '[2J' || char(7, 155, 0) || 'x'",
	"char(0x202e, 0x2066) || 'x'", "CAST(x'ff00c328' AS TEXT)", "'../../../../etc/passwd'",
	"'x' || char(10) || '::set-output name=a::b'", "'x' || char(13, 10) || '=cmd()'"}

// longText is an expression of SQL for a megabyte.
const longText = "replace(hex(zeroblob(500000)), '0', 'a')"

// column is a column of a table of a session.
type column struct {
	table, name string
	text        bool
}

// columnsOf lists the columns with numbers and texts of all tables that have rows.
func columnsOf(t *testing.T, path string) (out []column) {
	t.Helper()
	err := sessiontest.Change(path, func(conn *sqlite.Conn) error {
		var tables []string
		err := sqlitex.ExecuteTransient(conn, "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name",
			&sqlitex.ExecOptions{ResultFunc: func(s *sqlite.Stmt) error {
				tables = append(tables, s.ColumnText(0))
				return nil
			}})
		for _, table := range tables {
			err = errors.Join(err, sqlitex.ExecuteTransient(conn,
				fmt.Sprintf("SELECT name, type = 'TEXT' FROM pragma_table_info('%s') WHERE type IN ('INTEGER', 'REAL', 'TEXT') AND "+
					"EXISTS (SELECT 1 FROM %q)", table, table),
				&sqlitex.ExecOptions{ResultFunc: func(s *sqlite.Stmt) error {
					out = append(out, column{table, s.ColumnText(0), s.ColumnInt(1) != 0})
					return nil
				}}))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// forgedReading are the commands that read all of a session.
func forgedReading() [][]string {
	out := [][]string{{"report", "SESSION"}, {"check-session", "SESSION"}, {"diff", "SESSION", "good.clrprof"},
		{"check", "SESSION", "--budget", "budget.toml"}, {"counters", "SESSION"},
		{"report", "SESSION", "calltree", "--bottom-up"}, {"report", "SESSION", "calltree", "--fold-recursion"},
		{"redact", "SESSION", "-f", "-o", "redacted.clrprof"}}
	for _, v := range report.Views() {
		out = append(out, []string{"report", "SESSION", v.Name})
	}
	for _, f := range exportFormats {
		out = append(out, []string{"export", "SESSION", "--format", f.name, "-f", "-o", "exported." + f.name})
	}
	return out
}

// forgery is a number or a text in all rows of a column of a sample session.
type forgery struct {
	sample string
	column
	value string
}

// forgeries lists what can be forged in sample sessions, in a random order, or some of that.
func forgeries(t *testing.T, most int) (out []forgery) {
	t.Helper()
	for name, sample := range map[string]*sessiontest.Builder{"shop": sessiontest.Shop(), "aging": sessiontest.Aging(),
		"kitchen": sessiontest.Kitchen(), "heap": sessiontest.Heap(), "acted": sessiontest.Acted(),
		"broken": sessiontest.Broken(), "served": sessiontest.Served()} {
		path := name + ".clrprof"
		if err := writeComplete(sample, path); err != nil {
			t.Fatal(err)
		}
		addFindings(t, path)
		for _, c := range columnsOf(t, path) {
			values := forgedValues
			if c.text {
				values = forgedTexts
			}
			for _, v := range values {
				out = append(out, forgery{path, c, v})
			}
		}
	}
	slices.SortFunc(out, func(a, b forgery) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	random := rand.New(rand.NewPCG(uint64(*forgedSeed), 0))
	random.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	if most == 0 {
		return out
	}
	return append(slices.Clone(foundBefore), out[:min(most, len(out))]...)
}

// foundBefore are forgeries that clrprof once had a mistake of its own with, or took hundreds of megabytes for.
var foundBefore = []forgery{
	{"acted.clrprof", column{"process_time", "process_id", false}, "99999999"}, // a call tree from below
	{"served.clrprof", column{"process", "name", true}, longText},              // a summary, and views
	{"heap.clrprof", column{"module", "path", true}, longText},
	{"aging.clrprof", column{"loss", "reason", true}, "CAST(x'ff00c328' AS TEXT)"}, // the view of losses
}

// eachForgery calls fn for forged sessions that the schema lets in, which are forged.clrprof.
func eachForgery(t *testing.T, fn func(f forgery)) {
	t.Helper()
	inFolder(t)
	changed := 0
	for _, f := range forgeries(t, *forged) {
		original, err := os.ReadFile(f.sample)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile("forged.clrprof", original, 0o600); err != nil {
			t.Fatal(err)
		}
		err = sessiontest.Change("forged.clrprof", func(conn *sqlite.Conn) error {
			return sqlitex.ExecuteTransient(conn, fmt.Sprintf(
				"UPDATE OR IGNORE %q SET %q = %s", f.table, f.name, f.value), nil) // of a key, in one row
		})
		if err != nil { // the schema does not let it in
			continue
		}
		changed++
		fn(f)
	}
	if *forged > 0 && changed < *forged/2 {
		t.Errorf("only %d of %d were forged: the test tests less", changed, *forged)
	}
}

// TestForgedColumns: whatever number or text a session has in a column, each command reads it or says in a line what is wrong
// with it; none has a mistake of its own because of it, and none takes much memory.
func TestForgedColumns(t *testing.T) {
	memory := watchMemory(t)
	eachForgery(t, func(f forgery) {
		for _, command := range forgedReading() {
			var code int
			var output string
			memory.takes(fmt.Sprintf("%v: %s", f, strings.Join(command, " ")), func() {
				code, output = runMain(command, "forged.clrprof")
			})
			if code == exitInternal || strings.Contains(output, "goroutine ") {
				t.Errorf("%v: %s: %d: %.300s", f, strings.Join(command, " "), code, output)
			}
			if f.text && (strings.ContainsAny(output, "\x1b\a\u009b\u202e\u2066\x00") || strings.Contains(output, "\n::set-output")) {
				t.Errorf("%v: %s: prints what steers a terminal: %.300q", f, strings.Join(command, " "), output)
			}
		}
	})
}
