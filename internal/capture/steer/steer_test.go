package steer

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestLevel compares a level with what its counters say, after any operations.
func TestLevel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var l Level
		started, suspended := 1, 0
		for _, op := range rapid.SliceOf(rapid.SampledFrom([]Op{Start, Stop, Suspend, Resume})).Draw(t, "operations") {
			l = l.After(op)
			switch op {
			case Start:
				started = 1
			case Stop:
				started = 0
			case Suspend:
				suspended++
			case Resume:
				suspended--
			}
			if want := started > 0 && suspended <= 0; l.On() != want {
				t.Fatalf("after %s: on is %v, want %v", op, l.On(), want)
			}
		}
	})
}

// TestQueue: requests that make no sense are refused at once, others are answered by the recorder; who waits when it
// ends is reported.
func TestQueue(t *testing.T) {
	d := NewQueue()
	for _, r := range []Request{{}, {Command: "explode"}, {Command: Mark}, {Command: Mark, Name: "a\nb"},
		{Command: Mark, Name: strings.Repeat("x", maxText+1)},
		{Command: Mark, Name: "a", Text: strings.Repeat("x", maxText+1)}} {
		if answer, err := d.Ask(t.Context(), r); err != nil || answer.Code != CodeUsage {
			t.Errorf("%.40v: %v, %v", r, answer, err)
		}
	}
	go func() {
		c := <-d.Calls()
		c.Answer(Response{Report: Report{Session: c.Name}})
	}()
	if answer, err := d.Ask(t.Context(), Request{Command: Mark, Name: "here"}); err != nil ||
		answer.Report.Session != "here" {
		t.Errorf("%v, %v", answer, err)
	}
	go func() {
		<-d.Calls() // and is never answered
		d.Close(nil)
	}()
	if _, err := d.Ask(t.Context(), Request{Command: Status}); !errors.Is(err, errEnded) {
		t.Errorf("when the recording ends: %v", err)
	}
	if _, err := d.Ask(t.Context(), Request{Command: Status}); !errors.Is(err, errEnded) {
		t.Errorf("after the end: %v", err)
	}
	over := NewQueue()
	over.Close(&Report{Session: "a", State: StateRecording, Recording: true})
	want := Report{Session: "a", State: StateCompleting}
	if answer, err := over.Ask(t.Context(), Request{Command: Status}); err != nil ||
		!reflect.DeepEqual(answer.Report, want) {
		t.Errorf("while the session is being completed: %+v, %v", answer, err)
	}
	if _, err := over.Ask(t.Context(), Request{Command: Flush}); !errors.Is(err, errEnded) {
		t.Errorf("a change then: %v", err)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := NewQueue().Ask(gone, Request{Command: Status}); !errors.Is(err, context.Canceled) {
		t.Errorf("a client that is gone: %v", err)
	}
}
