package session

import (
	"fmt"
	"hash/crc32"
	"slices"

	"github.com/klauspost/compress/zstd"

	"github.com/clrprof/clrprof/internal/session/columns"
)

// fresh is a chunk that is being encoded, by a goroutine of its own: who writes rows makes the next ones meanwhile.
// Chunks come into the file in the order in which their rows were written. Its memory is used again.
type fresh struct {
	table string
	rises bool // the first column has ids, which are to rise

	block    columns.Block
	data     []byte // not compressed
	packed   []byte
	checksum uint32

	err chan error // what encoding returned
}

// mostFresh bounds how many chunks are encoded at once: each takes some megabytes, and rows are not made faster than a
// few processors encode them.
const mostFresh = 2

// insertPacked adds rows to a packed table as chunks. They are in the file once settle returns.
func insertPacked[T any](s *Session, t table[T], rows []T) error {
	for part := range slices.Chunk(rows, maxChunkRows) {
		f, err := s.newChunk(t.name, t.order == "id")
		if err != nil {
			return err
		}
		pack(&f.block, t, part) // here: who writes rows uses their memory again
		s.packer.encode(f, nil)
	}
	return nil
}

// newChunk returns a chunk of a table to be encoded, once fewer are than can be at once.
func (s *Session) newChunk(table string, rises bool) (*fresh, error) {
	p := &s.packer
	if p.encoder == nil {
		var err error
		if p.encoder, err = zstd.NewWriter(nil, zstd.WithEncoderConcurrency(mostFresh),
			zstd.WithEncoderLevel(zstd.SpeedFastest)); err != nil {
			return nil, err
		}
	}
	for len(p.writing) >= mostFresh {
		if err := s.writeOldest(); err != nil {
			return nil, err
		}
	}
	f := &fresh{err: make(chan error, 1)}
	if n := len(p.spare); n > 0 {
		f, p.spare = p.spare[n-1], p.spare[:n-1]
	}
	f.table, f.rises, f.block.Texts = table, rises, nil
	return f, nil
}

// encode begins to encode a chunk, whose block has its rows once made returns; nil: it has.
func (p *packer) encode(f *fresh, made func()) {
	p.writing = append(p.writing, f)
	go func() {
		var err error
		defer func() { f.err <- err }()
		defer asError(&err)
		if made != nil {
			made()
		}
		if f.data, err = f.block.Append(f.data[:0]); err == nil {
			f.packed = p.encoder.EncodeAll(f.data, f.packed[:0])
			f.checksum = crc32.ChecksumIEEE(f.packed)
		}
	}()
}

// settle writes all chunks that were begun: before a transaction ends, and before rows are read or removed.
func (s *Session) settle() error {
	for len(s.packer.writing) > 0 {
		if err := s.writeOldest(); err != nil {
			return err
		}
	}
	return nil
}

// discard lets go of all chunks that were begun.
func (p *packer) discard() {
	for _, f := range p.writing {
		<-f.err
	}
	p.writing = nil
}

// writeOldest waits for the chunk that was begun first, and writes it.
func (s *Session) writeOldest() error {
	p := &s.packer
	f := p.writing[0]
	p.writing = p.writing[1:]
	err := goOn(<-f.err)
	if err == nil && f.rises {
		err = s.checkAscending(f.table, f.block.Columns[0])
	}
	if err == nil {
		err = s.insertChunk(f)
	}
	if err != nil {
		return fmt.Errorf("writing table %s: %w", f.table, err)
	}
	if len(f.block.Columns) <= keptColumns {
		p.spare = append(p.spare, f)
	}
	return nil
}

func (s *Session) insertChunk(f *fresh) error {
	stmt, err := s.conn.Prepare("INSERT INTO chunk (name, first, last, rows, columns, checksum, data) VALUES (?, ?, " +
		"?, ?, ?, ?, ?)")
	if err != nil {
		return err
	}
	stmt.BindText(1, f.table)
	stmt.BindInt64(2, slices.Min(f.block.Columns[0]))
	stmt.BindInt64(3, slices.Max(f.block.Columns[0]))
	stmt.BindInt64(4, int64(f.block.Rows()))
	stmt.BindInt64(5, int64(len(f.block.Columns)))
	stmt.BindInt64(6, int64(f.checksum))
	stmt.BindBytes(7, f.packed)
	return step(stmt)
}
