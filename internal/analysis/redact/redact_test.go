package redact

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/testkit/sessiontest"
)

// TestTreatments: somebody decided what becomes of each column that holds texts.
func TestTreatments(t *testing.T) {
	have := slices.Sorted(maps.Keys(treatments))
	for _, column := range session.TextColumns() {
		if _, found := slices.BinarySearch(have, column); !found {
			t.Errorf("%s has no treatment", column)
		}
	}
	for _, column := range have {
		if !slices.Contains(session.TextColumns(), column) {
			t.Errorf("%s is no column with texts", column)
		}
	}
}

// plants are texts that are put into a session, by column, and must not be in the copy: each has one of planted.
var plants = map[string]string{
	"process.name": "jdoe", "process.path": "/home/jdoe/plantfolder/dotnet",
	"process.arguments":   `["/home/jdoe/dotnet","--user","plantargument","plantargument"]`,
	"thread.name":         "plantthread",
	"thread_set.name":     "plantthread",
	"module.name":         "jdoe.planthost.dll",
	"module.path":         "/opt/plantfolder/a b/jdoe.planthost.dll",
	"module.symbols_path": `C:\Users\bwayne\plantfolder\Shop.pdb`,
	"interaction.text":    "SELECT plantstatement FROM planthost",
	"mark.name":           "plantmark", "mark.text": "planttext of jdoe",
	"function_not_probed.reason": "it cannot be read: /home/jdoe/plantfolder/x/y.dll",
	"counter.unit":               "per jdoe", "counter.meaning": "of planthost",
	"counter.missing": "no /opt/plantfolder/a b/c, and /opt/plantsecond/plantthird/d",
	"counter.tags":    "planttag=plantvalue",
	"finding.text":    "in /home/jdoe/plantfolder",
}

// factPlants are facts that are put into a session.
var factPlants = map[string]string{
	session.KeyHost: "planthost", session.KeyDirectory: "/home/jdoe/plantfolder",
	session.KeyCommand: `["/home/jdoe/run.sh","plantargument"]`,
	session.KeyOptions: `{"trace":"/home/jdoe/plantfolder/a.trace","include":["Shop.jdoe.*"]}`,
	session.KeyNote:    "made by jdoe on planthost in /home/jdoe/plantfolder",
	"of_later":         "plantlater",
}

// planted are what no byte of a copy may have.
var planted = []string{"jdoe", "bwayne", "planthost", "plantfolder", "plantargument", "plantthread", "plantstatement",
	"plantmark", "planttext", "planttag", "plantvalue", "plantlater", "plantsecond", "plantthird", "plantdiary",
	"plantdeleted"}

// plant writes a session with texts that must not be in a copy.
func plant(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "planted.clrprof")
	if err := sessiontest.WriteRecorded("../../..", "net10", path); err != nil {
		t.Fatal(err)
	}
	conn, err := sqlite.OpenConn(path, sqlite.OpenReadWrite)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	run := func(query string, args ...any) {
		t.Helper()
		if err := sqlitex.Execute(conn, query, &sqlitex.ExecOptions{Args: args}); err != nil {
			t.Fatal(err)
		}
	}
	run("INSERT OR REPLACE INTO thread_set VALUES (3, 12, '')")
	run("INSERT OR REPLACE INTO function_not_probed VALUES (3, '')")
	run("INSERT OR REPLACE INTO finding VALUES (99, 'x', 0, 0, 0, 0, 0, 0, 0, 0, 0, '')")
	for _, column := range slices.Sorted(maps.Keys(plants)) {
		table, name, _ := strings.Cut(column, ".")
		run("UPDATE "+table+" SET "+name+" = ?", plants[column])
		if conn.Changes() == 0 {
			t.Errorf("no row of %s", table)
		}
	}
	run("UPDATE mark SET source = 'api'")
	run("UPDATE thread SET name = '12 ended threads named plantthread' WHERE id = 3")
	run("UPDATE source_file SET path = '/home/jdoe/plantfolder/' || id || '.cs'")
	for _, key := range slices.Sorted(maps.Keys(factPlants)) {
		run("INSERT OR REPLACE INTO info VALUES (?, ?)", key, factPlants[key])
	}
	run("CREATE TABLE diary (text)")
	run("INSERT INTO diary VALUES ('plantdiary')")
	run("CREATE TABLE gone (text)")
	run("INSERT INTO gone VALUES (?)", strings.Repeat("plantdeleted ", 5000))
	run("DROP TABLE gone") // its pages stay in the file
	return path
}

// write redacts the session in a file, and returns the path of the copy.
func write(t *testing.T, path string) (string, Result) {
	t.Helper()
	s, err := session.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	out := filepath.Join(t.TempDir(), "out.clrprof")
	if err := os.WriteFile(out, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	result, err := Write(s, out, "1.2.3")
	if err != nil {
		t.Fatal(err)
	}
	return out, result
}

// plain returns the bytes of a session, and of all its rows as they are unpacked.
func plain(t *testing.T, path string) []byte {
	t.Helper()
	packed, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	s, err := session.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	unpacked := filepath.Join(t.TempDir(), "unpacked.sqlite")
	if err := os.WriteFile(unpacked, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.WritePlain(unpacked); err != nil {
		t.Fatal(err)
	}
	rows, err := os.ReadFile(unpacked)
	if err != nil {
		t.Fatal(err)
	}
	return append(packed, rows...)
}

// TestNothingIsLeft: no byte of a copy has what was replaced, wherever it was, also not in what SQLite no longer uses.
func TestNothingIsLeft(t *testing.T) {
	from := plant(t)
	before := plain(t, from)
	out, _ := write(t, from)
	after := plain(t, out)
	for _, text := range planted {
		if !bytes.Contains(before, []byte(text)) {
			t.Errorf("%s is not in the session", text)
		}
		if i := bytes.Index(after, []byte(text)); i >= 0 {
			t.Errorf("%s is in the copy: %q", text, after[max(0, i-40):min(len(after), i+60)])
		}
	}
}

// TestKept: what is not told stays, and the same text becomes the same word.
func TestKept(t *testing.T) {
	out, result := write(t, plant(t))
	s, err := session.Open(out)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	info, err := s.Info()
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]string{
		session.KeyHost: "host-1", session.KeyDirectory: "/folder-1", session.KeyRedacted: "1.2.3",
		session.KeyCommand: `["/folder-4/run.sh","argument-1"]`,
		session.KeyOptions: `{"include":["Shop.user-1.*"],"trace":"/folder-1/a.trace"}`,
		session.KeyNote:    "made by user-1 on host-1 in /folder-1", session.KeyState: "complete", "of_later": "",
	} {
		if info[key] != want {
			t.Errorf("%s is %q, want %q", key, info[key], want)
		}
	}
	var got []string
	seen := map[string]bool{}
	err = s.EachText(func(row *session.Texts) error {
		for i, column := range row.Columns {
			name := row.Table + "." + column
			if _, found := plants[name]; found && !seen[name] {
				seen[name] = true
				got = append(got, fmt.Sprintf("%s: %s", name, row.Values[i]))
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"process.name: user-1", "process.path: /folder-1/dotnet", "thread.name: thread-1", "thread_set.name: thread-1",
		"module.name: user-1.host-1.dll", "module.path: /folder-2/user-1.host-1.dll",
		"module.symbols_path: /folder-3/Shop.pdb", "interaction.text: SELECT statement-1", "mark.name: mark-1",
		"function_not_probed.reason: it cannot be read: /folder-5/y.dll",
		"counter.missing: no /folder-2/c, and /folder-6/d", "finding.text: in /folder-1",
		`process.arguments: ["/folder-4/dotnet","argument-2","argument-1","argument-1"]`,
	}
	for _, line := range want {
		if !slices.Contains(got, line) {
			t.Errorf("no %s in\n%s", line, strings.Join(got, "\n"))
		}
	}
	if result.Trace != "/home/jdoe/plantfolder/a.trace" {
		t.Errorf("the call trace is %q", result.Trace)
	}
	if want := (Count{"arguments", 2}); !slices.Contains(result.Counts, want) {
		t.Errorf("counts are %v, without %v", result.Counts, want)
	}
}

// TestSame: the same session gives the same bytes.
func TestSame(t *testing.T) {
	from := plant(t)
	first, _ := write(t, from)
	second, _ := write(t, from)
	a, err := os.ReadFile(first)
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(second)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(a, b) {
		t.Error("two copies differ")
	}
}

// TestCode: names of the code stay, and it is said how many have the name of a user.
func TestCode(t *testing.T) {
	path := plant(t)
	conn, err := sqlite.OpenConn(path, sqlite.OpenReadWrite)
	if err != nil {
		t.Fatal(err)
	}
	err = sqlitex.ExecuteScript(conn, "UPDATE type SET raw_name = 'Of.jdoe.T' WHERE id < 9; "+
		"UPDATE type SET raw_name = 'Of.jdoes.T' WHERE id = 9; UPDATE function SET raw_type = 'jdoe' WHERE id = 1", nil)
	if err := cmp.Or(err, conn.Close()); err != nil {
		t.Fatal(err)
	}
	out, result := write(t, path)
	if result.Code != 2 {
		t.Errorf("%d names of the code, want 2", result.Code)
	}
	if !bytes.Contains(plain(t, out), []byte("Of.jdoe.T")) {
		t.Error("the name of a type was replaced")
	}
}

// TestThreads: names that clrprof and the runtime give stay.
func TestThreads(t *testing.T) {
	r := newRedactor()
	for _, tt := range []struct{ name, want string }{
		{"", ""}, {".NET Finalizer", ".NET Finalizer"}, {"jdoe", "thread-1"}, {".NET jdoe@work", "thread-2"},
		{"40 ended threads named jdoe", "40 ended threads named thread-1"},
		{"3 ended threads without a name", "3 ended threads without a name"},
		{"3 ended threads of several names", "3 ended threads of several names"},
	} {
		if have := thread(r, nil, tt.name); have != tt.want {
			t.Errorf("%q becomes %q, want %q", tt.name, have, tt.want)
		}
	}
}

// TestInteractions: addresses that differ only in numbers stay of one kind, and different ones stay different.
func TestInteractions(t *testing.T) {
	r := newRedactor()
	http := &session.Texts{Columns: []string{"kind"}, Values: []string{session.InteractionHTTP}}
	sql := &session.Texts{Columns: []string{"kind"}, Values: []string{"database"}}
	for _, tt := range []struct {
		row        *session.Texts
		text, want string
	}{
		{http, "GET http://shop/orders/7", "GET http://address-1/1"},
		{http, "GET http://shop/orders/12", "GET http://address-1/2"},
		{http, "GET http://shop/orders/7", "GET http://address-1/1"},
		{http, "POST http://shop/orders", "POST http://address-2/"},
		{sql, "select * from t", "SELECT statement-1"}, {sql, "SELECT * from t", "SELECT statement-2"},
		{sql, "vacuum", "statement-3"}, {sql, "", ""},
	} {
		if have := interaction(r, tt.row, tt.text); have != tt.want {
			t.Errorf("%q becomes %q, want %q", tt.text, have, tt.want)
		}
	}
}

// TestPaths: paths of any system lose their folders, and different ones stay different.
func TestPaths(t *testing.T) {
	r := newRedactor()
	for _, tt := range []struct{ path, want string }{
		{"", ""}, {"a.cs", "a.cs"}, {"/a.cs", "/a.cs"}, {"/src/a.cs", "/folder-1/a.cs"}, {`C:\src\a.cs`, "/folder-2/a.cs"},
		{"/src//a.cs", "/folder-1/a.cs-2"}, {"/src/a.cs", "/folder-1/a.cs"}, {"../b/c", "/folder-3/c"},
	} {
		if have := r.path(tt.path); have != tt.want {
			t.Errorf("%q becomes %q, want %q", tt.path, have, tt.want)
		}
	}
}
