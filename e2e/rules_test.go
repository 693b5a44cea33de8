package e2e

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/clrprof/clrprof/internal/analysis/rules"
	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
)

// brokenRule is a row of the view rules.
type brokenRule struct {
	Rule     string `json:"rule"`
	Function string `json:"function"`
	Evidence string `json:"evidence"`

	Instances int `json:"instances"`
	Bytes     int `json:"bytes"`
	Calls     int `json:"finding_calls"`
}

// className is the name of the functions that break a rule: of string-concat it is StringConcat.
func className(id string) string {
	var out string
	for _, word := range strings.Split(id, "-") {
		out += strings.ToUpper(word[:1]) + word[1:]
	}
	return out
}

// programRules are about the whole program, and have no place.
var programRules = []string{"finalizer-queue", "gc-rate", "gc-time", "induced-gcs", "many-gen2-deaths", "pinning"}

// timeRules need times.
var timeRules = []string{"byte-by-byte", "lock-contention", "small-reads", "small-writes", "sync-over-async"}

// pieceRules are about system calls.
var pieceRules = []string{"small-reads", "small-writes"}

// TestRules: each rule finds the function that breaks it and says nothing of the one that does the same work without.
func TestRules(t *testing.T) {
	t.Parallel()
	// What share of the time is collections depends on the machine: a run of its own goes on until it is large.
	most := slices.DeleteFunc(rules.IDs(), func(id string) bool { return id == "gc-time" })
	for _, runtime := range dotnettest.NeedRuntimes(t, 8) {
		for _, run := range []struct {
			what, flag string
			ids        []string // that are looked at
			want       func(id string) bool
		}{
			{"broken", "--lifetime", most, func(id string) bool { return !slices.Contains(timeRules, id) }},
			{"sound", "--lifetime", rules.IDs(), func(string) bool { return false }},
			{"time", "--time", rules.IDs(), func(id string) bool { return slices.Contains(timeRules, id) }},
			{"buffered", "--time", pieceRules, func(string) bool { return false }},
			{"pauses", "--lifetime", []string{"gc-time"}, func(string) bool { return true }},
		} {
			t.Run(runtime.Name+"/"+run.what, func(t *testing.T) {
				if run.flag != "--time" {
					t.Parallel()
				}
				r := mustRecord
				if run.flag == "--time" {
					r = mustRecordTime
				}
				recorded := r(t, runtime.Command(dotnettest.Target(t, "Rules", dotnettest.Options{Unsafe: true}), run.what),
					run.flag)
				var found []brokenRule
				shown := newSandbox(t).run("report", recorded.session, "rules", "--json")
				if err := json.Unmarshal([]byte(shown.stdout), &found); err != nil {
					t.Fatal(err, shown.stderr)
				}
				for _, id := range run.ids {
					if broken := slices.ContainsFunc(found, func(b brokenRule) bool {
						return b.breaks(id)
					}); broken != run.want(id) {
						t.Errorf("%s: broken: %v, want %v", id, broken, run.want(id))
					}
				}
				if run.what == "pauses" {
					var said, truth int
					_, of, _ := strings.Cut(brokenRules(found).evidence(t, "gc-time"), "is spent in pauses of ")
					scanned(t, of, "%d collections", &said)
					scanned(t, recorded.stdout, "gc-time %d", &truth)
					if said != truth {
						t.Errorf("gc-time: %d collections, the runtime says %d", said, truth)
					}
				}
				if run.what == "buffered" && strings.Contains(shown.stderr, "small-") {
					t.Errorf("not judged: %s", shown.stderr)
				}
				if reader := "Breaks.ByteByByteReader"; run.what == "time" &&
					!slices.ContainsFunc(found, func(b brokenRule) bool { return strings.HasPrefix(b.Function, reader) }) {
					t.Errorf("nothing found in %s", reader)
				}
				for _, b := range found {
					if strings.HasPrefix(b.Function, "Keeps.") || run.what == "buffered" && slices.Contains(pieceRules, b.Rule) {
						t.Errorf("%s: found in %s: %s", b.Rule, b.Function, b.Evidence)
					}
				}
			})
		}
	}
}

// breaks reports whether it is a finding of the rule where it should be.
func (b brokenRule) breaks(id string) bool {
	return b.Rule == id && (slices.Contains(programRules, id) || strings.HasPrefix(b.Function, "Breaks."+className(id)))
}

// lookalikes are the rules of which the target has three functions that break them, and three that only seem to; the others are
// about a whole program, or about the system calls of one: their tests are in internal/analysis/rules.
var lookalikes = slices.DeleteFunc(rules.IDs(), func(id string) bool {
	return slices.Contains(programRules, id) || slices.Contains(pieceRules, id)
})

// atLeast are the rules whose findings can have more objects than the target has mistakes, since one mistake can make
// several objects. Their bytes are compared with what the runtime counts.
var atLeast = []string{"boxing-keys", "collection-growth", "linq", "reflection", "string-format"}

// ownBytes are what functions of the target make that their rule is not about: collections, with their first arrays, and
// the room for the text.
var ownBytes = map[string]int{"CollectionGrowth1": 300 * 32, "CollectionGrowth2": 100 * (80 + 112),
	"CollectionGrowth3": 300 * 32, "StringFormat3": 4 * 9_000 * 2}

// inlinedOften are functions into which the compiler may inline what the rule looks for. What is left of boxes is of
// the rule boxing then, and what a query makes without an operator is of none.
var inlinedOften = []string{"BoxingKeys1", "BoxingKeys2", "BoxingKeys3", "Linq2", "Linq3"}

// checkBytes compares the findings of a rule in a function with all bytes that the runtime says the function made: they
// are all of them but its own.
func checkBytes(t *testing.T, found brokenRules, id, name string, all int) {
	t.Helper()
	const once = 1024 // what is made once, in statics and on the heap of frozen objects, which the runtime does not count
	have, want := found.bytes(id, "Deserved."+name), all-ownBytes[name]
	if id == "boxing-keys" {
		if both := have + found.bytes("boxing", "Deserved."+name); both < want-once || both > want+once {
			t.Errorf("%s: with those of boxing %d bytes in %s, the runtime says %d", id, both, name, want)
		}
	}
	if have > want+once || have < want-once && !slices.Contains(inlinedOften, name) {
		t.Errorf("%s: %d bytes in %s, the runtime says %d", id, have, name, want)
	}
}

// TestAlike: a rule finds each of three functions that break it, as often as they say that they did, and nothing in those
// that look alike.
func TestAlike(t *testing.T) {
	t.Parallel()
	for _, runtime := range dotnettest.Need(t).NewestAndOldest() {
		for _, run := range []struct {
			flag, deserved, alike, prefix string
			needs                         []string
		}{
			{"--lifetime", "deserved", "alike", "", without(lookalikes, timeRules)},
			{"--time", "waits", "idle", "Waits", slices.DeleteFunc(slices.Clone(lookalikes), func(id string) bool {
				return !slices.Contains(timeRules, id)
			})},
		} {
			t.Run(runtime.Name+"/"+run.flag, func(t *testing.T) {
				if run.flag != "--time" {
					t.Parallel()
				}
				found, truth := judged(t, runtime, run.flag, run.deserved)
				for _, id := range run.needs {
					for _, n := range []string{"1", "2", "3"} {
						name := className(id) + n
						want, have := truth[name], found.count(id, "Deserved"+run.prefix+"."+name)
						if want == 0 || have < want || have > want && !slices.Contains(atLeast, id) {
							t.Errorf("%s: found %d in %s, want %d", id, have, name, want)
						}
						if all, counted := truth[name+"-bytes"]; counted {
							checkBytes(t, found, id, name, all)
						}
					}
				}
				found, _ = judged(t, runtime, run.flag, run.alike)
				for _, b := range found {
					name := strings.TrimPrefix(b.Function, "Alike"+run.prefix+"."+className(b.Rule))
					if name != b.Function && strings.ContainsAny(name[:min(1, len(name))], "123") {
						t.Errorf("%s: found in %s: %s", b.Rule, b.Function, b.Evidence)
					}
				}
			})
		}
	}
}

// TestAlikeNames: framework code that has the names that a rule looks for, and does something else, breaks none.
func TestAlikeNames(t *testing.T) {
	t.Parallel()
	for _, runtime := range dotnettest.Need(t).NewestAndOldest() {
		t.Run(runtime.Name, func(t *testing.T) {
			t.Parallel()
			found, _ := judged(t, runtime, "--lifetime", "names")
			for _, b := range found {
				name, named := strings.CutPrefix(b.Function, "AlikeNames."+className(b.Rule))
				if named && strings.ContainsAny(name[:min(1, len(name))], "0123456789") {
					t.Errorf("%s: found in %s: %s", b.Rule, b.Function, b.Evidence)
				}
			}
		})
	}
}

// without returns those of a list that are not in another.
func without(all, others []string) []string {
	return slices.DeleteFunc(slices.Clone(all), func(s string) bool { return slices.Contains(others, s) })
}

// brokenRules are the rows of the view rules.
type brokenRules []brokenRule

// count is how often a rule was broken in the functions with a prefix.
func (all brokenRules) count(rule, prefix string) int {
	sum := 0
	for _, b := range all {
		if b.Rule == rule && strings.HasPrefix(b.Function, prefix) {
			sum += cmp.Or(b.Instances, b.Calls)
		}
	}
	return sum
}

// bytes are those of the findings of a rule in the functions with a prefix.
func (all brokenRules) bytes(rule, prefix string) int {
	sum := 0
	for _, b := range all {
		if b.Rule == rule && strings.HasPrefix(b.Function, prefix) {
			sum += b.Bytes
		}
	}
	return sum
}

// judged is what rules find in the target Rules with an argument, and what it printed: how often each of its functions did
// what a rule is about.
func judged(t *testing.T, runtime dotnettest.Runtime, flag, what string) (found brokenRules, truth map[string]int) {
	t.Helper()
	record := mustRecord
	if flag == "--time" {
		record = mustRecordTime
	}
	r := record(t, runtime.Command(dotnettest.Target(t, "Rules", dotnettest.Options{Unsafe: true}), what), flag)
	shown := newSandbox(t).run("report", r.session, "rules", "--json", "--top", "500")
	if err := json.Unmarshal([]byte(shown.stdout), &found); err != nil {
		t.Fatal(err, shown.stderr)
	}
	truth = map[string]int{}
	for _, line := range strings.Split(r.stdout, "\n") {
		var name string
		var n int
		if fields, err := fmt.Sscanf(line, "%s %d", &name, &n); fields == 2 && err == nil {
			truth[name] = n
		}
	}
	return found, truth
}
