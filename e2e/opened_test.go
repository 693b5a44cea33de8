package e2e

import (
	"io/fs"
	"os"
	"reflect"
	"slices"
	"strconv"
	"sync"
	"testing"

	"github.com/clrprof/clrprof/internal/analysis"
	"github.com/clrprof/clrprof/internal/present/report"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
)

// kept are the sessions that tests have open, so that one that is read several times is opened once: that takes longer
// than most queries.
var kept struct {
	sync.Mutex
	sessions map[keptKey]keptSession
}

// keptKey names a session of a test.
type keptKey struct {
	t    *testing.T
	path string
}

// keptSession is a complete session and its file as it was when it was opened.
type keptSession struct {
	*session.Session
	file fs.FileInfo
}

// openSession opens a session, once for a test as long as its file stays as it is, and closes it at the test's end. The
// test reads it in one goroutine.
func openSession(t *testing.T, path string) *session.Session {
	t.Helper()
	key := keptKey{t, path}
	kept.Lock()
	k, ok := kept.sessions[key]
	kept.Unlock()
	file, statErr := os.Stat(path)
	if ok && statErr == nil && os.SameFile(file, k.file) && file.Size() == k.file.Size() &&
		file.ModTime().Equal(k.file.ModTime()) {
		return k.Session
	}
	s, err := session.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		kept.Lock()
		delete(kept.sessions, key)
		kept.Unlock()
		s.Close()
	})
	// Of one that is not complete the next moment may be another.
	if state, err := s.State(); err == nil && state == session.Complete && statErr == nil {
		kept.Lock()
		if kept.sessions == nil {
			kept.sessions = map[keptKey]keptSession{}
		}
		kept.sessions[key] = keptSession{s, file}
		kept.Unlock()
	}
	return s
}

// opened is a session of which several views are read. Opening it for each of them, and writing and reading all of
// their columns as JSON, takes longer than making them. TestOpened compares its rows with those that are printed.
type opened struct{ source *analysis.Source }

func openViews(t *testing.T, path string) opened {
	t.Helper()
	source, err := analysis.Open(openSession(t, path), analysis.Selection{})
	if err != nil {
		t.Fatal(err)
	}
	return opened{source}
}

// rows returns the rows of a view as view does: Row has the names of the columns as tags, and what is no column of this
// view is zero.
func rows[Row any](t *testing.T, o opened, name string, options report.Options) []Row {
	t.Helper()
	v, err := report.FindView(name)
	if err != nil {
		t.Fatal(err)
	}
	table, err := v.Build(o.source, options)
	if err != nil {
		t.Fatalf("view %s: %v", name, err)
	}
	type part struct {
		field  int
		column report.Column
	}
	var parts []part
	fields := reflect.TypeFor[Row]()
	for i := range fields.NumField() {
		if at := slices.IndexFunc(table.Columns, func(c report.Column) bool {
			return c.Key == fields.Field(i).Tag.Get("json")
		}); at >= 0 {
			parts = append(parts, part{i, table.Columns[at]})
		}
	}
	out := make([]Row, len(table.Rows))
	for row := range table.Rows {
		into := reflect.ValueOf(&out[row]).Elem()
		for _, p := range parts {
			switch field, cell := into.Field(p.field), table.Cell(row, p.column); field.Kind() {
			case reflect.String:
				field.SetString(cell.Text)
			default:
				field.SetInt(cell.Number)
			}
		}
	}
	return out
}

// TestOpened: the rows of an opened session are those that are printed, of the views that are read so.
func TestOpened(t *testing.T) {
	t.Parallel()
	runtime := dotnettest.Need(t).Newest()
	r := recordOnce(t, runtime.Command(dotnettest.Target(t, "Boxes", dotnettest.Options{}), "500"), "--lifetime")
	if r.exit != 0 {
		t.Fatalf("exit code %d\n%s%s", r.exit, r.stdout, r.stderr)
	}
	o := openViews(t, r.session)
	for _, tt := range addedUp {
		args := []string{tt.view, "--depth", strconv.Itoa(tt.options.Depth)}
		if got, want := rows[amount](t, o, tt.view, tt.options), view[amount](t, r.session, args...); len(want) == 0 ||
			!slices.Equal(got, want) {
			t.Errorf("%v: %d rows that differ from the %d printed ones", args, len(got), len(want))
		}
	}
	for _, by := range livesBy {
		got := rows[lives](t, o, "lifetime", report.Options{By: by})
		want := view[lives](t, r.session, "lifetime", "--by", string(by))
		if len(want) == 0 || !slices.Equal(got, want) {
			t.Errorf("lifetime by %s: %d rows that differ from the %d printed ones", by, len(got), len(want))
		}
	}
	got, want := rows[gcRow](t, o, "gcs", report.Options{}), view[gcRow](t, r.session, "gcs")
	if len(want) == 0 || !slices.Equal(got, want) {
		t.Errorf("gcs: %+v, printed are %+v", got, want)
	}
	checkOpenedTimes(t, runtime)
}

// checkOpenedTimes compares the views of times of which checkTimeSums reads the rows.
func checkOpenedTimes(t *testing.T, runtime dotnettest.Runtime) {
	t.Helper()
	r := recordOnce(t, runtime.Command(dotnettest.Target(t, "Boxes", dotnettest.Options{}), "500"), "--time")
	if r.exit != 0 {
		t.Fatalf("exit code %d\n%s%s", r.exit, r.stdout, r.stderr)
	}
	o := openViews(t, r.session)
	for _, name := range []string{"processes", "functions", "modules", "threads", "calltree"} {
		got, want := rows[timeRow](t, o, name, report.Options{}), view[timeRow](t, r.session, name)
		if len(want) == 0 || !slices.Equal(got, want) {
			t.Errorf("%s: %d rows that differ from the %d printed ones", name, len(got), len(want))
		}
	}
}
