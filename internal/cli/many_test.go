package cli

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/clrprof/clrprof/internal/analysis"
	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
)

// manySites is how many sites TestManySites makes, as a run of a compiler has; CLRPROF_TEST_SITES is another number,
// such as 20000000.
const manySites = 2_000_000

// TestManySites: a session of many sites is added up and shown in bounded memory.
func TestManySites(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	if raceDetector {
		t.Skip("is about memory, of which the race detector takes several times as much")
	}
	sites := manySites
	if n, err := strconv.Atoi(os.Getenv("CLRPROF_TEST_SITES")); err == nil {
		sites = n
	}
	// A process begins with the greatest memory that its parent had: what other tests had is given back, and is forgotten
	// (proc(5), clear_refs).
	debug.FreeOSMemory()
	if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "many.clrprof")
	run := func(perSite int64, command ...string) {
		cmd := exec.Command(command[0], command[1:]...)
		has := residentMemory(t) // with which the process begins
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", command, err, out)
		}
		const fixed = 150 << 20
		peak, most := cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss<<10, fixed+perSite*int64(sites)
		t.Logf("%s: %d MB, %v of the processor", command, peak>>20, cmd.ProcessState.UserTime())
		if peak > max(most, has+has/10) {
			t.Errorf("%s took %d MB, more than %d", command, peak>>20, most>>20)
		}
	}
	run(0, "manysites", "write", path, strconv.Itoa(sites))
	// Each sum has 8 bytes that tell how much of it is estimated, and so two or three times as many a site.
	run(135, "manysites", "complete", path)
	for _, view := range []string{"summary", "functions", "calltree"} {
		run(40, "clrprof", "report", path, view) // the nodes of stacks, or of the tree
	}
	run(130, "clrprof", "report", path, "types")
	for _, format := range []string{"pprof", "collapsed", "firefox"} {
		run(330, "clrprof", "export", path, "--format", format, "-o", filepath.Join(t.TempDir(), format))
	}
	// all values at once
	run(600, "clrprof", "export", path, "--format", "otlp", "-o", filepath.Join(t.TempDir(), "otlp"))
}

// residentMemory is how many bytes of memory this process has.
func residentMemory(t *testing.T) int64 {
	t.Helper()
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Fatal(err)
	}
	pages, err := strconv.ParseInt(strings.Fields(string(text))[1], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return pages * int64(os.Getpagesize())
}

// manySitesMain writes or completes the session of TestManySites, and returns an exit code.
func manySitesMain(args []string) int {
	var w *session.Writer
	var err error
	if args[0] == "write" {
		sites, _ := strconv.Atoi(args[2])
		if w, err = session.Create(args[1], false); err == nil {
			err = w.Batch(func() error { return writeManySites(w, sites) })
		}
	} else if w, err = session.Edit(args[1]); err == nil {
		spareMemory(os.Getenv)
		err = analysis.Complete(w)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// writeManySites writes a process that allocates at so many sites, each in two of four slices; half of the objects die.
// Four threads have the same stacks, an eighth as many as sites, in a tree of up to fourteen functions.
func writeManySites(w *session.Writer, sites int) error {
	const functions, types, threads, slices, some = 1000, 500, 4, 4, 1 << 16
	if err := w.InsertProcesses(
		[]session.Process{{ID: 1, PID: 1, Name: "many", EndState: session.EndExited}}); err != nil {
		return err
	}
	for id := range threads {
		if err := w.InsertThreads(
			[]session.Thread{{ID: session.ThreadID(id + 1), Process: 1, OSID: int64(id + 1)}}); err != nil {
			return err
		}
	}
	for id := range functions {
		f := session.Function{ID: session.FunctionID(id + 1), Process: 1, Kind: session.FunctionMethod,
			Name: "Many.F" + strconv.Itoa(id)}
		if err := w.InsertFunctions([]session.Function{f}); err != nil {
			return err
		}
	}
	for id := range types {
		f := session.Type{ID: session.TypeID(id + 1), Process: 1, Kind: session.TypeClass,
			Name: "Many.T" + strconv.Itoa(id)}
		if err := w.InsertTypes([]session.Type{f}); err != nil {
			return err
		}
	}
	nodes := sites/8 + 1
	if err := inParts(nodes, some, w.InsertNodes, func(i int) session.Node {
		return session.Node{ID: session.NodeID(i + 1), Parent: session.NodeID((i + 1) / 3), Process: 1,
			Function: session.FunctionID(i%functions + 1)}
	}); err != nil {
		return err
	}
	if err := inParts(sites, some, w.InsertSites, func(i int) session.Site {
		return session.Site{ID: session.SiteID(i + 1), Thread: session.ThreadID(i%threads + 1),
			Node: session.NodeID(i/8 + 1), Type: session.TypeID(i/4%types + 1)}
	}); err != nil {
		return err
	}
	for n := range slices {
		slice := session.Slice{ID: session.SliceID(n + 1), Begin: q.Nanoseconds(n * 1e9),
			End: q.Nanoseconds((n + 1) * 1e9)}
		if err := w.InsertSlices([]session.Slice{slice}); err != nil {
			return err
		}
		site := func(i int) session.SiteID { return session.SiteID(2*i + n%2 + 1) }
		if err := inParts(sites/2, some, w.InsertSiteValues, func(i int) session.SiteValue {
			return session.SiteValue{Slice: slice.ID, Site: site(i), Amount: q.Amount{Allocations: 2, Bytes: 48}}
		}); err != nil {
			return err
		}
		if err := inParts(sites/2, some, w.InsertSiteDeaths, func(i int) session.SiteDeath {
			return session.SiteDeath{Slice: slice.ID, Site: site(i), Generation: int64(i % 3),
				Amount: q.Amount{Allocations: 1, Bytes: 24}}
		}); err != nil {
			return err
		}
	}
	if err := w.ReplaceProcessLifetimes([]session.ProcessLifetime{{Process: 1, AliveKnown: true}}); err != nil {
		return err
	}
	return w.SetState(session.Resolved)
}

// inParts writes so many rows, a part at a time.
func inParts[Row any](rows, part int, write func([]Row) error, row func(i int) Row) error {
	var out []Row
	for i := range rows {
		if out = append(out, row(i)); len(out) == part || i == rows-1 {
			if err := write(out); err != nil {
				return err
			}
			out = out[:0]
		}
	}
	return nil
}
