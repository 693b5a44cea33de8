package dotnettest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// Truth is one row of what a target says about itself. Which fields are set
// depends on Kind; testdata/targets/README.md has the table.
type Truth struct {
	Kind     string `json:"truth"` // "function", "line", "type", "thread", "total", "process", "note" or "wrong"
	Scope    string `json:"scope"` // of a function: "exclusive" or "inclusive"
	Name     string `json:"name"`
	Module   string `json:"module"` // file name, such as "Shapes.dll"
	Token    Token  `json:"token"`
	Type     string `json:"type"`
	File     string `json:"file"` // without directories
	Line     int    `json:"line"`
	Function string `json:"function"`
	Objects  int64  `json:"objects"`
	Bytes    int64  `json:"bytes"` // on the heap, rounded up to 8 for each object
	PID      int    `json:"pid"`   // 0 where the target is one process
	Expected int64  `json:"expected"`
	Measured int64  `json:"measured"`
	// Collected says, in a note, that what should be gone is.
	Collected bool `json:"collected"`
}

// Token is a metadata token, ECMA-335 II.22: table in the high byte, row below.
// Zero is that of a dynamic method, which has none.
type Token uint32

// UnmarshalText reads a token as targets print it, "0x0600002a".
func (t *Token) UnmarshalText(b []byte) error {
	n, err := strconv.ParseUint(string(b), 0, 32)
	*t = Token(n)
	return err
}

// errWrong means that a target's own check did not hold: what it prints is not
// the truth.
var errWrong = errors.New("the target contradicts the runtime")

// errNoEnd means that a target's output ends before its truth does. For a target
// that dies on purpose this is no error.
var errNoEnd = errors.New("the target's truth has no end")

// maxTruthLine bounds a line of output; names of generic types are the longest.
const maxTruthLine = 1 << 20

// ParseTruth reads the output of a target and returns its rows in the order in
// which they were printed, without the one of the end. Lines that are not truth
// are skipped. With [errWrong] and [errNoEnd] the rows are returned too.
func ParseTruth(r io.Reader) ([]Truth, error) {
	var rows []Truth
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxTruthLine)
	ended := false
	for n := 1; lines.Scan(); n++ {
		if !bytes.HasPrefix(lines.Bytes(), []byte(`{"truth":`)) {
			continue
		}
		var row Truth
		if err := json.Unmarshal(lines.Bytes(), &row); err != nil {
			return nil, fmt.Errorf("reading truth, line %d: %w", n, err)
		}
		if row.Kind == "end" {
			ended = true
			continue
		}
		rows = append(rows, row)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("reading truth: %w", err)
	}
	for _, row := range rows {
		if row.Kind == "wrong" {
			return rows, fmt.Errorf("%s: expected %d bytes, measured %d: %w", row.Name, row.Expected, row.Measured,
				errWrong)
		}
	}
	if !ended {
		return rows, errNoEnd
	}
	return rows, nil
}
