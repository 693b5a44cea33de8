package cli

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clrprof/clrprof/internal/present/report"
	"github.com/clrprof/clrprof/internal/testkit/sessiontest"
)

// recordedFormats are how each view is written: as a person sees it on a narrow and on a wide terminal, and the first
// rows as a program gets them.
var recordedFormats = []string{"--width 80", "--width 160", "--json --top 3", "--csv --top 3"}

// recordedArguments are those of the views that need one.
var recordedArguments = map[string]string{"callers": "Orders.Load", "function": "Till.Serve", "diff-gcs": "1 3"}

// recordedVariants are what else of a view is shown: arguments and flags of report.
var recordedVariants = map[string][]string{
	"summary":   {"--all-code"},
	"functions": {"--by module", "--my-code", "--focus *.Orders.Price", "--mark load..serve"},
	"calltree": {"--hot", "--bottom-up --min-share 1", "--async physical --root Till.Serve", "--by module",
		"--my-code --root Orders.Price", "--my-code --my-code-callees 0", "--my-code --my-code-callees 2 --my-code-callers 2",
		"--root Orders.Load --fold-recursion"},
	"callers":  {"'String.Concat(string, string)'", "Shipping.Ship", "Shipping.Ship --async logical"},
	"function": {"Shipping.ShipAll --async logical"},
	"lines":    {"--my-code"},
	"types":    {"string", "--by module", "--type /Shop/"},
	"lifetime": {"--by site", "--by function", "--by line", "--gc 1..3"},
	"snapshot": {"Shop.Order"},
	"threads":  {"--by name", "--thread /customer/"},
	"rules":    {"--md"},
}

// TestRecorded: every view of recorded sessions, in every format and at two widths, is as in
// testdata/recorded/SESSION/VIEW.txt.
func TestRecorded(t *testing.T) {
	views := []string{"summary"}
	for _, v := range report.Views() {
		views = append(views, v.Name)
	}
	for _, name := range sessiontest.Recorded {
		t.Run(name, func(t *testing.T) {
			folder := enterRecorded(t, name)
			for _, view := range views {
				run := "report " + name + ".clrprof " + view
				var commands []string
				for _, format := range recordedFormats {
					if view == "calltree" && !strings.HasPrefix(format, "--width") {
						format += " --depth 4"
					}
					commands = append(commands, joinWords(run, recordedArguments[view], format))
				}
				for _, variant := range recordedVariants[view] {
					commands = append(commands, joinWords(run, variant, "--width 120"))
				}
				compareTranscript(t, filepath.Join(folder, name, view+".txt"), commands)
			}
		})
	}
}

// TestRecordedDiff: the same program on two runtimes, compared by everything that there is to compare by.
func TestRecordedDiff(t *testing.T) {
	for _, suffix := range []string{"", "-time"} {
		t.Run("diff"+suffix, func(t *testing.T) {
			older, newer := "netcore31"+suffix, "net10"+suffix
			folder := enterRecorded(t, older, newer)
			for _, view := range []string{"functions", "types", "lines", "modules", "sites", "calltree", "lifetime", "threads"} {
				var commands []string
				for _, format := range recordedFormats {
					commands = append(commands, joinWords("diff", older+".clrprof", newer+".clrprof", view, format))
				}
				compareTranscript(t, filepath.Join(folder, "diff"+suffix, view+".txt"), commands)
			}
		})
	}
}

// TestRecordedExports: every export that is text, of what the modules of the program itself did.
func TestRecordedExports(t *testing.T) {
	for _, name := range sessiontest.Recorded {
		t.Run(name, func(t *testing.T) {
			folder := enterRecorded(t, name)
			for _, f := range exportFormats {
				run := "export " + name + ".clrprof --format " + f.name + " -o - "
				switch f.name {
				case "pprof", "otlp", "sqlite", "parquet": // not text: their sums are compared elsewhere
					continue
				case "html": // the page, and the answers of views that are compared above
					continue
				case "json": // all views at once: compared above
					continue
				case "csv", "xml":
					run += "--function Shop.Orders.Price --summary "
					var commands []string
					for _, kind := range []string{"CallerCallee", "CallTree", "Function", "Type"} {
						commands = append(commands, run+kind)
					}
					compareTranscript(t, filepath.Join(folder, name, "export-"+f.name+".txt"), commands)
				default:
					compareTranscript(t, filepath.Join(folder, name, "export-"+f.name+".txt"),
						[]string{run + "--function Shop.Orders.*"})
				}
			}
		})
	}
}

// TestRecordedCounters: a session of a clrprof that had at most four CPU counters has the values that this one gave,
// although there is room for two more in each row today.
func TestRecordedCounters(t *testing.T) {
	const name = "counters4"
	folder := enterRecorded(t, name)
	columns := ""
	for _, counter := range []string{"page_faults", "context_switches", "task_clock", "voluntary_switches"} {
		columns += "," + counter + "_inclusive," + counter + "_exclusive"
	}
	var commands []string
	for _, view := range []string{"functions", "calltree", "modules", "callers Orders.Price", "threads", "processes",
		"functions --thread /customer/", "functions --my-code"} {
		commands = append(commands, joinWords("report", name+".clrprof", view, "--csv --columns name"+columns))
	}
	commands = append(commands, joinWords("report", name+".clrprof lines --csv --columns line_name"+columns))
	compareTranscript(t, filepath.Join(folder, name+".txt"), commands)
}

// enterRecorded makes a new directory with these sessions the current one, and returns the folder of what is expected.
func enterRecorded(t *testing.T, names ...string) (folder string) {
	t.Helper()
	if testing.Short() {
		t.Skip("there is nothing concurrent in it")
	}
	here, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	for _, name := range names {
		if err := sessiontest.WriteRecorded(filepath.Join(here, "..", ".."), name, name+".clrprof"); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(here, "testdata", "recorded")
}

// joinWords puts those together that are there.
func joinWords(words ...string) string {
	return strings.Join(slices.DeleteFunc(words, func(w string) bool { return w == "" }), " ")
}

// compareTranscript runs commands and compares what they print with a file, in which it stands below each command.
func compareTranscript(t *testing.T, path string, commands []string) {
	t.Helper()
	var got strings.Builder
	for _, command := range commands {
		got.WriteString("$ clrprof " + command + "\n" + runLine(t, splitWords(t, command)) + "\n")
	}
	if *updateDocs {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Errorf("%s (-want +got; -update writes it):\n%s", path, diff)
	}
}
