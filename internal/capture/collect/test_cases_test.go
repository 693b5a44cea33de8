package collect

import (
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"github.com/clrprof/clrprof/internal/quantity"
)

// TestManyCases: cases beyond the limit are one row for each test, and those that have a row keep it.
func TestManyCases(t *testing.T) {
	var c testCases
	for i := range maxCases + 100 {
		for range 2 { // each case is called twice
			c.row(1, strconv.Itoa(i), true).Calls++
			c.row(2, "?", false).Calls++
		}
	}
	var calls, others quantity.Count
	for key, row := range c.rows {
		calls += row.Calls
		if key.arguments == otherArguments {
			others += row.Calls
		}
	}
	if want := quantity.Count(4 * (maxCases + 100)); calls != want || others == 0 || len(c.rows) > maxCases+2 {
		t.Errorf("%d calls of %d in %d rows, %d of them beyond the limit", calls, want, len(c.rows), others)
	}
	if row := c.row(1, "7", true); row.Arguments != "7" || row.Calls != 2 {
		t.Errorf("%+v", row)
	}
}

// TestArgumentsText: arguments are written as in C#, and as ? or … where their values are not known.
func TestArgumentsText(t *testing.T) {
	for _, tt := range []struct {
		bytes []byte
		text  string
		whole bool
	}{
		{nil, "", true},
		{[]byte{0x02, 1, 0x02, 0}, "true, false", true},
		{[]byte{0x03, '\'', 0, 0x03, 0x1B, 0}, `'\'', '\u001B'`, true},
		{[]byte{0x04, 0xFD, 0x05, 0xFD}, "-3, 253", true},
		{[]byte{0x06, 0xFE, 0xFF, 0x07, 0xFE, 0xFF}, "-2, 65534", true},
		{[]byte{0x08, 0, 0, 0, 0x80, 0x09, 0, 0, 0, 0x80}, "-2147483648, 2147483648", true},
		{[]byte{0x0A, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x0B, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF},
			"-1, 18446744073709551615", true},
		{[]byte{0x0C, 0xCD, 0xCC, 0xCC, 0x3D, 0x0D, 0, 0, 0, 0, 0, 0, 0xF8, 0x3F}, "0.1, 1.5", true},
		{[]byte{0x0E, 0xFF, 0xFF, 0xFF, 0xFF, 0x0E, 3, 0, 0, 0, 'a', 0, '"', 0, '\n', 0}, `null, "a\"\n"`, true},
		{[]byte{0x12, 0x1D, 0x08, 7, 0, 0, 0}, "?, ?, 7", false},
		{[]byte{0x08, 7, 0, 0, 0, 0xFF}, "7, …", false},
	} {
		text, whole, err := argumentsText(tt.bytes)
		if err != nil || text != tt.text || whole != tt.whole {
			t.Errorf("%x: %q, %v, %v; want %q, %v", tt.bytes, text, whole, err, tt.text, tt.whole)
		}
	}
	for _, short := range [][]byte{{0x02}, {0x03, 1}, {0x08, 1, 2, 3}, {0x0B}, {0x0C, 0}, {0x0D, 0}, {0x0E, 1, 0, 0},
		{0x0E, 2, 0, 0, 0, 'a', 0, 'b'}} {
		if text, _, err := argumentsText(short); err == nil {
			t.Errorf("%x ends too early, and is %q", short, text)
		}
	}
}

// TestArgumentsDamaged: no bytes of an arena make it panic.
func TestArgumentsDamaged(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		_, _, _ = argumentsText(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes"))
	})
}
