package sessiontest

import (
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"strings"

	"github.com/klauspost/compress/zstd"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/session/columns"
)

// Change changes a session by SQL, as nothing else can: also its packed tables, which change sees as tables. It is for
// tests of what is done about sessions that cannot be.
func Change(path string, change func(*sqlite.Conn) error) error {
	dir, err := os.MkdirTemp(filepath.Dir(path), "change")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	plain := filepath.Join(dir, "plain")
	if err := Unpack(path, plain); err != nil {
		return err
	}
	conn, err := sqlite.OpenConn(plain, sqlite.OpenReadWrite)
	if err != nil {
		return err
	}
	// nobody minds if the machine goes down meanwhile
	err = sqlitex.ExecuteTransient(conn, "PRAGMA synchronous = OFF", nil)
	if err == nil {
		err = change(conn)
	}
	if err == nil {
		err = pack(conn, path)
	}
	if err := errors.Join(err, conn.Close()); err != nil {
		return err
	}
	return os.Rename(plain, path)
}

// Unpack writes a session as a plain database.
func Unpack(path, plain string) error {
	if err := os.WriteFile(plain, nil, 0o644); err != nil {
		return err
	}
	s, err := session.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(s.WritePlain(plain), s.Close())
}

// pack makes a plain database a session like the one at path.
func pack(conn *sqlite.Conn, path string) error {
	if err := sqlitex.ExecuteTransient(conn, "ATTACH '"+strings.ReplaceAll(path, "'", "''")+"' AS old",
		nil); err != nil {
		return err
	}
	var packed, chunk []string
	err := eachText(conn,
		"SELECT name FROM main.sqlite_schema WHERE type = 'table' EXCEPT SELECT name FROM old.sqlite_schema", &packed)
	err = errors.Join(err,
		eachText(conn, "SELECT sql FROM old.sqlite_schema WHERE name GLOB 'chunk*' ORDER BY type DESC", &chunk))
	err = errors.Join(err, sqlitex.ExecuteScript(conn, strings.Join(chunk, ";\n"), nil))
	for _, name := range packed {
		err = errors.Join(err, packTable(conn, name), sqlitex.ExecuteTransient(conn, "DROP TABLE "+name, nil))
	}
	script := fmt.Sprintf("PRAGMA user_version = %d; PRAGMA application_id = 0x434C5250;", session.Format)
	return errors.Join(err, sqlitex.ExecuteScript(conn, script, nil), sqlitex.ExecuteTransient(conn, "DETACH old", nil))
}

func eachText(conn *sqlite.Conn, query string, out *[]string) error {
	return sqlitex.ExecuteTransient(conn, query, &sqlitex.ExecOptions{ResultFunc: func(stmt *sqlite.Stmt) error {
		*out = append(*out, stmt.ColumnText(0))
		return nil
	}})
}

func packTable(conn *sqlite.Conn, name string) error {
	b := &columns.Block{}
	numbers := map[string]int64{}
	err := sqlitex.ExecuteTransient(conn, "SELECT * FROM "+name,
		&sqlitex.ExecOptions{ResultFunc: func(stmt *sqlite.Stmt) error {
			if b.Columns == nil {
				b.Columns = make([][]int64, stmt.ColumnCount())
			}
			for i := range b.Columns {
				value := stmt.ColumnInt64(i)
				if c := stmt.ColumnName(i); c == "measure" || c == "kind" { // texts
					text := strings.ToValidUTF8(stmt.ColumnText(i), "?")
					number, ok := numbers[text]
					if !ok {
						number = int64(len(b.Texts))
						numbers[text] = number
						b.Texts = append(b.Texts, text)
					}
					value = number
				}
				b.Columns[i] = append(b.Columns[i], value)
			}
			return nil
		}})
	if err != nil || b.Rows() == 0 {
		return err
	}
	data, err := b.Append(nil)
	if err != nil {
		return err
	}
	encoder, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	if err != nil {
		return err
	}
	data = encoder.EncodeAll(data, nil)
	return sqlitex.ExecuteTransient(conn,
		"INSERT INTO chunk (name, first, last, rows, columns, checksum, data) VALUES (?, ?, ?, ?, ?, ?, ?)",
		&sqlitex.ExecOptions{Args: []any{name, int64(-1 << 63), int64(1<<63 - 1), b.Rows(), len(b.Columns),
			int64(crc32.ChecksumIEEE(data)), data}})
}
