package e2e

import (
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
	"github.com/clrprof/clrprof/internal/testkit/webtest"
)

var liveCost = flag.Bool("live-cost", false, "measure what watching a recording costs")

// watchedFor is how many messages are measured.
const watchedFor = 40

// asking asks a web server for orders until it is asked to stop, and reports every hundredth.
func asking(address string, hundred chan<- bool, stop <-chan bool) error {
	defer close(hundred)
	for i := 1; ; i++ {
		answer, err := http.Get(fmt.Sprintf("%s/order/%d", address, i))
		if err != nil {
			return err
		}
		_, _ = io.Copy(io.Discard, answer.Body)
		answer.Body.Close()
		if i%100 > 0 {
			continue
		}
		select {
		case hundred <- true:
		case <-stop:
			return nil
		}
	}
}

// used is what of a processor a process has had.
func used(t *testing.T, pid int) time.Duration {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(b), ") ")
	fields, ticks := strings.Fields(rest), 0
	for _, field := range fields[11:13] { // user and system
		n, err := strconv.Atoi(field)
		if err != nil {
			t.Fatal(err)
		}
		ticks += n
	}
	return time.Duration(ticks) * time.Second / 100
}

// TestLiveCost measures, when it is asked to, what it costs to watch a web server under load in a browser: the page
// for a message, and the collector of a core; both by processor time. docs/live.md has the figures. How long
// something takes is no test.
func TestLiveCost(t *testing.T) {
	if !*liveCost {
		t.Skip("a measurement: go test ./e2e -run TestLiveCost -v -args -live-cost")
	}
	webtest.Chromium(t)
	runtimes := dotnettest.NeedRuntimes(t, 8)
	dll := dotnettest.Target(t, "Web", dotnettest.Options{Framework: dotnettest.Net8, Web: true})
	s := newSandbox(t)
	p := s.start(append([]string{"run", "--live", "--time", "--memory", "--lifetime", "--no-report", "-o", "s.clrprof", "--"},
		runtimes[len(runtimes)-1].Command(dll).Args...)...)
	address := ""
	for address == "" && p.lines.Scan() {
		address, _ = strings.CutPrefix(p.lines.Text(), "listening ")
	}
	found := pageAddress.FindStringSubmatch(p.said())
	if found == nil || address == "" {
		t.Fatalf("no address: %s", p.said())
	}
	b := webtest.Start(t)
	hundred, stop, asked := make(chan bool), make(chan bool), make(chan error, 1)
	go func() { asked <- asking(address, hundred, stop) }()
	b.Do(chromedp.Navigate(found[1] + found[2]))
	number := `Number(document.querySelector(".live").dataset.id)`
	b.Until(`document.querySelector(".live")`)
	for webtest.Eval[int](b, number) < 3 {
		<-hundred
	}
	var shares [2]float64 // of a core: watched, and not
	for i := range shares {
		collector, from := used(t, p.cmd.Process.Pid), time.Now()
		if i == 0 {
			worked, first := b.Worked(), webtest.Eval[int](b, number)
			for webtest.Eval[int](b, number) < first+watchedFor {
				<-hundred
			}
			reported := webtest.Eval[int](b, number) - first
			each := (b.Worked() - worked) / time.Duration(reported)
			t.Logf("the page works for %v for each of %d messages", each.Round(10*time.Microsecond), reported)
			shares[i] = (used(t, p.cmd.Process.Pid) - collector).Seconds() / time.Since(from).Seconds()
			b.Do(chromedp.Navigate("about:blank"))
			continue
		}
		for time.Since(from) < 10*time.Second {
			<-hundred
		}
		shares[i] = (used(t, p.cmd.Process.Pid) - collector).Seconds() / time.Since(from).Seconds()
	}
	t.Logf("the collector takes %.2f %% of a core while somebody watches, and %.2f %% else", 100*shares[0], 100*shares[1])
	s.endsWatched(b, found[1]+"/", func() { endServer(t, address, stop, asked) })
	p.signal(os.Interrupt) // the page stays until then
	if ended := p.wait(); ended.exit != 0 {
		t.Errorf("exit code %d: %s", ended.exit, ended.stderr)
	}
}

// endServer stops asking a server, and then the server.
func endServer(t *testing.T, address string, stop chan<- bool, asked <-chan error) {
	t.Helper()
	close(stop)
	if err := <-asked; err != nil {
		t.Error(err)
	}
	answer, err := http.Post(address+"/stop", "", nil)
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
}

// endsWatched watches a recording that ends, until the page is that of its session.
func (s *sandbox) endsWatched(b *webtest.Browser, page string, end func()) {
	s.t.Helper()
	b.Do(chromedp.Navigate(page))
	b.Until(`document.querySelector(".live")`)
	end()
	b.Do(chromedp.WaitReady(".findings")) // it loads itself anew
}
