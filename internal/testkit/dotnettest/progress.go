package dotnettest

import (
	"fmt"
	"io"
	"os"

	"golang.org/x/term"
)

// progressLine writes what is being done: to a terminal as one line that moves,
// otherwise as plain lines.
type progressLine struct {
	w        io.Writer
	terminal bool
	open     bool // the terminal's line is not ended
}

func newProgress(w io.Writer) *progressLine {
	f, ok := w.(*os.File)
	return &progressLine{w: w, terminal: ok && term.IsTerminal(int(f.Fd()))}
}

// line starts a new step. Progress that cannot be written is not an error of the
// work itself, so write errors are dropped here and in move.
func (p *progressLine) line(format string, args ...any) {
	if p.terminal {
		p.move(format, args...)
		return
	}
	fmt.Fprintf(p.w, format+"\n", args...)
}

// move replaces the line on a terminal, and writes nothing elsewhere.
func (p *progressLine) move(format string, args ...any) {
	if !p.terminal {
		return
	}
	const clear = "\r\x1b[K" // carriage return, erase to the end of the line
	fmt.Fprintf(p.w, clear+format, args...)
	p.open = true
}

// close ends the terminal's line, so that what was said last stays.
func (p *progressLine) close() {
	if p.open {
		fmt.Fprintln(p.w)
		p.open = false
	}
}
