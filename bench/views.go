package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/clrprof/clrprof/internal/analysis/rules"
	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/testkit/sessiontest"
)

// million is the session that the goals of views, filters, comparisons and exports are about.
var million = sessiontest.Size{Nodes: 1_000_000, Sites: 2_000_000, Functions: 20_000, Types: 3_000, Threads: 16}

const (
	millionSlices = 10 // of time
	viewRounds    = 3  // of each command, whatever is asked for: a hundred commands take long
)

// views measures what the views, filters, comparisons and exports of a made-up session of a million nodes and two
// million sites take: seconds by the clock and of a processor, and the most memory; the median of the rounds.
func (b *bench) views() error {
	// a process that has made them has had a gigabyte, and Linux counts that for each command that it starts
	self, err := os.Executable()
	if err != nil {
		return err
	}
	if text, err := exec.Command(self, "-sessions", b.dir).CombinedOutput(); err != nil {
		return fmt.Errorf("make sessions: %w: %s", err, text)
	}
	plain, other, followed, clocked := viewSessions(b.dir)
	fmt.Fprintf(b.out, "\n## Views of a session of a million nodes and two million sites\n\n"+
		"%s, %d processors. Sessions that are made up, of %d slices of time; with lifetimes: half of all objects die; "+
		"times: a timing at each node. Seconds by the clock, and of a processor (user and system), and the most memory, "+
		"the median of %d rounds; in bold what takes longer than its goal by the clock, and by the processor, too: on a "+
		"machine with other load the clock says more than a command takes. "+
		"`make bench BENCHFLAGS=\"-only views\"`.\n\n"+
		"| | goal | wall | processor | MB |\n| --- | ---: | ---: | ---: | ---: |\n", processor(), runtime.NumCPU(),
		millionSlices, viewRounds)
	before := load()
	for _, m := range measuredViews(plain, other, followed, clocked) {
		if err := b.measureView(m); err != nil {
			return err
		}
	}
	_, err = fmt.Fprintf(b.out, "\nLoad of the machine (five minutes): %s before, %s after.\n", before, load())
	return err
}

// viewSessions are the paths of the sessions that views measures: as it is, changed, with lifetimes, and with times.
func viewSessions(dir string) (plain, other, followed, clocked string) {
	path := func(name string) string { return filepath.Join(dir, name+".clrprof") }
	return path("million"), path("changed"), path("followed"), path("timed")
}

// makeViewSessions makes them.
func makeViewSessions(dir string) error {
	plain, other, followed, clocked := viewSessions(dir)
	for path, change := range map[string]func(*sessiontest.Builder){
		plain: spread, other: func(made *sessiontest.Builder) { spread(made); grow(made) }, followed: follow,
		clocked: clock,
	} {
		if err := makeSession(path, change); err != nil {
			return err
		}
	}
	return nil
}

// load is the load of the machine in the last five minutes, as the kernel says it.
func load() string {
	text, err := os.ReadFile("/proc/loadavg")
	if fields := strings.Fields(string(text)); err == nil && len(fields) > 1 {
		return fields[1]
	}
	return "unknown"
}

// measured is a command of which the cost is measured.
type measured struct {
	what string // of which session
	goal string // seconds; "": there is none
	args []string
}

func measuredViews(plain, other, followed, clocked string) []measured {
	var out []measured
	add := func(what, goal, session string, commands ...string) {
		for _, c := range commands {
			f := strings.Fields(c)
			args := append([]string{f[0], session}, f[1:]...)
			if f[0] == "diff" {
				args = append([]string{f[0], session, other}, f[1:]...)
			}
			out = append(out, measured{what + c, goal, args})
		}
	}
	add("", "0.3", plain, "report summary", "report functions", "report calltree", "report calltree --hot",
		"report callers Service7.HandleRequestAsync<Company.Product.Request49>",
		"report function Service7.HandleRequestAsync<Company.Product.Request49>", "report modules", "report lines", "report ips",
		"report types", "report types Entity7<", "report threads", "report processes", "report marks", "report header",
		"report rules", "report losses")
	add("lifetimes: ", "0.3", followed, "report summary", "report lifetime", "report lifetime --by site",
		"report lifetime --by function", "report gcs", "report ages", "report diff-gcs 3 7", "report rules",
		"report types")
	add("", "1", plain, "report calltree --bottom-up", "report calltree --fold-recursion",
		"report calltree --by module", "report functions --by namespace", "report lines --my-code")
	for _, filter := range []string{"--time 2s..5s", "--process 4242", "--thread /3$/",
		"--module Company.Product.Area7", "--function *.Service7.*", "--type *Entity7<*", "--type !*Entity7<*",
		"--focus *.Service7.*", "--hide *.Area7.*", "--my-code"} {
		add("", "1", plain, "report functions "+filter)
	}
	for _, view := range []string{"types", "calltree", "lines", "modules", "rules", "summary",
		"callers Service7.HandleRequestAsync<Company.Product.Request49>"} {
		for _, filter := range []string{"--time 2s..5s", "--thread /3$/", "--hide *.Area7.*"} {
			add("", "1", plain, "report "+view+" "+filter)
		}
	}
	add("times: ", "0.3", clocked, "report summary", "report functions", "report calltree", "report lines",
		"report modules", "report threads",
		"report callers Service7.HandleRequestAsync<Company.Product.Request49>")
	add("times: ", "1", clocked, "report functions --time 2s..5s", "report functions --function *.Service7.*",
		"report functions --my-code", "report calltree --my-code", "report lines --my-code")
	add("lifetimes: ", "1", followed, "report lifetime --gc 3..7", "report lifetime --time 2s..5s",
		"report lifetime --by site --time 2s..5s", "report ages --time 2s..5s", "report rules --time 2s..5s",
		"report summary --time 2s..5s")
	add("", "2", plain, "diff functions", "diff types", "diff lines", "diff modules", "diff sites", "diff calltree",
		"diff threads")
	add("", "3", plain, "export -o /dev/null -f --format pprof")
	add("lifetimes: ", "3", followed, "export -o /dev/null -f --format pprof")
	add("", "", plain, "export -o /dev/null -f --format collapsed", "export -o /dev/null -f --format speedscope")
	return out
}

// measureView prints the row of a command.
func (b *bench) measureView(m measured) error {
	var wall, cpu, memory []float64
	for range viewRounds {
		command := exec.Command(b.clrprof, m.args...)
		w, c, err := timed(command)
		if err != nil {
			return fmt.Errorf("%s: %w", m.what, err)
		}
		wall, cpu = append(wall, w), append(cpu, c)
		if used, ok := command.ProcessState.SysUsage().(*syscall.Rusage); ok {
			memory = append(memory, float64(used.Maxrss)/1024)
		}
	}
	clock := fmt.Sprintf("%.2f", median(wall))
	if goal, err := strconv.ParseFloat(m.goal, 64); err == nil && min(median(wall), median(cpu)) > goal {
		clock = "**" + clock + "**"
	}
	_, err := fmt.Fprintf(b.out, "| `%s` | %s | %s | %.2f | %.0f |\n", m.what, m.goal, clock, median(cpu),
		median(memory))
	return err
}

// makeSession writes the session of a million nodes, changed.
func makeSession(path string, change func(*sessiontest.Builder)) error {
	made := sessiontest.Generate(million, 1)
	change(made)
	if err := made.Write(path); err != nil {
		return err
	}
	w, err := session.Edit(path)
	if err != nil {
		return err
	}
	return errors.Join(rules.Complete(w, nil, nil), w.Close())
}

// spread spreads what was allocated over the slices: each site has one, and the greater ones half in a later one.
func spread(b *sessiontest.Builder) {
	b.Slices = nil
	for i := range session.SliceID(millionSlices) {
		b.Slices = append(b.Slices, session.Slice{ID: i + 1, Begin: q.Nanoseconds(i) * 1e9,
			End: q.Nanoseconds(i+1) * 1e9})
	}
	by := make([][]session.SiteValue, millionSlices)
	for i, v := range b.SiteValues {
		at, later := i%millionSlices, i%millionSlices+3
		if later < millionSlices && v.Allocations%2 == 0 {
			half := q.Amount{Allocations: v.Allocations / 2, Bytes: v.Bytes / 2}
			by[later] = append(by[later], session.SiteValue{Slice: session.SliceID(later + 1), Site: v.Site,
				Amount: half})
			v.Amount = half
		}
		v.Slice = session.SliceID(at + 1)
		by[at] = append(by[at], v)
	}
	for _, rows := range by {
		slices.SortFunc(rows, func(x, y session.SiteValue) int { return int(x.Site) - int(y.Site) })
	}
	b.SiteValues = slices.Concat(by...)
}

// grow gives every tenth site twice as much.
func grow(b *sessiontest.Builder) {
	for i := range b.SiteValues {
		if v := &b.SiteValues[i]; v.Site%10 == 0 {
			v.Amount = v.Add(v.Amount)
		}
	}
}

// follow ends each slice with a collection of generation 0, which finds half of what the slice allocated dead.
func follow(b *sessiontest.Builder) {
	spread(b)
	b.Info[session.KeyMode] = "memory,lifetime"
	b.Followed(1, false)
	next := b.SiteValues
	for i, slice := range b.Slices {
		gc := b.Collect(1, 0, false, slice.End-1e6, 1e5)
		of := &b.GCGenerations[i]
		for len(next) > 0 && next[0].Slice == slice.ID {
			v := next[0]
			next = next[1:]
			b.GCBirths = append(b.GCBirths, session.GCBirth{GC: gc, Site: v.Site, Amount: v.Amount})
			of.Before = of.Before.Add(v.Amount)
			n := v.Allocations / 2
			if n == 0 {
				continue
			}
			dead := q.Amount{Allocations: n, Bytes: v.Bytes / q.Bytes(v.Allocations) * q.Bytes(n)}
			b.GCDeaths = append(b.GCDeaths, session.GCDeath{GC: gc, Site: v.Site, Amount: dead})
			b.Deaths = append(b.Deaths, session.SiteDeath{Slice: slice.ID, Site: v.Site, Amount: dead})
			of.Dead = of.Dead.Add(dead)
		}
		of.Promoted = of.Before.Sub(of.Dead)
	}
}

// clock gives each node a timing, of which the values are spread over the slices: every second node is a function
// itself, of which calls begin and end, the others are call sites.
func clock(b *sessiontest.Builder) {
	spread(b)
	b.Info[session.KeyMode] = "time"
	b.Sites, b.SiteValues = nil, nil
	b.Timed(1, 2, 3)
	for i := range b.Nodes {
		id, calls := session.TimingID(i+1), q.Count(1+i%97)
		value := session.TimingValue{Slice: session.SliceID(1 + i%millionSlices), Timing: id,
			Elapsed: q.Nanoseconds(calls) * q.Nanoseconds(20+i%1000)}
		if i%7 == 0 {
			value.Waited = value.Elapsed / 2
			value.Waits = q.Waits{OffCPU: value.Elapsed / 4, Blocked: value.Elapsed / 4, Intervals: 1, Voluntary: 1}
		}
		if i%2 == 0 {
			b.Nodes[i].Instruction = 0
			value.Calls, value.Ended = calls, calls
			one := session.Range{Min: 20, Max: value.Elapsed}
			b.TimingExtremes = append(b.TimingExtremes, session.TimingExtreme{Timing: id, Extremes: session.Extremes{
				ElapsedInclusive: one, ElapsedExclusive: one, ApplicationInclusive: one, ApplicationExclusive: one,
				CPUInclusive: one, CPUExclusive: one}})
		} else {
			value.Made = calls
		}
		b.Timings = append(b.Timings, session.Timing{ID: id, Thread: session.ThreadID(1 + i%million.Threads),
			Node: b.Nodes[i].ID})
		b.TimingValues = append(b.TimingValues, value)
	}
}
