package session

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/klauspost/compress/zstd"
	"modernc.org/libc"
	"zombiezen.com/go/sqlite"

	lib "modernc.org/sqlite/lib"
)

// What a file says of how much there is in it is the word of whoever made the file. Before memory is taken for that
// much, it is held against what the file has.

const (
	// believedRows is how many rows of a packed table a compressed byte is believed to have before they are seen: most
	// tables have one or two. A table that has more is read as well, into a list that grows.
	believedRows = 16
	// leastCell bounds from below what a row of a table takes: a pointer, two lengths, and a type for each column
	// (https://sqlite.org/fileformat.html#b_tree_pages).
	leastCell = 4
	// longestRun is how many bytes Zstandard makes of one: of a block of 4 bytes at most 128 KiB (RFC 8878, 3.1.1.2).
	longestRun = 128 << 10 / 4
	// likelyRun is how many it makes of one more often: rows of one kind.
	likelyRun = 32
	// mostName bounds names, which are in the file once and in a view for each row, or in each row's stack: names that
	// were resolved have at most 8 KiB, those of the runtime 1,024 characters, and paths 4 KiB.
	mostName = 64 << 10
	// mostAheadBytes bounds the chunks that are decoded while another one is used, in all: four of a large table.
	mostAheadBytes = 64 << 20
)

// lengthOf is how long compressed data is once it is not, as it says: an error if that is more than it can be. Data
// that does not say it, as of some bytes, is some times as long.
func lengthOf(packed []byte) (length int64, said bool, err error) {
	var h zstd.Header
	if err := h.Decode(packed); err != nil {
		return 0, false, fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	switch {
	case !h.HasFCS:
		return int64(len(packed)) * likelyRun, false, nil
	case h.FrameContentSize > min(uint64(len(packed))*longestRun, maxChunkBytes):
		return 0, true, fmt.Errorf("%w: %d bytes of %d compressed ones", ErrCorrupt, h.FrameContentSize, len(packed))
	}
	return int64(h.FrameContentSize), true, nil
}

// decompress decompresses data, whose memory is what was in data before, if that is enough.
func (p *packer) decompress(packed, data []byte) ([]byte, error) {
	length, said, err := lengthOf(packed)
	if err != nil {
		return data, err
	}
	most := min(int64(len(packed))*longestRun, maxChunkBytes)
	for ; ; length *= likelyRun {
		data, err = p.decoder.DecodeAll(packed, slices.Grow(data[:0], int(min(length, most))))
		switch {
		case err == nil:
			return data, nil
		case said, length >= most, !errors.Is(err, zstd.ErrDecoderSizeExceeded):
			return data, fmt.Errorf("%w: %w", ErrCorrupt, err)
		}
	}
}

// pagesBytes is how long the file is, or what there is of it in memory.
func pagesBytes(conn *sqlite.Conn) int64 {
	size := int64(1)
	for _, pragma := range []string{"PRAGMA page_count", "PRAGMA page_size"} {
		stmt, err := conn.Prepare(pragma)
		if err != nil {
			return 0 // the read itself will say it
		}
		if _, err := stmt.Step(); err != nil {
			return 0
		}
		size *= stmt.ColumnInt64(0)
		stmt.Reset() // which says what Step said
	}
	return size
}

// queryBytes is how much memory SQLite may take for a query, to sort and to group: a session's sums take a tenth of it.
const queryBytes = 512 << 20

// errQueryMemory is the error of a query that needs more.
var errQueryMemory = fmt.Errorf("%w: it needs more than %d MB of memory to sort or group: restrict it", ErrQuery,
	queryBytes>>20)

// countMemory has SQLite count the memory that it takes, without which there is no limit. That is decided before SQLite
// is first used.
var countMemory = sync.OnceValue(func() error {
	tls := libc.NewTLS()
	defer tls.Close()
	on := libc.NewVaList(int32(1))
	if on == 0 {
		return errors.New("SQLite: no memory")
	}
	defer libc.Xfree(tls, on)
	return sqlite.ResultCode(lib.Xsqlite3_config(tls, lib.SQLITE_CONFIG_MEMSTATUS, on)).ToError()
})

func init() { countMemory() } // an error is that of each query

// limits are those of the queries that are at work: SQLite has one for the process.
var limits struct {
	sync.Mutex
	queries int64
	before  int64 // that SQLite had when the first of them began
}

// limitMemory bounds what SQLite takes until the returned function is called: what it has, and queryBytes for each
// query.
func limitMemory() (release func(), err error) {
	if err := countMemory(); err != nil {
		return nil, err
	}
	change := func(by int64) {
		tls := libc.NewTLS()
		defer tls.Close()
		limits.Lock()
		defer limits.Unlock()
		if limits.queries == 0 {
			limits.before = lib.Xsqlite3_memory_used(tls)
		}
		limits.queries += by
		most := int64(0) // none
		if limits.queries > 0 {
			most = limits.before + limits.queries*queryBytes
		}
		lib.Xsqlite3_hard_heap_limit64(tls, most)
		lib.Xsqlite3_soft_heap_limit64(tls, most)
	}
	change(1)
	return func() { change(-1) }, nil
}
