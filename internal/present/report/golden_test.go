package report_test

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clrprof/clrprof/internal/analysis"
	"github.com/clrprof/clrprof/internal/present/report"
	"github.com/clrprof/clrprof/internal/present/report/encode"
	"github.com/clrprof/clrprof/internal/present/report/sheet"
	"github.com/clrprof/clrprof/internal/present/report/text"
	"github.com/clrprof/clrprof/internal/present/report/words"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/testkit/sessiontest"
)

var updateGolden = flag.Bool("update", false, "write the golden files")

func writeTable(w io.Writer, t *report.Table, f encode.Format, o text.Options) error {
	if f == "" {
		return text.WriteTable(w, t, o)
	}
	return encode.WriteTable(w, t, f)
}

func writeSummary(w io.Writer, s *report.Summary, f encode.Format, o text.Options) error {
	if f == "" {
		return text.WriteSummary(w, s, o)
	}
	return encode.WriteSummary(w, s, f)
}

func init() {
	w := &report.Writers
	w.JSON = func(to io.Writer, t *report.Table) error { return encode.WriteTable(to, t, encode.JSON) }
	w.Text = func(to io.Writer, t *report.Table) error { return text.WriteTable(to, t, text.Options{}) }
	w.Narrow = func(to io.Writer, t *report.Table) error {
		return text.WriteTable(to, t, text.Options{Width: 70, Color: true})
	}
	w.SummaryJSON = func(to io.Writer, s *report.Summary) error { return encode.WriteSummary(to, s, encode.JSON) }
	w.SummaryCSV = func(to io.Writer, s *report.Summary) error { return encode.WriteSummary(to, s, encode.CSV) }
	w.SummaryText = func(to io.Writer, s *report.Summary) error { return text.WriteSummary(to, s, text.Options{}) }
	w.Records = func(to io.Writer, r *report.Records) error { return encode.WriteRecords(to, r, encode.JSON) }
	w.Words = words.Notes
	w.Sheet = func(s *report.Summary) any { return sheet.OfSummary(s) }
}

// render prints one view as a golden test names it: the view, its argument, then options.
func render(t *testing.T, s *session.Session, flags string) string {
	t.Helper()
	name, o, format, filter, layout, limit := parseFlags(t, flags)
	src, err := analysis.Open(s, filter)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if name == "summary" {
		summary, err := report.Summarize(src, report.Options{Top: 5, Raw: o.Raw, AllCode: o.AllCode})
		if err != nil {
			t.Fatal(err)
		}
		if err := writeSummary(&out, summary, format, layout); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	view, err := report.FindView(name)
	if err != nil {
		t.Fatal(err)
	}
	if o.Top == 0 && format == "" && !layout.Markdown {
		limits := view.Text
		limits.Root, limits.Hot, limits.Fold, limits.BottomUp, limits.MinShare, limits.Sort, limits.Columns, limits.Argument, limits.By, limits.Range, limits.Raw = o.Root, o.Hot, o.Fold, o.BottomUp, o.MinShare, o.Sort, o.Columns, o.Argument, o.By, o.Range, o.Raw
		if o.Depth != 0 {
			limits.Depth = o.Depth
		}
		o = limits
	}
	table, err := view.Build(src, o)
	if err != nil {
		t.Fatal(err)
	}
	if limit > 0 {
		table.Limit(limit)
	}
	if err := writeTable(&out, table, format, layout); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// parseFlags reads "view argument=X top=3 json width=80 process=1".
func parseFlags(t *testing.T, flags string) (name string, o report.Options, format encode.Format,
	filter analysis.Selection, layout text.Options, limit int) {
	fields := strings.Fields(flags)
	for _, word := range fields[1:] {
		key, value, _ := strings.Cut(word, "=")
		n := 0
		for _, r := range value {
			n = n*10 + int(r-'0')
		}
		switch key {
		case "argument":
			o.Argument = strings.ReplaceAll(value, "+", " ")
		case "by":
			o.By = analysis.By(value)
		case "gcs":
			filter.GCs = gcSpan(t, value)
		case "top":
			o.Top = n
		case "depth":
			o.Depth = n
		case "sort":
			o.Sort = value
		case "columns":
			o.Columns = strings.Split(value, ",")
		case "json":
			format = encode.JSON
		case "csv":
			format = encode.CSV
		case "md":
			layout.Markdown = true
		case "limit":
			limit = n
		case "tsv":
			format = encode.TSV
		case "range":
			o.Range = value
		case "all-code":
			o.AllCode = true
		case "root":
			o.Root = value
		case "hot":
			o.Hot = true
		case "fold-recursion":
			o.Fold = true
		case "bottom-up":
			o.BottomUp = true
		case "min-share":
			o.MinShare = float64(n)
		case "raw":
			o.Raw = true
		case "unit":
			layout.Unit = text.Unit(value)
		case "width":
			layout.Width = n
		case "lines":
			layout.Lines = n
		case "color":
			layout.Color = true
		case "process":
			filter.Processes = []session.ProcessID{session.ProcessID(n)}
		case "thread":
			filter.Threads = []session.ThreadID{session.ThreadID(n)}
		case "from":
			filter.From = 1e9
		case "late":
			filter.From = 5e8
		default:
			t.Fatalf("unknown flag %q", word)
		}
	}
	return fields[0], o, format, filter, layout, limit
}

// gcSpan reads A..B, A.. or ..B.
func gcSpan(t *testing.T, span string) analysis.GCSpan {
	a, b, _ := strings.Cut(span, "..")
	var out analysis.GCSpan
	for _, end := range []struct {
		text string
		to   *int64
	}{{a, &out.After}, {b, &out.To}} {
		if _, err := fmt.Sscan(end.text, end.to); err != nil && end.text != "" {
			t.Fatal(err)
		}
	}
	return out
}

// goldens are the views of each sample that are compared with testdata/SAMPLE/FLAGS.txt.
var goldens = map[string][]string{
	"shop": {
		"summary", "summary all-code", "summary width=80", "summary json", "summary csv", "summary width=100 color",
		"summary md",
		"functions md top=3", "calltree md", "lines md limit=2",
		"functions json limit=2", "functions csv limit=2",
		"functions", "functions width=80", "functions width=60", "functions json", "functions csv",
		"functions top=3 sort=exclusive_allocations width=100",
		"functions by=module width=100", "functions by=module depth=1 md", "functions by=namespace json limit=3",
		"functions columns=name,line,exclusive_bytes csv", "functions thread=2",
		"calltree", "calltree width=80", "calltree json", "calltree depth=3", "calltree top=1", "calltree hot",
		"calltree root=Tree.Insert", "calltree fold-recursion width=80", "calltree bottom-up width=100",
		"calltree bottom-up json", "calltree min-share=5", "calltree min-share=5 root=Tree.Insert bottom-up json",
		"calltree root=Orders.Load hot json", "calltree by=module", "calltree by=namespace width=90",
		"calltree by=module json", "calltree by=module bottom-up", "calltree by=namespace root=Orders.Load hot csv",
		"callers argument=Shop.Tree.Insert", "callers argument=Insert json",
		"callers argument=List<Shop.Order>.Add csv",
		"function argument=Orders.Load", "function argument=Orders.Load width=80", "function argument=Insert json",
		"function argument=Insert md", "function argument=string.Format",
		"modules", "modules depth=4", "modules json", "lines", "lines width=80", "lines json", "ips", "ips tsv",
		"types", "types width=80", "types json depth=1", "types argument=string depth=40",
		"types argument=Shop.Order depth=40 width=100", "types depth=40 csv",
		"processes", "processes json", "threads", "threads json", "header",
	},
	"several": {
		"summary", "summary json", "functions", "functions process=2", "functions json process=1", "calltree", "types",
		"callers argument=Run", "processes", "threads", "header",
		"calltree from=1", "lines", "modules width=100", "marks", "marks json process=2", "losses", "losses width=80",
		"losses json", "losses csv process=2", "losses md", "losses columns=reason,events,unit,advice width=100",
	},
	"odd": {"functions md", "summary width=100", "functions width=80", "functions json", "functions csv",
		"functions tsv", "calltree width=60", "types width=80", "types json", "threads", "lines width=100",
		"modules depth=4"},
	"deep": {"summary width=100", "functions", "callers argument=Even", "calltree width=80 depth=45",
		"types width=100"},
	"aging": {
		"summary width=100", "summary width=80 lines=45", "summary all-code width=100", "summary json", "summary csv",
		"lifetime",
		"lifetime width=80", "lifetime json", "lifetime csv by=site", "lifetime by=site width=120",
		"lifetime by=function", "lifetime by=line", "lifetime by=module", "lifetime by=namespace json",
		"survivors by=module", "ages by=namespace", "diff-gcs argument=1+4 by=module csv", "lifetime process=2",
		"lifetime columns=name,alive_instances,alive_gen1_instances,alive_gen2_bytes,frozen_bytes csv",
		"lifetime process=1 from=1", "lifetime gcs=1..3", "lifetime gcs=3.. by=site json",
		"lifetime gcs=..1 by=line process=2", "gcs", "gcs width=80", "gcs json",
		"gcs process=1 columns=number,gen2_dead_bytes,poh_survived_objects,gen1_heap_before_objects,gen1_heap_after_objects csv",
		"ages process=1", "ages json", "ages by=site csv", "survivors", "survivors by=site json",
		"survivors argument=4 by=function", "diff-gcs argument=0+2", "diff-gcs argument=1+4 by=site json",
		"diff-gcs argument=3+4 by=line",
		"functions columns=name,inclusive_gen2_bytes,exclusive_gen0_instances,inclusive_alive_bytes " +
			"sort=inclusive_gen2_bytes", "calltree columns=name,inclusive_gen0_bytes,inclusive_bytes",
		"types columns=name,gen2_instances,alive_bytes,bytes",
		"lines columns=place,gen1_bytes,alive_instances sort=gen1_bytes", "processes",
	},
	"heap": {"snapshot", "snapshot top=2 width=80", "snapshot json", "snapshot sort=live_bytes csv",
		"snapshot argument=Shop.Order",
		"snapshot argument=Shop.Order json", "snapshot argument=Tree.Node", "snapshot argument=string",
		"snapshot thread=1 top=1 width=100"},
	"timed": {
		"events",
		"summary", "summary all-code", "summary json", "summary csv", "summary raw", "functions", "functions width=80",
		"functions json", "functions unit=us", "functions raw unit=ticks", "functions late json",
		"functions range=Clock.dll",
		"functions columns=name,waited_inclusive,wait_intervals_exclusive,max_elapsed_exclusive " +
			"sort=waited_inclusive csv",
		"calltree", "calltree json", "calltree root=Work", "calltree hot", "callers argument=Work",
		"callers argument=Work json", "modules depth=4", "lines", "lines json", "ips", "ips csv", "threads",
		"threads json", "processes", "processes json",
		"header", "functions thread=2",
	},
	"kitchen": {
		"summary width=100", "summary width=80 lines=45", "summary json", "summary csv", "functions", "functions width=100 top=2", "functions json",
		"functions sort=exclusive_bytes top=2", "functions sort=application_exclusive top=2",
		"functions range=Kitchen json", "functions by=namespace width=120", "functions by=module depth=1 json",
		"calltree", "calltree width=90", "calltree fold-recursion min-share=10 json", "calltree by=module",
		"calltree by=namespace json", "calltree bottom-up",
		"callers argument=Prepare", "function argument=Prepare width=110", "function argument=Prepare csv",
		"modules depth=4 width=120", "lines", "ips", "threads unit=ms", "processes", "header", "types",
		"functions process=2 raw", "losses", "losses csv",
	},
	"acted": {"events", "events width=80", "events json", "events by=function width=100", "events by=thread csv", "events by=system-call",
		"events thread=2", "events late sort=event_lost", "events top=2"},
	"tested": {"tests", "tests width=80", "tests width=160", "tests json", "tests csv", "tests md", "tests top=1",
		"tests sort=inclusive_bytes process=2", "tests process=1", "summary width=100", "summary width=80 lines=45",
		"summary json"},
	"served": {"endpoints", "endpoints width=80", "endpoints width=160", "endpoints json", "endpoints csv", "endpoints process=2",
		"endpoints thread=1",
		"functions columns=name,route,calls width=120", "summary width=100", "summary width=80 lines=45"},
	"broken": {"rules", "rules md", "rules width=80", "rules json", "rules csv",
		"rules width=120 columns=rule,bytes,instances,object_type,from sort=bytes", "summary width=100", "summary width=80", "summary width=80 lines=45"},
	"empty": {"rules", "losses", "losses json", "summary", "summary json", "functions", "functions json", "calltree", "types", "processes",
		"threads json", "lines", "modules", "ips csv",
		"interactions", "events json", "tests", "endpoints"},
}

func TestGolden(t *testing.T) {
	for _, sample := range slices.Sorted(maps.Keys(goldens)) {
		t.Run(sample, func(t *testing.T) {
			t.Chdir(t.TempDir()) // the session's path is part of the output
			folder := filepath.Join(packageFolder, "testdata", sample)
			s := report.Complete(t, sessiontest.Samples[sample](), sample+".clrprof")
			for _, flags := range goldens[sample] {
				got := render(t, s, flags)
				path := filepath.Join(folder, strings.NewReplacer(" ", "_", "<", "(", ">", ")").Replace(flags)+".txt")
				if *updateGolden {
					if err := errors.Join(os.MkdirAll(folder, 0o755),
						os.WriteFile(path, []byte(got), 0o644)); err != nil {
						t.Fatal(err)
					}
				}
				want, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(string(want), got); diff != "" {
					t.Errorf("%s %s (-want +got; -update writes it):\n%s", sample, flags, diff)
				}
				checkWidth(t, flags, got)
			}
		})
	}
}

// packageFolder is where the test was started: the folder of the package.
var packageFolder, _ = os.Getwd()

// checkWidth fails if a line of a table is wider than the terminal.
func checkWidth(t *testing.T, flags, got string) {
	_, _, _, _, layout, _ := parseFlags(t, flags)
	if layout.Width == 0 || layout.Color {
		return
	}
	for line := range strings.Lines(got) {
		line = strings.TrimSuffix(line, "\n")
		isCommand := strings.HasPrefix(line, "  clrprof ")
		if !isCommand && text.Width(line) > layout.Width {
			t.Errorf("%s: a line is %d wide:\n%s", flags, text.Width(line), line)
		}
	}
}
