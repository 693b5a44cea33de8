package e2e

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
)

// seen is what a tool has of the objects of a program.
type seen struct {
	records int64 // of the tool, each of one object or more
	bytes   float64
	strings float64 // bytes of type string
}

// TestPeers: docs/comparison.md says what dotnet-trace and clrprof have of the same program's objects.
func TestPeers(t *testing.T) {
	t.Parallel()
	dotnettest.NotQuick(t, "it runs a tool of somebody else")
	in, sdk := dotnettest.NeedSDK(t)
	tool := filepath.Join(sdk.Root, "tools/dotnet-trace/dotnet-trace.dll")
	if _, err := os.Stat(tool); err != nil {
		t.Skip("needs dotnet-trace in the directory tools of the SDK's root")
	}
	dll, err := in.Compile([]string{"../samples/orderbook"}, "", dotnettest.Options{Framework: dotnettest.Net10})
	if err != nil {
		t.Fatal(err)
	}
	runtime := in.Newest()
	trace := filepath.Join(t.TempDir(), "orderbook.nettrace")
	cmd := runtime.Command(tool, append([]string{"collect", "--profile", "gc-verbose", "-o", trace, "--"},
		runtime.Command(dll).Args...)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	r := recordOnce(t, runtime.Command(dll))
	compareWithDocument(t, seenBy(t, r), allocationTicks(t, in, tool, trace))
}

// seenBy reads what clrprof has: a record for each object.
func seenBy(t *testing.T, r result) seen {
	t.Helper()
	rows := query[struct{ Objects, Bytes, Strings int64 }](t, r.session, `SELECT sum(instances) AS objects, sum(bytes) AS bytes,
		sum(CASE WHEN name = 'string' OR name = 'System.String' THEN bytes ELSE 0 END) AS strings FROM types`)
	return seen{rows[0].Objects, float64(rows[0].Bytes), float64(rows[0].Strings)}
}

// ticksProgram adds up the events AllocationTick of a trace, with the library that dotnet-trace has for that.
const ticksProgram = `using Microsoft.Diagnostics.Tracing;
long records = 0, bytes = 0, strings = 0;
using var source = new EventPipeEventSource(args[0]);
source.Clr.GCAllocationTick += e =>
{
    records++;
    bytes += e.AllocationAmount64;
    strings += e.TypeName == "System.String" ? e.AllocationAmount64 : 0;
};
source.Process();
System.Console.WriteLine(records + " " + bytes + " " + strings + " " + source.EventsLost);
`

// allocationTicks reads what dotnet-trace has: for each 100 KB or so, one of the objects in them.
func allocationTicks(t *testing.T, in *dotnettest.Install, tool, trace string) (s seen) {
	t.Helper()
	source := filepath.Join(t.TempDir(), "Ticks.cs")
	if err := os.WriteFile(source, []byte(ticksProgram), 0o644); err != nil {
		t.Fatal(err)
	}
	libraries, err := filepath.Glob(filepath.Join(filepath.Dir(tool), "Microsoft.*.dll"))
	if err != nil {
		t.Fatal(err)
	}
	dll, err := in.Compile([]string{source}, t.TempDir(), dotnettest.Options{Framework: dotnettest.Net10, References: libraries})
	if err != nil {
		t.Fatal(err)
	}
	out, err := in.Newest().Command(dll, trace).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var lost int64
	if _, err := fmt.Sscan(string(out), &s.records, &s.bytes, &s.strings, &lost); err != nil || lost != 0 {
		t.Fatalf("%v: %s", err, out)
	}
	return s
}

var digits = regexp.MustCompile(`[0-9][0-9,.]*`)

// compareWithDocument compares rows of the document's table, with a column for each tool, with what was measured. How many
// objects the pool's threads make, and where ticks fall, differs from run to run.
func compareWithDocument(t *testing.T, clrprof, trace seen) {
	t.Helper()
	text, err := os.ReadFile("../docs/comparison.md")
	if err != nil {
		t.Fatal(err)
	}
	const share = 0.03 // two runs are not nearer
	for _, row := range []struct {
		name           string
		clrprof, trace float64
	}{
		{"records of objects", float64(clrprof.records), float64(trace.records)},
		{"bytes that they stand for", clrprof.bytes, trace.bytes},
		{"of these, of type string", 100 * clrprof.strings / clrprof.bytes, 100 * trace.strings / trace.bytes},
	} {
		_, rest, ok := strings.Cut(string(text), "\n| "+row.name+" |")
		line, _, _ := strings.Cut(rest, "\n")
		numbers := digits.FindAllString(line, -1)
		if !ok || len(numbers) != 2 {
			t.Fatalf("the document says %q of %q", line, row.name)
		}
		for i, have := range []float64{row.clrprof, row.trace} {
			says, err := strconv.ParseFloat(strings.ReplaceAll(numbers[i], ",", ""), 64)
			if err != nil || math.Abs(says-have) > share*have {
				t.Errorf("%s: the document says %s, measured %.2f: %v", row.name, numbers[i], have, err)
			}
		}
	}
}
