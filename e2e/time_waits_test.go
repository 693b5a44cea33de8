package e2e

import (
	"testing"

	"golang.org/x/sys/unix"

	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
)

// took is what a target measured of the calls of a function: at least what it read within each, at most what it read
// around each.
type took struct {
	callTruth
	WallMin      int64 `json:"wall_min"` // nanoseconds
	WallMax      int64 `json:"wall_max"`
	CPUMin       int64 `json:"cpu_min"` // nanoseconds
	CPUMax       int64 `json:"cpu_max"`
	CPUQuiet     int64 `json:"cpu_quiet"`     // of spinners: in pieces of 5 µs in which the thread was not switched out, nor in their neighbours
	VoluntaryMin int64 `json:"voluntary_min"` // context switches
	VoluntaryMax int64 `json:"voluntary_max"`
	PreemptedMin int64 `json:"preempted_min"`
	PreemptedMax int64 `json:"preempted_max"`
	// nanoseconds in which it could have run but had no processor; 0 if the kernel does not say
	DelayMin int64 `json:"delay_min"`
	DelayMax int64 `json:"delay_max"`
	// nanoseconds that the host took from all processors of a virtual machine; 0: it never does
	Stolen    int64 `json:"stolen"`
	FaultsMin int64 `json:"faults_min"` // page faults that needed the disk
	FaultsMax int64 `json:"faults_max"`
	ReadsMin  int64 `json:"reads_min"` // blocks
	ReadsMax  int64 `json:"reads_max"`
}

// perCall is how exact a time of so many calls must be: 2 % or 2 µs for each.
func (w took) perCall(ns int64) int64 { return max(ns/50, 2000*w.Calls) }

// readyLate is how much of the time for which a thread waited for a processor can be counted late: after 16 waits of
// 100 µs.
const readyLate = 16 * 100_000

// timeMechanisms are the ways in which a thread learns that the system acted, from the best on.
var timeMechanisms = []string{"rseq", "perf", "gap"}

// TestTimeWaits compares times with what the target itself measured around and within each call: Elapsed is between the
// two, Application has no waiting in it, and all of what a thread computes that does not wait.
func TestTimeWaits(t *testing.T) {
	t.Parallel()
	in := dotnettest.Need(t)
	for _, mechanism := range dotnettest.Some(append([]string{"best"}, timeMechanisms...)) {
		runtimes, times := in.Runtimes(), "5"
		if mechanism != "best" { // which runtime it is makes no difference to them, and the best is one of them
			runtimes, times = in.NewestAndOldest(), "2"
		}
		for _, runtime := range runtimes {
			t.Run(mechanism+"/"+runtime.Name, func(t *testing.T) {
				t.Parallel()
				cmd := runtime.Command(dotnettest.Target(t, "TimeWaits", dotnettest.Options{}), "all", times)
				if mechanism != "best" {
					cmd.Env = append(cmd.Env, "CLRPROF_MECHANISMS="+mechanism)
				}
				r := mustRecordTime(t, cmd, timeOnly...)
				got := compareTimes(t, r)
				if m := got.processes[0].Mechanism; mechanism != "best" && m != mechanism &&
					!(mechanism == "perf" && !perfAllowed()) {
					t.Errorf("threads learn of the system by %q, want %q", m, mechanism)
				}
			})
		}
	}
}

// compareTimes compares all functions of which the target measured how long they took.
func compareTimes(t *testing.T, r result) *recordedTime {
	t.Helper()
	got := readRecordedTime(t, r.session)
	shown := map[string]timeRow{}
	for _, row := range view[struct {
		Name string `json:"name"`
		timeRow
	}](t, r.session, "functions") {
		shown[row.Name] = row.timeRow
	}
	for _, w := range truthRows[took](t, r.stdout, "took") {
		f := got.functions[w.callee()]
		if f == nil || f.ended != w.Calls {
			t.Errorf("%s: %d calls; the session says %+v", w.Name, w.Calls, f)
			continue
		}
		f.compareMeasured(t, w, &got.processes[0])
		compareShown(t, w, shown, &got.processes[0])
	}
	return got
}

// compareMeasured compares what was recorded, with what the probes added. What the agent took for itself in the
// process, some of it in this function, is in no interval.
func (f *callsOf) compareMeasured(t *testing.T, w took, p *session.ProcessTime) {
	t.Helper()
	in, own := f.inclusive, int64(p.Agent)
	between(t, w.Name+": elapsed ns", in.Elapsed, w.WallMin-w.perCall(w.WallMin)-own, w.WallMax+w.perCall(w.WallMax))
	between(t, w.Name+": voluntary switches", in.Voluntary, w.VoluntaryMin, w.VoluntaryMax)
	between(t, w.Name+": preemptions", in.Preempted, w.PreemptedMin, w.PreemptedMax)
	least := w.FaultsMin
	// once 2 of 3 were seen so: perhaps a fault without a switch was found out about after its call
	if p.Mechanism != "rseq" {
		least -= w.Calls
	}
	between(t, w.Name+": page faults", in.Faults, least, w.FaultsMax)
	between(t, w.Name+": blocks read", in.Reads, w.ReadsMin, w.ReadsMax)
	// The kernel of a virtual machine knows what its host took from a thread that had a processor: that is no time
	// of the thread's. No event says so: it stays processor time here.
	between(t, w.Name+": ns without a processor", in.OffCPU,
		w.WallMin-w.CPUMax-w.perCall(w.WallMin)-own-w.Stolen, w.WallMax-w.CPUMin+w.perCall(w.WallMax)+own)
	between(t, w.Name+": ns of processor time", in.Elapsed-in.OffCPU, w.CPUMin*97/100-w.perCall(w.WallMin)-own,
		w.CPUMax*103/100+w.perCall(w.WallMax)+w.Stolen)
	if w.VoluntaryMax == 0 {
		between(t, w.Name+": ns blocked", in.Blocked, 0, 0)
	}
	if w.PreemptedMax == 0 && !p.MeasuresReady {
		between(t, w.Name+": ns ready", in.Ready, 0, 0)
	}
	if p.MeasuresReady && w.DelayMax > 0 {
		between(t, w.Name+": ns ready", in.Ready, w.DelayMin-w.perCall(w.DelayMin)-own,
			w.DelayMax+w.perCall(w.DelayMax)+readyLate+w.Stolen)
	}
	// What the thread computed between two switches is application time, all of it but the pieces in which it was
	// switched out. Alone on a processor that is more than 99 % of its processor time.
	least = 0
	if w.CPUQuiet > 0 {
		least = w.CPUQuiet - 2000*w.PreemptedMax - own
	}
	between(t, w.Name+": application ns", in.application(), least, w.CPUMax+w.perCall(w.CPUMax)+w.Stolen)
}

// compareShown compares what a user sees, without what the probes added.
func compareShown(t *testing.T, w took, shown map[string]timeRow, p *session.ProcessTime) {
	t.Helper()
	for name, row := range shown {
		if len(name) > len(w.Name) && name[:len(w.Name)+1] == w.Name+"(" {
			between(t, w.Name+": elapsed shown, ns", row.ElapsedInclusive+row.OverheadInclusive,
				w.WallMin-w.perCall(w.WallMin)-int64(p.Agent), w.WallMax+w.perCall(w.WallMax))
			if w.CPUQuiet == 0 {
				between(t, w.Name+": application shown, ns", row.ApplicationInclusive, 0, w.CPUMax+w.perCall(w.CPUMax)+
					w.Stolen)
			}
			return
		}
	}
	t.Errorf("%s is not shown", w.Name)
}

func between(t *testing.T, what string, got, least, most int64) {
	t.Helper()
	if got < least || got > most {
		t.Errorf("%s: %d, want %d to %d", what, got, least, most)
	}
}

// perfAllowed says whether this user may open the perf event that the agent wants.
func perfAllowed() bool {
	attr := unix.PerfEventAttr{Type: unix.PERF_TYPE_SOFTWARE, Size: unix.PERF_ATTR_SIZE_VER5,
		Config:      unix.PERF_COUNT_SW_DUMMY,
		Sample_type: unix.PERF_SAMPLE_TIME,
		Bits:        unix.PerfBitExcludeKernel | unix.PerfBitExcludeHv | unix.PerfBitContextSwitch | unix.PerfBitSampleIDAll}
	fd, err := unix.PerfEventOpen(&attr, 0, -1, -1, unix.PERF_FLAG_FD_CLOEXEC)
	if err != nil {
		return false
	}
	return unix.Close(fd) == nil
}
