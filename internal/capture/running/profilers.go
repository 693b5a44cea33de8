package running

import (
	"bytes"
	"slices"
	"strings"

	"github.com/clrprof/clrprof/internal/capture/launch"
)

// Profiler is a profiler that a process has, or was to have.
type Profiler struct {
	Name   string // of the product, or its class id
	Loaded bool   // its library is mapped; false: only the environment names it
}

// Ours is the name of clrprof's own agent among profilers.
const Ours = "clrprof"

// known are products by the class ids and the libraries that their documentation names for Linux.
var known = []struct{ name, id, library string }{
	{Ours, launch.ProfilerID, "libclrprof-"},
	{"AppDynamics", "{57E1AA68-2229-41AA-9931-A6E93BBC64D8}", "libappdprofiler.so"},
	{"Contrast", "{8B2CE134-0948-48CA-A4B2-80DDAD9F5791}", "ContrastProfiler.so"},
	{"Datadog", "{846F5F1C-F9AE-4B07-969E-05C26BC060D8}", "Datadog."},
	{"dotnet-monitor", "{6A494330-5848-4A23-9D87-0E57BBF6DE79}", "libMonitorProfiler.so"},
	{"Elastic APM", "{FA65FE15-F085-4681-9B20-95E04F6C03CC}", "libelastic_apm_profiler.so"},
	{"New Relic", "{36032161-FFC0-4B61-B559-F6C5D41BAE5A}", "libNewRelicProfiler.so"},
	{"OpenTelemetry", "{918728DD-259F-4A6A-AC2B-B85E1B658318}", "OpenTelemetry.AutoInstrumentation.Native.so"},
	{"Pyroscope", "{BD1A650D-AC5D-4896-B64F-D6FA25D6B26A}", "Pyroscope.Profiler.Native.so"},
}

// profilersOf are the profilers whose libraries are mapped, and the one that the environment asks the runtime to load.
func profilersOf(environment map[string]string, maps []byte) (out []Profiler) {
	for _, k := range known {
		if bytes.Contains(maps, []byte("/"+k.library)) {
			out = append(out, Profiler{k.name, true})
		}
	}
	id := environment["CORECLR_PROFILER"]
	if !launch.IsProfilingOn(environment["CORECLR_ENABLE_PROFILING"]) || id == "" {
		return out
	}
	name := id
	for _, k := range known {
		if strings.EqualFold(k.id, id) {
			name = k.name
		}
	}
	if !slices.ContainsFunc(out, func(p Profiler) bool { return p.Name == name }) {
		path := environment["CORECLR_PROFILER_PATH"]
		out = append(out, Profiler{name, path != "" && bytes.Contains(maps, []byte(" "+path+"\n"))})
	}
	return out
}

// other returns the loaded profiler that is not clrprof's, if there is one: a runtime has room for one profiler.
func (p *Process) other() (Profiler, bool) {
	for _, x := range p.Profilers {
		if x.Name != Ours && x.Loaded {
			return x, true
		}
	}
	return Profiler{}, false
}
