package e2e

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/clrprof/clrprof/internal/capture/control"
	"github.com/clrprof/clrprof/internal/capture/live"
	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
)

// steps is a recording of the target Steps.
type steps struct {
	*process
	session string
	pid     int
}

// startSteps starts to record it and waits until it reads.
func (s *sandbox) startSteps(runtime dotnettest.Runtime, flags ...string) *steps {
	s.t.Helper()
	x := &steps{session: filepath.Join(s.root, "steps.clrprof")}
	args := append([]string{"run", "--no-report", "-o", x.session}, flags...)
	x.process = s.start(append(append(args, "--"), s.target(runtime, "Steps")...)...)
	x.expect("ready")
	if !x.lines.Scan() {
		s.t.Fatal("the target says no process id")
	}
	if _, err := fmt.Sscan(x.lines.Text(), &x.pid); err != nil {
		s.t.Fatal(err)
	}
	return x
}

// do lets the target do something.
func (x *steps) do(step string) {
	x.t.Helper()
	x.tell(step)
	x.expect("done")
}

func (x *steps) tell(step string) {
	x.t.Helper()
	if _, err := fmt.Fprintln(x.in, step); err != nil {
		x.t.Fatal(err)
	}
}

// finish lets the target end.
func (x *steps) finish() {
	x.t.Helper()
	x.tell("end")
	if r := x.wait(); r.exit != 0 {
		x.t.Fatalf("exit code %d: %s", r.exit, r.stderr)
	}
}

// watch asks for the messages of a recording.
func watch(t *testing.T, session string, after uint64) *control.Client {
	t.Helper()
	c, err := control.Ask(session, "live", map[string]uint64{"after": after})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() }) // it may be closed already
	return c
}

// next returns the next message, false: there is none.
func next(t *testing.T, c *control.Client) (live.Message, bool) {
	t.Helper()
	text, err := c.Next(time.Minute)
	if errors.Is(err, io.EOF) {
		return live.Message{}, false
	}
	var m live.Message
	if err == nil {
		err = json.Unmarshal(text, &m)
	}
	if err != nil {
		t.Fatal(err)
	}
	return m, true
}

// sums adds up what messages say of each function and type.
type sums struct {
	all              live.Numbers
	functions, types map[int64]live.Numbers // by id; 0: the rest
	names            map[string]int64
	gcs              []live.GC
	pauses           []live.Pause
	counters         map[string]live.Counter // as they were reported last
}

func plusNumbers(a, b live.Numbers) live.Numbers {
	return live.Numbers{Allocations: a.Allocations + b.Allocations, Bytes: a.Bytes + b.Bytes, Calls: a.Calls + b.Calls}
}

func (s *sums) add(t *testing.T, m *live.Message) {
	t.Helper()
	if s.functions == nil {
		s.functions, s.types, s.names = map[int64]live.Numbers{}, map[int64]live.Numbers{}, map[string]int64{}
		s.counters = map[string]live.Counter{}
	}
	s.all = plusNumbers(s.all, m.New)
	if s.all != m.Total {
		t.Errorf("message %d: %+v in all, its messages add up to %+v", m.ID, m.Total, s.all)
	}
	for i, table := range []live.Table{m.Functions, m.Types} {
		to, sum := []map[int64]live.Numbers{s.functions, s.types}[i], table.Rest.New
		to[0] = plusNumbers(to[0], table.Rest.New)
		for _, row := range table.Rows {
			sum = plusNumbers(sum, row.New)
			to[row.ID] = plusNumbers(to[row.ID], row.New)
			if row.Name == "" {
				t.Errorf("message %d: row %d without a name", m.ID, row.ID)
			}
			s.names[row.Name] = row.ID
		}
		want := m.New
		if i == 1 {
			want.Calls = 0
		}
		if sum != want {
			t.Errorf("message %d: the rows add up to %+v, not %+v", m.ID, sum, want)
		}
	}
	s.gcs, s.pauses = append(s.gcs, m.GCs.Rows...), append(s.pauses, m.Pauses.Rows...)
	for _, c := range m.Counters.Rows {
		s.counters[c.Name] = c
	}
}

// TestLive: what the messages of a recording say adds up to its session, exactly, for one who watches from the
// beginning and one who comes later.
func TestLive(t *testing.T) {
	t.Parallel()
	in := dotnettest.Need(t)
	for _, flags := range [][]string{{"--lifetime"}, {"--memory", "--time", "--instrument", "mine"}} {
		t.Run(flags[0], func(t *testing.T) {
			t.Parallel()
			s := newSandbox(t)
			x := s.startSteps(in.Newest(), flags...)
			first := watch(t, x.session, 0)
			var early, late sums
			m, _ := next(t, first)
			early.add(t, &m)
			if m.Event != live.Start || m.Session != x.session {
				t.Errorf("the first message is a %s of %s", m.Event, m.Session)
			}
			x.do("make 1000")
			x.do("gc 0")
			x.do("call 77")
			for made := early.names["Steps.Item"]; early.types[made].Allocations < 1000 ||
				made == 0; made = early.names["Steps.Item"] {
				m, _ := next(t, first)
				early.add(t, &m)
			}
			second := watch(t, x.session, 0)
			m, _ = next(t, second)
			late.add(t, &m)
			if m.Event != live.Start {
				t.Errorf("the first message is a %s", m.Event)
			}
			x.do("make 500")
			x.do("gc 1")
			for _, step := range []string{"pause", "resume"} {
				if r := s.run("ctl", x.session, step); r.exit != 0 {
					t.Fatalf("ctl %s: exit code %d: %s", step, r.exit, r.stderr)
				}
			}
			for early.counters["process.resident"].Value == 0 { // samples are taken twice in a second
				m, _ := next(t, first)
				early.add(t, &m)
			}
			x.tell("end")
			for _, w := range []struct {
				c   *control.Client
				sum *sums
			}{{first, &early}, {second, &late}} {
				last := ""
				for m, ok := next(t, w.c); ok; m, ok = next(t, w.c) {
					w.sum.add(t, &m)
					last = m.Event
				}
				if last != live.End {
					t.Errorf("the last message is a %s", last)
				}
			}
			if r := x.wait(); r.exit != 0 {
				t.Fatalf("exit code %d: %s", r.exit, r.stderr)
			}
			early.compare(t, x.session)
			late.compare(t, x.session)
			early.compareEvents(t, x.session)
			late.compareEvents(t, x.session)
		})
	}
}

// compare compares with the report.
func (s *sums) compare(t *testing.T, session string) {
	t.Helper()
	type row struct {
		ID, Allocations, Bytes, Calls int64
	}
	of := func(n live.Numbers) row {
		return row{Allocations: int64(n.Allocations), Bytes: int64(n.Bytes), Calls: int64(n.Calls)}
	}
	total := query[row](t, session,
		"SELECT allocations, bytes, coalesce((SELECT calls FROM total_time), 0) AS calls FROM total")[0]
	if of(s.all) != total {
		t.Errorf("messages add up to %+v, the session to %+v", s.all, total)
	}
	for _, x := range []struct {
		what, sql string
		sums      map[int64]live.Numbers
	}{
		{"functions", "SELECT id, sum(a) AS allocations, sum(b) AS bytes, sum(c) AS calls FROM (" +
			"SELECT function_id AS id, exclusive_allocations AS a, exclusive_bytes AS b, 0 AS c FROM function_value " +
			"UNION ALL SELECT function_id, 0, 0, calls FROM function_time) GROUP BY id", s.functions},
		{"types", "SELECT type_id AS id, instances AS allocations, bytes, 0 AS calls FROM type_value", s.types},
	} {
		seen := map[int64]bool{}
		if x.sums[0].Allocations != 0 || x.sums[0].Calls != 0 {
			continue // there were more than a message has: which is another test
		}
		for _, want := range query[row](t, session, x.sql) {
			seen[want.ID] = true
			have := of(x.sums[want.ID])
			if have.ID = want.ID; have != want {
				t.Errorf("%s: messages say %+v, the session %+v", x.what, have, want)
			}
		}
		for id := range x.sums {
			if !seen[id] && id != 0 {
				t.Errorf("%s: the session has no %d", x.what, id)
			}
		}
	}
	gcs := countOf(t, session, "gc")
	if len(s.gcs) != gcs {
		t.Errorf("messages tell of %d collections, the session of %d", len(s.gcs), gcs)
	}
	for _, name := range query[struct{ Name string }](t, session,
		"SELECT name FROM type WHERE name = 'Steps.Item' UNION SELECT name FROM function WHERE raw_name = 'Make'") {
		if _, ok := s.names[name.Name]; !ok {
			t.Errorf("no message names %s", name.Name)
		}
	}
}

// compareEvents compares pauses and counters with what the session has.
func (s *sums) compareEvents(t *testing.T, session string) {
	t.Helper()
	type pause struct {
		Level      string
		Begin, End int64
	}
	var reported []pause
	for i, p := range s.pauses {
		if p.Ended != (i%2 == 1) {
			t.Errorf("pauses: %+v", s.pauses)
		}
		if p.Ended {
			reported = append(reported, pause{p.Level, int64(p.Begin), int64(p.End)})
		}
	}
	want := query[pause](t, session, `SELECT level AS "Level", begin_ns AS "Begin", end_ns AS "End" FROM pause ORDER BY id`)
	if len(want) != 1 || !slices.Equal(reported, want) {
		t.Errorf("messages tell of the pauses %+v, the session of %+v", reported, want)
	}
	type value struct {
		Name  string
		At    int64
		Value float64
	}
	// One process: what it counts itself began with it.
	rows := query[value](t, session, `WITH v AS (SELECT counter_id, time_ns, value,
		row_number() OVER (PARTITION BY counter_id ORDER BY time_ns DESC) AS last FROM counter_value)
		SELECT c.name AS "Name", v.time_ns AS "At", v.value - iif(c.is_sum AND c.name NOT LIKE 'process.%', (SELECT min(value)
		FROM v f WHERE f.counter_id = v.counter_id), 0) AS "Value" FROM v JOIN counter c ON c.id = v.counter_id WHERE v.last = 1`)
	if len(rows) < 10 {
		t.Errorf("the session has %d counters", len(rows))
	}
	for _, row := range rows {
		c, ok := s.counters[row.Name]
		if ok && (int64(c.At) != row.At || c.Value != row.Value) || !ok && row.Value != 0 {
			t.Errorf("messages say %+v, the session %+v", c, row)
		}
	}
}

// TestTop: the terminal shows what the target does, by any way to name its recording.
func TestTop(t *testing.T) {
	t.Parallel()
	in := dotnettest.Need(t)
	s := newSandbox(t)
	x := s.startSteps(in.Newest())
	x.do("make 123456")
	for _, name := range []string{x.session, itoa(x.pid)} {
		r := s.run("top", name, "--once", "--list", "types", "--sort", "objects")
		if r.exit != 0 || !strings.Contains(r.stdout, "123,456  Item") {
			t.Errorf("top %s: exit code %d\n%s%s", name, r.exit, r.stdout, r.stderr)
		}
	}
	var m live.Message
	r := s.run("top", x.session, "--json", "--once")
	if err := json.Unmarshal([]byte(r.stdout), &m); err != nil || m.Event != live.Start ||
		m.Total.Allocations < 123456 {
		t.Errorf("%v: %+v", err, m)
	}
	screen := newTerminal(t)
	top := s.command("top", x.session, "--sort", "bytes")
	top.Env = append(top.Env, "TERM=xterm-256color")
	_, shown := screen.start(t, top)
	shown.Split(bufio.ScanRunes)
	shows(t, shown, "Program.Make(int)")
	if _, err := screen.screen.WriteString("2"); err != nil {
		t.Fatal(err)
	}
	shows(t, shown, "Item") // only what changes on the screen is written
	x.finish()
	shows(t, shown, "the recording has ended")
	if _, err := screen.screen.WriteString("q"); err != nil {
		t.Fatal(err)
	}
	shows(t, shown, "clrprof report "+x.session)
	if err := top.Wait(); err != nil {
		t.Error(err)
	}
	if r := s.run("top", x.session); r.exit != 121 || !strings.Contains(r.stderr, "clrprof report") {
		t.Errorf("after the end: exit code %d: %s", r.exit, r.stderr)
	}
}

// shows reads a screen until something was written on it.
func shows(t *testing.T, shown *bufio.Scanner, text string) {
	t.Helper()
	var all strings.Builder
	for shown.Scan() {
		all.WriteString(shown.Text())
		if strings.HasSuffix(all.String(), text) {
			return
		}
	}
	t.Fatalf("the screen never shows %q:\n%q", text, all.String())
}

// TestNoSocket: where there can be no socket, the recording is the same, and says that nobody can reach it.
func TestNoSocket(t *testing.T) {
	t.Parallel()
	in := dotnettest.Need(t)
	s := newSandbox(t)
	taken := filepath.Join(s.out, "s.clrprof.sock")
	if err := os.MkdirAll(filepath.Join(taken, "by somebody"), 0o755); err != nil {
		t.Fatal(err)
	}
	r := s.run(append([]string{"run", "--no-report", "-o", "s.clrprof", "--"},
		s.target(in.Newest(), "Echo", "args", "x")...)...)
	if r.exit != 0 || !strings.Contains(r.stderr, "clrprof top and clrprof ctl cannot reach it") {
		t.Errorf("exit code %d: %s", r.exit, r.stderr)
	}
	checkSession(t, filepath.Join(s.out, "s.clrprof"))
	if names := list(t, s.out); !slices.Equal(names, []string{"s.clrprof", "s.clrprof.sock"}) {
		t.Errorf("files: %q", names)
	}
}
