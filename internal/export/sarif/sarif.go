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
	"github.com/clrprof/clrprof/internal/analysis/rules"
	"github.com/clrprof/clrprof/internal/dotnet/sourceroot"
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
		Properties *bag   `json:"properties,omitempty"`
		ColumnKind string `json:"columnKind"`
		// Bases say where the root of the sources is: only that it is, or where it was when this was written.
		Bases   map[string]artifact `json:"originalUriBaseIds"`
		Results []result            `json:"results"`
	}
	bag struct {
		Disabled []string `json:"disabledRules"`
	}
	artifact struct {
		URI    string   `json:"uri,omitempty"`
		Base   string   `json:"uriBaseId,omitempty"`
		Detail *message `json:"description,omitempty"`
	}
	driver struct {
		Name           string `json:"name"`
		Version        string `json:"version"`
		InformationURI string `json:"informationUri"`
		Rules          []rule `json:"rules"`
	}
	message struct {
		Text string `json:"text"`
	}
	rule struct {
		ID            string  `json:"id"`
		Short         message `json:"shortDescription"`
		Full          message `json:"fullDescription"`
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
		// objects and bytes are what samples stand for
		Estimated bool `json:"estimated,omitempty"`
	}
	location struct {
		Physical *physical `json:"physicalLocation,omitempty"`
		Logical  []logical `json:"logicalLocations"`
	}
	physical struct {
		Artifact artifact `json:"artifactLocation"`
		Region   region   `json:"region"`
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

// Options say what is written, and how.
type Options struct {
	Selection analysis.Selection
	Disabled  []string // ids of rules
	Version   string   // of the program that writes
	Root      string   // of the sources; see sourceroot.Relative
}

// sourceBase is the name of the root of the sources, as code scanning services know it.
const sourceBase = "%SRCROOT%"

// Write writes what rules find in the part of s that is selected. Files below the root of the sources are relative to
// it. Errors are those of reading s, of the selection, and of w.
func Write(w io.Writer, s *session.Session, o Options) error {
	disabled := o.Disabled
	src, err := analysis.Open(s, o.Selection)
	if err != nil {
		return err
	}
	found, err := rules.Judge(src, disabled)
	if err != nil {
		return err
	}
	names, err := rules.ReadNames(src)
	if err != nil {
		return err
	}
	out := log{Schema: schema, Version: version, Runs: make([]run, 1)}
	r := &out.Runs[0]
	r.Tool.Driver = driver{Name: "clrprof", Version: o.Version, InformationURI: home}
	r.ColumnKind, r.Results = "utf16CodeUnits", []result{}
	r.Bases = map[string]artifact{sourceBase: {Detail: &message{"The root of the sources."}}}
	if len(disabled) > 0 {
		r.Properties = &bag{disabled}
	}
	index := map[string]int{}
	for i, known := range rules.All() {
		index[known.ID] = i
		described := rule{ID: known.ID, Short: message{known.Title},
			Full: message{known.Title + ". There is a finding from: " + known.Floor() + "."},
			Help: message{known.Advice}}
		described.Configuration.Level = levels[known.Severity]
		r.Tool.Driver.Rules = append(r.Tool.Driver.Rules, described)
	}
	for i := range found.Findings {
		r.Results = append(r.Results, resultOf(&found.Findings[i], names, index, o.Root))
	}
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(&out); err != nil {
		return fmt.Errorf("writing findings as SARIF: %w", err)
	}
	return nil
}

// resultOf is the result of a finding, with files relative to root.
func resultOf(f *rules.Finding, n *rules.SessionNames, index map[string]int, root string) result {
	place := n.Function(f.From.Function)
	out := result{RuleID: f.Rule.ID, RuleIndex: index[f.Rule.ID], Level: levels[f.Rule.Severity],
		Message:      message{fmt.Sprintf("%s: %s. %s", f.Rule.Title, f.Evidence(n), f.Rule.Advice)},
		Fingerprints: map[string]string{"place/v1": f.Rule.ID + " " + place},
		Properties: properties{int64(f.Amount.Allocations), int64(f.Amount.Bytes), int64(f.Calls), int64(f.Waited),
			f.Amount.Sampled.Samples > 0}}
	if f.From.Function == 0 {
		return out
	}
	at := location{Logical: []logical{{place, "function"}}}
	if line, file := n.Position(f.From); line != nil {
		at.Physical = &physical{Region: region{line.LineBegin, line.ColumnBegin, line.LineEnd, line.ColumnEnd}}
		at.Physical.Artifact = artifactOf(file, root)
		if function := n.FunctionRow(f.From.Function); function != nil && line.ID != 0 {
			out.Fingerprints["place/v1"] = fmt.Sprintf("%s %s:%+d", f.Rule.ID, place, line.LineBegin-function.Line)
		}
	}
	out.Locations = []location{at}
	return out
}

// artifactOf names a source file.
func artifactOf(file, root string) artifact {
	relative, below := sourceroot.Relative(file, root)
	if below {
		return artifact{URI: uri(relative), Base: sourceBase}
	}
	return artifact{URI: uri(file)}
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
