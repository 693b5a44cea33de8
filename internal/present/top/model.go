package top

import (
	"errors"
	"fmt"
	"io"

	tea "charm.land/bubbletea/v2"

	"github.com/clrprof/clrprof/internal/capture/live"
	"github.com/clrprof/clrprof/internal/present/report/text"
)

// Source returns the next message, io.EOF after the last one.
type Source func() (*live.Message, error)

// Model is the program on the terminal. It is one of Bubble Tea's: Update returns what it is next.
type Model struct {
	source Source
	view   *live.View
	screen Screen
	layout Layout
	ended  error // why no message comes any more; nil: they do
}

// NewModel shows the messages of a source.
func NewModel(source Source, order Order, color bool) Model {
	return Model{source: source, view: &live.View{}, layout: Layout{Order: order, Color: color, Width: 80, Height: 24}}
}

// message is what a source said.
type message struct {
	live *live.Message
	err  error
}

// Init asks for the first message.
func (m Model) Init() tea.Cmd { return m.next }

func (m Model) next() tea.Msg {
	next, err := m.source()
	return message{next, err}
}

// Err is why no message comes any more, nil: they do; io.EOF: the recording has ended.
func (m Model) Err() error { return m.ended }

// Session is the path of the session, "" if no message came.
func (m Model) Session() string { return m.view.Last.Session }

// Update takes what happened.
func (m Model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case message:
		return m.take(msg)
	case tea.WindowSizeMsg:
		m.layout.Width, m.layout.Height = msg.Width, msg.Height
	case tea.KeyPressMsg:
		return m.press(msg.String())
	}
	return m, nil
}

func (m Model) take(msg message) (tea.Model, tea.Cmd) {
	if msg.err != nil {
		m.ended = msg.err
		m.layout.Note = "the connection ended: " + text.Printable(msg.err.Error()) + "   q quit"
		if errors.Is(msg.err, io.EOF) {
			m.layout.Note = fmt.Sprintf("the recording has ended: clrprof report %s   q quit",
				text.Printable(m.Session()))
		}
		return m, nil
	}
	m.view.Apply(msg.live)
	if !m.layout.Paused {
		m.screen = NewScreen(m.view)
		m.layout.Order = m.fits(m.layout.Order)
	}
	return m, m.next
}

// fits returns an order that the recording has values for.
func (m Model) fits(o Order) Order {
	hasCalls := m.screen.recordsTime() && m.layout.Tab == tabFunctions
	isCalls := o == byCallRate || o == byCalls
	switch {
	case isCalls && !hasCalls:
		return byByteRate
	case !isCalls && !m.screen.recordsMemory():
		return byCallRate
	}
	return o
}

// press does what a key is for.
func (m Model) press(key string) (tea.Model, tea.Cmd) {
	l := &m.layout
	page := max(1, l.Height-7)
	switch key {
	case "?", "h":
		l.Help = !l.Help
	case "esc":
		if !l.Help {
			return m, tea.Quit
		}
		l.Help = false
	case "q", "ctrl+c":
		return m, tea.Quit
	case "space", "p":
		if l.Paused = !l.Paused; !l.Paused {
			m.screen = NewScreen(m.view)
		}
	case "1", "2", "3":
		l.Tab, l.First, l.Help = Tab(key[0]-'1'), 0, false
	case "tab", "right":
		l.Tab, l.First = (l.Tab+1)%tabs, 0
	case "shift+tab", "left":
		l.Tab, l.First = (l.Tab+tabs-1)%tabs, 0
	case "s", "S":
		step := Order(1)
		if key == "S" {
			step = orders - 1
		}
		next := (l.Order + step) % orders
		for m.fits(next) != next {
			next = (next + step) % orders
		}
		l.Order, l.First = next, 0
	case "up", "k":
		l.First = max(0, l.First-1)
	case "down", "j":
		l.First++
	case "pgup":
		l.First = max(0, l.First-page)
	case "pgdown":
		l.First += page
	case "home", "g":
		l.First = 0
	}
	l.Order = m.fits(l.Order)
	l.First = min(l.First, max(0, m.rows()-1))
	return m, nil
}

// rows is how many rows the list has.
func (m Model) rows() int {
	return [tabs]int{len(m.screen.functions.rows), len(m.screen.types.rows), len(m.screen.gcs)}[m.layout.Tab]
}

// View lays the screen out.
func (m Model) View() tea.View {
	text := "waiting for the recording…"
	if m.view.Last.ID > 0 {
		text = m.screen.Text(m.layout)
	}
	v := tea.NewView(text)
	v.AltScreen = true
	return v
}
