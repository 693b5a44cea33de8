package vsperf

import (
	"bytes"
	"encoding/csv"
	"encoding/xml"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"github.com/clrprof/clrprof/internal/analysis"
	"github.com/clrprof/clrprof/internal/present/report"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/testkit/analysistest"
	"github.com/clrprof/clrprof/internal/testkit/sessiontest"
)

// row is a row of a report by title, or by attribute.
type row map[string]string

// readCSV reads a report as scripts for VSPerfReport do: every line ends with a comma, texts are quoted.
func readCSV(t *testing.T, file []byte) (titles []string, rows []row) {
	t.Helper()
	for line := range strings.Lines(string(file)) {
		if !strings.Contains(line, "\"\n") && !strings.HasSuffix(line, ",\n") {
			t.Fatalf("line %q", line)
		}
	}
	records, err := csv.NewReader(bytes.NewReader(file)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for i, record := range records {
		last := len(record) - 1
		if record[last] != "" {
			t.Fatalf("%q", record)
		}
		if i == 0 {
			titles = record[:last]
			continue
		}
		r := row{}
		for k, title := range titles {
			r[title] = record[k]
		}
		rows = append(rows, r)
	}
	return titles, rows
}

func readXML(t *testing.T, file []byte, element string) (rows []row) {
	t.Helper()
	d := xml.NewDecoder(bytes.NewReader(file))
	for {
		token, err := d.Token()
		if err == io.EOF {
			return rows
		}
		if err != nil {
			t.Fatal(err)
		}
		if start, ok := token.(xml.StartElement); ok && start.Name.Local == element {
			r := row{}
			for _, a := range start.Attr {
				r[a.Name.Local] = a.Value
			}
			rows = append(rows, r)
		}
	}
}

// sum adds up a column.
func sum(t *testing.T, rows []row, title string) (total int64) {
	for _, r := range rows {
		if r[title] != "" {
			n, err := strconv.ParseInt(r[title], 10, 64)
			if err != nil {
				t.Fatal(title, err)
			}
			total += n
		}
	}
	return total
}

// TestSums: of every kind CSV and XML have the same rows, and the exclusive values add up to what the session has.
func TestSums(t *testing.T) {
	seen := map[string]int{}
	for name, b := range sessiontest.Various(4, 4) {
		s := analysistest.Open(t, b, filepath.Join(t.TempDir(), "s.clrprof"))
		selections := []analysis.Selection{{}}
		if len(b.Processes) > 1 {
			selections = append(selections, analysis.Selection{Processes: []session.ProcessID{2}})
		}
		for _, sel := range selections {
			src, err := analysis.Open(s, sel)
			if err != nil {
				t.Fatal(err)
			}
			for _, kind := range Kinds() {
				seen[kind.Name] += check(t, fmt.Sprint(name, " ", kind.Name), kind, src)
			}
		}
	}
	for _, kind := range Kinds() {
		if seen[kind.Name] == 0 {
			t.Errorf("no session has a report %s", kind.Name)
		}
	}
}

// inXML is what XML has for a character: it cannot hold most of those that control terminals.
func inXML(r rune) rune {
	if r < ' ' && r != '\t' && r != '\n' && r != '\r' {
		return '\uFFFD'
	}
	return r
}

// check checks the report of a kind and returns how many rows it has.
func check(t *testing.T, name string, kind Kind, src *analysis.Source) int {
	// In the logical tree, calls of state machines are those of their methods.
	made, err := kind.Build(src, report.Options{Physical: true}, report.Options{})
	if err != nil {
		if Applies(err) {
			t.Errorf("%s: %v", name, err)
		}
		return 0
	}
	var first, second, asXML bytes.Buffer
	for _, err := range []error{made.Write(&first, CSV), made.Write(&second, CSV), made.Write(&asXML, XML)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(first.Bytes(), second.Bytes()) {
		t.Errorf("%s: two files differ", name)
	}
	if i := bytes.IndexFunc(first.Bytes(), func(r rune) bool { return unicode.IsControl(r) && r != '\n' }); i >= 0 {
		t.Errorf("%s: a control character: %q", name, first.Bytes()[i:min(i+20, first.Len())])
	}
	titles, rows := readCSV(t, first.Bytes())
	want := []row{}
	for _, r := range rows {
		w := row{}
		for _, title := range titles {
			if r[title] != "" {
				w[attribute(title)] = strings.Map(inXML, r[title])
			}
		}
		want = append(want, w)
	}
	if diff := cmp.Diff(want, append([]row{}, readXML(t, asXML.Bytes(), kind.Name)...)); diff != "" {
		t.Errorf("%s (-csv +xml):\n%s", name, diff)
	}
	total, err := src.Total()
	if err != nil {
		t.Fatal(err)
	}
	times, err := src.TotalTime()
	if err != nil {
		t.Fatal(err)
	}
	equal := func(title string, want int64) {
		if got := sum(t, rows, title); len(titles) > 0 && strings.Contains(first.String(), `"`+title+`"`) &&
			got != want {
			t.Errorf("%s: %s adds up to %d, the session has %d", name, title, got, want)
		}
	}
	switch kind.Name {
	case "Function", "CallTree", "Module":
		equal("Exclusive Bytes", int64(total.Bytes))
		equal("Exclusive Allocations", int64(total.Allocations))
		equal("Elapsed Exclusive Time", int64(times.Exclusive.Elapsed))
		equal("Number of Calls", int64(times.Calls))
	case "Type", "Thread", "Process":
		equal("Bytes", int64(total.Bytes))
	case "Life":
		equal("Total Bytes Allocated", int64(total.Bytes))
	case "CallerCallee":
		blocks(t, name, rows)
	}
	return len(rows)
}

// blocks: a root comes before its callers, and these before its callees.
func blocks(t *testing.T, name string, rows []row) {
	root, last := "", ""
	for _, r := range rows {
		role := r["Type"]
		switch {
		case role == "Root":
			root = r["Function Name"]
		case r["Root Function Name"] != root || role == "Caller" && last == "Callee" || role != "Caller" &&
			role != "Callee":
			t.Errorf("%s: after a %s of %s: %v", name, last, root, r)
		}
		last = role
	}
}

// TestHeader: the columns of callers and callees with times, in the order of Visual Studio 2010 as far as clrprof knows
// them.
func TestHeader(t *testing.T) {
	src, err := analysis.Open(analysistest.Open(t, sessiontest.Timed(), filepath.Join(t.TempDir(), "s.clrprof")),
		analysis.Selection{})
	if err != nil {
		t.Fatal(err)
	}
	made, err := Kinds()[0].Build(src, report.Options{}, report.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var file bytes.Buffer
	if err := made.Write(&file, CSV); err != nil {
		t.Fatal(err)
	}
	header, _, _ := strings.Cut(file.String(), "\n")
	want := `"Type","Function Name","Elapsed Inclusive Time","Elapsed Exclusive Time","Application Inclusive Time","Application Exclusive Time",` +
		`"Elapsed Inclusive Time %","Elapsed Exclusive Time %","Application Inclusive Time %","Application Exclusive Time %",` +
		`"Time Inclusive Probe Overhead","Time Exclusive Probe Overhead",` +
		`"Min Elapsed Inclusive Time","Avg Elapsed Inclusive Time","Max Elapsed Inclusive Time",` +
		`"Min Elapsed Exclusive Time","Avg Elapsed Exclusive Time","Max Elapsed Exclusive Time",` +
		`"Min Application Inclusive Time","Avg Application Inclusive Time","Max Application Inclusive Time",` +
		`"Min Application Exclusive Time","Avg Application Exclusive Time","Max Application Exclusive Time",` +
		`"Number of Calls","Source File","Function Line Number","Module Name","Module Path","Root Function Name","Process Name","Process ID",` +
		`"CPU Inclusive Time","CPU Exclusive Time","CPU Inclusive Time %","CPU Exclusive Time %",`
	if diff := cmp.Diff(want, header); diff != "" {
		t.Error(diff)
	}
}
