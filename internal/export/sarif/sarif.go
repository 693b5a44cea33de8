// Package sarif writes the findings of rules in the Static Analysis Results Interchange Format, SARIF 2.1.0, which
// code-scanning services and editors show at the lines.
//
// Findings about the whole program have no location. A result's fingerprint is made of its rule and its place by name,
// so that it stays when code above changes. The output depends on nothing but the session and what is selected of it.
package sarif

import (
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"strings"

	"github.com/clrprof/clrprof/internal/analysis"
	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/rules"
	"github.com/clrprof/clrprof/internal/session"
)

const (
	version = "2.1.0"
	schema  = "https://json.schemastore.org/sarif-2.1.0.json"
	home    = "https://github.com/clrprof/clrprof"
)

// The parts of the format that are written, in its own words.
type (
	log struct {
		Schema  string `json:"$schema"`
		Version string `json:"version"`
		Runs    []run  `json:"runs"`
	}
	run struct {
		Tool struct {
			Driver driver `json:"driver"`
		} `json:"tool"`
		Properties *bag     `json:"properties,omitempty"`
		ColumnKind string   `json:"columnKind"`
		Results    []result `json:"results"`
	}
	bag struct {
		Disabled []string `json:"disabledRules"`
	}
	driver struct {
		Name           string `json:"name"`
		InformationURI string `json:"informationUri"`
		Rules          []rule `json:"rules"`
	}
	message struct {
		Text string `json:"text"`
	}
	rule struct {
		ID            string  `json:"id"`
		Short         message `json:"shortDescription"`
		Help          message `json:"help"`
		Configuration struct {
			Level string `json:"level"`
		} `json:"defaultConfiguration"`
	}
	result struct {
		RuleID       string            `json:"ruleId"`
		RuleIndex    int               `json:"ruleIndex"`
		Level        string            `json:"level"`
		Message      message           `json:"message"`
		Locations    []location        `json:"locations,omitempty"`
		Fingerprints map[string]string `json:"partialFingerprints"`
		Properties   properties        `json:"properties"`
	}
	properties struct {
		Objects int64 `json:"objects"`
		Bytes   int64 `json:"bytes"`
		Calls   int64 `json:"calls"`
		Waited  int64 `json:"waitedNanoseconds"`
	}
	location struct {
		Physical *physical `json:"physicalLocation,omitempty"`
		Logical  []logical `json:"logicalLocations"`
	}
	physical struct {
		Artifact struct {
			URI string `json:"uri"`
		} `json:"artifactLocation"`
		Region region `json:"region"`
	}
	region struct {
		StartLine   int64 `json:"startLine"`
		StartColumn int64 `json:"startColumn,omitempty"`
		EndLine     int64 `json:"endLine,omitempty"`
		EndColumn   int64 `json:"endColumn,omitempty"`
	}
	logical struct {
		Name string `json:"fullyQualifiedName"`
		Kind string `json:"kind"`
	}
)

// levels are the words of the format for severities.
var levels = map[rules.Severity]string{rules.Warning: "warning", rules.Information: "note"}

// names reads what findings refer to.
type names struct {
	types     map[session.TypeID]*session.Type
	functions map[session.FunctionID]*session.Function
	lines     map[session.LineID]*session.Line
	files     map[session.FileID]string
	holders   *analysis.Holders
}

// Type returns the name of a type.
func (n *names) Type(id session.TypeID) string {
	return session.TypeDisplayName(id, func(id session.TypeID) *session.Type {
		if t := n.types[id]; t != nil {
			return t
		}
		return new(session.Type)
	})
}

// Function returns the name of a function.
func (n *names) Function(id session.FunctionID) string {
	if f := n.functions[id]; f != nil {
		return f.DisplayName()
	}
	return ""
}

// Place returns the name of a place: its function.
func (n *names) Place(p analysis.Place) string { return n.Function(p.Function) }

// Holder returns the name of the static field that retains most objects of a type from a place, and how many bytes.
func (n *names) Holder(from analysis.Place, id session.TypeID) (string, q.Bytes) {
	f, bytes := n.holders.Holder(from, id)
	if f == nil {
		return "", 0
	}
	return n.Type(f.Type) + "." + f.Member(), bytes
}

func read(src *analysis.Source) (*names, error) {
	s := src.Session()
	types, err := s.Types()
	if err != nil {
		return nil, err
	}
	functions, err := s.Functions()
	if err != nil {
		return nil, err
	}
	lines, err := s.Lines()
	if err != nil {
		return nil, err
	}
	files, err := s.SourceFiles()
	if err != nil {
		return nil, err
	}
	holders, err := src.Holders()
	n := &names{map[session.TypeID]*session.Type{}, map[session.FunctionID]*session.Function{},
		map[session.LineID]*session.Line{}, map[session.FileID]string{}, holders}
	for i := range types {
		n.types[types[i].ID] = &types[i]
	}
	for i := range functions {
		n.functions[functions[i].ID] = &functions[i]
	}
	for i := range lines {
		n.lines[lines[i].ID] = &lines[i]
	}
	for _, f := range files {
		n.files[f.ID] = f.Path
	}
	return n, err
}

// Write writes what rules, but those that are disabled by id, find in the part of s that is selected. Errors are those
// of reading s, of the selection, and of w.
func Write(w io.Writer, s *session.Session, sel analysis.Selection, disabled []string) error {
	src, err := analysis.Open(s, sel)
	if err != nil {
		return err
	}
	found, err := rules.Judge(src, disabled)
	if err != nil {
		return err
	}
	n, err := read(src)
	if err != nil {
		return err
	}
	out := log{Schema: schema, Version: version, Runs: make([]run, 1)}
	r := &out.Runs[0]
	r.Tool.Driver, r.ColumnKind, r.Results = driver{Name: "clrprof", InformationURI: home}, "utf16CodeUnits", []result{}
	if len(disabled) > 0 {
		r.Properties = &bag{disabled}
	}
	index := map[string]int{}
	for i, known := range rules.All() {
		index[known.ID] = i
		described := rule{ID: known.ID, Short: message{known.Title}, Help: message{known.Advice}}
		described.Configuration.Level = levels[known.Severity]
		r.Tool.Driver.Rules = append(r.Tool.Driver.Rules, described)
	}
	for i := range found.Findings {
		r.Results = append(r.Results, n.result(&found.Findings[i], index))
	}
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(&out); err != nil {
		return fmt.Errorf("writing findings as SARIF: %w", err)
	}
	return nil
}

func (n *names) result(f *rules.Finding, index map[string]int) result {
	place := n.Function(f.From.Function)
	out := result{RuleID: f.Rule.ID, RuleIndex: index[f.Rule.ID], Level: levels[f.Rule.Severity],
		Message:      message{fmt.Sprintf("%s: %s. %s", f.Rule.Title, f.Evidence(n), f.Rule.Advice)},
		Fingerprints: map[string]string{"place/v1": f.Rule.ID + " " + place},
		Properties:   properties{int64(f.Amount.Allocations), int64(f.Amount.Bytes), int64(f.Calls), int64(f.Waited)}}
	if f.From.Function == 0 {
		return out
	}
	at := location{Logical: []logical{{place, "function"}}}
	function, line := n.functions[f.From.Function], n.lines[f.From.Line]
	switch {
	case line != nil:
		at.Physical = &physical{Region: region{line.LineBegin, line.ColumnBegin, line.LineEnd, line.ColumnEnd}}
		at.Physical.Artifact.URI = uri(n.files[line.File])
		if function != nil {
			out.Fingerprints["place/v1"] = fmt.Sprintf("%s %s:%+d", f.Rule.ID, place, line.LineBegin-function.Line)
		}
	case function != nil && function.Line > 0:
		at.Physical = &physical{Region: region{StartLine: function.Line}}
		at.Physical.Artifact.URI = uri(n.files[function.File])
	}
	out.Locations = []location{at}
	return out
}

// uri makes a URI of a path as compilers write it into symbols.
func uri(path string) string {
	path = strings.ReplaceAll(path, `\`, "/")
	if strings.HasPrefix(path, "/") {
		return (&url.URL{Scheme: "file", Path: path}).String()
	}
	if len(path) > 1 && path[1] == ':' {
		return (&url.URL{Scheme: "file", Path: "/" + path}).String()
	}
	return (&url.URL{Path: path}).String()
}
