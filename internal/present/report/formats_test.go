package report_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/clrprof/clrprof/internal/analysis"
	"github.com/clrprof/clrprof/internal/present/report"
	"github.com/clrprof/clrprof/internal/present/report/encode"
	"github.com/clrprof/clrprof/internal/present/report/sheet"
	"github.com/clrprof/clrprof/internal/present/report/text"
	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/testkit/sessiontest"
)

// divided are the views whose rows divide all that was recorded, and the columns that say how much each row has: of
// objects, and of CPU time; "": the view has no such column. Of trees the rows without a parent do.
var divided = []struct {
	view           string
	objects, bytes string
	cpu            string
	tree           bool
}{
	{"functions", "exclusive_allocations", "exclusive_bytes", "cpu_exclusive", false},
	{"lines", "exclusive_allocations", "exclusive_bytes", "cpu_exclusive", false},
	{"ips", "exclusive_allocations", "exclusive_bytes", "cpu_exclusive", false},
	{"modules", "exclusive_allocations", "exclusive_bytes", "cpu_exclusive", true},
	{"types", "instances", "bytes", "", true},
	{"lifetime", "instances", "bytes", "", false},
	{"threads", "allocations", "bytes", "cpu_inclusive", false},
	{"processes", "allocations", "bytes", "cpu_inclusive", false},
	{"calltree", "inclusive_allocations", "inclusive_bytes", "cpu_inclusive", true},
	{"tests", "inclusive_allocations", "inclusive_bytes", "cpu_inclusive", false},
	{"endpoints", "inclusive_allocations", "inclusive_bytes", "cpu_inclusive", false},
}

// divides reports whether a view has rows of a session: entry points of its kind ran, or objects were followed.
func divides(view string, src *analysis.Source, b *sessiontest.Builder) (bool, error) {
	kind, isEntries := map[string]analysis.EntryKind{"tests": analysis.EntryTests,
		"endpoints": analysis.EntryEndpoints}[view]
	if !isEntries {
		return view != "lifetime" || len(b.Lifetimes) > 0, nil
	}
	found, err := src.Entries(kind)
	return err == nil && len(found.List) > 0, err
}

// values are the numbers of a row, as a format has them, and its level in a tree.
type values struct {
	level  int64
	number map[string]int64
}

// formats write a table, and read what its rows say.
var formats = map[string]func(*report.Table) ([]values, error){
	"JSON": func(t *report.Table) ([]values, error) {
		var written bytes.Buffer
		if err := encode.WriteTable(&written, t, encode.JSON); err != nil {
			return nil, err
		}
		var rows []map[string]any
		d := json.NewDecoder(&written)
		d.UseNumber()
		err := d.Decode(&rows)
		return numbered(len(rows), func(row int, key string) string { return fmt.Sprint(rows[row][key]) }, t), err
	},
	"CSV": func(t *report.Table) ([]values, error) { return delimited(t, encode.CSV, ',') },
	"TSV": func(t *report.Table) ([]values, error) { return delimited(t, encode.TSV, '\t') },
	"the page": func(t *report.Table) ([]values, error) {
		written, err := json.Marshal(sheet.All(t))
		if err != nil {
			return nil, err
		}
		var of sheet.Table
		err = json.Unmarshal(written, &of)
		at := map[string]int{}
		for i, c := range of.Columns {
			at[c.Key] = i
		}
		rows := numbered(len(of.Rows), func(row int, key string) string {
			if i, known := at[key]; known {
				return string(of.Rows[row].Values[i])
			}
			return ""
		}, t)
		for i := range rows {
			if level := of.Rows[i].Level; t.IsTree && int64(level) != rows[i].level {
				return nil, fmt.Errorf("row %d has level %d and %d", i, level, rows[i].level)
			}
		}
		return rows, err
	},
}

// delimited writes a table with a character between its values, and reads it.
func delimited(t *report.Table, format encode.Format, comma rune) ([]values, error) {
	var written bytes.Buffer
	if err := encode.WriteTable(&written, t, format); err != nil {
		return nil, err
	}
	r := csv.NewReader(&written)
	r.Comma, r.LazyQuotes = comma, format == encode.TSV
	rows, err := r.ReadAll()
	if err != nil {
		return nil, err
	}
	return numbered(len(rows)-1, func(row int, key string) string {
		if at := slices.Index(rows[0], key); at >= 0 {
			return rows[row+1][at]
		}
		return ""
	}, t), nil
}

// numbered reads the numbers of rows.
func numbered(rows int, cell func(row int, key string) string, t *report.Table) []values {
	out := make([]values, rows)
	for i := range out {
		out[i].number = map[string]int64{}
		for _, c := range t.Columns {
			if n, err := strconv.ParseInt(cell(i, c.Key), 10, 64); err == nil {
				out[i].number[c.Key] = n
			}
		}
		out[i].level = out[i].number["level"]
	}
	return out
}

// TestFormatsAddUp: in each format of each view that divides all that was recorded, the rows, with those for what has
// no line, no function or no user code, add up to it, in objects, bytes and CPU time.
func TestFormatsAddUp(t *testing.T) {
	sessions := sessiontest.Various(8, 8)
	checked := map[string]int{}
	for _, name := range slices.Sorted(maps.Keys(sessions)) {
		b := sessions[name]
		src, err := analysis.Open(report.Complete(t, b, filepath.Join(t.TempDir(), "s")), analysis.Selection{})
		if err != nil {
			t.Fatal(err)
		}
		var made q.Amount
		for _, v := range b.SiteValues {
			made = made.Add(v.Amount)
		}
		time, err := src.TotalTime()
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range divided {
			want := map[string]int64{}
			if len(b.SiteValues) > 0 {
				want[d.objects], want[d.bytes] = int64(made.Allocations), int64(made.Bytes)
			}
			if d.cpu != "" && len(b.ProcessTimes) > 0 {
				want[d.cpu] = int64(time.Inclusive.CPU)
			}
			if has, err := divides(d.view, src, b); err != nil || !has || len(want) == 0 {
				if err != nil {
					t.Fatal(err)
				}
				continue
			}
			columns := slices.Sorted(maps.Keys(want))
			if d.tree {
				columns = append(columns, "level")
			}
			view, err := report.FindView(d.view)
			if err != nil {
				t.Fatal(err)
			}
			table, err := view.Build(src, report.Options{Columns: columns})
			if err != nil {
				t.Fatal(name, d.view, err)
			}
			for format, read := range formats {
				rows, err := read(table)
				if err != nil {
					t.Fatalf("%s, %s as %s: %v", name, d.view, format, err)
				}
				have := map[string]int64{}
				for key := range want {
					have[key] = 0
					for _, r := range rows {
						if r.level == 0 {
							have[key] += r.number[key]
						}
					}
				}
				if !maps.Equal(want, have) {
					t.Errorf("%s, %s as %s: the rows are %v, want %v", name, d.view, format, have, want)
				}
				for key := range want {
					checked[d.view+" "+key]++
				}
			}
		}
	}
	for _, d := range divided {
		for _, key := range []string{d.objects, d.cpu} {
			if key != "" && checked[d.view+" "+key] < len(formats) {
				t.Errorf("%s: no session has %s", d.view, key)
			}
		}
	}
}

// TestTreesAddUp: in each format of each tree, the rows below a row and what is its own are the row.
func TestTreesAddUp(t *testing.T) {
	for seed := range uint64(30) {
		src, err := analysis.Open(report.Complete(t, sessiontest.Random(seed), filepath.Join(t.TempDir(), "s")),
			analysis.Selection{})
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"calltree", "types"} {
			view, err := report.FindView(name)
			if err != nil {
				t.Fatal(err)
			}
			table, err := view.Build(src, report.Options{Columns: []string{"level", "inclusive_bytes", "exclusive_bytes"}})
			if err != nil {
				t.Fatal(err)
			}
			for format, read := range formats {
				rows, err := read(table)
				if err != nil {
					t.Fatal(format, err)
				}
				for i, r := range rows {
					sum := r.number["exclusive_bytes"]
					if name == "types" && r.level == 0 { // all of a type is its own, by definition
						sum = 0
					}
					for _, below := range rows[i+1:] {
						if below.level <= r.level {
							break
						}
						if below.level == r.level+1 {
							sum += below.number["inclusive_bytes"]
						}
					}
					if sum != r.number["inclusive_bytes"] {
						t.Errorf("seed %d, %s as %s: row %d is %d, its parts %d", seed, name, format, i,
							r.number["inclusive_bytes"], sum)
					}
				}
			}
		}
	}
}

// percents are the shares in a person's text: of rows, and of what a limit leaves out.
var percents = regexp.MustCompile(`(?m)^ *(<?[0-9.]+)$|, (<?[0-9.]+) % of bytes`)

// TestTextAddsUp: as text, the shares of the rows, with that of what a limit leaves out, add up to all, as far as they
// are rounded.
func TestTextAddsUp(t *testing.T) {
	const rounded = 0.005 // percent of a row, at most
	for name, sample := range sessiontest.Samples {
		b := sample()
		if len(b.SiteValues) == 0 {
			continue
		}
		src, err := analysis.Open(report.Complete(t, b, filepath.Join(t.TempDir(), "s")), analysis.Selection{})
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range divided {
			if has, err := divides(d.view, src, b); err != nil || d.tree || !has {
				if err != nil {
					t.Fatal(err)
				}
				continue
			}
			view, err := report.FindView(d.view)
			if err != nil {
				t.Fatal(err)
			}
			for _, top := range []int{0, 2} {
				table, err := view.Build(src, report.Options{Top: top, Sort: d.bytes, Columns: []string{d.bytes + "_percent"}})
				if err != nil {
					t.Fatal(name, d.view, err)
				}
				var written strings.Builder
				if err := text.WriteTable(&written, table, text.Options{}); err != nil {
					t.Fatal(err)
				}
				sum, rows := 0.0, 0
				for _, m := range percents.FindAllStringSubmatch(written.String(), -1) {
					n, err := strconv.ParseFloat(strings.TrimPrefix(m[1]+m[2], "<"), 64)
					if err != nil {
						t.Fatal(err)
					}
					sum, rows = sum+n, rows+1
				}
				if math.Abs(sum-100) > rounded*float64(rows+1) {
					t.Errorf("%s, %s, top %d: %d shares are %.2f %% in all:\n%s", name, d.view, top, rows, sum, &written)
				}
			}
		}
	}
}
