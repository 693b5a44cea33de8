package running

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/clrprof/clrprof/internal/capture/eventpipe"
	"github.com/clrprof/clrprof/internal/capture/launch"
)

func TestVersionOf(t *testing.T) {
	for _, tt := range []struct{ said, library, want string }{
		{"10.0.1+0123abc", "", "10.0.1"},
		{"10.0.1", "/usr/share/dotnet/shared/Microsoft.NETCore.App/9.0.7/libcoreclr.so", "10.0.1"},
		{"", "/usr/share/dotnet/shared/Microsoft.NETCore.App/9.0.7/libcoreclr.so", "9.0.7"},
		{"", "/srv/shop/libcoreclr.so", ""},
		{"", "", ""},
	} {
		if got := versionOf(tt.said, tt.library); got != tt.want {
			t.Errorf("%q, %q: %q", tt.said, tt.library, got)
		}
	}
}

func TestProgramOf(t *testing.T) {
	for want, arguments := range map[string][]string{
		"":       nil,
		"shop":   {"/usr/bin/dotnet", "exec", "--roll-forward", "Major", "/srv/shop.dll", "other.dll"},
		"Shop":   {"/srv/Shop"},
		"dotnet": {"dotnet", "build"},
	} {
		if got := programOf(arguments); got != want {
			t.Errorf("%q: %q, want %q", arguments, got, want)
		}
	}
}

// TestProfilersOf: a profiler is loaded if its library is mapped, whatever the environment says.
func TestProfilersOf(t *testing.T) {
	const maps = "7f00-7f01 r-xp 00000000 08:01 42   /opt/datadog/linux-x64/Datadog.Tracer.Native.so\n"
	asked := map[string]string{"CORECLR_ENABLE_PROFILING": "1", "CORECLR_PROFILER": "{918728dd-259f-4a6a-ac2b-b85e1b658318}"}
	unknown := map[string]string{"CORECLR_ENABLE_PROFILING": "1", "CORECLR_PROFILER": "{1}", "CORECLR_PROFILER_PATH": "/opt/x.so"}
	off := map[string]string{"CORECLR_ENABLE_PROFILING": "0", "CORECLR_PROFILER": "{1}"}
	for _, tt := range []struct {
		environment map[string]string
		maps        string
		want        []Profiler
	}{
		{nil, "", nil},
		{off, "", nil},
		{nil, maps, []Profiler{{"Datadog", true}}},
		{asked, maps, []Profiler{{"Datadog", true}, {"OpenTelemetry", false}}},
		{unknown, "", []Profiler{{"{1}", false}}},
		{unknown, "7f00-7f01 r-xp 00000000 08:01 42   /opt/x.so\n", []Profiler{{"{1}", true}}},
	} {
		if got := profilersOf(tt.environment, []byte(tt.maps)); !slices.Equal(got, tt.want) {
			t.Errorf("%v, %q: %v, want %v", tt.environment, tt.maps, got, tt.want)
		}
	}
}

// TestJudge: what is said of processes that no test can easily have.
func TestJudge(t *testing.T) {
	prepared := map[string]string{"CORECLR_PROFILER": launch.ProfilerID, launch.EnvDormant: "/dev/shm"}
	for _, tt := range []struct {
		name    string
		p       Process
		extents [Abilities]Extent
		why     string // of the first that is not all
	}{
		{"arm", Process{RID: "linux-arm64"}, [Abilities]Extent{}, "this clrprof is for x64"},
		{"recorded", Process{environment: map[string]string{"CORECLR_PROFILER": launch.ProfilerID, launch.EnvArenas: "/x"}},
			[Abilities]Extent{}, "is being recorded"},
		{"old", Process{Version: "3.1.32"}, [Abilities]Extent{Counters: All}, ".NET 5 and later"},
		{"other profiler", Process{Version: "8.0.1", Profilers: []Profiler{{"Datadog", true}}},
			[Abilities]Extent{Counters: All}, "profiler of Datadog"},
		{"mute", Process{unreachable: fmt.Errorf("%w: DOTNET_EnableDiagnostics=0", eventpipe.ErrNoSocket)},
			[Abilities]Extent{}, "DOTNET_EnableDiagnostics=0"},
		{"stopped", Process{unreachable: os.ErrDeadlineExceeded}, [Abilities]Extent{}, "is it stopped?"},
		{"prepared", Process{environment: prepared}, [Abilities]Extent{Allocations: All, Calls: All, Counters: All},
			"clrprof env --lifetime"},
		{"any", Process{Version: "10.0.1", RID: "linux-x64"},
			[Abilities]Extent{Allocations: Large, Lifetimes: Large, Calls: All, Counters: All}, "clrprof env"},
	} {
		tt.p.UID = os.Geteuid()
		tt.p.findAgent()
		tt.p.judge()
		why := ""
		for i, a := range tt.p.Abilities {
			if a.Extent != tt.extents[i] {
				t.Errorf("%s: %s: %s, want %s", tt.name, AbilityNames[i], a.Extent, tt.extents[i])
			}
			if (a.Why == "") != (a.Extent == All) {
				t.Errorf("%s: %s: %s because of %q", tt.name, AbilityNames[i], a.Extent, a.Why)
			}
			if why == "" {
				why = a.Why
			}
		}
		if !strings.Contains(why, tt.why) {
			t.Errorf("%s: %q, want %q", tt.name, why, tt.why)
		}
	}
}

// TestLookHere: this process runs no .NET, nor does one that is not there.
func TestLookHere(t *testing.T) {
	for _, pid := range []int{os.Getpid(), 1 << 30} {
		if _, err := Look(pid); !errors.Is(err, ErrNone) {
			t.Errorf("%d: %v", pid, err)
		}
	}
}
