package text

import (
	"strings"
	"testing"

	"github.com/clrprof/clrprof/internal/present/report"
)

// A value is not nothing because it is small: durations of requests are seconds.
func TestSmallValues(t *testing.T) {
	of := &report.Records{Columns: []string{"value", "value_percent"}}
	for _, v := range []float64{12.3456, 1, 0.5, 0.0348, 0.000433, 1e-30, 0, -0.0348, -0.000433} {
		of.Rows = append(of.Rows, []any{v, v})
	}
	var out strings.Builder
	if err := WriteRecords(&out, of, Options{}); err != nil {
		t.Fatal(err)
	}
	const want = "value value_percent 12.35 12.35 1.00 1.00 0.500 0.50 0.0348 0.03 0.000433 <0.01 0.000000000000 <0.01 " +
		"0.00 0.00 -0.0348 -0.03 -0.000433 >-0.01"
	if have := strings.Join(strings.Fields(out.String()), " "); have != want {
		t.Errorf("have %s, want %s", have, want)
	}
}

// A column whose cells were cut to less than its width gives the rest to another, whose class would be cut.
func TestPassOn(t *testing.T) {
	const box = "AsyncTaskMethodBuilder<HttpResponseMessage>.AsyncStateMachineBox<<async SendWithRetryAsync #52>>"
	const function = "HttpClient.GetStringAsyncCore(HttpRequestMessage)"
	name := func(title string) report.Column {
		return report.Column{Title: title, Kind: report.Name, Cut: report.CutParts}
	}
	l := layout{columns: []report.Column{name("Name"), name("Function")}, cells: [][]string{{box, function}},
		prefixes: []string{""}, widths: []int{37, 28}, good: []int{Width(shortestName(box)), Width(shortestName(function))}}
	l.passOn()
	if l.widths[0]+l.widths[1] > 37+28 {
		t.Fatalf("widths %d", l.widths)
	}
	for i, want := range []string{"AsyncStateMachineBox<…>", "HttpClient.GetStringAsyncCore(…)"} {
		if have := cutCell(l.columns[i], l.cells[0][i], l.widths[i]); have != want {
			t.Errorf("%s, want %s", have, want)
		}
	}
}

// Records leave out what can be before they cut a class, and a column that needs less than it has gives it to another.
func TestRecordNames(t *testing.T) {
	const long = "TaskSchedulerAwaitTaskContinuation.RunOrScheduleAction(Action, bool, Task)"
	of := &report.Records{Columns: []string{"delta", "delta_percent", "name", "maker", "module"},
		Rows:     [][]any{{int64(1234567), 12.5, long, "Int32.Parse(ReadOnlySpan<char>, IFormatProvider)", "Shop.dll"}},
		Cut:      map[string]report.Cut{"name": report.CutParts, "maker": report.CutParts, "module": report.CutMiddle},
		Optional: []string{"module", "delta_percent"}}
	for width, want := range map[int]string{
		200: "1234567 12.50 " + long + " Int32.Parse(ReadOnlySpan<char>, IFormatProvider) Shop.dll",
		106: "1234567 12.50 TaskSchedulerAwaitTaskContinuation.RunOrScheduleAction(…) Int32.Parse(…)",
		82:  "1234567 TaskSchedulerAwaitTaskContinuation.RunOrScheduleAction(…) Int32.Parse(…)",
	} {
		var out strings.Builder
		if err := WriteRecords(&out, of, Options{Width: width}); err != nil {
			t.Fatal(err)
		}
		if have := strings.Join(strings.Fields(strings.Split(out.String(), "\n")[1]), " "); have != want {
			t.Errorf("at %d: %s, want %s", width, have, want)
		}
	}
}

// TestNotShown: the period of a title is that of the sentence, too.
func TestNotShown(t *testing.T) {
	for titles, want := range map[string]string{"Module": "Module.", "Module, Voluntary excl.": "Module, Voluntary excl."} {
		if have := notShown(strings.Split(titles, ", ")); have != "Not shown for lack of width: "+want {
			t.Error(have)
		}
	}
}
