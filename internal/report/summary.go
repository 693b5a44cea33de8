package report

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/clrprof/clrprof/internal/analysis"
	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
)

// Summary is the view that is shown after a run: totals, and the top of the other views.
type Summary struct {
	Info     map[string]string
	Notes    []string
	Total    q.Amount // of what is shown
	Losses   []session.Loss
	Sections []Section
	// Functions is how many functions allocated, WithoutSymbols how many of them are in
	// modules without symbols, NoSymbols these modules, the most allocating first.
	Functions, WithoutSymbols q.Count
	NoSymbols                 []string
	Lifetime                  *Lifetime // nil: the ends of objects were not recorded
	Next                      []string  // commands to try next

	context *context
	losses  []string
}

// Section is one list of the summary.
type Section struct {
	Key   string // snake_case: its name in JSON
	Title string
	Table *Table
}

// The text columns of the sections: few, since a summary is read at a glance.
const (
	inclusiveText = "name inclusive_bytes inclusive_bytes_percent inclusive_allocations module"
	exclusiveText = "name exclusive_bytes exclusive_bytes_percent exclusive_allocations module"
	typeText      = "name bytes bytes_percent instances instances_percent module"
	instanceText  = "name instances instances_percent bytes bytes_percent module"
	processText   = "name process_id bytes bytes_percent allocations allocations_percent threads end_state"
	// maxHotPath bounds the hot path of a summary: both ends of a longer one are shown.
	maxHotPath = 16
)

// Summarize computes the summary with lists of top rows.
func Summarize(src *analysis.Source, top int) (*Summary, error) {
	c, err := newContext(src)
	if err != nil {
		return nil, err
	}
	s := &Summary{context: c, Total: c.shown}
	for _, step := range []func() error{
		func() (err error) { s.Info, err = src.Session().Info(); return },
		func() (err error) { s.Notes, err = c.notes(); return },
		func() (err error) { s.losses, err = c.losses(); return },
		s.readLosses,
		func() error { return s.addSections(top) },
		s.addHotPath,
		func() error { return s.addLifetime(top) },
		s.countSymbols,
	} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	s.addNext()
	return s, nil
}

func (s *Summary) readLosses() error {
	all, err := s.context.source.Session().Losses()
	for _, l := range all {
		if f := s.context.source.Filter(); f.Process == 0 || f.Process == l.Process {
			s.Losses = append(s.Losses, l)
		}
	}
	return err
}

func (s *Summary) addSections(top int) error {
	for _, section := range []struct{ key, title, view, sort, text string }{
		{"processes", "Processes", "processes", "bytes", processText},
		{"functions_by_inclusive_bytes", "Functions allocating most memory, with what they call", "functions", "inclusive_bytes", inclusiveText},
		{"functions_by_exclusive_bytes", "Functions allocating most memory themselves", "functions", "exclusive_bytes", exclusiveText},
		{"types_by_bytes", "Types with most memory", "types", "bytes", typeText},
		{"types_by_instances", "Types with most instances", "types", "instances", instanceText},
	} {
		view, err := FindView(section.view)
		if err != nil {
			return err
		}
		o := Options{Top: top, Sort: section.sort, Depth: 1}
		if section.view == "types" {
			view.build = buildTypesFlat
		}
		table, err := view.buildIn(s.context, o)
		if err != nil {
			return err
		}
		if section.key == "functions_by_exclusive_bytes" { // most functions only call others
			table.Rows = slices.DeleteFunc(table.Rows, func(r Row) bool { return r.values.Exclusive.IsZero() && r.hidden.IsZero() })
		}
		table.Notes, table.Losses, table.Next, table.TextColumns = nil, nil, nil, s.columns(section.view, section.text)
		s.Sections = append(s.Sections, Section{section.key, section.title, table})
	}
	return nil
}

// columns are the text columns of a section, with the process if there are several.
func (s *Summary) columns(view, text string) []string {
	out := keys(text)
	if len(s.context.processes.list) > 1 && s.context.source.Filter().Process == 0 && view != "processes" {
		out = slices.Insert(out, 1, "process_id")
	}
	return out
}

// buildTypesFlat is buildTypes without any paths, which need the whole tree.
func buildTypesFlat(b *builder) error {
	values, err := b.source.Types()
	if err != nil {
		return err
	}
	var list []Row
	for _, v := range values {
		t := b.types.get(v.Type)
		list = append(list, Row{kind: rowType, typ: v.Type, module: t.Module, process: t.Process, values: both(v.Amount)})
	}
	b.table.Rows = b.limit(list, worthInclusive)
	return nil
}

// addHotPath adds the hot path of the process that allocated most.
func (s *Summary) addHotPath() error {
	roots, err := s.context.processRows()
	if err != nil || len(roots) == 0 {
		return err
	}
	heaviest := slices.MaxFunc(roots, func(a, b Row) int { return int(a.values.Inclusive.Bytes - b.values.Inclusive.Bytes) })
	heaviest.values.Exclusive = q.Amount{}
	hot, err := s.context.hotPath(heaviest)
	if err != nil {
		return err
	}
	if len(s.context.processes.list) > 1 {
		hot = append([]Row{heaviest}, hot...)
	}
	if n := len(hot); n > maxHotPath {
		skipped := Row{kind: rowRest, rest: n - maxHotPath, text: "level", hidden: hot[maxHotPath/2].values.Inclusive}
		hot = slices.Concat(hot[:maxHotPath/2], []Row{skipped}, hot[n-maxHotPath/2:])
	}
	for i := range hot {
		hot[i].level = i
	}
	view, err := FindView("calltree")
	if err != nil {
		return err
	}
	view.build = func(b *builder) error { b.table.Rows = hot; return nil }
	table, err := view.buildIn(s.context, Options{})
	if err != nil {
		return err
	}
	table.Notes, table.Losses, table.TextColumns = nil, nil, keys("name inclusive_bytes inclusive_bytes_percent exclusive_bytes module")
	s.Sections = append(s.Sections, Section{"hot_path", "Hot path", table})
	return nil
}

// countSymbols counts the functions that allocated and whose module has no symbols.
func (s *Summary) countSymbols() error {
	values, err := s.context.source.Functions()
	if err != nil {
		return err
	}
	bytes := map[string]q.Bytes{}
	for _, v := range values {
		f := s.context.functions.get(v.Function)
		if f.Kind != session.FunctionMethod {
			continue
		}
		s.Functions++
		m := s.context.modules.get(f.Module)
		if m.Symbols == session.SymbolsFile || m.Symbols == session.SymbolsEmbedded {
			continue
		}
		s.WithoutSymbols++
		if _, known := bytes[m.Name]; !known {
			s.NoSymbols = append(s.NoSymbols, m.Name)
		}
		bytes[m.Name] += v.Exclusive.Bytes
	}
	slices.SortFunc(s.NoSymbols, func(a, b string) int {
		if bytes[a] != bytes[b] {
			return pick2(bytes[a] > bytes[b], -1, 1)
		}
		return strings.Compare(a, b)
	})
	return nil
}

func pick2(condition bool, yes, no int) int {
	if condition {
		return yes
	}
	return no
}

// section returns the table of a section, nil if the summary has none.
func (s *Summary) section(key string) *Table {
	for _, x := range s.Sections {
		if x.Key == key {
			return x.Table
		}
	}
	return nil
}

func (s *Summary) addNext() {
	path := shellQuote(s.context.source.Session().Path())
	add := func(format string, args ...any) { s.Next = append(s.Next, fmt.Sprintf(format, args...)) }
	add("clrprof report %s calltree", path)
	if t := s.section("functions_by_exclusive_bytes"); len(t.Rows) > 0 && t.Rows[0].function != 0 {
		add("clrprof report %s callers %s", path, shellQuote(s.context.functionName(t.Rows[0].function)))
	}
	if t := s.section("types_by_bytes"); len(t.Rows) > 0 && t.Rows[0].typ != 0 {
		add("clrprof report %s types %s", path, shellQuote(s.context.typeName(t.Rows[0].typ)))
	}
	add("clrprof report %s lines", path)
	if s.Lifetime != nil {
		add("clrprof report %s lifetime", path)
		add("clrprof report %s gcs", path)
	}
	add("clrprof export %s --format pprof", path)
}

// shellQuote makes a word that a POSIX shell reads back as s.
func shellQuote(s string) string {
	plain := s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_-./:=@%+,", r))
	})
	if plain {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// command returns the profiled command as a line, or "" if it is not known.
func (s *Summary) command() string {
	var words []string
	if json.Unmarshal([]byte(s.Info[session.KeyCommand]), &words) != nil {
		return ""
	}
	for i := range words {
		words[i] = shellQuote(words[i])
	}
	return strings.Join(words, " ")
}

// duration returns how long the recording took, 0 if that is not known.
func (s *Summary) duration() q.Nanoseconds {
	n, err := strconv.ParseInt(s.Info[session.KeyDuration], 10, 64)
	if err != nil {
		return 0
	}
	return q.Nanoseconds(n)
}
