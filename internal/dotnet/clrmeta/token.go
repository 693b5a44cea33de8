package clrmeta

import "fmt"

// Token names a row of a table: the table in the top byte, the row, counted
// from 1, in the others (ECMA-335 III.1.9). 0 is "none".
type Token uint32

// MakeToken returns the token of a row.
func MakeToken(t Table, row uint32) Token { return Token(uint32(t)<<24 | row&0xFFFFFF) }

// Table is the table that the token is of.
func (t Token) Table() Table { return Table(t >> 24) }

// Row is the row, counted from 1; 0 is "none".
func (t Token) Row() uint32 { return uint32(t) & 0xFFFFFF }

// String writes the token as the .NET tools do: 0x06000001.
func (t Token) String() string { return fmt.Sprintf("%#08x", uint32(t)) }

// GUID is a GUID in the byte order of the file: the first three groups are
// little-endian.
type GUID [16]byte

// String writes the GUID in lower case, as in
// 01234567-89ab-cdef-0123-456789abcdef.
func (g GUID) String() string {
	return fmt.Sprintf("%02x%02x%02x%02x-%02x%02x-%02x%02x-%x-%x",
		g[3], g[2], g[1], g[0], g[5], g[4], g[7], g[6], g[8:10], g[10:])
}
