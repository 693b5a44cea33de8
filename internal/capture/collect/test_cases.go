package collect

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"

	"github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/wire"
)

// maxCases bounds the rows of a process, whose arguments have some 500 characters at most: no suite of tests has as
// many cases, but a test can be called with other arguments each time. What comes later is one row for each test.
const maxCases = 20_000

// otherArguments stand for all arguments of the cases of a test that have no row of their own.
const otherArguments = "…"

// testCases are what calls of tests with arguments allocated in a process.
type testCases struct {
	rows    map[caseKey]*session.TestCase
	unnamed map[caseKey]int64 // calls so far by the arguments that are known, where some are not
	changed map[*session.TestCase]struct{}
}

// caseKey is what calls have in common that are one row.
type caseKey struct {
	function  session.FunctionID
	arguments string
	number    int64
}

// add takes a call that has ended.
func (c *testCases) add(r *Recorder, p *process, record *wire.TestCase) error {
	f, known := p.names.functions[record.Function]
	arguments, whole, err := argumentsText(record.Arguments)
	if !known || err != nil {
		return fmt.Errorf("%w: a case of function %d with arguments %x", wire.ErrCorrupt, record.Function,
			record.Arguments)
	}
	had := len(c.rows)
	row := c.row(f.id, arguments, whole)
	r.cases += quantity.Count(len(c.rows) - had)
	row.Calls++
	row.Amount = row.Amount.Add(quantity.Amount{Allocations: quantity.Count(record.Objects),
		Bytes: quantity.Bytes(record.Bytes)})
	return nil
}

// row returns the row of a call, which changes.
func (c *testCases) row(function session.FunctionID, arguments string, whole bool) *session.TestCase {
	if c.rows == nil {
		c.rows, c.unnamed = map[caseKey]*session.TestCase{}, map[caseKey]int64{}
		c.changed = map[*session.TestCase]struct{}{}
	}
	key := caseKey{function, arguments, 0}
	if !whole && len(c.rows) < maxCases {
		c.unnamed[key]++
		key.number = c.unnamed[key]
	}
	row := c.rows[key]
	if row == nil && len(c.rows) >= maxCases {
		key = caseKey{function, otherArguments, 0}
		row = c.rows[key]
	}
	if row == nil {
		row = &session.TestCase{Function: key.function, Arguments: key.arguments, Number: key.number}
		c.rows[key] = row
	}
	c.changed[row] = struct{}{}
	return row
}

// write writes the rows that changed.
func (c *testCases) write(r *Recorder) error {
	var rows []session.TestCase
	for row := range c.changed {
		rows = append(rows, *row)
	}
	slices.SortFunc(rows, func(a, b session.TestCase) int {
		return cmp.Or(cmp.Compare(a.Function, b.Function), cmp.Compare(a.Arguments, b.Arguments),
			cmp.Compare(a.Number, b.Number))
	})
	clear(c.changed)
	return r.rec.WriteTestCases(rows)
}

// Kinds of arguments whose values are known: ECMA-335 II.23.1.16.
const (
	elementBoolean = 0x02
	elementChar    = 0x03
	elementR4      = 0x0C
	elementR8      = 0x0D
	elementString  = 0x0E
	moreArguments  = 0xFF // in the place of a kind: there were more
	noString       = math.MaxUint32
)

// integerSizes are the bytes of the kinds of integers, which are signed and unsigned by turns.
var integerSizes = map[byte]int{0x04: 1, 0x05: 1, 0x06: 2, 0x07: 2, 0x08: 4, 0x09: 4, 0x0A: 8, 0x0B: 8}

// argumentsText says arguments as C# does; whole: all are known.
func argumentsText(b []byte) (text string, whole bool, err error) {
	var out []string
	for whole = true; len(b) > 0; {
		kind := b[0]
		var one string
		n, known := integerSizes[kind]
		switch b = b[1:]; {
		case kind == moreArguments:
			one, whole = "…", false
		case known && len(b) >= n:
			one, b = integerText(b[:n], kind&1 != 0), b[n:]
		case kind == elementBoolean && len(b) >= 1:
			one, b = strconv.FormatBool(b[0] != 0), b[1:]
		case kind == elementChar && len(b) >= 2:
			one, b = quoted(utf16.Decode([]uint16{binary.LittleEndian.Uint16(b)}), '\''), b[2:]
		case kind == elementR4 && len(b) >= 4:
			value := math.Float32frombits(binary.LittleEndian.Uint32(b))
			one, b = strconv.FormatFloat(float64(value), 'g', -1, 32), b[4:]
		case kind == elementR8 && len(b) >= 8:
			value := math.Float64frombits(binary.LittleEndian.Uint64(b))
			one, b = strconv.FormatFloat(value, 'g', -1, 64), b[8:]
		case kind == elementString:
			if one, b, err = stringText(b); err != nil {
				return "", false, err
			}
		case known || kind >= elementBoolean && kind <= elementR8:
			return "", false, wire.ErrCorrupt
		default:
			one, whole = "?", false
		}
		out = append(out, one)
	}
	return strings.Join(out, ", "), whole, nil
}

// integerText says an integer of so many bytes.
func integerText(b []byte, unsigned bool) string {
	var wide [8]byte
	copy(wide[:], b)
	value, shift := binary.LittleEndian.Uint64(wide[:]), 64-8*len(b)
	if unsigned {
		return strconv.FormatUint(value, 10)
	}
	return strconv.FormatInt(int64(value<<shift)>>shift, 10)
}

// stringText says a string, and returns what comes after it.
func stringText(b []byte) (text string, rest []byte, err error) {
	if len(b) < 4 {
		return "", nil, wire.ErrCorrupt
	}
	n := binary.LittleEndian.Uint32(b)
	if b = b[4:]; n == noString {
		return "null", b, nil
	}
	if uint64(len(b)) < 2*uint64(n) {
		return "", nil, wire.ErrCorrupt
	}
	units := make([]uint16, n)
	for i := range units {
		units[i] = binary.LittleEndian.Uint16(b[2*i:])
	}
	return quoted(utf16.Decode(units), '"'), b[2*n:], nil
}

// quoted says characters between quotes, without what steers a terminal or begins a line.
func quoted(text []rune, quote rune) string {
	var out strings.Builder
	out.WriteRune(quote)
	for _, c := range text {
		switch {
		case c == quote || c == '\\':
			out.WriteRune('\\')
			out.WriteRune(c)
		case c == '\n':
			out.WriteString(`\n`)
		case c == '\r':
			out.WriteString(`\r`)
		case c == '\t':
			out.WriteString(`\t`)
		case !strconv.IsPrint(c):
			fmt.Fprintf(&out, `\u%04X`, c)
		default:
			out.WriteRune(c)
		}
	}
	out.WriteRune(quote)
	return out.String()
}
