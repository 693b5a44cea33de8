// Package protobuf writes messages of Protocol Buffers field by field, for formats whose files are too large to be
// built as objects first: a profile of a million samples would take gigabytes.
//
// Fields with their default value are left out, as generated code does. A Table numbers strings, or messages, so that
// equal ones are written once.
package protobuf

import (
	"google.golang.org/protobuf/encoding/protowire"
)

// Field is the number of a field in the description of a format.
type Field = protowire.Number

// Message is a message that is being written; the zero Message is an empty one.
type Message []byte

// Uint appends a field of an integer type that is not zigzag-encoded.
func (m *Message) Uint(field Field, v uint64) {
	if v != 0 {
		*m = protowire.AppendTag(*m, field, protowire.VarintType)
		*m = protowire.AppendVarint(*m, v)
	}
}

// Int appends a field of type int32 or int64.
func (m *Message) Int(field Field, v int64) { m.Uint(field, uint64(v)) }

// Bool appends a field of type bool.
func (m *Message) Bool(field Field, v bool) {
	if v {
		m.Uint(field, 1)
	}
}

// Fixed64 appends a field of type fixed64.
func (m *Message) Fixed64(field Field, v uint64) {
	if v != 0 {
		*m = protowire.AppendTag(*m, field, protowire.Fixed64Type)
		*m = protowire.AppendFixed64(*m, v)
	}
}

// String appends a field of type string.
func (m *Message) String(field Field, v string) {
	if v != "" {
		m.Element(field, []byte(v))
	}
}

// Element appends a message, or an element of a repeated field of messages, strings or bytes: also an empty one.
func (m *Message) Element(field Field, v []byte) {
	*m = protowire.AppendTag(*m, field, protowire.BytesType)
	*m = protowire.AppendBytes(*m, v)
}

// Begin appends what stands before a message or an element of a known size, which the caller writes after it.
func (m *Message) Begin(field Field, size int) {
	*m = protowire.AppendTag(*m, field, protowire.BytesType)
	*m = protowire.AppendVarint(*m, uint64(size))
}

// ElementSize is how many bytes Element appends for one of a size.
func ElementSize(field Field, size int) int {
	return protowire.SizeTag(field) + protowire.SizeBytes(size)
}

// Packed appends a repeated field of integers.
func Packed[T ~int32 | ~int64 | ~uint64](m *Message, field Field, values []T) {
	if len(values) == 0 {
		return
	}
	size := 0
	for _, v := range values {
		size += protowire.SizeVarint(uint64(int64(v)))
	}
	*m = protowire.AppendTag(*m, field, protowire.BytesType)
	*m = protowire.AppendVarint(*m, uint64(size))
	for _, v := range values {
		*m = protowire.AppendVarint(*m, uint64(int64(v)))
	}
}

// Table numbers the entries of a table by a key, in the order in which they come.
type Table[K comparable] struct {
	numbers map[K]int64
	first   int64
	Rows    [][]byte // the entries
}

// NewTable makes a table whose first entry gets a number.
func NewTable[K comparable](first int64) *Table[K] {
	return &Table[K]{numbers: map[K]int64{}, first: first}
}

// Number returns the number of the entry with a key; if there is none, make makes it.
func (t *Table[K]) Number(key K, make func() []byte) int64 {
	if n, ok := t.numbers[key]; ok {
		return n
	}
	row := make() // may number others of this table
	n := t.first + int64(len(t.Rows))
	t.numbers[key], t.Rows = n, append(t.Rows, row)
	return n
}

// Strings is a table of strings, in which "" has the number 0.
type Strings struct{ Table[string] }

// NewStrings makes a table with the empty string.
func NewStrings() *Strings {
	t := &Strings{*NewTable[string](0)}
	t.Of("")
	return t
}

// Of returns the number of a string.
func (t *Strings) Of(s string) int64 { return t.Number(s, func() []byte { return []byte(s) }) }
