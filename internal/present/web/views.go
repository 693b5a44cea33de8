package web

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/clrprof/clrprof/internal/analysis"
	"github.com/clrprof/clrprof/internal/present/report"
	"github.com/clrprof/clrprof/internal/present/report/encode"
	"github.com/clrprof/clrprof/internal/present/report/sheet"
	"github.com/clrprof/clrprof/internal/present/report/text"
	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/shell"
)

// pageRows is how many rows an answer has unless more are asked for, mostRows how many it can have.
const (
	pageRows = 200
	mostRows = 20_000
)

// described is what the page must know before it asks for anything.
type described struct {
	Path string `json:"path"`
	// the same as long as the session is: of what is known about it; "": it is being recorded
	ID        string `json:"id"`
	Older     string `json:"older,omitempty"` // the session that it is compared with
	State     string `json:"state"`
	Live      bool   `json:"live,omitempty"` // it is being recorded: there is nothing yet but live
	HasMemory bool   `json:"has_memory"`
	HasTime   bool   `json:"has_time"`
	HasEnds   bool   `json:"has_lifetimes"`
	// somebody took a snapshot of the heap
	HasSnapshot bool `json:"has_snapshot"`
	HasTests    bool `json:"has_tests"` // some functions are tests
	// some functions answer requests over HTTP
	HasEndpoints bool `json:"has_endpoints"`
	HasMine      bool `json:"has_user_code"` // it is known which code is the user's
	// of the clock that times were measured with; 0: none were
	TicksPerSecond int64                `json:"ticks_per_second"`
	HasAsync       bool                 `json:"has_async"` // the logical call tree may differ from the physical one
	Marks          []string             `json:"marks"`     // names of moments that somebody marked, each once
	Views          []describedView      `json:"views"`
	Metrics        []report.FlameMetric `json:"metrics"`            // that frames of the flame graph can be as wide as
	Colors         []string             `json:"colors"`             // that they can be coloured by, beside modules
	Compared       []string             `json:"compared,omitempty"` // metrics that the older session has too

	// views that it has too, with the columns of both
	ComparedViews []comparedView `json:"compared_views,omitempty"`
}

// comparedView is a view that can be compared, with the headings of its columns.
type comparedView struct {
	analysis.ComparedView
	Titles []string `json:"titles"`
}

type describedView struct {
	Name     string   `json:"name"`
	Short    string   `json:"short"`
	Argument string   `json:"argument"`
	IsTree   bool     `json:"is_tree"`
	Groups   []string `json:"groups"` // what its rows can be about, or be grouped by
	// its rows are about the first of these unless another is asked for; else they are in no group
	Grouped  bool     `json:"grouped"`
	Async    bool     `json:"async"` // it can show async methods below their callers, and there are some
	Optional []string `json:"optional"`
}

func (s *Server) describe(w http.ResponseWriter, r *http.Request) error {
	if s.isRecording() {
		return writeJSON(w, described{Path: s.recorded, State: string(session.Recording), Live: true,
			Marks: []string{}, Views: []describedView{}, Metrics: []report.FlameMetric{}, Colors: []string{}})
	}
	if err := s.lock(r.Context()); err != nil {
		return err
	}
	defer s.mu.Unlock()
	of, err := s.reader(&http.Request{URL: &url.URL{}})
	if err != nil {
		return err
	}
	state, err := s.sessions[0].State()
	if err != nil {
		return err
	}
	lived, err := s.sessions[0].ProcessLifetimes()
	if err != nil {
		return err
	}
	id, err := identity(s.sessions)
	if err != nil {
		return err
	}
	out := described{Path: s.sessions[0].Path(), ID: id, State: string(state), HasMemory: of.views.HasMemory(),
		HasTime: of.views.HasTime(), HasEnds: len(lived) > 0, TicksPerSecond: of.views.TicksPerSecond()}
	snapshots, err := s.sessions[0].Snapshots()
	if err != nil {
		return err
	}
	out.HasSnapshot = len(snapshots) > 0
	if out.HasMine, err = analysis.HasUserCode(s.sessions[0]); err != nil {
		return err
	}
	if out.HasAsync, err = analysis.HasAsync(s.sessions[0]); err != nil {
		return err
	}
	functions, err := s.sessions[0].Functions()
	if err != nil {
		return err
	}
	out.HasTests = analysis.HasEntries(functions, analysis.EntryTests)
	out.HasEndpoints = analysis.HasEntries(functions, analysis.EntryEndpoints)
	if out.Marks, err = markNames(s.sessions[0]); err != nil {
		return err
	}
	if out.Metrics, err = of.views.FlameMetrics(); err != nil {
		return err
	}
	colors, err := of.views.FlameColors()
	if err != nil {
		return err
	}
	out.Colors = append([]string{}, colors...)
	if len(s.sessions) > 1 {
		if err := s.describeOlder(&out); err != nil {
			return err
		}
	}
	for _, v := range report.Views() {
		out.Views = append(out.Views, describedView{v.Name, v.Short, v.Argument, v.IsTree(),
			append([]string{}, v.Groups()...), v.Grouped, v.Async && out.HasAsync,
			append([]string{}, v.OptionalKeys()...)})
	}
	return writeJSON(w, out)
}

// mostMarkNames bounds how many names of marks are offered: more nobody chooses from.
const mostMarkNames = 100

// markNames are the names of moments that somebody marked, in the order of their first ones.
func markNames(of *session.Session) ([]string, error) {
	marks, err := analysis.Marks(of)
	out := []string{}
	for _, m := range marks {
		isMade := m.Source != session.MarkProgram && m.Name != ""
		if isMade && len(out) < mostMarkNames && !slices.Contains(out, m.Name) {
			out = append(out, m.Name)
		}
	}
	return out, err
}

// identity tells sessions apart by their facts, such as when they began.
func identity(sessions []*session.Session) (string, error) {
	h := sha256.New()
	for _, of := range sessions {
		facts, err := of.Info()
		if err != nil {
			return "", err
		}
		for _, key := range slices.Sorted(maps.Keys(facts)) {
			fmt.Fprintf(h, "%q=%q\n", key, facts[key])
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:16]), nil
}

// describeOlder says what the older session has too.
func (s *Server) describeOlder(out *described) error {
	out.Older, out.Compared = s.sessions[1].Path(), []string{}
	older, err := s.readerOf(s.sessions[1], &http.Request{URL: &url.URL{}}, true)
	if err != nil {
		return err
	}
	here, err := s.reader(&http.Request{URL: &url.URL{}})
	if err != nil {
		return err
	}
	views, err := analysis.ComparedColumns(here.source, older.source)
	if err != nil {
		return err
	}
	for _, v := range views {
		one := comparedView{ComparedView: v}
		for _, key := range v.Columns {
			one.Titles = append(one.Titles, report.ColumnTitle(key))
		}
		out.ComparedViews = append(out.ComparedViews, one)
	}
	metrics, err := older.views.FlameMetrics()
	for _, m := range metrics {
		if slices.Contains(out.Metrics, m) {
			out.Compared = append(out.Compared, m.Key)
		}
	}
	return err
}

// viewed is a part of a view.
type viewed struct {
	*sheet.Table
	Short   string  `json:"short"`
	Command string  `json:"command"`
	Threads q.Count `json:"threads,omitempty"` // over which elapsed times are added up, if the table shows them
}

// options reads what of a view is wanted.
func options(view report.View, v url.Values) (report.Options, error) {
	o := report.Options{Sort: v.Get("sort"), By: analysis.By(v.Get("by")), Argument: v.Get("argument"),
		Range: v.Get("range"), Logical: v.Get("async") == "logical"}
	if v.Get("columns") != "" {
		o.Columns = strings.Split(v.Get("columns"), ",")
	}
	top, depth := 0, 0
	if view.IsTree() {
		top, depth = view.Text.Top, view.Text.Depth
		if view.Paths {
			depth = view.Levels(o.Argument, "")
		}
	}
	var err error
	if o.Top, err = number(v, "top", top); err != nil {
		return o, err
	}
	if o.Depth, err = number(v, "depth", depth); err != nil {
		return o, err
	}
	switch {
	case v.Has("async") && !(view.Async && slices.Contains(report.AsyncOptions(), v.Get("async"))):
		return o, bad("view %s has no async %q", view.Name, v.Get("async"))
	case o.Argument != "" && view.Argument == "":
		return o, bad("view %s takes no argument", view.Name)
	case o.Argument == "" && view.Needs == report.NeedsFunction:
		return o, bad("view %s needs the name of a function", view.Name)
	}
	return o, nil
}

// table builds the view that a request asks for, or returns it if it was just built. The server must be locked.
func (s *Server) table(r *http.Request) (report.View, *report.Table, error) {
	v := r.URL.Query()
	view, err := report.FindView(v.Get("view"))
	if err != nil {
		return view, nil, err
	}
	o, err := options(view, v)
	if err != nil {
		return view, nil, err
	}
	of, err := s.reader(r)
	if err != nil {
		return view, nil, err
	}
	key := fmt.Sprintf("%s|%s|%#v", of.key, view.Name, o)
	o.Sources = of.views.Sources()
	build := func(t *keptTable) (err error) {
		t.table, err = of.views.Build(view, o)
		return err
	}
	kept, err := s.keep(key, build)
	if o.Sources.Wanted() && err == nil {
		s.forget(key)
		s.load(o.Sources)
		kept, err = s.keep(key, build)
	}
	if err != nil {
		return view, nil, err
	}
	return view, kept.table, nil
}

// load reads source files while other requests are answered: a disk can be slow. The server must be locked, and is
// afterwards, but may have answered others in between.
func (s *Server) load(files *report.Sources) {
	s.mu.Unlock()
	defer s.mu.Lock()
	s.loading(files)
}

// view answers with rows of a view: those that contain the parameter find, in reversed order with the parameter
// reverse.
func (s *Server) view(w http.ResponseWriter, r *http.Request) error {
	if err := s.lock(r.Context()); err != nil {
		return err
	}
	defer s.mu.Unlock()
	view, table, err := s.table(r)
	if err != nil {
		return err
	}
	v := r.URL.Query()
	rows := sheet.Find(table, v.Get("find"))
	if v.Has("reverse") && !table.IsTree {
		slices.Reverse(rows)
	}
	offset, err := number(v, "offset", 0)
	if err != nil {
		return err
	}
	limit, err := number(v, "limit", pageRows)
	if err != nil {
		return err
	}
	shown := sheet.Of(table, rows, offset, min(limit, mostRows))
	words := append([]string{view.Name}, strings.Fields(v.Get("argument"))...)
	if view.Needs != report.NeedsCollections {
		words = []string{view.Name, v.Get("argument")}
	}
	of, err := s.reader(r)
	if err != nil {
		return err
	}
	threads, err := of.threadsOf(shown.Shown)
	if err != nil {
		return err
	}
	return writeJSON(w, viewed{shown, view.Short,
		s.command(r, words...) + s.flags(v, "sort", "by", "columns", "top", "depth", "async"), threads})
}

// flags are those of a view that a request has.
func (s *Server) flags(v url.Values, names ...string) string {
	var b strings.Builder
	for _, name := range names {
		if value := v.Get(name); value != "" {
			fmt.Fprintf(&b, " --%s %s", name, shell.Quote(value))
		}
	}
	return b.String()
}

// tsv answers with a whole view as tab-separated values: what report --tsv prints.
func (s *Server) tsv(w http.ResponseWriter, r *http.Request) error {
	v := r.URL.Query()
	for _, name := range []string{"top", "depth"} {
		if !v.Has(name) {
			v.Set(name, "0") // all of it
		}
	}
	r = &http.Request{URL: &url.URL{RawQuery: v.Encode()}}
	if err := s.lock(r.Context()); err != nil {
		return err
	}
	defer s.mu.Unlock()
	_, table, err := s.table(r)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "text/tab-separated-values; charset=utf-8")
	return encode.WriteTable(w, table, encode.TSV)
}

// tree answers with rows below one of the call tree: those from the parameter offset on, or the page with the path
// around.
func (s *Server) tree(w http.ResponseWriter, r *http.Request) error {
	v := r.URL.Query()
	process, path, err := below(v)
	if err != nil {
		return err
	}
	offset, err := number(v, "offset", 0)
	if err != nil {
		return err
	}
	if err := s.lock(r.Context()); err != nil {
		return err
	}
	defer s.mu.Unlock()
	of, err := s.reader(r)
	if err != nil {
		return err
	}
	o, err := treeOptions(v)
	if err != nil {
		return err
	}
	key := fmt.Sprintf("%s|tree|%d|%v|%t|%#v", of.key, process, path, v.Has("hot"), o)
	kept, err := s.keep(key, func(t *keptTable) (err error) {
		if v.Has("hot") {
			t.table, err = of.views.HotPath(o)
		} else {
			t.table, err = of.views.Below(process, path, o)
		}
		return err
	})
	if err != nil {
		return err
	}
	table := kept.table
	if v.Has("around") {
		path, err := strconv.ParseInt(v.Get("around"), 10, 64)
		if err != nil {
			return bad("around %q is not a number", v.Get("around"))
		}
		if at := table.PositionOf(session.PathID(path)); at >= 0 {
			offset = at - at%pageRows
		}
	}
	shown := sheet.Of(table, sheet.Find(table, ""), offset, pageRows)
	threads, err := of.threadsOf(shown.Shown)
	if err != nil {
		return err
	}
	return writeJSON(w, viewed{shown, "", s.command(r, "calltree") + s.flags(v, "sort", "columns", "root", "by",
		"min-share", "async") + switches(v, "fold-recursion", "bottom-up"), threads})
}

// deepest bounds how many rows of a tree from below are named on the way to one: more are no request of the page, which
// names each.
const deepest = 20_000

// below reads which row of the call tree a request is about: its process, and the paths on the way to it.
func below(v url.Values) (process session.ProcessID, path []session.PathID, err error) {
	if text := v.Get("of_process"); text != "" {
		id, err := strconv.ParseUint(text, 10, 32)
		if err != nil {
			return 0, nil, bad("of_process %q is not a number", text)
		}
		process = session.ProcessID(id)
	}
	if text := v.Get("of_path"); text == "" || text == "0" { // right below the process
		return process, nil, nil
	}
	texts := strings.Split(v.Get("of_path"), ".")
	if len(texts) > deepest {
		return 0, nil, bad("of_path has more than %d numbers", deepest)
	}
	for _, text := range texts {
		id, err := strconv.ParseUint(text, 10, 32)
		if err != nil {
			return 0, nil, bad("of_path %q is not a number", text)
		}
		path = append(path, session.PathID(id))
	}
	return process, path, nil
}

// treeOptions reads what shape of the call tree is wanted: the parameters are flags of the command line.
func treeOptions(v url.Values) (report.Options, error) {
	o := report.Options{Sort: v.Get("sort"), Root: v.Get("root"), By: analysis.By(v.Get("by")),
		Fold: v.Has("fold-recursion"), BottomUp: v.Has("bottom-up"), Physical: v.Get("async") == "physical"}
	if v.Get("columns") != "" {
		o.Columns = strings.Split(v.Get("columns"), ",")
	}
	switch text := v.Get("min-share"); {
	case v.Has("hot") && o.BottomUp:
		return o, bad("a tree from below has no hot path")
	case v.Has("async") && !slices.Contains(report.AsyncOptions(), v.Get("async")):
		return o, bad("async %q is unknown: want logical or physical", v.Get("async"))
	case text != "":
		var err error
		if o.MinShare, err = strconv.ParseFloat(text, 64); err != nil || !(o.MinShare >= 0 && o.MinShare <= 100) {
			return o, bad("min-share %q is not a percentage", text)
		}
	}
	return o, nil
}

// switches are the flags without values that a request has.
func switches(v url.Values, names ...string) string {
	var b strings.Builder
	for _, name := range names {
		if v.Has(name) {
			b.WriteString(" --" + name)
		}
	}
	return b.String()
}

// summarized is the summary, or at first the part of it that needs no look at everything.
type summarized struct {
	*sheet.Summary
	Command string `json:"command"`
	Quick   bool   `json:"quick,omitempty"` // the findings are missing: ask for them
}

const (
	summaryTop = 8       // how many rows the lists of the overview have
	largeSites = 100_000 // from so many on a summary takes long enough for its quick part to come first
)

func (s *Server) summary(w http.ResponseWriter, r *http.Request) error {
	if err := s.lock(r.Context()); err != nil {
		return err
	}
	defer s.mu.Unlock()
	of, err := s.reader(r)
	if err != nil {
		return err
	}
	all, command := r.URL.Query().Has("all"), fmt.Sprintf("%s --top %d", s.command(r), summaryTop) // all of it
	if all {
		command += " --all-code"
	}
	key := fmt.Sprintf("%s|summary|%t", of.key, all)
	quick := r.URL.Query().Has("quick") && !s.isKept(key)
	if quick {
		rows, err := s.sessions[0].PackedRows()
		if err != nil {
			return err
		}
		if quick = rows["site"] >= largeSites; quick {
			key += "|quick"
		}
	}
	kept, err := s.keep(key, func(t *keptTable) error {
		summary, err := of.views.Summarize(report.Options{Top: summaryTop, AllCode: all, Quick: quick,
			Between: func() error { return s.giveWay(r.Context()) }})
		if err == nil {
			t.summary = sheet.OfSummary(summary)
		}
		return err
	})
	if err != nil {
		return err
	}
	return writeJSON(w, summarized{kept.summary, command, quick})
}

// giveWay lets other requests be answered before the one that takes long goes on, if it is still wanted. The server
// must be locked.
func (s *Server) giveWay(ctx context.Context) error {
	s.mu.Unlock()
	s.mu.Lock()
	return ctx.Err()
}

// timelined is what the timeline shows.
type timelined struct {
	Slices   []sliced     `json:"slices"`
	GCs      *sheet.Table `json:"gcs"`      // null: collections were not recorded
	Usage    []used       `json:"usage"`    // of processors and memory, between samples
	Marks    []marked     `json:"marks"`    // those that somebody made
	Pauses   []pausedSpan `json:"pauses"`   // in which nothing of a process, or of all, was recorded
	Counters []counted    `json:"counters"` // those that have values
	Chosen   *chosenSpan  `json:"chosen"`   // the span of time that is selected, null: none is
}

// counted is a counter of the operating system.
type counted struct {
	Name  string `json:"name"`
	Unit  string `json:"unit"`
	IsSum bool   `json:"is_sum"`
	About string `json:"about"`
}

// chosenSpan is a span of time that a request selects; what is shown is all of the slices that it touches.
type chosenSpan struct {
	Begin int64 `json:"begin_ns"`
	End   int64 `json:"end_ns"`
}

type used struct {
	Begin    int64 `json:"begin_ns"`
	End      int64 `json:"end_ns"`
	CPU      int64 `json:"cpu_ns"`
	Threads  int64 `json:"threads"`
	Resident int64 `json:"resident_bytes"`
}

type marked struct {
	At   int64  `json:"at_ns"`
	Name string `json:"name"`
	Text string `json:"text"`
}

type pausedSpan struct {
	Begin int64  `json:"begin_ns"`
	End   int64  `json:"end_ns"`
	Level string `json:"level"`
}

type sliced struct {
	Begin       int64 `json:"begin_ns"`
	End         int64 `json:"end_ns"`
	Allocations int64 `json:"allocations"`
	Bytes       int64 `json:"bytes"`
}

// timelineColumns are what it shows of a collection.
var timelineColumns = strings.Fields("number process_id generation induced at_ns pause_ns heap_after_bytes " +
	"gen0_heap_after_bytes gen1_heap_after_bytes gen2_heap_after_bytes loh_heap_after_bytes poh_heap_after_bytes " +
	"dead_bytes promoted_bytes")

// timeline answers with what happened when in the whole run, whatever part of it is selected, and with the span that
// is.
func (s *Server) timeline(w http.ResponseWriter, r *http.Request) error {
	if err := s.lock(r.Context()); err != nil {
		return err
	}
	defer s.mu.Unlock()
	of, err := s.reader(&http.Request{URL: &url.URL{}})
	if err != nil {
		return err
	}
	kept, err := s.keep(of.key+"|timeline", func(t *keptTable) (err error) {
		t.timeline, err = of.timeline()
		return err
	})
	if err != nil {
		return err
	}
	out := *kept.timeline
	if out.Chosen, err = s.chosenSpan(r); err != nil {
		return err
	}
	return writeJSON(w, out)
}

// chosenSpan is the span of time that a request selects, nil: none.
func (s *Server) chosenSpan(r *http.Request) (*chosenSpan, error) {
	t, err := terms(s.sessions[0], r.URL.Query())
	if err != nil {
		return nil, err
	}
	chosen, err := analysis.Terms{From: t.From, To: t.To}.Select(s.sessions[0])
	if err != nil {
		return nil, report.Known(err)
	}
	if !chosen.InTime() {
		return nil, nil
	}
	slices, err := s.sessions[0].Slices()
	if err != nil {
		return nil, err
	}
	from, to, _ := chosen.Span(slices)
	return &chosenSpan{int64(from), int64(to)}, nil
}

// timeline is what happened when.
func (of *reader) timeline() (*timelined, error) {
	out := &timelined{Slices: []sliced{}}
	slices, err := of.source.BySlice()
	if err != nil {
		return nil, err
	}
	for _, x := range slices {
		out.Slices = append(out.Slices, sliced{int64(x.Begin), int64(x.End), int64(x.Allocations), int64(x.Bytes)})
	}
	view, err := report.FindView("gcs")
	if err != nil {
		return nil, err
	}
	// without lifetimes there are none
	if table, err := of.views.Build(view, report.Options{Columns: timelineColumns}); err == nil {
		out.GCs = sheet.All(table)
	}
	return out, out.addEvents(of.source.Session())
}

// counterPoints are what a counter said, by column: a level at the end of each span, or by how much a sum grew in it.
type counterPoints struct {
	counted
	Begin []int64   `json:"begin_ns"`
	End   []int64   `json:"end_ns"`
	Value []float64 `json:"value"`
}

// counter answers with what a counter said in the whole run.
func (s *Server) counter(w http.ResponseWriter, r *http.Request) error {
	if err := s.lock(r.Context()); err != nil {
		return err
	}
	defer s.mu.Unlock()
	c, points, err := analysis.CounterPoints(s.sessions[0], r.URL.Query().Get("name"))
	if err != nil {
		return report.Known(err)
	}
	out := counterPoints{counted{c.Name, c.Unit, c.IsSum, c.Meaning}, []int64{}, []int64{}, []float64{}}
	for _, p := range points {
		out.Begin, out.End, out.Value = append(out.Begin, int64(p.Begin)), append(out.End,
			int64(p.End)), append(out.Value, p.Value)
	}
	return writeJSON(w, out)
}

// addEvents adds what happened, and what was used.
func (t *timelined) addEvents(of *session.Session) error {
	t.Usage, t.Marks, t.Pauses = []used{}, []marked{}, []pausedSpan{}
	usage, err := analysis.Usage(of)
	if err != nil {
		return err
	}
	for _, u := range usage {
		t.Usage = append(t.Usage, used{int64(u.Begin), int64(u.End), int64(u.CPU), int64(u.Threads), int64(u.Resident)})
	}
	counters, err := of.Counters()
	if err != nil {
		return err
	}
	t.Counters = []counted{}
	for _, c := range counters {
		if c.Missing == "" {
			t.Counters = append(t.Counters, counted{c.Name, c.Unit, c.IsSum, c.Meaning})
		}
	}
	marks, err := analysis.Marks(of)
	if err != nil {
		return err
	}
	for _, m := range marks {
		if m.Source != session.MarkProgram { // the begin and the end of each process
			name := m.Name
			if name == "" {
				name = strconv.FormatInt(m.Number, 10)
			}
			t.Marks = append(t.Marks, marked{int64(m.Time), text.Printable(name), text.Printable(m.Text)})
		}
	}
	pauses, err := of.Pauses()
	if err != nil {
		return err
	}
	for _, p := range pauses {
		if p.Level != session.LevelThread {
			t.Pauses = append(t.Pauses, pausedSpan{int64(p.Begin), int64(p.End), p.Level})
		}
	}
	return nil
}
