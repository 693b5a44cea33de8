package mcp

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/clrprof/clrprof/internal/analysis"
	"github.com/clrprof/clrprof/internal/analysis/rules"
	"github.com/clrprof/clrprof/internal/present/report"
	"github.com/clrprof/clrprof/internal/present/report/text"
	"github.com/clrprof/clrprof/internal/present/report/words"
	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
)

// filters are what a request selects, in the words of the command line.
type filters struct {
	Processes  []string `json:"process,omitempty" jsonschema:"only these processes: pid, #unique_id, or pattern of the name"`
	Threads    []string `json:"thread,omitempty" jsonschema:"only these threads: tid, #unique_id, or pattern of the name"`
	Modules    []string `json:"module,omitempty" jsonschema:"only what functions of these modules did themselves"`
	Namespaces []string `json:"namespace,omitempty" jsonschema:"only what functions of these namespaces did themselves"`
	Functions  []string `json:"function,omitempty" jsonschema:"only what functions that match did themselves"`
	Types      []string `json:"type,omitempty" jsonschema:"only objects of types that match"`
	Focus      []string `json:"focus,omitempty" jsonschema:"only stacks with a function that matches; with ! before it, without one"`
	Hide       []string `json:"hide,omitempty" jsonschema:"leave functions that match out of stacks"`
	MyCode     bool     `json:"my_code,omitempty" jsonschema:"show only the user's code, and what it calls, in stacks"`
	Callees    *int     `json:"my_code_callees,omitempty" jsonschema:"with my_code: so many levels of framework code that the user's code calls (default 1)"`
	Callers    int      `json:"my_code_callers,omitempty" jsonschema:"with my_code: so many levels of framework code that calls the user's"`
	Filter     string   `json:"filter,omitempty" jsonschema:"clauses FIELD OPERATOR VALUE with and, or, not and parentheses; fields are those above, time, mark (its name) and gc (number), operators = <> < > <= >="`
	From       float64  `json:"from_seconds,omitempty" jsonschema:"only from this time since the start on"`
	To         float64  `json:"to_seconds,omitempty" jsonschema:"only up to this time since the start"`
}

// levels are how much framework code is shown with the user's own alone; nil: it is not only that.
func (f *filters) levels() (*analysis.CodeLevels, error) {
	levels := analysis.DefaultCodeLevels
	levels.Callers = f.Callers
	if f.Callees != nil {
		levels.Callees = *f.Callees
	}
	switch {
	case levels.Callers < 0 || levels.Callees < 0:
		return nil, errors.New("my_code_callers and my_code_callees cannot be negative")
	case f.MyCode:
		return &levels, nil
	case f.Callees != nil || f.Callers != 0:
		return nil, errors.New("my_code_callers and my_code_callees are for my_code")
	}
	return nil, nil
}

// Times of a request.
const (
	second      = 1e9
	mostSeconds = 1e9 // 31 years: no recording is as long
)

// checkTimes refuses times that no recording has: as nanoseconds they might be no numbers at all.
func (f *filters) checkTimes() error {
	for name, seconds := range map[string]float64{"from_seconds": f.From, "to_seconds": f.To} {
		if !(seconds >= 0 && seconds <= mostSeconds) {
			return fmt.Errorf("%s %g: want seconds since the start, from 0 to %g", name, seconds, mostSeconds)
		}
	}
	return nil
}

// source opens what is selected of a session.
func (s *Server) source(name string, f filters) (*analysis.Source, []string, error) {
	one, err := s.find(name)
	if err != nil {
		return nil, nil, err
	}
	if err := f.checkTimes(); err != nil {
		return nil, nil, err
	}
	levels, err := f.levels()
	if err != nil {
		return nil, nil, err
	}
	terms := analysis.Terms{Processes: f.Processes, Threads: f.Threads, Modules: f.Modules, Namespaces: f.Namespaces,
		Functions: f.Functions,
		Types:     f.Types, Focus: f.Focus, Hide: f.Hide, MyCode: f.MyCode, CodeLevels: levels, Filter: f.Filter,
		From: q.Nanoseconds(f.From * second), To: q.Nanoseconds(f.To * second)}
	sel, err := terms.Select(one)
	if err != nil {
		return nil, nil, err
	}
	notes, err := sel.Notes(one, "; percentages are of the whole run")
	if err != nil {
		return nil, nil, err
	}
	src, err := analysis.Open(one, sel)
	return src, append([]string{}, notes...), err
}

// rowsOf is how many rows an answer has.
func rowsOf(asked int) (int, error) {
	if asked < 0 || asked > MostRows {
		return 0, fmt.Errorf("limit %d: at most %d rows, and 0 for %d", asked, MostRows, DefaultRows)
	}
	return cmp.Or(asked, DefaultRows), nil
}

type viewInfo struct {
	Name     string   `json:"name"`
	About    string   `json:"about"`
	Argument string   `json:"argument,omitempty"`
	Columns  []string `json:"columns"`
	Times    []string `json:"columns_with_times,omitempty"`
	More     []string `json:"columns_if_asked_for,omitempty"`
}

func (s *Server) listViews(context.Context, nothing) (any, error) {
	out := []viewInfo{}
	for _, v := range report.Views() {
		out = append(out, viewInfo{v.Name, v.Short, v.Argument, v.ColumnKeys(), v.TimeKeys(), v.OptionalKeys()})
	}
	return map[string]any{"views": out}, nil
}

// summaryTop is how many rows the lists of a summary have.
const summaryTop = 8

type summaryRequest struct {
	which
	filters
}

func (s *Server) summary(_ context.Context, in summaryRequest) (any, error) {
	src, _, err := s.source(in.Session, in.filters)
	if err != nil {
		return nil, err
	}
	made, err := report.Summarize(src, report.Options{Top: summaryTop})
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	err = text.WriteSummary(&out, made, text.Options{Markdown: true})
	return out.String(), err
}

type viewRequest struct {
	which
	View     string   `json:"view,omitempty" jsonschema:"name of the view, as list_views gives it"`
	Argument string   `json:"argument,omitempty" jsonschema:"what the view is of: a function for callers, a type for types and snapshot, collections for survivors and diff-gcs"`
	Columns  []string `json:"columns,omitempty" jsonschema:"only these columns, in this order; default: the most important"`
	Sort     string   `json:"sort,omitempty" jsonschema:"column to sort by: numbers descending"`
	By       string   `json:"by,omitempty" jsonschema:"rows of lifetime, ages, survivors and diff-gcs: type, site, function or line"`
	Depth    int      `json:"depth,omitempty" jsonschema:"levels of a tree; 0: of types 1, of other trees 12"`
	Min      float64  `json:"min_percent,omitempty" jsonschema:"leave out rows of trees with less than this percent"`
	Limit    int      `json:"limit,omitempty" jsonschema:"rows at most; 0: 20; at most 500"`
	Fold     bool     `json:"fold_recursion,omitempty" jsonschema:"calltree: a call of a function that is on the path already is part of that function's row"`
	BottomUp bool     `json:"bottom_up,omitempty" jsonschema:"calltree: functions by what they did themselves, and below each its callers"`
	Disabled []string `json:"disable,omitempty" jsonschema:"rules: ids of rules that are not applied"`
	MinShare float64  `json:"min_share_percent,omitempty" jsonschema:"calltree: rows with less than this percent are one row, [left out], below each row"`
	pages
	filters
}

// treeDepth is how many levels of trees an answer has unless the request says so.
const treeDepth = 12

// viewAnswer is a view, or the first rows of it.
type viewAnswer struct {
	View        string          `json:"view"`
	Selection   []string        `json:"selection"`
	Truncated   bool            `json:"truncated"`
	RowsLeftOut int             `json:"rows_left_out"`
	NextOffset  int             `json:"next_offset,omitempty"` // of a request for what follows
	Next        string          `json:"next,omitempty"`        // continue of that request
	Notes       []string        `json:"notes"`
	Losses      []string        `json:"losses"`
	Rows        json.RawMessage `json:"rows"`
}

func (s *Server) view(_ context.Context, in viewRequest) (any, error) {
	limit, err := rowsOf(in.Limit)
	if err != nil {
		return nil, err
	}
	if err := need(toolView, "view", in.View, "the name of a view, such as functions: list_views lists them"); err != nil {
		return nil, err
	}
	view, err := report.FindView(in.View)
	if err != nil {
		return nil, err
	}
	if err := needs(view, in.Argument); err != nil {
		return nil, err
	}
	if !view.Shaped && (in.Fold || in.BottomUp || in.MinShare != 0) || in.MinShare < 0 {
		return nil,
			errors.New("fold_recursion, bottom_up and min_share_percent, which is not negative, are for the view " +
				"calltree")
	}
	for _, id := range in.Disabled {
		if !view.Judges || !slices.ContainsFunc(rules.All(), func(r *rules.Rule) bool { return r.ID == id }) {
			return nil, fmt.Errorf("disable is for the view rules, and the ids that it knows: %s",
				strings.Join(rules.IDs(), ", "))
		}
	}
	src, selected, err := s.source(in.Session, in.filters)
	if err != nil {
		return nil, err
	}
	o := report.Options{Argument: in.Argument, Columns: in.Columns, Sort: in.Sort, By: analysis.By(in.By),
		Depth: in.Depth, Min: in.Min,
		Fold: in.Fold, BottomUp: in.BottomUp, MinShare: in.MinShare, Disabled: in.Disabled}
	if o.Depth == 0 && in.Argument == "" {
		o.Depth = view.Levels("", "")
	}
	table, err := view.Build(src, withDepth(o))
	if err != nil {
		return nil, err
	}
	if table.Skip(in.Offset); len(in.Columns) == 0 {
		few(table, in.Sort)
	}
	rows, shown := writeRows(table, limit)
	all, _ := table.InAll()
	out := viewAnswer{View: in.View, Selection: selected, RowsLeftOut: max(0, all-in.Offset-shown),
		Notes: words.Notes(table.Notes), Losses: words.Notes(table.Losses), Rows: rows}
	if out.Truncated = out.RowsLeftOut > 0; out.Truncated {
		out.NextOffset = in.Offset + shown
		out.Next, err = nextOf(toolView, in, out.NextOffset)
	}
	return out, err
}

// needs refuses a view without the argument that it needs.
func needs(view report.View, argument string) error {
	what := map[report.Need]string{report.NeedsFunction: "the name of a function",
		report.NeedsCollections: "the numbers of two collections, such as 3 5"}[view.Needs]
	if what == "" {
		return nil
	}
	return need("the view "+view.Name, "argument", argument, what)
}

// writeRows writes the first rows of a table, at most limit, and as many as an answer can have, and counts them.
func writeRows(table *report.Table, limit int) (rows []byte, shown int) {
	for limit > 0 {
		table.Limit(limit)
		rows = appendRows(rows[:0], table)
		all, _ := table.InAll()
		shown = all - table.Left()
		if len(rows) <= MostBytes/2 || limit == 1 {
			break
		}
		limit = max(1, min(limit-1, shown*(MostBytes/2)/len(rows))) // as many as fit, if rows are alike
	}
	return rows, shown
}

// withDepth bounds trees.
func withDepth(o report.Options) report.Options {
	o.Depth = cmp.Or(o.Depth, treeDepth)
	return o
}

type diffRequest struct {
	Old    string `json:"old,omitempty" jsonschema:"name of the session that is the baseline"`
	New    string `json:"new,omitempty" jsonschema:"name of the session that is compared with it"`
	View   string `json:"view,omitempty" jsonschema:"functions (default), types, lines, modules, sites, calltree, lifetime, threads, tests, endpoints, gcs or rules"`
	Column string `json:"column,omitempty" jsonschema:"what to compare, such as exclusive_bytes or elapsed_exclusive"`
	Limit  int    `json:"limit,omitempty" jsonschema:"rows at most, the largest changes first; 0: 20; at most 500"`
	pages
	filters
}

type change struct {
	Delta      *int64 `json:"delta"`    // nil: it is not known, and can be none, or one of both values is not known
	Baseline   *int64 `json:"baseline"` // nil: the session does not have it
	Comparison *int64 `json:"comparison"`
	Name       string `json:"name"`
	OldName    string `json:"baseline_name,omitempty"` // of a function that was renamed
	Module     string `json:"module,omitempty"`
	File       string `json:"source_file,omitempty"`
	Line       int64  `json:"line,omitempty"`
	Moved      bool   `json:"moved,omitempty"` // within its function
	Stack      string `json:"stack,omitempty"`
	*estimated        // nil: both values were counted
}

// estimated says what is known of values that are estimates: of the baseline, and of the comparison.
type estimated struct {
	Estimated bool        `json:"estimated"`
	Beyond    bool        `json:"beyond_uncertainty"`
	Samples   [2]uint32   `json:"samples"`
	Interval  [2][2]int64 `json:"interval_95"`
}

func (s *Server) diff(_ context.Context, in diffRequest) (any, error) {
	limit, err := rowsOf(in.Limit)
	if err != nil {
		return nil, err
	}
	err = cmp.Or(need(toolDiff, "old", in.Old, "the name of the session that is the baseline"),
		need(toolDiff, "new", in.New, "the name of the session that is compared with it"))
	if err != nil {
		return nil, err
	}
	var sources [2]*analysis.Source
	for i, name := range []string{in.Old, in.New} {
		if sources[i], _, err = s.source(name, in.filters); err != nil {
			return nil, err
		}
	}
	c, err := report.Compare(sources[:1], sources[1:], cmp.Or(in.View, "functions"), in.Column)
	if err != nil {
		return nil, err
	}
	notes, err := report.RecordedDifferently(sources[0].Session(), sources[1].Session())
	if err != nil {
		return nil, err
	}
	rows, size := []json.RawMessage{}, 0
	for i := min(in.Offset, len(c.Changes)); i < len(c.Changes) && len(rows) < limit; i++ {
		row, err := json.Marshal(changed(c.At(i)))
		if err != nil {
			return nil, fmt.Errorf("writing the answer: %w", err)
		}
		if size += len(row); size > MostBytes/2 && len(rows) > 0 {
			break
		}
		rows = append(rows, row)
	}
	left := max(0, len(c.Changes)-in.Offset-len(rows))
	out := map[string]any{"view": c.View, "column": c.Column, "unit": c.Unit, "baseline_total": c.Old,
		"comparison_total": c.New, "notes": slices.Concat([]string{}, notes, c.Notes), "truncated": left > 0,
		"rows_left_out": left, "rows": rows}
	if left > 0 {
		out["next"], err = nextOf(toolDiff, in, in.Offset+len(rows))
	}
	return out, err
}

// changed is a row of a comparison.
func changed(x *analysis.Change) change {
	row := change{Delta: new(x.Delta()), Name: x.Name, OldName: x.OldName, Module: x.Module, File: x.File, Line: x.Line,
		Moved: x.Moved(), Stack: x.Stack()}
	if x.InOld {
		row.Baseline = &x.Old
	}
	if x.InNew {
		row.Comparison = &x.New
	}
	sides, ok := x.Estimated()
	if !ok {
		return row
	}
	row.estimated = &estimated{Estimated: true, Beyond: x.Beyond()}
	if !x.Beyond() {
		row.Delta = nil
	}
	for n, side := range sides {
		row.Samples[n], row.Interval[n] = side.Samples, [2]int64{side.Within.Low, side.Within.High}
		if side.Few {
			*[]**int64{&row.Baseline, &row.Comparison}[n], row.Delta = nil, nil
		}
	}
	return row
}

type queryRequest struct {
	which
	Query string `json:"query,omitempty" jsonschema:"one SELECT"`
	Limit int    `json:"limit,omitempty" jsonschema:"rows at most; 0: 20; at most 500"`
	pages
}

func (s *Server) query(ctx context.Context, in queryRequest) (any, error) {
	limit, err := rowsOf(in.Limit)
	if err != nil {
		return nil, err
	}
	if err := need(toolSQL, "query", in.Query, "one SELECT"); err != nil {
		return nil, err
	}
	one, err := s.find(in.Session)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, s.queryTime)
	defer cancel()
	one.Until(ctx)
	defer one.Until(context.Background())
	columns, rows, cut, err := one.QueryUpTo(in.Query,
		session.Bounds{Skip: in.Offset, Rows: limit, Bytes: MostBytes / 2})
	switch {
	case cut:
	case ctx.Err() != nil:
		return nil,
			fmt.Errorf("the query took longer than %s: group or restrict it; the views functions, types and lines "+
				"hold sums", s.queryTime)
	case err != nil:
		return nil, err
	}
	out := map[string]any{"columns": columns, "rows": rows, "truncated": cut}
	if cut && len(rows) > 0 {
		out["next"], err = nextOf(toolSQL, in, in.Offset+len(rows))
	}
	return out, err
}

type explainRequest struct {
	which
	By    string `json:"by,omitempty" jsonschema:"value to order by: bytes (default), allocations, alive_bytes, gen2_bytes, elapsed, calls and so on"`
	Limit int    `json:"limit,omitempty" jsonschema:"sites at most; 0: 5; at most 50"`
	pages
	filters
}

// site is a place with its stack.
type site struct {
	Type          string           `json:"type,omitempty"`
	Stack         []string         `json:"stack"` // the leaf first
	Cut           int              `json:"frames_left_out,omitempty"`
	Values        map[string]int64 `json:"values"`
	*siteEstimate                  // nil: all was counted
}

// siteEstimate says what is known of the objects of a site that were sampled. With fewer than ten samples there are no
// values of objects.
type siteEstimate struct {
	Estimated bool                `json:"estimated"`
	Samples   uint32              `json:"samples"`
	Interval  map[string][2]int64 `json:"interval_95,omitempty"`
}

// estimate adds what is known of an amount of which something is estimated.
func (s *site) estimate(a q.Amount) {
	if a.Sampled.Samples == 0 {
		return
	}
	s.siteEstimate = &siteEstimate{Estimated: true, Samples: a.Sampled.Samples}
	if a.Sampled.IsFew() {
		clear(s.Values)
		return
	}
	objects, bytes := a.AllocationsInterval(), a.BytesInterval()
	s.Interval = map[string][2]int64{"allocations": {objects.Low, objects.High}, "bytes": {bytes.Low, bytes.High}}
}

const (
	defaultSites = 5
	mostSites    = 50
)

// Tools whose answers have continuations.
const (
	toolView    = "view"
	toolDiff    = "diff"
	toolSQL     = "sql"
	toolExplain = "explain_site"
)

func (s *Server) explain(ctx context.Context, in explainRequest) (any, error) {
	if in.Limit < 0 || in.Limit > mostSites {
		return nil, fmt.Errorf("limit %d: at most %d sites, and 0 for %d", in.Limit, mostSites, defaultSites)
	}
	src, selected, err := s.source(in.Session, in.filters)
	if err != nil {
		return nil, err
	}
	out, err := storedSites(src, in)
	if out == nil && err == nil {
		out, err = summedSites(ctx, src, in)
	}
	if err != nil {
		return nil, err
	}
	out["selection"] = selected
	return out, nil
}

// explained adds to an answer how many sites come after those that it has.
func explained(in explainRequest, left int, out map[string]any) (map[string]any, error) {
	out["truncated"], out["sites_left_out"] = left > 0, left
	if left <= 0 {
		return out, nil
	}
	next, err := nextOf(toolExplain, in, in.Offset+cmp.Or(in.Limit, defaultSites))
	out["next"] = next
	return out, err
}

// stackOf prints a stack, and says how many frames of it are left out at its root.
func stackOf(samples *analysis.SampleSet, node int32) (stack []string, cut int) {
	stack = []string{}
	for n := node; n >= 0; n = samples.Parent(n) {
		if len(stack) == MostFrames {
			cut++
			continue
		}
		number := samples.Frame(n) // makes the frame, if nothing else has
		f := samples.Frames()[number]
		stack = append(stack, frameText(f.Function, f.Module.Name, f.File, f.Line))
	}
	return stack, cut
}
