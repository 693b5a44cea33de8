package document

import (
	"bytes"
	"encoding/json"
	"errors"
	"path/filepath"
	"testing"

	"github.com/clrprof/clrprof/internal/analysis"
	"github.com/clrprof/clrprof/internal/present/report"
	"github.com/clrprof/clrprof/internal/testkit/analysistest"
	"github.com/clrprof/clrprof/internal/testkit/sessiontest"
)

// TestDocument reads documents as docs/json.md describes them: each view is there or said to be absent, rows have the
// columns that are described, and the exclusive bytes of functions add up to the session's.
func TestDocument(t *testing.T) {
	for name, make := range sessiontest.Samples {
		s := analysistest.Open(t, make(), filepath.Join(t.TempDir(), "s.clrprof"))
		var first, second bytes.Buffer
		if err := errors.Join(Write(&first, s, analysis.Selection{}, Options{}),
			Write(&second, s, analysis.Selection{}, Options{})); err != nil {
			t.Fatal(name, err)
		}
		if !bytes.Equal(first.Bytes(), second.Bytes()) {
			t.Errorf("%s: two documents differ", name)
		}
		var d struct {
			Format    string
			Version   int
			Session   string
			Selection []string
			Losses    []string
			Absent    map[string]string
			Views     map[string]struct {
				Columns []column
				Notes   []string
				Rows    []map[string]any
			}
		}
		decoder := json.NewDecoder(&first)
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&d); err != nil {
			t.Fatal(name, err)
		}
		if d.Format != "clrprof.views" || d.Version != 1 || d.Session != "s.clrprof" || d.Selection == nil ||
			d.Losses == nil {
			t.Errorf("%s: %+v", name, d)
		}
		for _, view := range report.Views() {
			v, there := d.Views[view.Name]
			if there == (d.Absent[view.Name] != "") {
				t.Errorf("%s: %s is there: %t, and absent: %q", name, view.Name, there, d.Absent[view.Name])
			}
			for _, row := range v.Rows {
				if len(row) != len(v.Columns) {
					t.Fatalf("%s: %s has %d columns and a row %v", name, view.Name, len(v.Columns), row)
				}
				for _, c := range v.Columns {
					if _, ok := row[c.Key]; !ok || c.Title == "" {
						t.Errorf("%s: %s: no column %+v", name, view.Name, c)
					}
				}
			}
		}
		src, err := analysis.Open(s, analysis.Selection{})
		if err != nil {
			t.Fatal(err)
		}
		total, err := src.Total()
		if err != nil {
			t.Fatal(err)
		}
		sum := 0.0
		for _, row := range d.Views["functions"].Rows {
			if n, ok := row["exclusive_bytes"].(float64); ok {
				sum += n
			}
		}
		if int64(sum) != int64(total.Bytes) {
			t.Errorf("%s: functions have %v bytes, the session %d", name, sum, total.Bytes)
		}
	}
}
