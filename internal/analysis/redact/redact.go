// Package redact writes copies of sessions that can be given away: without arguments of command lines, names of users
// and hosts, folders, names of threads, and what a program's data is in.
//
// Each text is replaced by a word with a number, such as folder-3, the same text by the same word: views group as they
// did, and their numbers stay what they were. Numbers follow the order of the session, so the same session gives the
// same copy.
//
// Every column that holds texts has a treatment (treatments), so that nobody adds one without deciding. Names of the
// code stay: types, functions, modules, source files without their folders. A profile is of no use without them.
package redact

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"github.com/clrprof/clrprof/internal/session"
)

// Count is how many different texts of a kind were replaced.
type Count struct {
	Kind  string // in the plural: "folders"
	Texts int
}

// Result says what was replaced, and what could not be.
type Result struct {
	Counts []Count
	// Code is how many names of the code have the name of a user or of the host in them: they stay.
	Code int
	// Trace is the path of the call trace that was recorded with the session, "": there is none. It is a file of its
	// own, which is not redacted.
	Trace string
}

// Write writes a copy of a complete session to an empty file. version is that of the clrprof that does so.
func Write(s *session.Session, path, version string) (Result, error) {
	r := newRedactor()
	err := s.AtOnce(func() error {
		if err := s.EachPackedText(checkPacked); err != nil {
			return fmt.Errorf("session %s: %w", s.Path(), err)
		}
		if err := s.EachText(r.collect); err != nil {
			return err
		}
		r.ready()
		return s.WriteRewritten(path, map[string]string{session.KeyRedacted: version}, r.rewrite)
	})
	return Result{r.counts(), len(r.code), r.trace}, err
}

// packedWord is what texts of packed tables look like: they are words of ours, none of which is replaced.
var packedWord = regexp.MustCompile(`^[a-z][a-z0-9_, ]{0,60}$|^$`)

func checkPacked(table, text string) error {
	if !packedWord.MatchString(text) {
		return fmt.Errorf("%w: table %s has a text that no clrprof writes", session.ErrCorrupt, table)
	}
	return nil
}

// redactor replaces texts.
type redactor struct {
	kinds []*pseudonyms // in the order in which they are counted
	// of texts of these kinds
	arguments, users, hosts, folders, threads, marks, texts, statements, addresses, tags *pseudonyms

	ids   map[string]int    // of addresses, by text: in the place of what tells them apart
	paths map[string]string // what replaced a path
	used  map[string]bool   // the values of paths
	words *regexp.Regexp    // names of users and hosts; nil: there are none
	known []string          // folders, the longest first
	code  map[string]bool   // see Result
	trace string            // see Result
}

func newRedactor() *redactor {
	r := &redactor{ids: map[string]int{}, paths: map[string]string{}, used: map[string]bool{}, code: map[string]bool{}}
	kind := func(word, plural string) *pseudonyms {
		p := &pseudonyms{word: word, plural: plural, of: map[string]string{}}
		r.kinds = append(r.kinds, p)
		return p
	}
	r.arguments, r.users = kind("argument", "arguments"), kind("user", "names of users")
	r.hosts, r.folders = kind("host", "names of hosts"), kind("folder", "folders")
	r.threads, r.marks = kind("thread", "names of threads"), kind("mark", "names of marks")
	r.texts, r.statements = kind("text", "texts of marks"), kind("statement", "database commands")
	r.addresses, r.tags = kind("address", "addresses of requests"), kind("tags", "tags of counters")
	return r
}

// pseudonyms are the words that replace texts of one kind.
type pseudonyms struct {
	word, plural string
	of           map[string]string // by text
}

// get returns the word for a text: a new one if the text is new.
func (p *pseudonyms) get(text string) string {
	if text == "" {
		return ""
	}
	word, known := p.of[text]
	if !known {
		word = fmt.Sprintf("%s-%d", p.word, len(p.of)+1)
		p.of[text] = word
	}
	return word
}

func (r *redactor) counts() []Count {
	var out []Count
	for _, k := range r.kinds {
		if len(k.of) > 0 {
			out = append(out, Count{k.plural, len(k.of)})
		}
	}
	return out
}

// rewrite replaces the texts of a row. Facts that this clrprof does not know may hold anything and are left out.
func (r *redactor) rewrite(row *session.Texts) (keep bool) {
	if row.Table == "info" {
		value, known := r.fact(row.Of("key"), row.Of("value"))
		row.Values[1] = value // after the key
		return known
	}
	before := session.Texts{Table: row.Table, Columns: row.Columns, Values: append([]string(nil), row.Values...)}
	for i, column := range row.Columns {
		treat := treatments[row.Table+"."+column]
		if treat == nil {
			treat = free
		}
		row.Values[i] = treat(r, &before, before.Values[i])
	}
	return true
}

// fact returns what a fact about the session becomes, and whether it is one that is known.
func (r *redactor) fact(key, value string) (redacted string, known bool) {
	switch key {
	case session.KeyState, session.KeyVersion, session.KeyCreated, session.KeyMode, session.KeyArguments,
		session.KeySystem, session.KeyCPU, session.KeyDuration, session.KeyExitCode, session.KeySuspended,
		session.KeyObjects:
		return value, true
	case session.KeyCommand:
		return r.command(value), true
	case session.KeyDirectory:
		return r.folder(value), true
	case session.KeyHost:
		return r.hosts.get(value), true
	case session.KeyOptions:
		return r.options(value), true
	case session.KeyNote:
		return r.freeText(value), true
	}
	return "", false
}

// command replaces arguments in JSON, and keeps the name of the program. What are no arguments in a damaged session
// becomes none.
func (r *redactor) command(text string) string {
	var out []string
	if json.Unmarshal([]byte(text), &out) != nil {
		return "[]"
	}
	for i, a := range out {
		if i == 0 {
			out[i] = r.path(a)
		} else {
			out[i] = r.arguments.get(a)
		}
	}
	return inJSON(out)
}

// options replaces paths in the flags of the recording. Patterns are names of the code.
func (r *redactor) options(text string) string {
	var out map[string]any
	if json.Unmarshal([]byte(text), &out) != nil {
		return "{}"
	}
	r.trace, _ = out[traceOption].(string)
	for key, value := range out {
		out[key] = r.option(key, value)
	}
	return inJSON(out)
}

// option is what a value in the flags becomes.
func (r *redactor) option(key string, value any) any {
	switch v := value.(type) {
	case string:
		if key == traceOption {
			return r.path(v)
		}
		return r.scrub(v)
	case []any:
		for i := range v {
			v[i] = r.option(key, v[i])
		}
	case map[string]any:
		for name := range v {
			v[name] = r.option(name, v[name])
		}
	}
	return value
}

// traceOption is the flag whose value is the path of a call trace.
const traceOption = "trace"

// inJSON encodes texts, which always works, as sessions have them.
func inJSON(v any) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(v) != nil {
		return "null"
	}
	return strings.TrimSuffix(b.String(), "\n")
}
