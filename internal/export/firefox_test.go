package export_test

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"testing"
)

// firefoxProfile is what the processed format of version 56 says of a profile, strictly: every column and nothing else.
type firefoxProfile struct {
	Meta struct {
		Interval, StartTime float64
		Categories          []struct {
			Name, Color   string
			Subcategories []string
		}
		Product, ImportedFrom      string
		Stackwalk, Version         int
		PreprocessedProfileVersion int
		Symbolicated               bool
		ProcessType                int
		MarkerSchema               []struct {
			Name, TooltipLabel, TableLabel, ChartLabel string
			Display                                    []string
			Fields                                     []struct{ Key, Label, Format string }
		}
	}
	Libs, Pages []struct{}
	Shared      struct{ StringArray []string }
	Counters    []struct {
		Name, Category, Description, PID string
		MainThreadIndex                  int
		Samples                          struct {
			Time   []float64
			Count  []int64
			Length int
		}
	}
	Threads []firefoxThread
}

type firefoxThread struct {
	ProcessType, ProcessName, Name, PID string
	IsMainThread                        bool
	TID                                 int64
	PausedRanges                        []struct{}
	ProcessStartupTime, RegisterTime    float64
	ProcessShutdownTime, UnregisterTime *float64
	Samples                             struct {
		Stack      []*int
		Time       []float64
		Weight     []json.Number
		WeightType string
		Length     int
	}
	Markers struct {
		Data               []map[string]any
		Name               []int
		StartTime, EndTime []float64
		Phase, Category    []int
		Length             int
	}
	StackTable struct {
		Prefix []*int
		Frame  []int
		Length int
	}
	FrameTable struct {
		Address, InlineDepth, Category, Subcategory, Func []int
		NativeSymbol, InnerWindowID, Line, Column         []*int
		Length                                            int
	}
	FuncTable struct {
		IsJS, RelevantForJS                []bool
		Name, Resource                     []int
		FileName, LineNumber, ColumnNumber []*int
		Length                             int
	}
	ResourceTable struct {
		Lib, Name, Host, Type []int
		Length                int
	}
	NativeSymbols struct {
		LibIndex, Address, Name, FunctionSize []int
		Length                                int
	}
}

// readFirefox checks a profile as its reader needs it, and adds up the weights.
func readFirefox(t *testing.T, file []byte, value string) sums {
	var p firefoxProfile
	d := json.NewDecoder(bytes.NewReader(file))
	d.UseNumber()
	d.DisallowUnknownFields()
	if err := d.Decode(&p); err != nil {
		t.Fatal(err)
	}
	if p.Meta.PreprocessedProfileVersion != 56 || p.Meta.Version != 29 || !p.Meta.Symbolicated ||
		p.Meta.Interval <= 0 ||
		p.Shared.StringArray == nil || p.Threads == nil || p.Libs == nil || p.Counters == nil {
		t.Errorf("%+v", p.Meta)
	}
	grey := false
	for _, c := range p.Meta.Categories {
		grey = grey || c.Color == "grey"
	}
	if !grey {
		t.Error("no category is grey")
	}
	out := sums{}
	for _, thread := range p.Threads {
		p.check(t, &thread)
		last := thread.Samples.Length - 1 // has no stack, and ends what is shown
		if thread.Samples.Stack[last] != nil || thread.Samples.Weight[last] != "0" {
			t.Errorf("the last sample is %v", thread.Samples)
		}
		for _, w := range thread.Samples.Weight[:last] {
			out.add(value, weightOf(t, w, thread.Samples.WeightType))
		}
	}
	for _, c := range p.Counters {
		if len(c.Samples.Time) != c.Samples.Length || len(c.Samples.Count) != c.Samples.Length ||
			p.Threads[c.MainThreadIndex].PID != c.PID {
			t.Errorf("%+v", c)
		}
	}
	return out
}

// weightOf is a weight in the session's unit.
func weightOf(t *testing.T, w json.Number, kind string) int64 {
	text := w.String()
	if kind == "tracing-ms" { // of which all digits are there
		at := strings.IndexByte(text, '.')
		if at < 0 || len(text)-at-1 != 6 {
			t.Errorf("weight %s", text)
		}
		text = strings.Replace(text, ".", "", 1)
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n <= 0 {
		t.Errorf("weight %s: %v", text, err)
	}
	return n
}

// check tells whether the columns of tables have their length, and refer to what is there.
func (p *firefoxProfile) check(t *testing.T, x *firefoxThread) {
	length := func(what string, n int, columns ...int) {
		for i, c := range columns {
			if c != n {
				t.Errorf("%s: column %d has %d rows, not %d", what, i, c, n)
			}
		}
	}
	s, m, k, f, u := &x.Samples, &x.Markers, &x.StackTable, &x.FrameTable, &x.FuncTable
	length("samples", s.Length, len(s.Stack), len(s.Time), len(s.Weight))
	length("markers", m.Length, len(m.Data), len(m.Name), len(m.StartTime), len(m.EndTime), len(m.Phase),
		len(m.Category))
	length("stackTable", k.Length, len(k.Prefix), len(k.Frame))
	length("frameTable", f.Length, len(f.Address), len(f.InlineDepth), len(f.Category), len(f.Subcategory), len(f.Func),
		len(f.NativeSymbol), len(f.InnerWindowID), len(f.Line), len(f.Column))
	length("funcTable", u.Length, len(u.IsJS), len(u.RelevantForJS), len(u.Name), len(u.Resource), len(u.FileName),
		len(u.LineNumber), len(u.ColumnNumber))
	in := func(what string, n, rows int) {
		if n < 0 || n >= rows {
			t.Fatalf("%s %d of %d", what, n, rows)
		}
	}
	for _, n := range s.Stack[:s.Length-1] {
		in("stack", *n, k.Length)
	}
	for i, n := range k.Frame {
		in("frame", n, f.Length)
		if k.Prefix[i] != nil {
			in("prefix", *k.Prefix[i], i) // callers come first
		}
	}
	for i, n := range f.Func {
		in("function", n, u.Length)
		in("category", f.Category[i], len(p.Meta.Categories))
	}
	for i, n := range u.Name {
		in("name", n, len(p.Shared.StringArray))
		if u.FileName[i] != nil {
			in("file", *u.FileName[i], len(p.Shared.StringArray))
		}
	}
	for i, n := range m.Name {
		in("marker", n, len(p.Shared.StringArray))
		if m.Phase[i] != 1 || m.EndTime[i] < m.StartTime[i] || !p.hasSchema(m.Data[i]) ||
			m.Category[i] >= len(p.Meta.Categories) {
			t.Errorf("marker %d: %v", i, m)
		}
	}
	for i := 1; i < len(s.Time); i++ {
		if s.Time[i] < s.Time[i-1] {
			t.Error("samples are not in the order of time")
		}
	}
}

// hasSchema reports whether the profile says how to show a marker, with all that it has.
func (p *firefoxProfile) hasSchema(data map[string]any) bool {
	for _, s := range p.Meta.MarkerSchema {
		if s.Name != data["type"] {
			continue
		}
		fields := map[string]bool{"type": true}
		for _, f := range s.Fields {
			fields[f.Key] = true
		}
		for key := range data {
			if !fields[key] {
				return false
			}
		}
		return true
	}
	return false
}
