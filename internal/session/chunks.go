package session

import (
	"errors"
	"fmt"
	"hash/crc32"
	"runtime"
	"slices"

	"zombiezen.com/go/sqlite"

	"github.com/clrprof/clrprof/internal/session/columns"
)

const (
	// mostAhead bounds how many chunks are decoded while another one is used: each takes some megabytes, and who uses
	// them is not faster than a few processors decode them.
	mostAhead = 4
	// keptColumns bounds the chunks whose memory is used again by the next read: 10 MB for each of mostAhead. All
	// tables that grow with slices have fewer.
	keptColumns = 20
)

// chunk is a chunk of a packed table. Its memory is used again.
type chunk struct {
	rows, columns int
	checksum      int64
	packed        []byte        // as the file has it
	data          []byte        // not compressed
	block         columns.Block // once it is decoded

	take func() error // uses it, once it is decoded
	err  chan error   // what decoding returned
}

// eachChunk calls fn for each chunk of a table that may have rows of a span (nil: all), in the order in which they were
// written. Its columns are as many as the table has: those that were not recorded are 0. It is overwritten by the next
// one.
func (s *Session) eachChunk(name string, width int, of *span, fn func(*columns.Block) error) error {
	return s.decodeChunks(name, of, func(c *chunk) (decode, take func() error) {
		return func() error { return c.decode(width) }, func() error { return fn(&c.block) }
	})
}

// decode decodes the columns of a table that has so many.
func (c *chunk) decode(width int) error {
	if err := c.block.Decode(c.data, c.rows, c.columns); err != nil {
		return fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	for len(c.block.Columns) < width {
		c.block.Columns = append(c.block.Columns, make([]int64, c.rows))
	}
	c.block.Columns = c.block.Columns[:width]
	return nil
}

// decodeChunks decodes the chunks of a table that may have rows of a span (nil: all), some at a time, while others are
// used. It calls use with each in the order in which they were written, which returns what decodes it, called by a
// goroutine of its own, and what takes that, called by this one in the same order.
func (s *Session) decodeChunks(name string, of *span, use func(*chunk) (decode, take func() error)) error {
	stmt, err := s.chunksOf(name, of)
	if err != nil {
		return err
	}
	defer stmt.Reset()
	return s.packer.decodeAhead(func(c *chunk) (bool, error) {
		more, err := stmt.Step()
		if more {
			c.read(stmt)
		}
		return more, err
	}, use, s.onRows)
}

// decodeAhead is decodeChunks for the chunks that next reads until there are no more. done, if it is not nil, is called
// with the rows of each that was used.
func (p *packer) decodeAhead(next func(*chunk) (more bool, err error), use func(*chunk) (decode, take func() error),
	done func(rows int)) error {
	if err := p.prepare(); err != nil {
		return err
	}
	var ahead []*chunk // in their order
	defer func() {
		for _, c := range ahead {
			<-c.err
		}
	}()
	var end error
	for more := true; ; {
		for more && len(ahead) < aheadNow() && bytesOf(ahead) < mostAheadBytes {
			c := p.taken()
			if more, end = next(c); end != nil || !more {
				more = false
				p.release(c)
				break
			}
			p.start(c, use)
			ahead = append(ahead, c)
		}
		if len(ahead) == 0 {
			return end
		}
		c := ahead[0]
		ahead = ahead[1:]
		if err := goOn(<-c.err); err != nil {
			return err
		}
		if err := c.take(); err != nil {
			return err
		}
		rows := c.rows
		if p.release(c); done != nil {
			done(rows)
		}
	}
}

// bytesOf is how much memory chunks take once they are decoded, by what they say.
func bytesOf(chunks []*chunk) (sum int64) {
	for _, c := range chunks {
		length, _, err := lengthOf(c.packed)
		if err == nil { // otherwise it is not decoded
			sum += length
		}
		sum += int64(c.rows) * int64(c.columns) * 8
	}
	return sum
}

// aheadNow is how many chunks are decoded while another one is used.
func aheadNow() int { return min(runtime.GOMAXPROCS(0), mostAhead) }

// chunksOf returns a statement for the chunks of a table that may have rows of a span (nil: all).
func (s *Session) chunksOf(name string, of *span) (*sqlite.Stmt, error) {
	if err := s.settle(); err != nil {
		return nil, err
	}
	which := "SELECT id FROM chunk WHERE name = ?"
	if of != nil {
		which += " AND last >= ? AND first <= ?"
	}
	// The ids by themselves: of whole rows, data included, SQLite would write a temporary file to sort them.
	stmt, err := s.conn.Prepare("SELECT rows, columns, checksum, data FROM chunk WHERE id IN (" + which +
		") ORDER BY id")
	if err != nil {
		return nil, err
	}
	stmt.BindText(1, name)
	if of != nil {
		stmt.BindInt64(2, of.from)
		stmt.BindInt64(3, of.to)
	}
	return stmt, nil
}

// read takes a chunk from a statement of chunksOf.
func (c *chunk) read(stmt *sqlite.Stmt) {
	c.rows, c.columns, c.checksum = stmt.ColumnInt(0), stmt.ColumnInt(1), stmt.ColumnInt64(2)
	c.packed = slices.Grow(c.packed[:0], stmt.ColumnLen(3))[:stmt.ColumnLen(3)]
	stmt.ColumnBytes(3, c.packed)
}

// start begins to decode a chunk.
func (p *packer) start(c *chunk, use func(*chunk) (decode, take func() error)) {
	decode := func() error {
		return fmt.Errorf("%w: a chunk of %d rows and %d columns", ErrCorrupt, c.rows, c.columns)
	}
	if c.rows >= 1 && c.rows <= columns.MaxRows && c.columns >= 1 && c.columns <= columns.MaxColumns {
		decode, c.take = use(c)
	}
	go func() { c.err <- c.unpack(p, decode) }()
}

// panicked is a panic of a goroutine, for who waits for it: that one may survive it.
type panicked struct{ what any }

// Error says what happened.
func (p panicked) Error() string { return fmt.Sprint(p.what) }

// asError makes a panic an error.
func asError(err *error) {
	if what := recover(); what != nil {
		*err = panicked{what}
	}
}

// goOn panics with what another goroutine did.
func goOn(err error) error {
	if p := (panicked{}); errors.As(err, &p) {
		panic(p.what)
	}
	return err
}

// unpack makes of a chunk what is to be made of it.
func (c *chunk) unpack(p *packer, decode func() error) (err error) {
	defer asError(&err)
	if int64(crc32.ChecksumIEEE(c.packed)) != c.checksum {
		return fmt.Errorf("%w: a chunk's checksum is wrong", ErrCorrupt)
	}
	if c.data, err = p.decompress(c.packed, c.data); err != nil {
		return err
	}
	return decode()
}

// taken returns a chunk whose memory nobody uses.
func (p *packer) taken() *chunk {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if n := len(p.free); n > 0 {
		c := p.free[n-1]
		p.free = p.free[:n-1]
		return c
	}
	return &chunk{err: make(chan error, 1)}
}

// ReleaseChunks lets go of the memory that reads of packed tables would use again, some megabytes for each processor:
// hardly any are to come.
func (s *Session) ReleaseChunks() {
	s.packer.mutex.Lock()
	defer s.packer.mutex.Unlock()
	s.packer.free = nil
}

// release gives a chunk back that is used no more.
func (p *packer) release(c *chunk) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if c.take = nil; c.columns <= keptColumns && len(p.free) < mostAhead {
		p.free = append(p.free, c)
	}
}
