package e2e

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/pprof/profile"
	"golang.org/x/sys/unix"

	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
)

// profileServer is a clrprof that serves profiles of a service.
type profileServer struct {
	*process
	x   *service
	url string // below which they are
}

// serveProfiles serves them on a port that is free.
func (x *service) serveProfiles(flags ...string) *profileServer {
	x.t.Helper()
	p := x.s.start(append([]string{"attach", itoa(x.pid), "--http", "127.0.0.1:0"}, flags...)...)
	if !p.lines.Scan() || !strings.HasPrefix(p.lines.Text(), "http://127.0.0.1:") {
		x.t.Fatalf("the address: %q: %s", p.lines.Text(), p.said())
	}
	return &profileServer{p, x, p.lines.Text()}
}

// long is how long requests record at most: the tests end each recording when they have done what is to be in it.
const long = "?seconds=600"

// scraped is an answer.
type scraped struct {
	code    int
	text    string
	header  http.Header
	profile *profile.Profile // of code 200
	err     error
}

// get asks for a profile.
func (p *profileServer) get(path string) (out scraped) {
	answer, err := http.Get(p.url + path)
	if err != nil {
		return scraped{err: err}
	}
	defer answer.Body.Close()
	out.code, out.header = answer.StatusCode, answer.Header
	if out.code == http.StatusOK {
		out.profile, out.err = profile.Parse(answer.Body)
		return out
	}
	text := make([]byte, 1000)
	n, _ := answer.Body.Read(text) // a line, or what there is of it
	out.text = string(text[:n])
	return out
}

// recorded waits until the service is recorded, does something and ends the recording.
func (p *profileServer) recorded(do func()) {
	p.t.Helper()
	if r := p.x.s.run("ctl", itoa(p.x.pid), "wait", "recording", "--timeout", "60s"); r.exit != 0 {
		p.t.Fatalf("it is not recorded: %s; %s", r.stderr, p.said())
	}
	do()
	if r := p.x.s.run("ctl", itoa(p.x.pid), "detach"); r.exit != 0 {
		p.t.Fatalf("detach: %s%s", r.stdout, r.stderr)
	}
}

// scrape asks for a profile of what is done.
func (p *profileServer) scrape(path string, do func()) *profile.Profile {
	p.t.Helper()
	answer := make(chan scraped, 1)
	go func() { answer <- p.get(path) }()
	p.recorded(do)
	got := <-answer
	if got.err != nil || got.code != http.StatusOK {
		p.t.Fatalf("%s: %d %s: %v", path, got.code, got.text, got.err)
	}
	if err := got.profile.CheckValid(); err != nil {
		p.t.Errorf("%s: %v", path, err)
	}
	return got.profile
}

// top runs go tool pprof for what is done, and returns the values of functions themselves.
func (p *profileServer) top(path, index, unit string, do func()) map[string]int64 {
	p.t.Helper()
	cmd := exec.Command("go", "tool", "pprof", "-top", "-nodecount=0", "-nodefraction=0", "-edgefraction=0",
		"-sample_index="+index, "-unit="+unit, p.url+path)
	cmd.Env = append(os.Environ(), "PPROF_TMPDIR="+p.t.TempDir())
	out := make(chan []byte, 1)
	var failed error
	go func() {
		text, err := cmd.Output()
		failed = err
		out <- text
	}()
	p.recorded(do)
	text := <-out
	_, table, ok := strings.Cut(string(text), "cum%\n")
	if failed != nil || !ok {
		p.t.Fatalf("go tool pprof: %v: %s", failed, text)
	}
	rows := map[string]int64{}
	for line := range strings.Lines(table) {
		f := strings.Fields(line)
		n, err := strconv.ParseInt(strings.TrimSuffix(f[0], "B"), 10, 64)
		if err != nil {
			p.t.Fatalf("%v in %s", err, line)
		}
		rows[strings.Join(f[5:], " ")] = n
	}
	return rows
}

// typeValues adds up a value by the label type.
func typeValues(t *testing.T, p *profile.Profile, value string) map[string]int64 {
	t.Helper()
	at := -1
	for i, v := range p.SampleType {
		if v.Type == value {
			at = i
		}
	}
	if at < 0 {
		t.Fatalf("no value %s: %v", value, p.SampleType)
	}
	out := map[string]int64{}
	for _, s := range p.Sample {
		if len(s.Label["type"]) == 1 {
			out[s.Label["type"][0]] += s.Value[at]
		}
	}
	return out
}

// ends ends the server by Ctrl-C.
func (p *profileServer) ends() {
	p.t.Helper()
	p.signal(unix.SIGINT)
	if r := p.wait(); r.exit != 0 {
		p.t.Errorf("exit code %d: %s", r.exit, r.stderr)
	}
}

// The size of Steps' objects.
const itemBytes, keptBytes = 32, 24

// TestProfiles: profiles by HTTP of a prepared service have what it allocated while a request was being answered, exactly,
// and nothing else, as go tool pprof reads them; what is alive, and in which generation the rest died, is what the
// service knows. In between it is not recorded.
func TestProfiles(t *testing.T) {
	t.Parallel()
	for _, r := range dotnettest.NeedRuntimes(t, 8) {
		t.Run(r.Name, func(t *testing.T) {
			t.Parallel()
			x := newSandbox(t).startServiceWith(r, []string{"--lifetime"})
			p := x.serveProfiles()
			x.do("make 100")
			const made = "Steps.Program.Make(int)"
			if have := p.top("allocs"+long, "alloc_space", "B", func() { x.do("make 2000") }); have[made] != 2000*itemBytes {
				t.Errorf("%d bytes in %s of %v", have[made], made, have)
			}
			x.do("make 5000")
			if have := p.top("allocs"+long, "alloc_objects", "count", func() { x.do("make 7") }); have[made] != 7 {
				t.Errorf("%d objects in %s of %v", have[made], made, have)
			}
			x.do("keep 40")
			heap := p.scrape("heap"+long+"&gc=1&labels=type", func() {
				x.do("keep 30")
				x.do("make 500") // nothing but gc=1 collects them
			})
			if said := strings.Join(heap.Comments, " "); !strings.Contains(said, "Each object is counted") ||
				strings.Contains(said, "stimated") || strings.Contains(said, "Lost") {
				t.Errorf("comments of what is counted: %s", said)
			}
			for value, want := range map[string][2]int64{"alloc_objects": {30, 500}, "inuse_objects": {30, 0},
				"alloc_space": {30 * keptBytes, 500 * itemBytes}, "inuse_space": {30 * keptBytes, 0}} {
				have := typeValues(t, heap, value)
				if have["Steps.Kept"] != want[0] || have["Steps.Item"] != want[1] && have["Steps.Item"] != want[1]+itemsAlive(value) {
					t.Errorf("heap: %s: %d Kept, %d Item, want %v", value, have["Steps.Kept"], have["Steps.Item"], want)
				}
			}
			died := p.scrape("lifetime"+long+"&gc=1&labels=type", func() {
				x.do("make 300")
				x.do("gc 0")
			})
			gen0, alive := typeValues(t, died, "gen0_objects")["Steps.Item"], typeValues(t, died, "inuse_objects")["Steps.Item"]
			if gen0+alive != 300 || gen0 < 299 {
				t.Errorf("lifetime: %d objects died in generation 0, %d are alive, of 300", gen0, alive)
			}
			threads := p.get("threadcreate")
			if threads.err != nil || threads.code != http.StatusOK || len(threads.profile.Sample) == 0 {
				t.Errorf("threads: %+v", threads)
			}
			for path, code := range map[string]int{"profile?seconds=1": 501, "mutex": 501, "nothing": 404} {
				if got := p.get(path); got.code != code {
					t.Errorf("%s: %d %s", path, got.code, got.text)
				}
			}
			p.ends()
			x.finish()
		})
	}
}

// itemsAlive is what the last item adds, which the service still refers to.
func itemsAlive(value string) int64 {
	switch value {
	case "inuse_objects":
		return 1
	case "inuse_space":
		return itemBytes
	}
	return 0
}

// TestProfilesSampled: of a service that was started without clrprof they are estimates, near what a session that counts
// has, and say so.
func TestProfilesSampled(t *testing.T) {
	t.Parallel()
	for _, r := range dotnettest.NeedRuntimes(t, 8) {
		t.Run(r.Name, func(t *testing.T) {
			t.Parallel()
			if r.Major() < 10 {
				dotnettest.NotQuick(t, "other runtimes do what the newest does, but for the event")
			}
			s := newSandbox(t)
			program := dotnettest.Target(t, "Sampled", dotnettest.Options{})
			exact := mustRecord(t, r.Command(program, "work", fmt.Sprint(sampledRounds)), "--lifetime").session
			truth := s.sampledRows(exact, "types")
			x := s.startUnprepared(s.target(r, "Sampled", "listen")...)
			p := x.serveProfiles()
			got := p.scrape("heap"+long+"&labels=type", func() { x.do(fmt.Sprint("work ", sampledRounds)) })
			if said := strings.Join(got.Comments, " "); !strings.Contains(said, "estimated") {
				t.Errorf("comments: %s", said)
			}
			// Some 2,000 samples: five standard deviations are an eighth. AllocationTick can be in step with the program.
			most := 0.13
			if r.Major() < 10 {
				most = 0.35
			}
			for value, of := range map[string]func(sampledRow) int64{
				"alloc_space": func(r sampledRow) int64 { return *r.Bytes }, "alloc_objects": func(r sampledRow) int64 { return *r.Instances }} {
				have := typeValues(t, got, value)
				for _, name := range []string{"Sampled.Dropped", "Sampled.Pair"} {
					want := of(truth[name])
					if off := float64(have[name]-want) / float64(want); off < -most || off > most {
						t.Errorf("%s: %s: %d, a session that counts has %d", name, value, have[name], want)
					}
				}
			}
			alive := typeValues(t, got, "inuse_objects")
			if all := typeValues(t, got, "alloc_objects"); alive["Sampled.Kept"] == 0 || alive["Sampled.Kept"] != all["Sampled.Kept"] ||
				alive["Sampled.Dropped"] > all["Sampled.Dropped"]/10 {
				t.Errorf("alive: %d of %d kept, %d of %d dropped", alive["Sampled.Kept"], all["Sampled.Kept"],
					alive["Sampled.Dropped"], all["Sampled.Dropped"])
			}
			again := p.scrape("allocs"+long+"&labels=type", func() { x.do("work 1000000") })
			if typeValues(t, again, "alloc_space")["Sampled.Dropped"] == 0 {
				t.Error("a second profile has no samples")
			}
			p.ends()
			x.do("child 0")
			x.finish()
		})
	}
}

// TestProfilesTogether: two requests at the same time are both answered, each from its own recording. A request that
// would have to wait long for the one before is refused at once, with the time to try again. When the service ends while
// it is recorded, the profile has what it did until then, and the server ends.
func TestProfilesTogether(t *testing.T) {
	t.Parallel()
	x := newSandbox(t).startService(dotnettest.Need(t).Newest())
	p := x.serveProfiles()
	answers := make(chan scraped, 2)
	for range cap(answers) {
		go func() { answers <- p.get("allocs?seconds=1") }()
	}
	for range cap(answers) {
		if a := <-answers; a.err != nil || a.code != http.StatusOK {
			t.Errorf("two at the same time: %+v", a)
		}
	}
	if a := p.get("heap?seconds=1"); a.code != http.StatusNotImplemented || !strings.Contains(a.text, "clrprof env --lifetime") {
		t.Errorf("of a process that cannot be followed: %+v", a)
	}
	go func() { answers <- p.get("allocs" + long) }()
	if r := x.s.run("ctl", itoa(x.pid), "wait", "recording", "--timeout", "60s"); r.exit != 0 {
		t.Fatal(r.stderr)
	}
	busy := p.get("allocs?seconds=1")
	if n, err := strconv.Atoi(busy.header.Get("Retry-After")); busy.code != http.StatusServiceUnavailable || err != nil ||
		n < 500 || n > 601 {
		t.Errorf("behind a long one: %+v", busy)
	}
	x.do("make 9")
	x.finish()
	last := <-answers
	if last.err != nil || last.code != http.StatusOK || !strings.Contains(strings.Join(last.profile.Comments, " "), "ended") {
		t.Errorf("of a service that has ended: %+v", last)
	}
	if r := p.wait(); r.exit != 0 || !strings.Contains(r.stderr, "has ended") {
		t.Errorf("exit code %d: %s", r.exit, r.stderr)
	}
}

// TestProfilesInterrupted: Ctrl-C ends a recording that goes on, after which the service can be recorded again; so does a
// client that goes away.
func TestProfilesInterrupted(t *testing.T) {
	t.Parallel()
	x := newSandbox(t).startService(dotnettest.Need(t).Newest())
	p := x.serveProfiles()
	client, leave := context.WithCancel(t.Context())
	r, err := http.NewRequestWithContext(client, http.MethodGet, p.url+"allocs"+long, nil)
	if err != nil {
		t.Fatal(err)
	}
	left := make(chan error, 1)
	go func() {
		_, err := http.DefaultClient.Do(r)
		left <- err
	}()
	recording := func() {
		t.Helper()
		if r := x.s.run("ctl", itoa(x.pid), "wait", "recording", "--timeout", "60s"); r.exit != 0 {
			t.Fatal(r.stderr)
		}
	}
	recording()
	leave()
	if err := <-left; !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	x.letsGo()
	if a := p.get("allocs?seconds=1"); a.err != nil || a.code != http.StatusOK { // in its turn, after the end of the first
		t.Errorf("after a client that has gone: %+v", a)
	}
	answer := make(chan scraped, 1)
	go func() { answer <- p.get("allocs" + long) }()
	recording()
	p.ends()
	if a := <-answer; a.code == http.StatusOK {
		t.Errorf("of an interrupted recording: %+v", a)
	}
	again := x.attach("again")
	x.do("make 5")
	x.detach(again)
	again.counted(map[string]int64{"Steps.Item": 5})
	x.finish()
}

// TestProfilesRefused: some requests are refused to everybody, and all requests to those without the token.
func TestProfilesRefused(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	x := s.startService(dotnettest.Need(t).Newest())
	short, good := filepath.Join(s.out, "short"), filepath.Join(s.out, "token")
	if err := errors.Join(os.WriteFile(short, []byte("secret\n"), 0o600),
		os.WriteFile(good, []byte("0123456789abcdef\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"--http", "0.0.0.0:0"}, 120, "--http-token-file"},
		{[]string{"--http", ":0"}, 120, "--http-token-file"},
		{[]string{"--http", "here"}, 120, "127.0.0.1:6060"},
		{[]string{"--http", "127.0.0.1:0", "--http-token-file", short}, 120, "16 or more"},
		{[]string{"--http", "127.0.0.1:0", "--http-token-file", s.out}, 120, "a directory"},
		{[]string{"--http", "127.0.0.1:0", "--for", "1s"}, 120, "--for does not go with --http"},
		{[]string{"--http", "127.0.0.1:0", "--time"}, 120, "--time does not go with --http"},
		{[]string{"--http-token-file", good}, 120, "--http-token-file needs it"},
		{[]string{"--http", "unix:" + s.out}, 120, "exists"},
	} {
		r := s.run(append([]string{"attach", itoa(x.pid)}, tt.args...)...)
		if r.exit != tt.code {
			t.Errorf("%v: exit code %d: %s", tt.args, r.exit, r.stderr)
		}
		oneLine(t, r, tt.says)
	}
	p := x.serveProfiles("--http-token-file", good)
	if a := p.get("allocs?seconds=1"); a.code != http.StatusUnauthorized {
		t.Errorf("without a token: %+v", a)
	}
	r, err := http.NewRequest(http.MethodGet, p.url+"allocs?seconds=1", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer 0123456789abcdef")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	if err := answer.Body.Close(); err != nil || answer.StatusCode != http.StatusOK {
		t.Errorf("with the token: %s, %v", answer.Status, err)
	}
	p.ends()
	x.finish()
}
