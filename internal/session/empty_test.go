package session

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/klauspost/compress/zstd"
	"zombiezen.com/go/sqlite"
)

// TestEmptyFile: a new session is the file that SQLite makes of the schema, to the byte.
func TestEmptyFile(t *testing.T) {
	want, err := makeEmpty()
	if err != nil {
		t.Fatal(err)
	}
	if *updateGolden {
		encoder, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedBestCompression))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile("empty.clrprof.zst", encoder.EncodeAll(want, nil), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	have, err := empty()
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(have, want) {
		t.Errorf("a new session has %d bytes, not the %d that SQLite makes of the schema: run \"go generate .\"", len(have),
			len(want))
	}
}

// TestDeclarationsAsStored: of a session of this clrprof SQLite has the declarations of tables as the schema has them,
// by which they are known without asking for the columns of each.
func TestDeclarationsAsStored(t *testing.T) {
	w, err := Create(filepath.Join(t.TempDir(), "s"), false)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	tables := 0
	err = w.each("SELECT name, sql FROM sqlite_schema WHERE type = 'table'", func(stmt *sqlite.Stmt) error {
		tables++
		if name := stmt.ColumnText(0); stmt.ColumnText(1)+";" != declarations[name].text {
			t.Errorf("%s: SQLite has\n%s\nnot\n%s", name, stmt.ColumnText(1), declarations[name].text)
		}
		return nil
	})
	if err != nil || tables != len(tableNames) {
		t.Errorf("%d tables, want %d; %v", tables, len(tableNames), err)
	}
}
