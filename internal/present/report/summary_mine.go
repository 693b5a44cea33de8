package report

import (
	"cmp"
	"iter"
	"maps"
	"slices"

	"github.com/clrprof/clrprof/internal/analysis"
	"github.com/clrprof/clrprof/internal/dotnet/usercode"
	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
)

// The text of a summary is about the user's own code: its functions, and the framework code that they call. What the
// framework does that no user code called, such as starting threads, is one sum. Options.AllCode has all functions.

// The text columns of the sections about places in user code.
const (
	causeText = "name bytes bytes_percent from instances function"
	workText  = "name cpu_exclusive cpu_exclusive_percent from elapsed_exclusive calls"
	waitText  = "name blocked_exclusive blocked_exclusive_percent from voluntary_exclusive"
	awaitText = "name awaited suspensions function_place"
)

// addMine adds the sections about user code.
func (s *Summary) addMine(o Options) error {
	s.allCode = o.AllCode || o.Quick || !slices.ContainsFunc(s.context.functions.list, func(f session.Function) bool {
		return s.context.isUser(f.ID)
	})
	if s.allCode {
		return nil
	}
	if err := s.context.readLines(); err != nil {
		return err
	}
	if s.context.hasTime() {
		if err := s.addUserTimes(o.Top); err != nil {
			return err
		}
	}
	if s.context.hasMemory() {
		return s.addUserAllocations(o)
	}
	return nil
}

// addUserAllocations adds what was allocated by cause: type and place. There can be a million, of which a summary shows
// a few.
func (s *Summary) addUserAllocations(o Options) error {
	most := 0
	if o.Top > 0 {
		most = max(o.Top, spotCauses)
	}
	causes, err := s.context.source.SummaryCauses(most)
	if err != nil {
		return err
	}
	s.Outside = causes.Outside
	if err := o.between(); err != nil {
		return err
	}
	rest := Row{kind: rowRest, text: string(rowSite)}
	if s.moreCauses = causes.More > 0; s.moreCauses {
		hidden := Row{values: both(causes.Hidden)}
		rest.rest, rest.hidden = int(causes.More), exclusiveCost(&hidden)
	}
	rows := make([]Row, 0, len(causes.List))
	for _, c := range causes.List {
		t := s.context.types.get(c.Type)
		rows = append(rows, Row{kind: rowSite, typ: c.Type, module: t.Module, process: t.Process, from: c.From,
			function: s.context.madeBy(c.Function, c.From), values: both(c.Amount)})
	}
	s.causes = rows
	return s.addRows(sectionCauses, "Where your code allocates most", "bytes", causeText, pointed(rows), o.Top, rest)
}

// madeBy is the function that a row of what user code did names: the framework's that it called, but for what starts,
// suspends and resumes async methods. That is the method's own, as nobody wrote a call of it.
func (c *context) madeBy(function session.FunctionID, from analysis.Place) session.FunctionID {
	if from.Function != 0 && function != from.Function && !c.isUser(function) &&
		analysis.IsAsyncRuntime(c.functions.get(function)) {
		return from.Function
	}
	return function
}

// addUserTimes adds the work and the waiting of user code, and of what it calls.
func (s *Summary) addUserTimes(top int) error {
	all, err := s.context.source.UserTimes()
	if err != nil {
		return err
	}
	if s.works = s.userWorks(all); len(s.works) > 0 {
		if err := s.countCalls(); err != nil {
			return err
		}
	}
	if err := s.addRows(sectionWork, "Where your code works most: CPU time", "cpu_exclusive", workText,
		s.workRows(nil), top, Row{}); err != nil {
		return err
	}
	s.addIdle()
	ends, entry := s.entryWaits()
	waits := s.workRows(ends)
	if blocked := entry.hidden.time.Blocked - s.idle; blocked > 0 {
		s.forEnd = blocked
	}
	if err := s.addRows(sectionWaits, "Where your code waits most: blocked", "blocked_exclusive", waitText, waits,
		top, entry); err != nil {
		return err
	}
	return s.addUserAwaits(top)
}

// countCalls notes how often each function was called, by whomever: a place has no calls of its own.
func (s *Summary) countCalls() error {
	all, err := s.context.eachFunction()
	if err != nil {
		return err
	}
	s.calls = map[session.FunctionID]q.Count{}
	for r := range all {
		if r.time != nil && r.time.Calls != 0 {
			s.calls[r.function] = r.time.Calls
		}
	}
	return nil
}

// userWorks are the times of user code by the functions that rows name, in the place of all. What starts a method and
// what suspends it is one with what the method did itself.
func (s *Summary) userWorks(all []analysis.UserTime) []analysis.UserTime {
	at := map[analysis.Place]int{} // 1 + the position of the method itself, where something else is one with it
	for i := range all {
		if t := &all[i]; s.context.madeBy(t.Function, t.From) != t.Function {
			at[t.From] = 0
		}
	}
	list := all[:0]
	for i := range all {
		t := &all[i]
		if t.From.Function == 0 {
			continue
		}
		by := s.context.madeBy(t.Function, t.From)
		first, several := at[t.From]
		if several = several && by == t.From.Function; several && first > 0 {
			list[first-1].Time = list[first-1].Add(t.Time)
			continue
		}
		if several {
			at[t.From] = len(list) + 1
		}
		list = append(list, analysis.UserTime{Function: by, From: t.From, Time: t.Time})
	}
	return list
}

// workRows are the rows of the times of user code but for those at some positions, in their order. The next row
// overwrites one: there can be many thousands, of which a few are shown.
func (s *Summary) workRows(without []int) iter.Seq[*Row] {
	return func(yield func(*Row) bool) {
		row, next := Row{kind: rowFunction, time: &rowTime{}}, without
		for i := range s.works {
			if len(next) > 0 && next[0] == i {
				next = next[1:]
				continue
			}
			if s.setWork(&row, &s.works[i]); !yield(&row) {
				return
			}
		}
	}
}

// setWork makes a row with a time that of a time of user code.
func (s *Summary) setWork(row *Row, t *analysis.UserTime) {
	f := s.context.functions.get(t.Function)
	row.function, row.module, row.process, row.from = t.Function, f.Module, f.Process, t.From
	row.time.Calls = s.calls[t.Function]
	row.time.Times = q.Times{Inclusive: t.Time, Exclusive: t.Time}
}

// addUserAwaits adds how long async methods of the user waited without a thread, which is what a server's do most.
func (s *Summary) addUserAwaits(top int) error {
	if len(s.context.awaits) == 0 {
		return nil
	}
	all, err := s.context.eachFunction()
	if err != nil {
		return err
	}
	var list []Row
	for r := range all {
		if s.context.isUser(r.function) && r.await != nil && r.await.Known && r.await.Awaited > 0 {
			list = append(list, *r)
			s.awaited = max(s.awaited, r.await.Awaited)
		}
	}
	return s.addRows(sectionAwaits, "What your async methods await: time without a thread", "awaited", awaitText,
		pointed(list), top, Row{})
}

// entryOfAsyncMain is what the C# compiler calls the entry point of a program whose Main is async. It waits for Main as
// long as the program runs, which says nothing about the program.
const entryOfAsyncMain = "<Main>"

// hostsUntilStopped are functions of the framework that wait until somebody stops the program, by type: the same holds
// for them.
var hostsUntilStopped = map[string][]string{
	"Microsoft.AspNetCore.Builder.WebApplication":                    {"Run"},
	"Microsoft.AspNetCore.Hosting.WebHostExtensions":                 {"Run", "WaitForShutdown"},
	"Microsoft.Extensions.Hosting.HostingAbstractionsHostExtensions": {"Run", "WaitForShutdown"},
}

// waitsForEnd reports whether a function that is called at a place in user code waits for the end of the program.
func (s *Summary) waitsForEnd(from analysis.Place, function session.FunctionID) bool {
	if s.context.functions.get(from.Function).RawName == entryOfAsyncMain {
		return true
	}
	f := s.context.functions.get(function)
	return slices.Contains(hostsUntilStopped[f.RawType], f.RawName)
}

// entryWaits are the positions in works of waits for the end of the program, and of those for something to do, and the
// row of what is in no list.
func (s *Summary) entryWaits() (ends []int, rest Row) {
	rest = Row{kind: rowRest, text: string(rowFunction)}
	for i := range s.works {
		t := &s.works[i]
		if t.Blocked == 0 {
			continue
		}
		if s.waitsForEnd(t.From, t.Function) || s.waitsForOthers(t) || slices.Contains(s.idlers, i) {
			ends, rest.rest, rest.hidden = append(ends, i), rest.rest+1, rest.hidden.add(cost{time: t.Time})
		}
	}
	return ends, rest
}

// pointed are rows as addRows takes them.
func pointed(list []Row) iter.Seq[*Row] {
	return func(yield func(*Row) bool) {
		for i := range list {
			if !yield(&list[i]) {
				return
			}
		}
	}
}

// addRows adds a section of rows that are no view's, and of a row for those that are not in the list, if there are any.
// It does not change the rows, and the next one may overwrite one.
func (s *Summary) addRows(key, title, sort, text string, list iter.Seq[*Row], top int, others Row) error {
	view := View{Name: key, columns: keys("module process_id process_name " + text), text: keys(text), sort: sort,
		section: true,
		build: func(b *builder) error {
			b.table.Rows = b.limitOf(list, exclusiveCost)
			if n := len(b.table.Rows); others.rest > 0 && n > 0 && b.table.Rows[n-1].kind == rowRest {
				rest := &b.table.Rows[n-1]
				rest.rest, rest.hidden = rest.rest+others.rest, rest.hidden.add(others.hidden)
			} else if others.rest > 0 {
				b.table.Rows = append(b.table.Rows, others)
			}
			return nil
		}}
	table, err := view.buildIn(s.context, Options{Top: top, nonzero: true})
	if err != nil {
		return err
	}
	table.Notes, table.Losses, table.Next, table.TextColumns = nil, nil, nil, s.columns(text)
	s.Sections = append(s.Sections, Section{Key: key, Title: title, Table: table, mine: true})
	return nil
}

// userModules names the modules that are user code, those of one origin together.
func (c *context) userModules() []UserCode {
	names := map[usercode.Origin][]string{}
	for _, m := range c.modules.list {
		if origin := usercode.Origin(m.Origin); origin.IsUser() && !slices.Contains(names[origin], m.Name) {
			names[origin] = append(names[origin], m.Name)
		}
	}
	var out []UserCode
	for _, origin := range slices.Sorted(maps.Keys(names)) {
		one := UserCode{Origin: origin, Modules: names[origin]}
		if one.More = len(one.Modules) - mostNamed; one.More > 0 {
			one.Modules = one.Modules[:mostNamed:mostNamed]
		}
		out = append(out, one)
	}
	return out
}

// userFirst puts the processes that ran user code before those that started them, such as dotnet run or the test
// runner.
func (s *Summary) userFirst(rows []Row) {
	ran := map[session.ProcessID]bool{}
	for _, m := range s.context.modules.list {
		if usercode.Origin(m.Origin).IsUser() {
			ran[m.Process] = true
		}
	}
	rank := func(r Row) int {
		switch {
		case r.kind == rowRest:
			return 2
		case ran[r.process]:
			return 0
		}
		return 1
	}
	slices.SortStableFunc(rows, func(a, b Row) int { return cmp.Compare(rank(a), rank(b)) })
}
