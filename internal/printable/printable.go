// Package printable makes texts of a program safe to print.
//
// Problem: names of functions, types, threads and marks, and texts of queries, are whatever the recorded program or the
// maker of a session chose. As they are they could steer the terminal (ESC), begin a new line, which a build server
// takes for a command of its own (::set-output), or change the order in which a line is read (bidirectional controls).
//
// All text that people or tools read line by line goes through Text. JSON and XML escape such characters themselves.
package printable

import (
	"strconv"
	"strings"
	"unicode"
)

// Text replaces each control character, line breaks and bidirectional controls included, by U+FFFD.
func Text(s string) string {
	if isPlain(s) {
		return s
	}
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\u2029' {
			return unicode.ReplacementChar
		}
		return r
	}, s)
}

// isPlain reports whether a text is of printable ASCII alone, as nearly all names are.
func isPlain(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

// runs are what a cell begins with that a spreadsheet takes for a formula (OWASP, CSV injection).
const runs = "=+-@"

// Inert has a spreadsheet take a cell for a text. A number stays one.
func Inert(s string) string {
	if s == "" || !strings.ContainsRune(runs, rune(s[0])) {
		return s
	}
	if _, err := strconv.ParseFloat(s, 64); err == nil {
		return s
	}
	return "'" + s
}
