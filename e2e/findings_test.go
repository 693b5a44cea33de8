package e2e

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
)

// planted are the problems of the target Problems: how it is recorded, and what the findings of the summary must say.
var planted = []struct {
	problem, flag string
	says          []string // in one sentence
}{
	{"leak", "--lifetime --snapshot end", []string{"are alive", "of type byte[]", "Sessions.Open Program.cs:",
		"the static field Sessions.All retains", "rule only-grows)"}},
	{"bag", "--lifetime --snapshot end", []string{"of the heap at its snapshot (3.", "is held by several together, through " +
		"ConcurrentBag<byte[]>.WorkStealingQueue: byte[] made by Outbox.Fill Program.cs:",
		"; one way to that begins at Outbox.Bag (static)."}},
	{"cache", "--lifetime", []string{"died in gen 2", "of type byte[]", "Cache.Fill Program.cs:", "rule mid-life)"}},
	{"text", "--lifetime",
		[]string{"of all bytes are of type string", "String.Concat, called in Report.Build Program.cs:"}},
	{"lock", "--time", []string{"Threads wait for a lock: Till.Pay Program.cs:", "rule lock-contention)"}},
	{"async", "--time", []string{"A thread waits for asynchronous work: Mail.Send Program.cs:",
		"rule sync-over-async)"}},
	{"regex", "--time", []string{"of CPU time", "Regex.IsMatch, called in Search.Match"}},
}

// TestFindings: the summary names what is wrong with a program, and the line of the user's that causes it.
func TestFindings(t *testing.T) {
	t.Parallel()
	for i, p := range planted {
		for _, runtime := range dotnettest.OneInTurn(dotnettest.Need(t).NewestAndOldest(), i) {
			t.Run(runtime.Name+"/"+p.problem, func(t *testing.T) {
				s := newSandbox(t)
				record := mustRecord
				if p.flag == "--time" {
					record = mustRecordTime
				}
				r := record(t, runtime.Command(dotnettest.Target(t, "Problems", dotnettest.Options{}), p.problem),
					strings.Fields(p.flag)...)
				var summary struct {
					Findings []string `json:"findings"`
				}
				shown := s.run("report", r.session, "--json")
				if err := json.Unmarshal([]byte(shown.stdout), &summary); err != nil {
					t.Fatal(err, shown.stderr)
				}
				for _, finding := range summary.Findings {
					if containsAll(finding, p.says) {
						return
					}
				}
				t.Errorf("no finding has all of %q:\n%s", p.says, strings.Join(summary.Findings, "\n"))
			})
		}
	}
}

func containsAll(text string, parts []string) bool {
	for _, part := range parts {
		if !strings.Contains(text, part) {
			return false
		}
	}
	return true
}

// TestHeldShares: the finding about what holds the heap and the view of the snapshot give a holder's objects of one type
// and one place the same share of the heap.
func TestHeldShares(t *testing.T) {
	t.Parallel()
	r := mustRecord(t, dotnettest.Need(t).Newest().Command(dotnettest.Target(t, "Problems", dotnettest.Options{}), "bag"),
		"--lifetime", "--snapshot", "end")
	part := regexp.MustCompile(`is held by several together, .* byte\[\] made by (Outbox\.Fill Program\.cs:\d+) ([\d.]+ %)`)
	said := part.FindStringSubmatch(run(t, "report", r.session).stdout)
	if said == nil {
		t.Fatal("no finding says what is held")
	}
	var rows []struct {
		From    string
		Percent float64 `json:"live_bytes_percent"`
	}
	shown := run(t, "report", r.session, "snapshot", "byte[]", "--json").stdout
	if err := json.Unmarshal([]byte(shown), &rows); err != nil {
		t.Fatal(err)
	}
	for _, row := range rows {
		if row.From == said[1] && fmt.Sprintf("%.2f %%", row.Percent) == said[2] {
			return
		}
	}
	t.Errorf("the finding says %s of %s, the view:\n%s", said[2], said[1], shown)
}

// TestProposesTimes: of a program that only computes, and ends before its counters are sampled, the summary has nothing
// to say, and proposes a recording with times.
func TestProposesTimes(t *testing.T) {
	t.Parallel()
	for _, runtime := range dotnettest.Need(t).NewestAndOldest() {
		t.Run(runtime.Name, func(t *testing.T) {
			t.Parallel()
			r := record(t, runtime.Command(dotnettest.Target(t, "Problems", dotnettest.Options{}), "again"))
			shown := run(t, "report", r.session).stdout
			if _, next, _ := strings.Cut(shown, "\nNext\n"); !strings.Contains(next, "  clrprof run --time -- ") {
				t.Errorf("no recording with times is proposed:\n%s", shown)
			}
		})
	}
}

// TestNothingRecorded: a summary of times without a call, or of objects of no function, says which flag is why.
func TestNothingRecorded(t *testing.T) {
	t.Parallel()
	in := dotnettest.Need(t)
	for _, tt := range []struct {
		name  string
		flags []string
		// two parts of a sentence
		begins, says string
	}{
		{"include", []string{"--time", "--include", "Nobody.*"}, "No call was recorded: ", "selected by --include 'Nobody.*'"},
		{"objects", []string{"--include", "Nobody.*"}, "No object counts for a function: ", "selected by --include 'Nobody.*'"},
		{"exclude", []string{"--time", "--instrument", "mine", "--exclude", "*"}, "No call was recorded: ", "selected by --exclude '*'"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := record(t, in.Newest().Command(dotnettest.Target(t, "Echo", dotnettest.Options{})), tt.flags...)
			if text := run(t, "report", r.session).stdout; !containsAll(text, []string{tt.begins, tt.says}) {
				t.Errorf("want %q:\n%s", tt.says, text)
			}
		})
	}
}
