package session

import (
	"encoding/json"
	"fmt"

	"zombiezen.com/go/sqlite"
)

// KeepArguments returns a copy of the session in memory that has of the arguments of the command and of each process
// what keep returns, or the session itself if it has no more. What are no arguments in a damaged session becomes none.
func (s *Session) KeepArguments(keep func(arguments []string) []string) (*Session, error) {
	more := false
	err := s.each("SELECT value FROM info WHERE key = 'command' UNION ALL SELECT arguments FROM process",
		func(row *sqlite.Stmt) error {
			text := row.ColumnText(0)
			kept, err := keptOf(text, keep)
			more = more || kept != text
			return err
		})
	if err != nil || !more {
		return s, s.explain(err)
	}
	w, err := s.InMemory()
	if err != nil {
		return nil, err
	}
	if err := w.keepArguments(keep); err != nil {
		w.Close()
		return nil, w.explain(fmt.Errorf("leaving out arguments: %w", err))
	}
	return w.Session, nil
}

// keptOf is what is kept of arguments in JSON.
func keptOf(text string, keep func([]string) []string) (string, error) {
	var arguments []string
	_ = json.Unmarshal([]byte(text), &arguments) // else there are none
	b, err := json.Marshal(keep(arguments))
	return string(b), err
}

func (w *Writer) keepArguments(keep func([]string) []string) error {
	return w.Batch(func() error {
		for _, of := range []struct{ read, write string }{
			{"SELECT key, value FROM info WHERE key = 'command'", "UPDATE info SET value = ? WHERE key = ?"},
			{"SELECT id, arguments FROM process ORDER BY id", "UPDATE process SET arguments = ? WHERE id = ?"},
		} {
			update, err := w.conn.Prepare(of.write)
			if err != nil {
				return err
			}
			err = w.each(of.read, func(row *sqlite.Stmt) error {
				text, err := keptOf(row.ColumnText(1), keep)
				if err != nil {
					return err
				}
				update.BindText(1, text)
				if row.ColumnType(0) == sqlite.TypeInteger {
					update.BindInt64(2, row.ColumnInt64(0))
				} else {
					update.BindText(2, row.ColumnText(0))
				}
				return step(update)
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
}
