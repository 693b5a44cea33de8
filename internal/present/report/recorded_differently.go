package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/clrprof/clrprof/internal/dotnet/usercode"
	"github.com/clrprof/clrprof/internal/session"
)

// Bounds of what is said of sessions that were recorded differently: more nobody reads, and values are as long as those
// who recorded them liked.
const (
	mostNamedSessions = 3
	mostOptionText    = 200 // bytes
)

// RecordedDifferently says in sentences what else differs between sessions that are compared: programs, the data sets
// that were recorded, runtimes, flags, and what is missing; none: nothing. Errors are those of reading.
func RecordedDifferently(all ...*session.Session) ([]string, error) {
	list := make([]recorded, len(all))
	for i, s := range all {
		var err error
		if list[i], err = readRecorded(s); err != nil {
			return nil, fmt.Errorf("session %s: %w", s.Path(), err)
		}
	}
	if !slices.ContainsFunc(list, func(r recorded) bool { return r.path != list[0].path }) {
		return nil, nil // a session does not differ from itself
	}
	nameRecorded(list)
	out := slices.Concat(programNotes(list), dataSetNotes(list))
	for _, fact := range []struct {
		what string
		of   func(*recorded) string
	}{
		{"Runtimes", func(r *recorded) string { return r.runtimes }},
		{"Architectures", func(r *recorded) string { return r.info[session.KeyCPU] }},
		{"Versions of clrprof", func(r *recorded) string { return r.info[session.KeyVersion] }},
	} {
		if groups := groupRecorded(list, fact.of); len(groups) > 1 {
			out = append(out, fact.what+" differ: "+valuesIn(groups, "not known")+".")
		}
	}
	return slices.Concat(out, optionNotes(list), missingNotes(list)), nil
}

// recorded is what is compared of how a session was recorded.
type recorded struct {
	path, name string // name: as short as it tells sessions apart
	info       map[string]string
	options    map[string]json.RawMessage
	programs   []string // names of processes
	modules    []string // names of modules of user code
	runtimes   string
	losses     bool
	stage      session.Stage
}

func readRecorded(s *session.Session) (recorded, error) {
	r := recorded{path: s.Path()}
	var err error
	if r.stage, err = s.Stage(); err != nil {
		return r, err
	}
	if r.info, err = s.Info(); err != nil {
		return r, err
	}
	if json.Unmarshal([]byte(r.info[session.KeyOptions]), &r.options) != nil {
		r.options = nil // what a damaged session says is not said
	}
	processes, err := s.Processes()
	if err != nil {
		return r, err
	}
	var runtimes []string
	for i := range processes {
		r.programs = append(r.programs, processes[i].Name)
		if v := processes[i].RuntimeVersion; v != "" {
			runtimes = append(runtimes, ".NET "+v)
		}
	}
	modules, err := s.Modules()
	if err != nil {
		return r, err
	}
	for i := range modules {
		if usercode.Origin(modules[i].Origin).IsUser() {
			r.modules = append(r.modules, modules[i].Name)
		}
	}
	r.programs, r.modules = eachOnce(r.programs), eachOnce(r.modules)
	r.runtimes = strings.Join(eachOnce(runtimes), ", ")
	losses, err := s.Losses()
	r.losses = len(losses) > 0
	return r, err
}

func eachOnce(list []string) []string {
	slices.Sort(list)
	return slices.Compact(list)
}

// nameRecorded names sessions by their files alone, unless files of different folders are called the same.
func nameRecorded(list []recorded) {
	paths := map[string]string{}
	short := true
	for _, r := range list {
		base := filepath.Base(r.path)
		other, found := paths[base]
		short = short && (!found || other == r.path)
		paths[base] = r.path
	}
	for i := range list {
		list[i].name = pick(short, filepath.Base(list[i].path), list[i].path)
	}
}

// recordedGroup are the sessions that have one value.
type recordedGroup struct {
	value string
	names List
}

// groupRecorded groups sessions by a value, in the order of the first with each.
func groupRecorded(list []recorded, of func(*recorded) string) []recordedGroup {
	var out []recordedGroup
	for i := range list {
		value := of(&list[i])
		at := slices.IndexFunc(out, func(g recordedGroup) bool { return g.value == value })
		if at < 0 {
			at, out = len(out), append(out, recordedGroup{value: value})
		}
		if name := list[i].name; !slices.Contains(out[at].names, name) {
			out[at].names = append(out[at].names, name)
		}
	}
	return out
}

// valuesIn says which sessions have which value: ".NET 9.0.7 in old.clrprof, .NET 10.0.1 in new.clrprof".
func valuesIn(groups []recordedGroup, none string) string {
	var out []string
	for _, g := range groups {
		value := g.value
		if value == "" {
			value = none
		}
		out = append(out, value+" in "+g.sessions())
	}
	return strings.Join(out, ", ")
}

func (g recordedGroup) sessions() string {
	if n := len(g.names) - mostNamedSessions; n > 0 {
		return fmt.Sprintf("%s and %s", g.names[:mostNamedSessions], counted(n, "other session"))
	}
	return g.names.String()
}

// programNotes says that sessions are of programs that have neither a process of one name nor a module of user code in
// common. Where they are does not matter.
func programNotes(list []recorded) []string {
	same := func(r *recorded) bool {
		first := &list[0]
		return haveCommon(r.programs, first.programs) || haveCommon(r.modules, first.modules) ||
			len(r.programs) == 0 || len(first.programs) == 0
	}
	other := slices.IndexFunc(list, func(r recorded) bool { return !same(&r) })
	if other < 0 {
		return nil
	}
	return []string{fmt.Sprintf("These are different programs, with no module of user code in common: %s in %s, %s in %s.",
		List(list[0].programs), list[0].name, List(list[other].programs), list[other].name)}
}

func haveCommon(a, b []string) bool {
	return slices.ContainsFunc(a, func(s string) bool { return slices.Contains(b, s) })
}

// recordedSets are the data sets, and what recording one changes in the others.
var recordedSets = []struct{ mode, name, effect string }{
	{session.ModeTime, "times", "with times the program can allocate more"},
	{session.ModeMemory, "allocations", "times can differ because of that"},
	{"lifetime", "lifetimes", "with lifetimes no collection is in the background"},
}

// dataSetNotes says which data sets only some sessions have.
func dataSetNotes(list []recorded) []string {
	var out []string
	for _, set := range recordedSets {
		groups := groupRecorded(list, func(r *recorded) string {
			has := slices.Contains(strings.Split(r.info[session.KeyMode], ","), set.mode)
			return pick(has, "with", "without")
		})
		if len(groups) > 1 {
			out = append(out, fmt.Sprintf("%s was recorded %s %s, %s %s: %s.", groups[0].sessions(), groups[0].value,
				set.name, groups[1].sessions(), groups[1].value, set.effect))
		}
	}
	return out
}

// optionNotes says which flags, of those that change what is recorded, differ.
func optionNotes(list []recorded) []string {
	keys := map[string]bool{}
	for i := range list {
		for key := range list[i].options {
			keys[key] = true
		}
	}
	var out []string
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		groups := groupRecorded(list, func(r *recorded) string {
			text := optionText(r.options[key])
			return pick(key == "trace" && text != "", "given", text) // where it went does not matter
		})
		if len(groups) > 1 {
			out = append(out, fmt.Sprintf("%s differs: %s.", optionName(key), valuesIn(groups, "not given")))
		}
	}
	return out
}

// optionName is the flag of an option; attach is a command.
func optionName(key string) string {
	if key == "attach" {
		return "clrprof attach"
	}
	return "--" + strings.ReplaceAll(key, "_", "-")
}

// optionText is the value of an option as it is given; "": it is not.
func optionText(raw json.RawMessage) string {
	var list []string
	var one string
	var flag bool
	var text string
	switch {
	case len(raw) == 0:
		return ""
	case json.Unmarshal(raw, &flag) == nil:
		return pick(flag, "given", "off")
	case json.Unmarshal(raw, &one) == nil:
		text = one
	case json.Unmarshal(raw, &list) == nil:
		text = strings.Join(list, ",")
	default:
		var compact bytes.Buffer
		if json.Compact(&compact, raw) != nil {
			return ""
		}
		text = compact.String()
	}
	if len(text) > mostOptionText {
		text = strings.ToValidUTF8(text[:mostOptionText], "") + "…"
	}
	return text
}

// missingNotes says which sessions are not whole.
func missingNotes(list []recorded) []string {
	var out []string
	states := groupRecorded(list, func(r *recorded) string {
		switch state := session.State(r.info[session.KeyState]); {
		case r.stage == session.StageRecording:
			return "%s is still being recorded: it has the numbers so far."
		case r.stage == session.StageCompleting:
			return "%s is still being completed: names may be as in the metadata."
		case state == session.Recording:
			return "The recording of %s was cut off: it has the numbers up to then."
		case state == session.Recorded:
			return "%s was cut off before its symbols were resolved: it has names of the metadata, and no lines."
		}
		return ""
	})
	for _, g := range states {
		if g.value != "" && len(states) > 1 {
			out = append(out, fmt.Sprintf(g.value, g.sessions()))
		}
	}
	for _, g := range groupRecorded(list, func(r *recorded) string { return pick(r.losses, "yes", "") }) {
		if g.value != "" {
			out = append(out, fmt.Sprintf("Something is missing or inexact in %s: see report FILE losses.", g.sessions()))
		}
	}
	return out
}
