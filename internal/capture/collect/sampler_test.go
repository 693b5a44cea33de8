package collect

import (
	"path/filepath"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clrprof/clrprof/internal/capture/cgroup"
	"github.com/clrprof/clrprof/internal/capture/counter"
	"github.com/clrprof/clrprof/internal/capture/launch"
	"github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/testkit/wiretest"
	"github.com/clrprof/clrprof/internal/wire"
)

// sampling makes a recorder take samples when asked to, of a machine that has memory and nothing else.
func (r *recordingTest) sampling() (sampleAt func(quantity.Nanoseconds)) {
	r.sampleEvery(0)
	s := r.newSampler(hundredMilliseconds, fstest.MapFS{"proc/meminfo": {Data: []byte("MemTotal: 9 kB\n" +
		"MemAvailable: 5 kB\n")}})
	ticks, now := make(chan time.Time), atomic.Int64{}
	s.wait = func(quantity.Nanoseconds) <-chan time.Time { return ticks }
	s.now = func() quantity.Nanoseconds { return quantity.Nanoseconds(now.Load()) }
	r.samples.sampler = s
	s.begin()
	return func(at quantity.Nanoseconds) {
		now.Store(int64(at))
		ticks <- time.Time{}
		<-s.arrival()
	}
}

// newSampled is an arena with an instrument of a meter.
func newSampled(measured uint64) *wiretest.Arena {
	a := wiretest.New()
	a.Add(wire.MeterCounter{ID: 1, Kind: wire.MeterAdded, Whole: 1, Meter: "Shop", Instrument: "orders"})
	a.MeterValues = []wire.MeterValue{{Count: 1, Sum: measured}}
	return a
}

type sampled struct {
	At, Counter, Value int64
}

// sampled returns the samples of the machine's memory, and of the instrument.
func (r *recordingTest) sampled() (out []sampled) {
	rows, err := r.w.CounterValues()
	if err != nil {
		r.t.Fatal(err)
	}
	for _, x := range rows {
		switch id := counter.ID(x.Counter); {
		case id == counter.MachineAvailable, id == counter.MachineMemory, x.Counter == firstMeterCounter:
			out = append(out, sampled{int64(x.Time), x.Counter, x.Value})
		}
	}
	return out
}

// TestSamplesDuringLook: samples are made while a look at an arena goes on, and have the time at which they were made.
func TestSamplesDuringLook(t *testing.T) {
	r, a := newRecording(t), newSampled(41)
	r.alive = func(int) bool { return true }
	looks, goesOn := make(chan bool), make(chan bool)
	r.group = func(memory int64) int64 { return memory }
	r.allowed = func(int) int64 { // is asked in the middle of a look
		looks <- true
		<-goesOn
		return cgroup.None
	}
	sampleAt := r.sampling()
	if err := a.Write(filepath.Join(r.directory, "1-1"+launch.ArenaSuffix)); err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	go func() { done <- r.Sync(1000) }()
	<-looks
	sampleAt(1100)
	sampleAt(1300)
	goesOn <- true
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	r.allowed = func(int) int64 { return cgroup.None }
	a.MeterValues[0].Sum = 42
	if err := r.Sync(2000); err != nil {
		t.Fatal(err)
	}
	memory, available := int64(counter.MachineMemory), int64(counter.MachineAvailable)
	want := []sampled{{0, available, 5 << 10}, {0, memory, 9 << 10}, // of the machine, when the recording began
		{1100, available, 5 << 10}, {1100, memory, 9 << 10}, {1100, firstMeterCounter, 41},
		{1300, available, 5 << 10}, {1300, memory, 9 << 10}, {1300, firstMeterCounter, 41}}
	if d := cmp.Diff(want, r.sampled(), cmp.Transformer("sorted", sortedSamples)); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}

func sortedSamples(list []sampled) map[sampled]bool {
	out := map[sampled]bool{}
	for _, x := range list {
		out[x] = true
	}
	return out
}

// TestSamplesEnd: no sample is later than the recording, and a process that has ended has the last values that it left.
func TestSamplesEnd(t *testing.T) {
	r, a := newRecording(t), newSampled(41)
	running := atomic.Bool{}
	running.Store(true)
	r.alive = func(int) bool { return running.Load() }
	sampleAt := r.sampling()
	if err := a.Write(filepath.Join(r.directory, "1-1"+launch.ArenaSuffix)); err != nil {
		t.Fatal(err)
	}
	sampleAt(900)
	if err := r.Sync(1000); err != nil {
		t.Fatal(err)
	}
	sampleAt(1900)
	sampleAt(2100)
	running.Store(false)
	if err := r.SyncLast(2000); err != nil {
		t.Fatal(err)
	}
	last := session.CounterValue{}
	rows, err := r.w.CounterValues()
	for _, x := range rows {
		if x.Time > 2000 {
			t.Errorf("%+v is later than the recording", x)
		}
		if x.Counter == firstMeterCounter {
			last = x
		}
	}
	if err != nil || last.Time != 2000 || last.Value != 41 || len(r.sampled()) != 9 {
		t.Errorf("%v, the last is %+v, %v", r.sampled(), last, err)
	}
}
