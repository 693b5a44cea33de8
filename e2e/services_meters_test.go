package e2e

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/clrprof/clrprof/internal/analysis"
	"github.com/clrprof/clrprof/internal/capture/eventpipe"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
)

// startMeasured starts the target Instruments, which does what it reads, with a dormant agent.
func (s *sandbox) startMeasured(r dotnettest.Runtime) *service {
	s.t.Helper()
	s.env = append(s.env, "DOTNET_ROOT="+r.Root)
	dll := dotnettest.Target(s.t, "Instruments", dotnettest.Options{Framework: dotnettest.Net8})
	return s.startServiceOf(r.Args(dll, "steps"), nil)
}

// attachMeters records the service, from when its meters are read.
func (x *service) attachMeters(name string, flags ...string) *attachment {
	x.t.Helper()
	a := x.attach(name, append([]string{"--memory", "--sample-counters", "100", "--meter", "Shop.*"}, flags...)...)
	a.awaitValues(map[string]float64{"Shop.Orders/broken": 1})
	return a
}

// awaitValues waits until counters have these values.
func (a *attachment) awaitValues(want map[string]float64) map[string]float64 {
	a.t.Helper()
	var have map[string]float64
	var wrong []string
	a.t.Cleanup(func() {
		if len(wrong) > 0 {
			a.t.Errorf("not as they must be: %q", wrong)
		}
	})
	await(a.t, "the values", func() bool {
		have, wrong = lastValues(a.t, a.session), nil
		for name, value := range want {
			if got, there := have[name]; !there || got != value {
				wrong = append(wrong, fmt.Sprintf("%s: %v (%v), want %v", name, got, there, value))
			}
		}
		return len(wrong) == 0
	})
	return have
}

// truth is what the service says that its counters must be.
func (x *service) truth() map[string]float64 {
	x.t.Helper()
	x.tell("tell")
	out := map[string]float64{}
	for line := x.line(); line != "done"; line = x.line() {
		name, text, _ := strings.Cut(line, " ")
		value, err := strconv.ParseFloat(text, 64)
		if err != nil {
			x.t.Fatalf("%q: %v", line, err)
		}
		out[name] = value
	}
	return out
}

// eachMeasured calls fn for each runtime that publishes meters, with the target Instruments as a service.
func eachMeasured(t *testing.T, fn func(t *testing.T, x *service)) {
	for _, r := range dotnettest.NeedRuntimes(t, 8) {
		t.Run(r.Name, func(t *testing.T) {
			t.Parallel()
			fn(t, newSandbox(t).startMeasured(r))
		})
	}
}

// TestAttachMeters: what a running program measures by its meters comes out exactly, in each of two recordings, under
// the names, with the units and tags that it has if it is listened to from its start.
func TestAttachMeters(t *testing.T) {
	t.Parallel()
	eachMeasured(t, func(t *testing.T, x *service) {
		a := x.attachMeters("first", "--meter", "Nobody*")
		x.do("measure 100")
		a.awaitValues(map[string]float64{"Shop.Tagged/deliveries{by=bike,site=north,to=town}": 100})
		x.do("level 3.25")
		x.do("measure 17")
		have := a.awaitValues(x.truth())
		x.detach(a)
		checkSession(t, a.session)
		for name := range have {
			if strings.HasPrefix(name, "Stock/") {
				t.Errorf("%s was not asked for", name)
			}
		}
		if losses := lossEvents(t, a.session); len(losses) != 0 {
			t.Errorf("losses %v", losses)
		}
		missing := missingCounters(t, a.session)
		if !strings.Contains(missing["Nobody*"], "no meter with such a name") || missing["Shop.*"] != "" {
			t.Errorf("missing: %q", missing)
		}
		printedUnits(t, a.session, map[string][2]string{"Shop.Orders/orders": {"{order}", "sum"},
			"Shop.Orders/temperature": {"C", "level"}, "Shop.Orders/took.count": {"count", "sum"},
			"Shop.Orders/took": {"ms", "level"}, "Shop.Orders/queue": {"count", "level"},
			"Shop.Orders/open": {"count", "level"}, "Shop.Orders/sold": {"count", "sum"},
			"Shop.Tagged/deliveries": {"km", "sum"}, "Shop.Orders/took.p95": {"ms", "level"}})
		x.do("measure 9") // between the recordings
		again := x.attachMeters("again")
		before := x.truth()
		x.do("measure 8")
		after := x.truth()
		for name, value := range after {
			if !strings.HasPrefix(name, "Shop.Orders/open") && !strings.HasPrefix(name, "Shop.Orders/sold") &&
				name != "Shop.Orders/temperature" {
				after[name] = value - before[name] // it adds up, from the recording's beginning
			}
		}
		again.awaitValues(after)
		x.detach(again)
		x.finish()
	})
}

// printedUnits compares units and kinds of counters.
func printedUnits(t *testing.T, path string, want map[string][2]string) {
	t.Helper()
	have := map[string][2]string{}
	for _, c := range printed[counted](t, "counters", path, "--json") {
		if _, asked := want[c.Name]; asked {
			have[c.Name] = [2]string{c.Unit, c.Kind}
		}
	}
	if !maps.Equal(have, want) {
		t.Errorf("%v, want %v", have, want)
	}
}

// TestAttachMetersLost: what the runtime cannot publish is counted, with the reason beside the numbers: callbacks that
// throw, more sets of tags and histograms than it follows. The rest stays exact.
func TestAttachMetersLost(t *testing.T) {
	t.Parallel()
	eachMeasured(t, func(t *testing.T, x *service) {
		a := x.attachMeters("lost")
		for _, step := range []string{"measure 5", "throw 1"} {
			x.do(step)
		}
		a.awaitValues(x.truth())
		await(t, "a callback that threw", func() bool {
			return lossEvents(t, a.session)[session.LossMeterCallbacks] > 0
		})
		for _, step := range []string{"throw 0", "remake", "queues 150", "users 2500"} {
			x.do(step) // nothing of the disposed meter is missing, but nobody knows that
		}
		want := x.truth()
		want["Shop.Orders/visits{user=0}"] = 1
		want["Shop.Orders/items.count{queue=0}"] = 1
		a.awaitValues(want)
		x.do("measure 6")
		a.awaitValues(x.truth())
		x.detach(a)
		if found, err := analysis.Check(openSession(t, a.session)); err != nil || len(found) != 0 {
			t.Errorf("the session contradicts itself: %v, %v", found, err)
		}
		losses := lossEvents(t, a.session)
		if losses[session.LossCounters] != 1 || losses[session.LossMeterCallbacks] == 0 || len(losses) != 2 {
			t.Errorf("losses %v", losses)
		}
		why := missingCounters(t, a.session)["Shop.*"]
		for _, part := range []string{"more than 2000 sets of tags", "more than 100 sets of tags of histograms",
			"Shop.Again/made was disposed of"} {
			if !strings.Contains(why, part) {
				t.Errorf("%q lacks %q", why, part)
			}
		}
		x.finish()
	})
}

// TestAttachMetersSuspended: Ctrl-Z does not keep the program from ending.
func TestAttachMetersSuspended(t *testing.T) {
	t.Parallel()
	x := newSandbox(t).startMeasured(dotnettest.Need(t).Newest())
	a := x.attachMeters("suspended")
	a.signal(unix.SIGTSTP)
	await(t, "a word on it", func() bool { return strings.Contains(a.said(), "not suspended") })
	x.do("measure 6")
	x.finish()
	a.ends(0, "has ended")
	checkSession(t, a.session)
}

// TestAttachMetersRefused: a process whose meters another tool reads, and one of an old runtime, are recorded without
// meters, which is counted and said.
func TestAttachMetersRefused(t *testing.T) {
	t.Parallel()
	refused := func(t *testing.T, x *service, why string) {
		a := x.attach("refused", "--memory", "--sample-counters", "100", "--meter", "Shop.*")
		await(t, "the loss", func() bool { return lossEvents(t, a.session)[session.LossCounters] == 1 })
		x.detach(a)
		if text := missingCounters(t, a.session)["Shop.*"]; !strings.Contains(text, why) {
			t.Errorf("%q lacks %q", text, why)
		}
		x.finish()
	}
	eachMeasured(t, func(t *testing.T, x *service) {
		other, err := eventpipe.Start(x.pid, []eventpipe.Provider{{Name: eventpipe.Meters, Keywords: 2,
			Level: eventpipe.Informational, Arguments: "SessionId=other;Metrics=Shop.Orders"}})
		if err != nil {
			t.Fatal(err)
		}
		read := make(chan error, 1)
		go func() { // else the runtime, which ends its sessions before the process, can wait for this one forever
			_, err := io.Copy(io.Discard, other)
			read <- err
		}()
		refused(t, x, "another tool reads them")
		if err := errors.Join(<-read, other.Close()); err != nil {
			t.Error(err)
		}
	})
	t.Run("3.1", func(t *testing.T) {
		t.Parallel()
		refused(t, newSandbox(t).startService(dotnettest.Guest(t)), ".NET Core 3.1")
	})
}
