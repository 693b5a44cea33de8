package top

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"

	"github.com/clrprof/clrprof/internal/capture/live"
	"github.com/clrprof/clrprof/internal/quantity"
)

func numbers(objects, bytes, calls int) live.Numbers {
	return live.Numbers{Allocations: quantity.Count(objects), Bytes: quantity.Bytes(bytes),
		Calls: quantity.Count(calls)}
}

// messages are a start, and a second in which some functions did something.
func messages(mode string) []live.Message {
	hostile := "App.\x1b[31mEvil\u202e.Run(int)"
	start := live.Message{ID: 1, Event: live.Start, Session: "app.clrprof", Mode: mode, End: 1e9,
		Total: numbers(10, 1000, 5), Processes: 1, Threads: 2,
		Functions: live.Table{
			Rows: []live.Row{{ID: 1, Name: "App.Worker.Fill(byte[])", Short: "Worker.Fill(byte[])", New: numbers(8, 900, 1),
				Total: numbers(8, 900, 1)},
				{ID: 2, Name: hostile, Short: hostile, New: numbers(2, 100, 4), Total: numbers(2, 100, 4)}}},
		Types: live.Table{
			Rows: []live.Row{{ID: 1, Name: "byte[]", Short: "byte[]", New: numbers(10, 1000, 0), Total: numbers(10, 1000, 0)}}}}
	tick := start
	tick.ID, tick.Event, tick.Begin, tick.End = 2, live.Tick, 1e9, 2e9
	tick.New, tick.Total = numbers(30, 2048, 7), numbers(40, 3048, 12)
	tick.Functions = live.Table{
		Rows: []live.Row{{ID: 2, Name: hostile, Short: hostile, New: numbers(29, 2000, 6), Total: numbers(31, 2100, 10)}},
		Rest: live.Rest{Rows: 3, New: numbers(1, 48, 1)}}
	tick.Types = live.Table{
		Rows: []live.Row{{ID: 1, Name: "byte[]", Short: "byte[]", New: numbers(30, 2048, 0), Total: numbers(40, 3048, 0)}}}
	tick.GCs = live.GCs{Total: 7,
		Rows: []live.GC{{Number: 7, Generation: 1, Induced: true, Begin: 15e8, Pause: 2e6,
			Died: live.Population{Objects: 3, Bytes: 72},
			Heap: []live.Population{{Bytes: 0}, {Bytes: 1024}, {Bytes: 2048}, {}, {}}}}}
	tick.Losses = []live.Loss{{Reason: "stack_truncated", Events: 2, Allocations: 2, Bytes: 48}}
	return []live.Message{start, tick}
}

func screenOf(mode string) Screen {
	var v live.View
	for _, m := range messages(mode) {
		v.Apply(&m)
	}
	return NewScreen(&v)
}

func TestText(t *testing.T) {
	s := screenOf("lifetime")
	got := s.Text(Layout{Width: 110})
	want := `app.clrprof  2.00 s  1 process  2 threads
2.00 KiB/s, 30 objects/s; in all 2.98 KiB in 40 objects
heap after collection 7: gen 0 0 B, gen 1 1.00 KiB, gen 2 2.00 KiB, large 0 B, pinned 0 B
lost: stack_truncated, 2 times, 2 objects, 48 B
    bytes/s▼    objects/s        bytes        objects  function
    1.95 KiB           29     2.05 KiB             31  App.�[31mEvil�.Run(int)
         0 B            0        900 B              8  Worker.Fill(byte[])
and in the last moment 48 B in 1 object of 3 more functions`
	if got != want {
		t.Errorf("%s\n\nwant\n\n%s", got, want)
	}
	got = s.Text(Layout{Width: 100, Tab: tabGCs})
	for _, want := range []string{"\ncollection gen ", "\n         7   1 ", "gen 1 1.00 KiB"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
}

// TestCollectionsFit: of a collection the pause, what died and why it was made are there in 100 columns and in 60; the heap
// is shortened.
func TestCollectionsFit(t *testing.T) {
	s := screenOf("lifetime")
	const mega = 1 << 20
	s.gcs[0].Heap = []live.Population{{Bytes: 3 * mega}, {Bytes: 200 * mega}, {}, {Bytes: 100 * mega}, {Bytes: 1000}}
	s.gcs[0].Died.Bytes = 1000 * mega
	s.last.Processes = 2
	for width, heap := range map[int]string{
		0:   "gen 0 3.00 MiB, gen 1 200.00 MiB, gen 2 0 B, large 100.00 MiB, pinned 1000 B",
		160: "gen 0 3.00 MiB, gen 1 200.00 MiB, gen 2 0 B, large 100.00 MiB, pinned 1000 B",
		140: "gen 0 3.00 MiB, gen 1 200.00 MiB, large 100.00 MiB, pinned 1000 B",
		100: "303.00 MiB", 88: "303.00 MiB"} {
		lines := strings.Split(s.Text(Layout{Width: width, Tab: tabGCs}), "\n")
		want := "         7   1      1.50 s     2.00 ms  1000.00 MiB  " + heap + "  (induced)  process 0"
		if got := lines[len(lines)-2]; got != want {
			t.Errorf("%d columns:\n%s\nwant\n%s", width, got, want)
		}
	}
}

// TestFoot: where there is no room for all keys, those go first that one needs least.
func TestFoot(t *testing.T) {
	for width, want := range map[int]string{
		80: "1 2 3 list   s sort   space pause   ↑ ↓ more rows   ? help   q quit",
		60: "1 2 3 list   s sort   space pause   ? help   q quit",
		40: "1 2 3 list   s sort   ? help   q quit",
		20: "? help   q quit", 8: "q quit"} {
		if got := (&Layout{Width: width}).foot(0); got != want {
			t.Errorf("%d columns: %q, want %q", width, got, want)
		}
	}
	if got := (&Layout{Width: 40}).foot(12); got != "12 more   s sort   ? help   q quit" {
		t.Errorf("%q", got)
	}
}

// TestFits: no line is wider than the screen, and there are as many as it has, whatever its size.
func TestFits(t *testing.T) {
	for _, mode := range []string{"lifetime", "time", "memory,time"} {
		s := screenOf(mode)
		for width := 20; width < 150; width += 7 {
			for height := 8; height < 40; height += 9 {
				for tab := range tabs {
					lines := strings.Split(s.Text(Layout{Tab: tab, Width: width, Height: height, Order: byBytes}), "\n")
					if len(lines) != height {
						t.Errorf("%s, %d × %d, %s: %d lines", mode, width, height, tabNames[tab], len(lines))
					}
					for _, line := range lines {
						if n := utf8.RuneCountInString(line); n > width && width >= 40 {
							t.Errorf("%s, %d × %d, %s: %d columns: %q", mode, width, height, tabNames[tab], n, line)
						}
					}
				}
			}
		}
	}
}

// TestHelpFits: no line of the keys is cut in a terminal of 80 columns.
func TestHelpFits(t *testing.T) {
	wide, narrow := (&Layout{Width: 1000}).help(), (&Layout{Width: 80}).help()
	for i := range wide {
		if wide[i] != narrow[i] {
			t.Errorf("cut: %s", narrow[i])
		}
	}
}

// TestKeys: the keys do what the help says.
func TestKeys(t *testing.T) {
	list := messages("memory,time")
	source := func() (*live.Message, error) {
		if len(list) == 0 {
			return nil, io.EOF
		}
		m := list[0]
		list = list[1:]
		return &m, nil
	}
	var m tea.Model = NewModel(source, byByteRate, false)
	step := func() { m, _ = m.Update(m.Init()()) }
	press := func(code rune, text string) tea.Cmd {
		var cmd tea.Cmd
		m, cmd = m.Update(tea.KeyPressMsg{Code: code, Text: text})
		return cmd
	}
	shows := func(what string, words ...string) {
		t.Helper()
		for _, word := range words {
			if text := m.View().Content; !strings.Contains(text, word) {
				t.Errorf("%s: no %q in\n%s", what, word, text)
			}
		}
	}
	shows("before", "waiting")
	m, _ = m.Update(tea.WindowSizeMsg{Width: 120, Height: 20})
	step()
	shows("start", "[1 functions]", "in all 1000 B in 10 objects", "bytes/s▼")
	press(' ', " ")
	step()
	shows("paused", "[paused", "in all 1000 B in 10 objects")
	press(' ', " ")
	shows("on", "in all 2.98 KiB in 40 objects")
	for _, order := range Orders()[1:] {
		press('s', "s")
		shows("another order", order+"▼")
	}
	press('s', "s")
	shows("the first order", "bytes/s▼")
	press('2', "2")
	shows("types", "[2 types]", "byte[]")
	press('3', "3")
	shows("collections", "[3 collections]", "(induced)")
	press(tea.KeyTab, "")
	shows("the first list", "[1 functions]")
	press('?', "?")
	shows("help", "Keys", "1 2 3", "hold what is shown")
	press(tea.KeyEscape, "")
	shows("no help", "[1 functions]", "function")
	step()
	shows("the end", "the recording has ended: clrprof report app.clrprof")
	if err := m.(Model).Err(); !errors.Is(err, io.EOF) {
		t.Errorf("%v", err)
	}
	if cmd := press('q', "q"); cmd == nil || fmt.Sprintf("%T", cmd()) != "tea.QuitMsg" {
		t.Error("q does not quit")
	}
}

// TestHead: what does not fit is said.
func TestHead(t *testing.T) {
	s := screenOf("lifetime")
	text, left := s.Head(Layout{Width: 110}, 1)
	if left != 2 || strings.Contains(text, "Worker") || !strings.Contains(text, "Evil") {
		t.Errorf("%d left out of\n%s", left, text)
	}
}
