package report

import (
	"encoding/hex"
	"strconv"
)

// Records is the result of a query: columns of distinct names, and values of type nil, int64,
// float64, string, []byte or LateText.
type Records struct {
	Columns []string
	Rows    [][]any
	// Format is how text prints the integers of a column; nil: as they are.
	Format func(column string, n int64) string
	// Cut is how text cuts the columns that it may cut to the width of the terminal; nil: none.
	Cut map[string]Cut
	// Titles are what text calls the columns; nil: as they are called.
	Titles map[string]string
	// Optional are the columns that text may leave out where there is no room, the first one first.
	Optional []string

	count int             // of rows that are made one by one
	late  func(int) []any // makes them; nil: they are Rows
}

// numberText is a number as a person reads it, which stands where numbers do.
type numberText string

// LateText is a text of a row that is made when it is written: it appends it.
type LateText func([]byte) []byte

// MarshalText returns the text.
func (t LateText) MarshalText() ([]byte, error) { return t(nil), nil }

// Len returns the number of rows.
func (r *Records) Len() int {
	if r.late != nil {
		return r.count
	}
	return len(r.Rows)
}

// Row returns a row.
func (r *Records) Row(i int) []any {
	if r.late != nil {
		return r.late(i)
	}
	return r.Rows[i]
}

// Limit leaves the first rows, at most so many.
func (r *Records) Limit(rows int) {
	r.count = min(r.count, rows)
	r.Rows = r.Rows[:min(len(r.Rows), rows)]
}

// ValueText prints a value of records; blobs are lower-case hexadecimal.
func ValueText(v any) string {
	switch v := v.(type) {
	case int64:
		return strconv.FormatInt(v, 10)
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	case string:
		return v
	case numberText:
		return string(v)
	case LateText:
		return string(v(nil))
	case []byte:
		return hex.EncodeToString(v)
	}
	return ""
}
