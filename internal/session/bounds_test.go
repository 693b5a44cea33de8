package session

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"modernc.org/libc"
	"zombiezen.com/go/sqlite/sqlitex"

	lib "modernc.org/sqlite/lib"
)

// allocated is how much memory a function takes, also what it gives back.
func allocated(fn func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	fn()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// TestForgedCounts: for rows that a session only says it has no memory is taken.
func TestForgedCounts(t *testing.T) {
	const most = 24 << 20 // SQLite's memory is not Go's; a chunk in work takes some MB
	for _, forged := range []string{
		"UPDATE function SET id = 99999999 WHERE id = (SELECT max(id) FROM function)",
		"UPDATE line SET id = 9223372036854775807 WHERE id = (SELECT max(id) FROM line)",
		"UPDATE chunk SET rows = 131072", "UPDATE chunk SET rows = 9223372036854775807",
		"UPDATE chunk SET columns = 64, rows = 131072", "UPDATE chunk SET rows = -5",
	} {
		t.Run(forged, func(t *testing.T) {
			t.Chdir(t.TempDir())
			small(t, "s")
			w, err := Edit("s")
			if err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(sqlitex.ExecuteTransient(w.conn, forged, nil), w.Close()); err != nil {
				t.Fatal(err)
			}
			s, err := Open("s")
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			for table, read := range map[string]func() error{
				"function": func() error { _, err := s.Functions(); return err },
				"line":     func() error { _, err := s.Lines(); return err },
				"node":     func() error { _, err := s.Nodes(); return err },
				"timing":   func() error { _, err := s.Timings(); return err },
				"query":    func() error { _, _, err := ask(s, "SELECT count(*) FROM node"); return err },
			} {
				var err error
				if took := allocated(func() { err = read() }); took > most {
					t.Errorf("%s: %d MB (%v)", table, took>>20, err)
				}
				if err != nil && !errors.Is(err, ErrCorrupt) {
					t.Errorf("%s: %v", table, err)
				}
			}
		})
	}
}

// TestForgedLength: compressed data that says that it is longer than it can be is damage.
func TestForgedLength(t *testing.T) {
	encoder, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	zeros := encoder.EncodeAll(make([]byte, maxChunkBytes), nil)
	if n, said, err := lengthOf(zeros); n != maxChunkBytes || !said || err != nil {
		t.Errorf("%d zeros in %d bytes: %d, %v", maxChunkBytes, len(zeros), n, err)
	}
	var p packer
	defer p.close()
	if err := p.prepare(); err != nil {
		t.Fatal(err)
	}
	if data, err := p.decompress(zeros, nil); len(data) != maxChunkBytes || err != nil {
		t.Errorf("%d bytes, %v", len(data), err)
	}
	for _, n := range []int{0, 1, 200, 5000, 1 << 20} { // what says its length, and what does not
		if data, err := p.decompress(encoder.EncodeAll(make([]byte, n), nil), nil); len(data) != n || err != nil {
			t.Errorf("%d bytes: %d, %v", n, len(data), err)
		}
	}
	var stream bytes.Buffer
	to, err := zstd.NewWriter(&stream)
	if err != nil {
		t.Fatal(err)
	}
	if _, err = to.Write(make([]byte, 1<<20)); err == nil {
		err = errors.Join(to.Flush(), to.Close())
	}
	if data, failed := p.decompress(stream.Bytes(), nil); err != nil || len(data) != 1<<20 || failed != nil {
		t.Errorf("%v: %d bytes, %v", err, len(data), failed)
	}
	for name, packed := range map[string][]byte{
		"short":   zeros[:64],
		"long":    encoder.EncodeAll(make([]byte, maxChunkBytes+1), nil),
		"nothing": nil,
		"several": append(append([]byte{}, encoder.EncodeAll([]byte("first"), nil)...), zeros[:64]...),
	} {
		took := allocated(func() {
			if _, err := p.decompress(packed, nil); !errors.Is(err, ErrCorrupt) {
				t.Errorf("%s: %v", name, err)
			}
		})
		// Twice what the blocks before the damage take as they grow: built for the race detector, slices.Grow makes what
		// it appends, too.
		if took > 8<<20 {
			t.Errorf("%s: took %d kB", name, took>>10)
		}
	}
}

// TestForgedNames: a name that is longer than any that is written is damage, wherever it is; arguments, marks and other
// texts of the program may be as long.
func TestForgedNames(t *testing.T) {
	for column, isName := range map[string]bool{"process.name": true, "module.path": true, "type.name": true,
		"function.raw_name": true, "source_file.path": true, "thread.name": true, "process.arguments": false,
		"interaction.text": false} {
		for length, want := range map[int]bool{mostName: true, mostName + 1: !isName} {
			path := filepath.Join(t.TempDir(), "s")
			small(t, path)
			w, err := Edit(path)
			if err != nil {
				t.Fatal(err)
			}
			table, name, _ := strings.Cut(column, ".")
			err = sqlitex.ExecuteTransient(w.conn, fmt.Sprintf("UPDATE %s SET %s = printf('%%.*c', %d, 'a')", table, name, length), nil)
			if err == nil && w.conn.Changes() == 0 {
				t.Fatalf("table %s is empty", table)
			}
			if err := errors.Join(err, w.Close()); err != nil {
				t.Fatal(err)
			}
			s, err := Open(path)
			if err == nil {
				err = errors.Join(readAll(s), s.Close())
			}
			if (err == nil) != want || err != nil && !errors.Is(err, ErrCorrupt) {
				t.Errorf("%s of %d bytes: %v", column, length, err)
			}
		}
	}
}

// TestChunksAhead: of many chunks that are long once they are decoded few are decoded at once.
func TestChunksAhead(t *testing.T) {
	if aheadNow() < 2 {
		t.Skip("on one processor one chunk is decoded at once")
	}
	encoder, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	packed := encoder.EncodeAll(make([]byte, mostAheadBytes/2), nil)
	var p packer
	defer p.close()
	read, taken, most := 0, 0, 0
	err = p.decodeAhead(func(c *chunk) (bool, error) {
		c.rows, c.columns, c.packed, c.checksum = 1, 1, packed, int64(crc32.ChecksumIEEE(packed))
		read++
		most = max(most, read-taken)
		return read <= 8, nil
	}, func(*chunk) (decode, take func() error) {
		return func() error { return nil }, func() error { taken++; return nil }
	}, nil)
	if err != nil || taken != 8 || most > 3 {
		t.Errorf("%d chunks, %d at once, %v", taken, most, err)
	}
}

// TestQueryMemory: what a query has SQLite sort is bounded, says so, and leaves no limit behind.
func TestQueryMemory(t *testing.T) {
	t.Chdir(t.TempDir())
	small(t, "s")
	s, err := Open("s")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	sorted := func(rows int) string {
		return fmt.Sprintf("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d) "+
			"SELECT hex(zeroblob(500000)) || i AS x FROM n ORDER BY x DESC LIMIT 1 OFFSET 40", rows)
	}
	if _, rows, err := ask(s, sorted(45)); err != nil || len(rows) != 1 {
		t.Errorf("%d rows, %v", len(rows), err)
	}
	_, _, err = ask(s, strings.Replace(sorted(10000), "LIMIT 1 OFFSET 40", "", 1))
	if !errors.Is(err, ErrQuery) || !strings.Contains(err.Error(), "more than 512 MB") {
		t.Errorf("%v", err)
	}
	tls := libc.NewTLS()
	defer tls.Close()
	if n := lib.Xsqlite3_memory_used(tls); n == 0 || n > 64<<20 {
		t.Errorf("SQLite has %d MB", n>>20)
	}
	if hard, soft := lib.Xsqlite3_hard_heap_limit64(tls, -1), lib.Xsqlite3_soft_heap_limit64(tls, -1); hard != 0 || soft != 0 {
		t.Errorf("the limits %d and %d are left", hard, soft)
	}
	if _, rows, err := ask(s, "SELECT 1"); err != nil || len(rows) != 1 {
		t.Errorf("after that: %v, %v", rows, err)
	}
}
