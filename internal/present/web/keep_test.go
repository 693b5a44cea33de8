package web

import (
	"fmt"
	"testing"

	"github.com/clrprof/clrprof/internal/present/report"
	"github.com/clrprof/clrprof/internal/present/report/sheet"
)

// TestKeep: tables take each other's place, the oldest first, and that of no summary.
func TestKeep(t *testing.T) {
	s, err := New("127.0.0.1:1")
	if err != nil {
		t.Fatal(err)
	}
	made := map[string]int{}
	keep := func(key string, isTable bool) {
		t.Helper()
		if _, err := s.keep(key, func(k *keptTable) error {
			made[key]++
			if isTable {
				k.table = &report.Table{}
			} else {
				k.summary = &sheet.Summary{}
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	keep("summary", false)
	for i := range 3 * maxTables {
		keep(fmt.Sprint("table ", i), true)
	}
	keep("summary", false)
	keep(fmt.Sprint("table ", 2*maxTables), true)
	keep("table 0", true)
	if made["summary"] != 1 || made[fmt.Sprint("table ", 2*maxTables)] != 1 || made["table 0"] != 2 ||
		len(s.tables) != maxTables+1 {
		t.Errorf("%d are kept; made: %v", len(s.tables), made)
	}
	for i := range 3 * maxTables {
		keep(fmt.Sprint("summary ", i), false)
	}
	if len(s.tables) != 2*maxTables {
		t.Errorf("%d are kept", len(s.tables))
	}
}
