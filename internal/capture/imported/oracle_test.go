package imported

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clrprof/clrprof/internal/analysis"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/session/secrets"
)

// unpacked reads a file of testdata. The recordings are of the target Sampled, by dotnet-trace; a .txt beside one is
// what the target TraceEvents says of it.
func unpacked(t testing.TB, name string) []byte {
	t.Helper()
	packed, err := os.ReadFile(filepath.Join("testdata", name+".gz"))
	if err != nil {
		t.Fatal(err)
	}
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// imported imports a file, and checks that the session does not contradict itself.
func importFile(t *testing.T, data []byte) (*session.Writer, *Result) {
	t.Helper()
	trace, err := ReadNettrace(bytes.NewReader(data), nil)
	if err != nil {
		t.Fatal(err)
	}
	w, err := session.Create(filepath.Join(t.TempDir(), "a.clrprof"), false)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	res, err := trace.Write(w, secrets.All)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.SetState(session.Recorded); err != nil {
		t.Fatal(err)
	}
	if err := analysis.Complete(w); err != nil {
		t.Fatal(err)
	}
	if found, err := analysis.Check(w.Session); err != nil || len(found) > 0 {
		t.Errorf("the session contradicts itself: %v, %v", found, err)
	}
	return w, res
}

// get reads a table.
func get[Row any](t *testing.T, read func() ([]Row, error)) []Row {
	t.Helper()
	rows, err := read()
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

// said is what TraceEvent says of a file.
type said struct {
	samples map[string]int // by type, and functions of the stack
	gcs     []string
	events  map[string]uint64
}

// Parts of names that only one side has: type arguments and signatures of methods.
var (
	typeArguments = regexp.MustCompile(`\[[^,\]][^|]*?\]`)
	signature     = regexp.MustCompile(`\(.*$`)
)

func plainMethod(name string) string {
	return typeArguments.ReplaceAllString(signature.ReplaceAllString(name, ""), "")
}

func readOracle(t *testing.T, name string) said {
	t.Helper()
	out := said{samples: map[string]int{}, events: map[string]uint64{}}
	for line := range strings.Lines(string(unpacked(t, name))) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		switch f[0] {
		case "sample":
			var stack []string
			for _, frame := range strings.Split(f[3], "|") {
				stack = append(stack, plainMethod(frame))
			}
			out.samples[f[2]+" "+strings.Join(stack, "|")]++
		case "gc":
			induced := strings.HasPrefix(f[4], "Induced")
			out.gcs = append(out.gcs, fmt.Sprintf("%s gen %s induced %t %s ns %s", f[1], f[2], induced, f[5], f[6]))
		case "event":
			var n uint64
			if _, err := fmt.Sscan(f[3], &n); err != nil {
				t.Fatal(err)
			}
			out.events[f[1]+" "+f[2]] = n
		}
	}
	return out
}

// samplesOf counts the samples of a session as TraceEvent names them.
func samplesOf(t *testing.T, s *session.Session) map[string]int {
	t.Helper()
	functions, nodes := map[session.FunctionID]string{}, map[session.NodeID]string{}
	for _, f := range get(t, s.Functions) {
		name := plainMethod(strings.ReplaceAll(f.RawType, "/", "+") + "." + f.RawName)
		if f.RawName == nameUnknown {
			name = ""
		}
		functions[f.ID] = name
	}
	for _, n := range get(t, s.Nodes) {
		nodes[n.ID] = functions[n.Function]
		if n.Parent != 0 {
			nodes[n.ID] = nodes[n.Parent] + "|" + functions[n.Function]
		}
	}
	types := typeNames(t, s)
	sites := map[session.SiteID]session.Site{}
	for _, site := range get(t, s.Sites) {
		sites[site.ID] = site
	}
	out := map[string]int{}
	for _, v := range get(t, s.SiteValues) {
		site := sites[v.Site]
		out[types[site.Type]+" "+nodes[site.Node]] += int(v.Allocations) / int(site.Weight)
	}
	return out
}

// typeNames returns the names of types as the runtime's events have them.
func typeNames(t *testing.T, s *session.Session) map[session.TypeID]string {
	t.Helper()
	arguments := map[session.TypeID][]session.TypeID{}
	for _, a := range get(t, s.TypeArguments) {
		arguments[a.Type] = append(arguments[a.Type], a.Argument)
	}
	names := map[session.TypeID]string{}
	for _, row := range get(t, s.Types) { // what a type is made of comes before it
		name := strings.ReplaceAll(row.RawName, "/", "+")
		if row.Kind == session.TypeArray {
			name = names[row.ElementType] + "[" + strings.Repeat(",", int(row.Rank)-1) + "]"
		}
		var of []string
		for _, a := range arguments[row.ID] {
			of = append(of, names[a])
		}
		if len(of) > 0 {
			name += "[" + strings.Join(of, ",") + "]"
		}
		names[row.ID] = name
	}
	return names
}

// gcsOf lists collections as TraceEvent says them.
func gcsOf(t *testing.T, s *session.Session) []string {
	t.Helper()
	sizes := map[session.GCID]*[session.Generations]int64{}
	for _, h := range get(t, s.GCHeaps) {
		if sizes[h.GC] == nil {
			sizes[h.GC] = &[session.Generations]int64{}
		}
		sizes[h.GC][h.Generation] = int64(h.Extent)
	}
	var out []string
	for _, g := range get(t, s.GCs) {
		heap := strings.ReplaceAll(strings.Trim(fmt.Sprint(*sizes[g.ID]), "[]"), " ", ",")
		out = append(out, fmt.Sprintf("%d gen %d induced %t %d ns %s", g.Number, g.Generation, g.Induced, int64(g.Pause),
			heap))
	}
	return out
}

// TestTraceEvent: of files of dotnet-trace a session has as many samples of each type on each stack, and the same
// collections, as Microsoft's TraceEvent finds in them, and what is left out adds up to all of its events.
func TestTraceEvent(t *testing.T) {
	for _, name := range []string{"ticks-10.0.12", "ticks-8.0.33", "sampled-10.0.12"} {
		t.Run(name, func(t *testing.T) {
			w, res := importFile(t, unpacked(t, name+".nettrace"))
			want := readOracle(t, name+".txt")
			if diff := cmp.Diff(want.samples, samplesOf(t, w.Session)); diff != "" || res.Samples < 200 {
				t.Errorf("%d samples (-TraceEvent +session):\n%s", res.Samples, diff)
			}
			if diff := cmp.Diff(want.gcs, gcsOf(t, w.Session)); diff != "" || res.Collections == 0 {
				t.Errorf("%d collections (-TraceEvent +session):\n%s", res.Collections, diff)
			}
			const dynamic, asTold = 39, 65524 // TraceEvent makes other events of these
			for _, l := range res.LeftOut {
				if l.ID == dynamic && l.Provider == providerRuntime {
					l.ID = asTold
				}
				if n := want.events[fmt.Sprint(l.Provider, " ", l.ID)]; n != l.Events {
					t.Errorf("%d events %d of %s are left out, TraceEvent finds %d", l.Events, l.ID, l.Provider, n)
				}
			}
			if losses := get(t, w.Losses); len(losses) > 0 {
				t.Errorf("lost: %v", losses)
			}
			rows := get(t, w.Processes)
			version := name[strings.IndexByte(name, '-')+1:]
			if p := rows[0]; len(rows) != 1 || p.Name != "Sampled" || p.RuntimeVersion != version ||
				p.Arguments != `["/opt/dotnet/dotnet","/srv/sampled/Sampled.dll","work","300000"]` {
				t.Errorf("processes are %+v", rows)
			}
		})
	}
}

// TestProcessorSamples: samples of what processors did are left out, named with their number, and their stops are not
// those of collections.
func TestProcessorSamples(t *testing.T) {
	w, res := importFile(t, unpacked(t, "cpu-10.0.12.nettrace"))
	i := slices.IndexFunc(res.LeftOut, func(l LeftOut) bool { return l.IsProcessor() })
	if i < 0 || res.LeftOut[i].Events < 10 || res.Samples != 0 || res.Sampler != "" {
		t.Errorf("the file has %+v", res)
	}
	if sites := get(t, w.Sites); len(sites) > 0 {
		t.Errorf("sites: %v", sites)
	}
}
