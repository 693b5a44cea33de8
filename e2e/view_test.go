package e2e

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
)

// looked is a running clrprof view, and a browser that has opened its page.
type looked struct {
	*process
	at     string
	client *http.Client
}

// look starts clrprof view and opens the address that it prints.
func (s *sandbox) look(args ...string) *looked {
	s.t.Helper()
	p := s.start(append([]string{"view"}, args...)...)
	if !p.lines.Scan() {
		s.t.Fatalf("no address: %s", p.said())
	}
	u, err := url.Parse(p.lines.Text())
	if err != nil {
		s.t.Fatal(err)
	}
	jar, err := cookiejar.New(nil)
	if err != nil {
		s.t.Fatal(err)
	}
	l := &looked{p, u.Scheme + "://" + u.Host, &http.Client{Jar: jar}}
	if body := l.get(strings.TrimPrefix(u.String(), l.at)); !strings.Contains(body, "app.js") {
		s.t.Fatalf("no page: %s", body)
	}
	return l
}

func (l *looked) get(path string) string {
	l.t.Helper()
	r, err := l.client.Get(l.at + path)
	if err != nil {
		l.t.Fatal(err)
	}
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	if err != nil || r.StatusCode != http.StatusOK {
		l.t.Fatalf("%s: %s %v: %s", path, r.Status, err, b)
	}
	return string(b)
}

// rows are the rows of a view as the page gets them, by key.
func (l *looked) rows(path string) []map[string]any {
	l.t.Helper()
	var sheet struct {
		Columns []struct{ Key string }
		Rows    []struct {
			Hidden int
			Values []any
		}
	}
	if err := json.Unmarshal([]byte(l.get(path)), &sheet); err != nil {
		l.t.Fatal(err)
	}
	out := []map[string]any{}
	for _, r := range sheet.Rows {
		record := map[string]any{}
		for i, c := range sheet.Columns {
			if r.Hidden == 0 {
				record[c.Key] = r.Values[i]
			}
		}
		if r.Hidden == 0 {
			out = append(out, record)
		}
	}
	return out
}

// TestView: the page of a real run gets the numbers of report --json, in every view, and Ctrl-C ends it well.
func TestView(t *testing.T) {
	t.Parallel()
	in := dotnettest.Need(t).NewestAndOldest()
	for i, p := range []struct{ problem, flag string }{{"leak", "--lifetime"}, {"lock", "--time"}} {
		runtime := in[i%len(in)]
		t.Run(runtime.Name+"/"+p.problem, func(t *testing.T) {
			t.Parallel()
			record := mustRecord
			if p.flag == "--time" {
				record = mustRecordTime
			}
			r := record(t, runtime.Command(dotnettest.Target(t, "Problems", dotnettest.Options{}), p.problem), p.flag)
			s := newSandbox(t)
			l := s.look(r.session)
			for _, view := range []string{"functions", "modules", "lines", "ips", "types", "lifetime", "ages", "gcs",
				"processes", "threads"} {
				args := []string{"report", r.session, view, "--json", "--top", "100000"}
				if view == "modules" || view == "types" { // lists have no levels
					args = append(args, "--depth", "9")
				}
				shown := s.run(args...)
				if shown.exit != 0 { // what this session has not
					continue
				}
				var want []map[string]any
				if err := json.Unmarshal([]byte(shown.stdout), &want); err != nil {
					t.Fatal(err)
				}
				got := l.rows("/api/view?limit=100000&top=100000&depth=9&view=" + view)
				if len(got) != len(want) {
					t.Fatalf("%s: %d rows, want %d", view, len(got), len(want))
				}
				for i, row := range want {
					for key, value := range row {
						if !reflect.DeepEqual(got[i][key], value) {
							t.Errorf("%s: row %d, %s: %v, want %v", view, i, key, got[i][key], value)
						}
					}
				}
			}
			l.signal(os.Interrupt)
			if ended := l.wait(); ended.exit != 0 {
				t.Errorf("after Ctrl-C: exit code %d: %s", ended.exit, ended.stderr)
			}
		})
	}
}
