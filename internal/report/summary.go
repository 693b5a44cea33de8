package report

import (
	"cmp"
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
	// Functions is how many functions did something, WithoutSymbols how many of them are in
	// modules without symbols, NoSymbols these modules, those that matter most first.
	Functions, WithoutSymbols q.Count
	NoSymbols                 []string
	Lifetime                  *Lifetime // nil: the ends of objects were not recorded
	Timing                    *Timing   // nil: calls were not timed
	Next                      []string  // commands to try next
	Findings                  []string  // what stands out, in sentences
	Outside                   q.Amount  // allocated by framework code that no user code called

	context *context
	losses  []string
	allCode bool    // text shows all functions, not only user code
	causes  []Row   // what user code allocated, by type and place
	works   []Row   // the time of user code, by function and place
	broken  int     // findings of rules
	links   []*Link // of findings: where to look
}

// Section is one list of the summary.
type Section struct {
	Key   string // snake_case: its name in JSON
	Title string
	Table *Table
	mine  bool // about user code only
	all   bool // about all code: in text only with Options.AllCode
}

// rank orders sections: processes come first, and user code before all code.
func (s Section) rank() int {
	switch {
	case s.Key == "processes":
		return 2
	case s.mine:
		return 1
	}
	return 0
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

// Summarize computes the summary, of which Options say how many rows the lists have (Top) and whether times are Raw.
func Summarize(src *analysis.Source, o Options) (*Summary, error) {
	c, err := newContext(src, o.Raw)
	if err != nil {
		return nil, err
	}
	return summarize(c, o)
}

func summarize(c *context, o Options) (*Summary, error) {
	src, s := c.source, &Summary{context: c, Total: c.shown}
	for _, step := range []func() error{
		func() (err error) { s.Info, err = src.Session().Info(); return },
		func() (err error) { s.Notes, err = c.notes(); return },
		func() (err error) { s.losses, err = c.losses(); return },
		s.readLosses,
		func() error { return s.addMine(o) },
		func() error { return s.addTimes(o.Top) },
		func() error { return s.addMemory(o.Top) },
		func() error { return s.addLifetime(o.Top) },
		s.countSymbols,
	} {
		if err := step(); err != nil {
			return nil, err
		}
		if err := o.between(); err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(s.Sections, func(a, b Section) int { return cmp.Compare(b.rank(), a.rank()) })
	if o.Quick {
		return s, nil
	}
	if err := s.addFindings(o); err != nil {
		return nil, err
	}
	s.addNext()
	return s, nil
}

// between lets others go on.
func (o *Options) between() error {
	if o.Between == nil {
		return nil
	}
	return o.Between()
}

func (s *Summary) readLosses() error {
	all, err := s.context.source.Session().Losses()
	for _, l := range all {
		if s.context.source.Selection().HasProcess(l.Process) {
			s.Losses = append(s.Losses, l)
		}
	}
	return err
}

// listed is a section that is a view.
type listed struct{ key, title, view, sort, text string }

// addMemory adds the sections about allocations.
func (s *Summary) addMemory(top int) error {
	if !s.context.hasMemory() {
		return nil
	}
	list := []listed{
		{"processes", "Processes", "processes", "bytes", processText},
		{"functions_by_inclusive_bytes", "Functions allocating most memory, with what they call", "functions", "inclusive_bytes", inclusiveText},
		{"functions_by_exclusive_bytes", "Functions allocating most memory themselves", "functions", "exclusive_bytes", exclusiveText},
		{"types_by_bytes", "Types with most memory", "types", "bytes", typeText},
		{"types_by_instances", "Types with most instances", "types", "instances", instanceText},
	}
	if s.context.hasTime() { // it has its processes
		list = list[1:]
	}
	for _, section := range list {
		if err := s.addList(section, top); err != nil {
			return err
		}
	}
	title := pick(s.context.hasTime(), "Hot path of allocations", "Hot path")
	return s.addHotPath("hot_path", title, "name inclusive_bytes inclusive_bytes_percent exclusive_bytes module", byBytes)
}

// addList adds a section that is a view. Of lists by a value of the functions themselves, those without it are left out:
// most functions only call others.
func (s *Summary) addList(section listed, top int) error {
	view, err := FindView(section.view)
	if err != nil {
		return err
	}
	o := Options{Top: top, Sort: section.sort, Depth: 1}
	if section.view == "types" {
		view.build = buildTypesFlat
	}
	shown, err := view.withData(s.context)
	if err != nil {
		return err
	}
	for _, key := range keys(section.text) {
		if !slices.Contains(shown.columns, key) && !slices.Contains(shown.text, key) {
			o.Columns = append(o.Columns, key)
		}
	}
	if len(o.Columns) > 0 {
		o.Columns = slices.Concat(shown.columns, o.Columns)
	}
	o.nonzero = s.context.hasTime() && section.view == "functions" // those with allocations need not have times, and vice versa
	table, err := view.buildIn(s.context, o)
	if err != nil {
		return err
	}
	if strings.Contains(section.sort, "exclusive") {
		by := allColumns[section.sort]
		table.Rows = slices.DeleteFunc(table.Rows, func(r Row) bool {
			return r.hidden.isZero() && by.cell(s.context, &r).Number == 0
		})
	}
	if section.view == "processes" && !s.allCode {
		s.userFirst(table.Rows)
	}
	table.Notes, table.Losses, table.Next, table.TextColumns = nil, nil, nil, s.columns(section.view, section.text)
	s.Sections = append(s.Sections, Section{Key: section.key, Title: section.title, Table: table, all: section.view == "functions" || section.view == "types"})
	return nil
}

// columns are the text columns of a section, with the process if there are several.
func (s *Summary) columns(view, text string) []string {
	out := keys(text)
	if len(s.context.processes.list) > 1 && len(s.context.source.Selection().Processes) != 1 && view != "processes" {
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
	b.table.Rows = b.limit(list, inclusiveCost)
	return nil
}

// addHotPath adds the hot path of the process that weighs most.
func (s *Summary) addHotPath(key, title, text string, weight func(cost) int64) error {
	roots, err := s.context.processRows()
	if err != nil || len(roots) == 0 {
		return err
	}
	heaviest := slices.MaxFunc(roots, func(a, b Row) int { return cmp.Compare(weight(inclusiveCost(&a)), weight(inclusiveCost(&b))) })
	asRoot(&heaviest)
	hot, err := s.context.hotPath(heaviest, weight)
	if err != nil {
		return err
	}
	if len(s.context.processes.list) > 1 {
		hot = append([]Row{heaviest}, hot...)
	}
	if n := len(hot); n > maxHotPath {
		skipped := Row{kind: rowRest, rest: n - maxHotPath, text: "level", hidden: inclusiveCost(&hot[maxHotPath/2])}
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
	table.Notes, table.Losses, table.TextColumns = nil, nil, keys(text)
	s.Sections = append(s.Sections, Section{Key: key, Title: title, Table: table, all: true})
	return nil
}

// countSymbols counts the functions that did something and whose module has no symbols.
func (s *Summary) countSymbols() error {
	list, err := s.context.functionRows()
	if err != nil {
		return err
	}
	weight, weights := s.context.heavier(), map[string]int64{}
	for i := range list {
		f := s.context.functions.get(list[i].function)
		if f.Kind != session.FunctionMethod {
			continue
		}
		s.Functions++
		m := s.context.modules.get(f.Module)
		if m.Symbols == session.SymbolsFile || m.Symbols == session.SymbolsEmbedded {
			continue
		}
		s.WithoutSymbols++
		if _, known := weights[m.Name]; !known {
			s.NoSymbols = append(s.NoSymbols, m.Name)
		}
		weights[m.Name] += weight(exclusiveCost(&list[i]))
	}
	slices.SortFunc(s.NoSymbols, func(a, b string) int {
		return cmp.Or(cmp.Compare(weights[b], weights[a]), strings.Compare(a, b))
	})
	return nil
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

// worstFunction is the function to look at first: the user's, if there is user code.
func (s *Summary) worstFunction() session.FunctionID {
	work := s.section("functions_by_exclusive_bytes")
	if s.context.hasTime() {
		work = s.section("functions_by_cpu_exclusive")
	}
	switch works := s.heaviest(func(t q.Time) q.Nanoseconds { return t.CPU }); {
	case len(works) > 0:
		return works[0].from.Function
	case len(s.causes) > 0:
		return s.causes[0].from.Function
	case work != nil && len(work.Rows) > 0:
		return work.Rows[0].function
	}
	return 0
}

func (s *Summary) addNext() {
	path := ShellQuote(s.context.source.Session().Path())
	add := func(format string, args ...any) { s.Next = append(s.Next, fmt.Sprintf(format, args...)) }
	add("clrprof view %s   # in a browser", path)
	add("clrprof report %s calltree", path)
	if f := s.worstFunction(); f != 0 {
		add("clrprof report %s callers %s", path, ShellQuote(s.context.functionName(f)))
	}
	if t := s.section("types_by_bytes"); t != nil && len(t.Rows) > 0 && t.Rows[0].typ != 0 {
		add("clrprof report %s types %s", path, ShellQuote(s.context.typeName(t.Rows[0].typ)))
	}
	add("clrprof report %s lines", path)
	if s.broken > 0 {
		s.Next = append(s.Next, s.rulesNext(path))
	}
	if s.Lifetime != nil {
		add("clrprof report %s lifetime", path)
		add("clrprof report %s gcs", path)
	}
	add("clrprof export %s --format pprof", path)
}

// ShellQuote makes a word that a POSIX shell reads back as s.
func ShellQuote(s string) string {
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
		words[i] = ShellQuote(words[i])
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
