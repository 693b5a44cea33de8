package e2e

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/clrprof/clrprof/internal/dotnettest"
	"github.com/clrprof/clrprof/internal/rules"
)

// brokenRule is a row of the view rules.
type brokenRule struct {
	Rule     string `json:"rule"`
	Function string `json:"function"`
	Evidence string `json:"evidence"`
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

// lookalikes are the rules that three functions of the target break, and three others seem to break.
var lookalikes = []string{"string-concat", "exceptions", "boxing-keys", "expression-compile"}

// TestAlike: a rule finds each of three functions that break it, and nothing in those that look alike.
func TestAlike(t *testing.T) {
	t.Parallel()
	for _, runtime := range dotnettest.Need(t).NewestAndOldest() {
		t.Run(runtime.Name, func(t *testing.T) {
			t.Parallel()
			judged := func(what string) []brokenRule {
				recorded := mustRecord(t, runtime.Command(dotnettest.Target(t, "Rules", dotnettest.Options{Unsafe: true}), what))
				var found []brokenRule
				shown := newSandbox(t).run("report", recorded.session, "rules", "--json")
				if err := json.Unmarshal([]byte(shown.stdout), &found); err != nil {
					t.Fatal(err, shown.stderr)
				}
				return found
			}
			deserved := judged("deserved")
			for _, id := range lookalikes {
				for _, n := range []string{"1", "2", "3"} {
					name := "Deserved." + className(id) + n
					if !slices.ContainsFunc(deserved, func(b brokenRule) bool {
						return b.Rule == id && strings.HasPrefix(b.Function, name)
					}) {
						t.Errorf("%s: nothing found in %s", id, name)
					}
				}
			}
			for _, b := range judged("alike") {
				if slices.Contains(lookalikes, b.Rule) && strings.HasPrefix(b.Function, "Alike."+className(b.Rule)) ||
					b.Rule == "equality-allocates" || b.Rule == "linq" {
					t.Errorf("%s: found in %s: %s", b.Rule, b.Function, b.Evidence)
				}
			}
		})
	}
}
