package report

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/clrprof/clrprof/internal/analysis"
	"github.com/clrprof/clrprof/internal/dotnet/usercode"
	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
)

// Summary is the view that is shown after a run: totals, and the top of the other views.
type Summary struct {
	Path      string            // of the session
	Info      map[string]string // what the session says of itself
	Command   []string          // that was profiled; nil: it is not known
	Duration  q.Nanoseconds     // of the recording, 0: it is not known
	Processes []session.Process // of the session
	Threads   q.Count           // of all processes; only threads that did what Did says are known
	Did       string            // what each of the threads did
	HasMemory bool              // allocations were counted
	Estimated bool              // or sampled: Amount.Sampled
	Notes     []Note
	Total     q.Amount       // of what is shown
	Lost      []session.Loss // of the processes that are shown
	Losses    []Note         // what is missing from the numbers, and what is not exact
	Sections  []Section
	// Functions is how many functions did something, WithoutSymbols how many of them are in
	// modules without symbols, NoSymbols these modules, those that matter most first.
	Functions, WithoutSymbols q.Count
	NoSymbols                 []string
	MineHasSymbols            bool       // all user code that did something, and there is some
	Lifetime                  *Lifetime  // nil: the ends of objects were not recorded
	Timing                    *Timing    // nil: calls were not timed
	Next                      []Next     // commands to try next
	Findings                  []Note     // what stands out
	Links                     []*Link    // of each finding: where to look; nil: nowhere else
	Explained                 []Explains // of each finding: its part of a cost
	UserCode                  []UserCode
	Compiled                  *Compiled // nil: it is not known, or nothing was
	Outside                   q.Amount  // allocated by framework code that no user code called, unless that is shown

	context             *context
	allCode             bool                 // text shows all functions, not only user code
	causes              []Row                // what user code allocated, by type and place: the heaviest
	moreCauses          bool                 // there are others
	spotsSaid           []session.FunctionID // of the cost that findParts looks at
	mostBytes, mostWork *spot                // the heaviest lines; nil: there is none
	works               []analysis.UserTime  // by function and place
	calls               map[session.FunctionID]q.Count
	broken              int // findings of rules
	// what hot paths are of, once it is known; nil: the stacks as they were
	callTree    *analysis.LogicalTree
	hasCallTree bool
	// how long threads were blocked until the program ended, which is no row of a list
	forEnd     q.Nanoseconds
	idle       q.Nanoseconds // how long threads waited for something to do
	idlers     []int         // positions in works: where they did
	idleAt     string        // where they did most
	awaited    q.Nanoseconds // the longest that an async method of the user awaited
	wantsTimes bool          // a finding would have a place if calls had been timed
	unsaid     bool          // a warning of a rule is in the view rules alone
	// a finding is about objects, and a snapshot of the heap would show what holds them
	asksWhoHolds bool
}

// UserCode are modules that are user code, by one rule.
type UserCode struct {
	Origin  usercode.Origin
	Modules []string // the first of them
	More    int      // how many there are besides
}

// Next is a command that tells more.
type Next struct {
	Kind     NextKind
	View     string  // of NextView
	Argument string  // of the view, "": none
	Logical  bool    // of an async method: with those who called it in the code
	Findings q.Count // that it shows, 0: that is not said
}

// NextKind says what a command does.
type NextKind int

// The kinds of commands.
const (
	NextView     NextKind = iota // prints a view
	NextPage                     // shows the session in a browser
	NextTimes                    // records the program with times
	NextSnapshot                 // records the program with what holds its objects at the end
)

// Section is one list of the summary.
type Section struct {
	Key     string // snake_case: its name in JSON
	Title   string
	Table   *Table
	Shown   bool // it is of the code that a person reads of: user code, or all of it
	Single  bool // it lists the processes, of which there is one
	HotPath bool // it is a hot path, of times or of allocations

	mine bool // about user code only
	all  bool // about all code: in text only with Options.AllCode

	sum q.Amount // of all that it lists, where that decides whether it is shown
	// exclusive says that records have the exclusive values of its rows.
	exclusive bool
}

// rank orders sections: processes come first, and user code before all code.
func (s Section) rank() int {
	switch {
	case s.Key == sectionProcesses:
		return 2
	case s.mine:
		return 1
	}
	return 0
}

// sectionProcesses is the key of the list of processes.
const sectionProcesses = "processes"

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
	var s *Summary
	err := src.Session().AtOnce(func() error {
		c, err := newContext(src, o.Raw)
		if err == nil {
			s, err = summarize(c, o)
		}
		return err
	})
	return s, err
}

func summarize(c *context, o Options) (*Summary, error) {
	src := c.source
	if o.Top == FitTop {
		top, err := c.fittingTop(o)
		if err != nil {
			return nil, err
		}
		o.Top = top
	}
	s := &Summary{context: c, Path: src.Session().Path(), Processes: c.processes.list, Threads: c.threadCount(0),
		Did: c.threadsDid(), HasMemory: c.hasMemory(), Total: c.shown, Estimated: src.HasEstimates()}
	for _, step := range []func() error{
		s.readInfo,
		func() (err error) { s.Notes, err = c.notes(); return },
		func() (err error) { s.Losses, err = c.losses(); return },
		s.readLosses,
		func() error { return s.addEntries(o) },
		func() error { return s.addMine(o) },
		func() error { return s.addTimes(o) },
		func() error { return s.addMemory(o) },
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
	s.addCompiled()
	s.chooseSections()
	slices.SortStableFunc(s.Sections, func(a, b Section) int { return cmp.Compare(b.rank(), a.rank()) })
	if o.Quick {
		return s, nil
	}
	if err := s.addFindings(o); err != nil {
		return nil, err
	}
	s.addNext()
	s.hideSaid()
	return s, nil
}

// wasteRule is the rule about what is promoted in vain.
const wasteRule = "mid-life"

// finds reports whether a finding of a rule is reported.
func (s *Summary) finds(rule string) bool {
	return slices.ContainsFunc(s.Findings, func(n Note) bool { return n.Kind == FindingRule && n.Facts[2] == rule })
}

// SurelyRead is how many findings the shortest text of a summary has.
const SurelyRead = 4

// fullLists is from how many lists on a screen has no room for those that only say again what findings say.
const fullLists = 3

// hideSaid takes lists away of which each row is a finding that is read.
func (s *Summary) hideSaid() {
	lists := 0
	for _, x := range s.Sections {
		if x.Shown && !x.Single && len(x.Table.Rows) > 0 {
			lists++
		}
	}
	kinds := map[string]NoteKind{sectionWork: FindingWork, sectionWaits: FindingWait, sectionCauses: FindingAllocations}
	for i := range s.Sections {
		x, said, rows := &s.Sections[i], 0, 0
		for _, f := range s.Findings[:min(SurelyRead, len(s.Findings))] {
			if f.Kind == kinds[x.Key] {
				said++
			}
		}
		for _, r := range x.Table.Rows {
			if r.kind != rowRest {
				rows++
			}
		}
		if waste := analysis.UserSection(analysis.SectionWaste); x.Key == waste && s.finds(wasteRule) {
			said = rows // a rule names the place that is worst
		}
		if said > 0 && said >= rows && lists >= fullLists {
			x.Shown = false
		}
	}
}

// FitTop as Options.Top gives the lists of a summary as many rows as its text has room for on a screen of some 45
// lines: fewer, the more was recorded.
const FitTop = -1

// The rows of a list where there is one, by how much each further one has fewer, and the least.
const (
	mostFitting  = 10
	fewerFitting = 2
	leastFitting = 3
	allFitting   = 8 // where all code was asked for
)

// fittingTop is how many rows FitTop stands for.
func (c *context) fittingTop(o Options) (int, error) {
	if o.AllCode {
		return allFitting, nil
	}
	lists := 0
	if c.hasMemory() {
		lists++
	}
	if c.hasTime() {
		lists += 2 // work and waits
	}
	lists += len(c.listedEntries())
	lived, err := c.source.Session().ProcessLifetimes()
	if len(lived) > 0 {
		lists++
	}
	return max(leastFitting, mostFitting-fewerFitting*lists), err
}

// wasteShown is from which part of all bytes on a summary lists what was promoted in vain: less, one in so many, costs
// nothing that can be measured.
const wasteShown = 1000

// wasteShownTimed is the same of a summary that also has times: there is less room, and the line waste says how much it
// is.
const wasteShownTimed = 20

// growingShown is from which part of all bytes on a summary lists what only grows: less, one in so many, is what any
// program that runs for a moment has made and not freed yet.
const growingShown = 1000

// waitsShown is from which part of elapsed time on a summary lists what waits and what is awaited, one in so many, and
// waitsShownMemory the same of one that also has memory, in which there is less room. The time that threads were
// blocked until the program ended counts for neither.
const (
	waitsShown       = 1000
	waitsShownMemory = 100
)

// The keys of the hot path of times, and of the lists of what user code does.
const (
	hotPathTime   = "hot_path_time"
	sectionWork   = "work_by_cpu"
	sectionWaits  = "waits_by_blocked"
	sectionAwaits = "awaits_by_awaited"
	sectionCauses = "causes_by_bytes"
)

// readInfo reads what the session says of itself.
func (s *Summary) readInfo() (err error) {
	if s.Info, err = s.context.source.Session().Info(); err != nil {
		return err
	}
	if json.Unmarshal([]byte(s.Info[session.KeyCommand]), &s.Command) != nil {
		s.Command = nil
	}
	// else it is damaged, or was not written
	if n, bad := strconv.ParseInt(s.Info[session.KeyDuration], 10, 64); bad == nil {
		s.Duration = q.Nanoseconds(n)
	}
	return nil
}

// chooseSections says which sections a person sees.
func (s *Summary) chooseSections() {
	for i := range s.Sections {
		x := &s.Sections[i]
		x.Shown = !(s.allCode && x.mine || !s.allCode && x.all)
		if x.Key == analysis.SectionWaste || x.Key == analysis.UserSection(analysis.SectionWaste) {
			least := s.Total.Bytes / wasteShown
			if s.Timing != nil {
				least = s.Total.Bytes / wasteShownTimed
			}
			x.Shown = x.Shown && s.Lifetime.Waste().Bytes > least
		}
		switch x.Key { // a line of the facts says how much was blocked
		case sectionWaits:
			x.Shown = x.Shown && s.showsWait(s.Timing.Total.Inclusive.Blocked-s.forEnd-s.idle)
		case sectionAwaits:
			x.Shown = x.Shown && s.showsWait(s.awaited)
		}
		if x.Key == analysis.SectionGrowing || x.Key == analysis.UserSection(analysis.SectionGrowing) {
			x.Shown = x.Shown && x.sum.Bytes > s.Total.Bytes/growingShown
		}
		x.Single = x.Key == sectionProcesses && len(s.Processes) < 2
	}
	s.UserCode = s.context.userModules()
}

// showsWait reports whether a wait is long enough to be listed.
func (s *Summary) showsWait(wait q.Nanoseconds) bool {
	of := q.Nanoseconds(waitsShown)
	if s.HasMemory {
		of = waitsShownMemory
	}
	return wait > 0 && wait*of >= s.paidElapsed()
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
			s.Lost = append(s.Lost, l)
		}
	}
	s.noteUnrecorded()
	return err
}

// mostUnrecorded bounds the processes that the note names: the end of a summary has each.
const mostUnrecorded = 3

// noteUnrecorded puts the processes that have no data before everything else: they may do most of the program's work.
func (s *Summary) noteUnrecorded() {
	var names List
	for _, l := range s.Lost {
		if l.IsWhole() {
			p := s.context.processes.get(l.Process)
			names = append(names, fmt.Sprintf("%s (%d)", p.Name, p.PID))
		}
	}
	if len(names) > 0 {
		s.Notes = append([]Note{note(NoteUnrecorded, q.Count(len(names)), names[:min(len(names), mostUnrecorded)])},
			s.Notes...)
	}
}

// listed is a section that is a view.
type listed struct {
	key, title string
	view       View
	sort, text string
}

// addMemory adds the sections about allocations.
func (s *Summary) addMemory(o Options) error {
	if !s.context.hasMemory() {
		return nil
	}
	list := []listed{
		{"processes", "Processes", processesView, "bytes", processText},
		{"functions_by_inclusive_bytes", "Functions allocating most memory, including what they call", functionsView,
			"inclusive_bytes", inclusiveText},
		{"functions_by_exclusive_bytes", "Functions allocating most memory themselves", functionsView,
			"exclusive_bytes", exclusiveText},
		{"types_by_bytes", "Types with most memory", typesView, "bytes", typeText},
		{"types_by_instances", "Types with most instances", typesView, "instances", instanceText},
	}
	if s.context.hasTime() { // it has its processes
		list = list[1:]
	}
	for _, section := range list {
		if err := s.addList(section, o.Top); err != nil {
			return err
		}
	}
	if s.hidesHotPath(o) {
		return nil
	}
	title := pick(s.context.hasTime(), "Hot path of allocations", "Hot path")
	return s.addHotPath("hot_path", title, "name inclusive_bytes inclusive_bytes_percent exclusive_bytes module",
		byBytes)
}

// addList adds a section that is a view. Of lists by a value of the functions themselves, those without it are left
// out: most functions only call others.
func (s *Summary) addList(section listed, top int) error {
	view := section.view
	o := Options{Top: top, Sort: section.sort, Depth: 1}
	if view.list != nil {
		view.build = view.list
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
	o.nonzero = s.context.hasTime() && view.sparse // those with allocations need not have times, and vice versa
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
	if !view.code && !s.allCode {
		s.userFirst(table.Rows)
	}
	table.Notes, table.Losses, table.Next, table.TextColumns = nil, nil, nil, s.columns(section.text)
	s.Sections = append(s.Sections, Section{Key: section.key, Title: section.title, Table: table, all: view.code,
		exclusive: section.sort == "exclusive_bytes"})
	return nil
}

// columns are the text columns of a section, with the process if there are several.
func (s *Summary) columns(text string) []string {
	out := keys(text)
	if len(s.context.processes.list) > 1 && len(s.context.source.Selection().Processes) != 1 &&
		!slices.Contains(out, "process_id") {
		out = slices.Insert(out, 1, "process_id")
	}
	return out
}

// hidesHotPath reports whether hot paths, which are of all code, are not shown and nobody else wants them.
func (s *Summary) hidesHotPath(o Options) bool { return o.Shown && !s.allCode }

// inCallTree has what is done look at the call tree that the view calltree shows: with async methods below their
// callers.
func (s *Summary) inCallTree(do func() error) error {
	if !s.hasCallTree {
		tree, err := s.context.source.LogicalTree()
		if err != nil {
			return err
		}
		s.callTree, s.hasCallTree = tree, true
	}
	if s.callTree != nil { // else an interface that is not nil would hold nil
		s.context.logical = s.callTree
		defer func() { s.context.logical = nil }()
	}
	return do()
}

// addHotPath adds the hot path of the process that weighs most.
func (s *Summary) addHotPath(key, title, text string, weight func(cost) int64) error {
	return s.inCallTree(func() error { return s.addPath(key, title, text, weight) })
}

func (s *Summary) addPath(key, title, text string, weight func(cost) int64) error {
	roots, err := s.context.processRows()
	if err != nil || len(roots) == 0 {
		return err
	}
	heaviest, err := s.context.heaviestOf(roots, weight)
	if err != nil {
		return err
	}
	asRoot(&heaviest)
	hot, err := s.context.hotPath(heaviest, weight)
	if err != nil {
		return err
	}
	if key == hotPathTime { // calls without paths are of no path
		truncated := s.context.truncated()
		if at := slices.IndexFunc(hot, func(r Row) bool { return truncated[r.function] }); at == 0 {
			return nil
		} else if at > 0 {
			hot = hot[:at]
			title += ", as far as paths were kept: there were too many"
		}
	}
	passed, err := s.context.passed(heaviest, hot, weight)
	if err != nil {
		return err
	}
	if passed != nil {
		title += fmt.Sprintf(", past %s in code that is not recorded", share(heaviest, *passed, weight))
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
	view := callTreeView
	view.build = func(b *builder) error { b.table.Rows = hot; return nil }
	table, err := view.buildIn(s.context, Options{})
	if err != nil {
		return err
	}
	table.Notes, table.Losses, table.TextColumns = nil, nil, keys(text)
	s.Sections = append(s.Sections, Section{Key: key, Title: title, Table: table, all: true, HotPath: true})
	return nil
}

// countSymbols counts the functions that did something and whose module has no symbols.
func (s *Summary) countSymbols() error {
	list, err := s.context.functionValues()
	if err != nil {
		return err
	}
	weight, weights := s.context.heavier(), map[string]int64{}
	mine, without := false, false
	for i := range list {
		f := s.context.functions.get(list[i].id)
		if f.Kind != session.FunctionMethod {
			continue
		}
		s.Functions++
		m := s.context.modules.get(f.Module)
		isMine := usercode.Origin(m.Origin).IsUser()
		mine = mine || isMine
		if m.Symbols == session.SymbolsFile || m.Symbols == session.SymbolsEmbedded {
			continue
		}
		s.WithoutSymbols++
		without = without || isMine
		if _, known := weights[m.Name]; !known {
			s.NoSymbols = append(s.NoSymbols, m.Name)
		}
		weights[m.Name] += weight(list[i].exclusiveCost())
	}
	s.MineHasSymbols = mine && !without
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
	all := func(*analysis.UserTime) bool { return true }
	switch works := s.heaviest(func(t *q.Time) q.Nanoseconds { return t.CPU }, all); {
	case len(works) > 0:
		return works[0].from.Function
	case len(s.causes) > 0:
		return s.causes[0].from.Function
	case work != nil && len(work.Rows) > 0:
		return work.Rows[0].function
	}
	return 0
}

// recordedNothing reports whether recording was off while the program ran, so that there is nothing to look at.
func (s *Summary) recordedNothing() bool {
	return s.Total.Allocations == 0 && (s.Timing == nil || s.Timing.Total.Calls == 0) &&
		slices.ContainsFunc(s.Notes, func(n Note) bool { return n.Kind == NotePausedAll })
}

// addNext chooses what to look at next.
func (s *Summary) addNext() {
	add := func(view, argument string) { s.Next = append(s.Next, Next{View: view, Argument: argument}) }
	if s.recordedNothing() {
		if len(s.Lost) > 0 {
			add("losses", "")
		}
		return
	}
	s.Next = append([]Next{{Kind: NextPage}}, s.Next...) // findings may propose a recording
	if len(s.Lost) > 0 {
		add("losses", "")
	}
	if s.unsaid {
		s.Next = append(s.Next, Next{View: "rules", Findings: q.Count(s.broken)})
	}
	if f := s.worstFunction(); f != 0 {
		s.Next = append(s.Next, Next{View: "callers", Argument: s.context.functionName(f),
			Logical: analysis.IsAsyncMethod(s.context.functions.get(f))})
	}
	if s.broken > 0 && !s.unsaid {
		s.Next = append(s.Next, Next{View: "rules", Findings: q.Count(s.broken)})
	}
	for _, list := range []string{sectionTests, sectionEndpoints} { // which are views
		if s.section(list) != nil {
			add(list, "")
		}
	}
	add("calltree", "")
	add("lines", "")
	if s.Lifetime != nil {
		add("lifetime", "")
	}
}

// PID returns the operating system's number of a process.
func (s *Summary) PID(id session.ProcessID) int64 { return s.context.processes.get(id).PID }

// The columns of a summary as records. Functions have inclusive values in
// the section of inclusive bytes and in the hot path, exclusive ones in that of exclusive bytes.
const (
	recordIdentity = "section name module process_id "
	recordMemory   = "allocations allocations_percent bytes bytes_percent "
	recordTime     = "calls elapsed_inclusive elapsed_inclusive_percent elapsed_exclusive elapsed_exclusive_percent " +
		"application_inclusive application_inclusive_percent application_exclusive application_exclusive_percent"
)

// RecordColumns are the columns of the summary as one table: the section first.
func (s *Summary) RecordColumns() []Column {
	list := recordIdentity
	if s.context.hasMemory() {
		list += recordMemory
	}
	if s.context.hasTime() {
		list += recordTime
	}
	var out []Column
	for _, key := range keys(list) {
		out = append(out, allColumns[key])
	}
	return out
}

// EachRecord calls fn with the cells of each row of the summary as one table: the total, and the rows of each section.
func (s *Summary) EachRecord(fn func([]Cell) error) error {
	columns := s.RecordColumns()
	total := Row{kind: rowFact, values: both(s.Total)}
	if s.Timing != nil {
		total.time = place(s.Timing.Total)
	}
	cells := []Cell{textCell("total")}
	for i, c := range columns[1:] {
		cell := Cell{Empty: true}
		if i+1 >= len(keys(recordIdentity)) {
			cell = c.cell(s.context, &total)
		}
		cells = append(cells, cell)
	}
	if err := fn(cells); err != nil {
		return err
	}
	for _, section := range s.Sections {
		for i := range section.Table.Rows {
			row := section.Table.Rows[i]
			if row.kind == rowRest {
				continue
			}
			if section.exclusive {
				row.values.Inclusive = row.values.Exclusive
			}
			cells := []Cell{textCell(section.Key)}
			for _, c := range columns[1:] {
				cells = append(cells, c.cell(s.context, &row))
			}
			if err := fn(cells); err != nil {
				return err
			}
		}
	}
	return nil
}
