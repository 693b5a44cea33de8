// Package journaltest forges rollback journals, as somebody may put them beside a session so that whoever opens it with
// SQLite deletes a file or changes the session. It is for tests of readers, which must do neither.
package journaltest

import (
	"bytes"
	"encoding/binary"
)

// HeaderSize is what a forged journal has before its page.
const HeaderSize = 512

const (
	magic       = "\xd9\xd5\x05\xf9\x20\xa1\x63\xd7"
	pendingByte = 1 << 30 // its page is in no journal: before the name of a file it says that this is no page
	checkEvery  = 200     // of the bytes of a page, one in so many is in the checksum
)

// PageSize is the size of the pages of a session, as its header says.
func PageSize(session []byte) int { return int(binary.BigEndian.Uint16(session[16:])) }

// Rewrite makes a journal of one page of a session: the first one, with another fact in it.
func Rewrite(session []byte) []byte {
	size := PageSize(session)
	page := bytes.Clone(session[:size])
	copy(page[72:92], "forged, forged, yes!") // reserved for expansion
	b := make([]byte, HeaderSize)
	copy(b, magic)
	for i, n := range []uint32{1, 0, uint32(len(session) / size), HeaderSize, uint32(size)} {
		binary.BigEndian.PutUint32(b[len(magic)+4*i:], n)
	}
	b = append(binary.BigEndian.AppendUint32(b, 1), page...)
	sum := uint32(0)
	for i := size - checkEvery; i > 0; i -= checkEvery {
		sum += uint32(page[i])
	}
	return binary.BigEndian.AppendUint32(b, sum)
}

// Delete ends a journal as SQLite ends one of a commit to several files: with the name of a file that SQLite deletes
// when it has rolled back, if this file names no journal that exists.
func Delete(journal []byte, pageSize int, victim string) []byte {
	sum := uint32(0)
	for i := range len(victim) {
		sum += uint32(int8(victim[i]))
	}
	out := bytes.Clone(journal)
	out = binary.BigEndian.AppendUint32(out, uint32(pendingByte/pageSize+1))
	out = append(out, victim...)
	out = binary.BigEndian.AppendUint32(out, uint32(len(victim)))
	out = binary.BigEndian.AppendUint32(out, sum)
	return append(out, magic...)
}
