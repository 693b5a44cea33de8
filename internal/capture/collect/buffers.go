package collect

import (
	"github.com/clrprof/clrprof/internal/capture/arena"
	"github.com/clrprof/clrprof/internal/capture/steer"
	"github.com/clrprof/clrprof/internal/wire"
)

// bufferNames are what clrprof ctl calls the regions of an arena.
var bufferNames = [wire.RegionCount]string{wire.RegionLog: "log", wire.RegionIPs: "addresses",
	wire.RegionNodes: "nodes", wire.RegionSites: "sites", wire.RegionDeaths: "deaths", wire.RegionAges: "ages",
	wire.RegionThreadSets: "thread_sets", wire.RegionScopes: "scopes", wire.RegionInteractions: "interactions",
	wire.RegionMeterValues: "meter_values", wire.RegionSiteSamples: "site_samples",
	wire.RegionTimings: "timings", wire.RegionWaits: "waits", wire.RegionClocks: "clocks",
	wire.RegionActivations: "calls", wire.RegionActed: "waiting_calls", wire.RegionInclusives: "folded_calls",
	wire.RegionSiteTimings: "site_timings", wire.RegionTrace: "trace", wire.RegionCounts: "cpu_counters",
	wire.RegionSystemEvents: "system_events", wire.RegionSystemCalls: "system_calls"}

// ownTables is the name of what only the agent itself reads.
const ownTables = "own_tables"

// buffers says how full the parts of the agent's memory are that the recording has.
func (p *process) buffers(h *wire.Header) []steer.Buffer {
	out := []steer.Buffer{}
	for i, e := range h.Regions {
		if e.Capacity == 0 {
			continue
		}
		b := steer.Buffer{Name: bufferNames[i], Used: int64(e.Used), Limit: int64(min(e.Capacity, h.MemoryLimit))}
		if wire.Region(i) == wire.RegionTrace {
			b.Used = p.waitingEvents()
		}
		out = append(out, b)
	}
	return append(out, steer.Buffer{Name: ownTables, Used: int64(h.PrivateBytes), Limit: int64(h.MemoryLimit)})
}

// waitingEvents are the bytes of the call trace that have not been read yet. The others can be used again.
func (p *process) waitingEvents() int64 {
	n := int64(0)
	chunks := p.arena.TraceChunks()
	for i := range chunks {
		if head, events := arena.TraceChunk(&chunks[i]); head.State != wire.TraceFree {
			n += int64(len(events))
		}
	}
	return n
}
