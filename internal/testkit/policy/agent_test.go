package policy

import (
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// agentParts are the parts of the agent: the lines of C that each may have (docs/design/0004 says why there is no one
// budget), its files, and the parts whose headers it may include besides those of the ground, on which all stand.
var agentParts = []struct {
	name        string
	lines       int
	files, uses string
}{
	{"ground", 770, "core/agent.h core/profiler_api.c core/profiler_api.h core/freestanding.h core/sorted_array.c core/sorted_array.h core/hash_map.c core/hash_map.h", "memory"},
	{"door", 405, "agent/entry.c",
		"allocations changeable compiled control dormant ending framework_calls guest inlined instrument interactions lifetime managed_events memory names probes rejit runtime samples threads " +
			"statics time trace user_frames"},
	{"machine", 735, "arch/arch.c arch/arch.h arch/x64/machine.h arch/x64/code.c arch/x64/stubs.c arch/x64/system.c " +
		"arch/arm64/machine.h arch/arm64/code.c arch/arm64/stubs.c arch/arm64/system.c",
		"probes time"},
	// What the agent takes, and leaves to others; what keeps it small, and lets it go.
	{"memory", 745, "core/arena.c core/arena.h", "guest"},
	{"guest", 475, "threads/thread_sets.c threads/thread_sets.h control/collector_watch.c control/collector_watch.h", "lifetime memory names threads time"},
	{"names", 905, "metadata/descriptions.c metadata/descriptions.h core/log_record.h", "allocations instrument lifetime machine memory probes runtime threads"},
	{"threads", 575, "threads/threads.c threads/threads.h", "allocations control dormant exceptions guest interactions memory names scopes time"},
	{"allocations", 2115, "heap/allocations.c heap/allocations.h stacks/recent_stacks.c stacks/recent_stacks.h stacks/stack_walk.c stacks/stack_walk.h metadata/runtime_cfi.c metadata/runtime_cfi.h stacks/native_transition.c stacks/native_transition.h",
		"control dormant ending guest lifetime machine memory names reachable samples threads time"},
	{"lifetime", 2845, "heap/object_tracking.c heap/object_tracking.h heap/gc.h heap/gc_generations.c heap/gc_walk.c heap/live_objects.c heap/shadow_heap.c heap/shadow_heap.h heap/survivor_roots.c " +
		"heap/survivor_roots.h heap/heap_snapshot.c heap/heap_snapshot.h heap/site_growth.c heap/site_growth.h heap/eventpipe_gc.c heap/eventpipe_gc.h",
		"allocations control dormant ending guest induced machine managed_events memory names reachable samples statics threads time"},
	// Small objects of processes that run already.
	{"samples", 635, "heap/allocation_samples.c heap/allocation_samples.h heap/sample_event.c heap/sample_event.h",
		"allocations control guest lifetime machine memory threads"},
	// When a program begins to end.
	{"ending", 220, "heap/ending.c heap/ending.h", "framework_calls lifetime memory time"},
	// What keeps managed sources of events from hearing of the agent's.
	{"managed_events", 125, "heap/managed_events.c heap/managed_events.h", "framework_calls lifetime memory names rewriter"},
	// When functions of the framework are first called.
	{"framework_calls", 180, "metadata/framework_calls.c metadata/framework_calls.h", "guest instrument memory names"},
	// What is alive at the end only because finalizers have not run.
	{"reachable", 430, "heap/reachable.c heap/reachable.h", "control dormant lifetime memory"},
	// Which static fields hold objects.
	{"statics", 560, "heap/static_fields.c heap/static_fields.h", "dormant lifetime memory names"},
	// What is recorded at the moment, and what the program can call.
	{"control", 879, "control/recording_state.c control/recording_state.h agent/program_api.c agent/requests.c control/slice_cuts.c", "dormant guest lifetime memory rejit scopes threads time"},
	// Probes that are taken out while nothing is recorded.
	{"rejit", 260, "probes/rejit.c probes/rejit.h", "control guest memory probes"},
	// In which functions a thread is recorded.
	{"scopes", 307, "probes/recording_scopes.c probes/recording_scopes.h", "control exceptions guest interactions machine memory threads time"},
	// What else is done at functions.
	{"actions", 75, "probes/function_actions.c probes/function_actions.h", "control guest memory threads"},
	// Calls to databases and over HTTP: which methods make them, what they send, and how long it takes.
	{"interactions", 1195, "probes/ado_http_calls.c probes/ado_http_calls.h probes/call_sites.c",
		"allocations control guest machine memory meters names signatures threads time"},
	// What instruments of meters measure.
	{"meters", 145, "probes/meters.c probes/meters.h", "dormant guest instrument memory"},
	// Processes that are recorded later than they start.
	{"dormant", 710, "agent/dormant.c agent/dormant.h agent/library_state.c",
		"allocations attached control guest inlined lifetime memory names probes runtime samples threads time"},
	// Calls of processes that run already.
	{"attached", 677, "agent/attach.c agent/attach.h agent/callback_gate.c",
		"changeable control dormant exceptions inlined instrument memory names precompiled probes time"},
	// What the JIT puts into other code before anything is recorded.
	{"inlined", 370, "filter/inlined.c filter/inlined.h", "origin"},
	// What is the runtime's own.
	{"runtime", 300, "metadata/jit_helpers.c metadata/jit_helpers.h metadata/box_reporting.c metadata/box_reporting.h", "machine memory names"},
	// Whose code a module is, before it runs.
	{"origin", 650, "metadata/code_origin.c metadata/code_origin.h metadata/assembly_origin.c metadata/assembly_origin.h", "memory"},
	// How long methods are compiled.
	{"compiled", 190, "metadata/compilations.c metadata/compilations.h", "control guest memory"},
	// Who asks for collections.
	{"induced", 60, "heap/induced_gcs.c heap/induced_gcs.h", "allocations memory"},
	// What collections stop, and how long.
	{"pauses", 120, "calls/gc_waits.c calls/gc_waits.h", "control guest memory time"},
	{"time", 3435, "calls/call_stack.c calls/calls.h os/timer.h calls/thread_timers.c calls/call_tree.c calls/call_tree.h calls/tail_calls.c calls/path_folding.c calls/probe_overhead.c calls/probe_overhead.h calls/enter_leave.h os/context_switch.c os/context_switch.h",
		"allocations control counters events exceptions guest instrument machine memory pauses probes scopes threads trace"},
	// What the processor and the kernel count, for who wants it.
	{"counters", 515, "os/cpu_counters.c os/cpu_counters.h calls/callback_accounting.c", "machine memory system_calls time"},
	// Which system calls these were.
	{"system_calls", 105, "os/syscall_counts.c os/syscall_counts.h", ""},
	// Intervals in which the operating system acted, one by one, for who wants them.
	{"events", 120, "calls/system_events.c calls/system_events.h", "memory system_calls time"},
	// The events of calls in their order, for who wants them.
	{"trace", 260, "calls/call_trace.c calls/call_trace.h", "control guest machine memory names time"},
	{"instrument", 615, "filter/instrumentation.c filter/instrumentation.h",
		"interactions memory names origin precompiled probes runtime scopes time trace"},
	// The user's code that the JIT may not put into other code.
	{"user_frames", 85, "filter/inlining_guard.c filter/inlining_guard.h", "guest instrument"},
	// How the runtime is kept from harm by being asked about exceptions.
	{"exceptions", 150, "calls/exception_pins.c calls/exception_pins.h", "memory"},
	// The rewriter knows nothing of the rest.
	{"rewriter", 1115, "il/il.h il/il_read.c il/il_write.c il/il_keep.c", ""},
	{"probes", 1715, "probes/il_probes.c probes/il_probes.h filter/declared_callees.c filter/declared_callees.h filter/stack_effects.c filter/stack_effects.h",
		"actions attached changeable guest instrument interactions machine memory names precompiled probes rejit rewriter runtime scopes signatures time trace"},
	// What metadata say of what a method takes and returns.
	{"signatures", 190, "core/metadata_signature.h core/metadata_signature.c", ""},
	// Modules that hot reload may change.
	{"changeable", 60, "metadata/hot_reload.c metadata/hot_reload.h", ""},
	// What of precompiled code may run. The reader of images knows nothing of the rest.
	{"images", 280, "il/ready_to_run.h il/ready_to_run.c", ""},
	{"precompiled", 340, "filter/r2r_inliners.h filter/r2r_inliners.c", "images instrument memory names runtime"},
}

// partsOfFiles tells the part of each file; the generated description of the arena belongs to none.
func partsOfFiles() map[string]string {
	parts := map[string]string{}
	for _, part := range agentParts {
		for _, f := range strings.Fields(part.files) {
			parts[f] = part.name
		}
	}
	return parts
}

func TestAgentBudget(t *testing.T) {
	parts, lines := partsOfFiles(), map[string]int{}
	agentFiles(t, func(rel, text string) {
		if parts[rel] == "" && rel != generated {
			t.Errorf("%s belongs to no part of the agent", rel)
		}
		lines[parts[rel]] += strings.Count(text, "\n")
	})
	for _, part := range agentParts {
		if n := lines[part.name]; n == 0 || n > part.lines {
			t.Errorf("the agent's part %s has %d lines of C, budget %d", part.name, n, part.lines)
		}
	}
}

// generated is what internal/wire writes.
const generated = "core/wire_gen.h"

// agentFiles calls f with each file of C of the agent, by its path in agent/src, and its text.
func agentFiles(t *testing.T, f func(rel, text string)) {
	t.Helper()
	found := false
	err := filepath.WalkDir(root+"/agent/src", func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || (filepath.Ext(file) != ".c" && filepath.Ext(file) != ".h") {
			return err
		}
		b, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root+"/agent/src", file)
		if err != nil {
			return err
		}
		found = true
		f(filepath.ToSlash(rel), string(b))
		return nil
	})
	if err != nil || !found {
		t.Fatalf("no agent sources: %v", err)
	}
}

// ofMachine matches what only the code of one machine names, in comments too.
var ofMachine = regexp.MustCompile(strings.Join([]string{
	`\b(__asm__|asm)\b`,
	`\b(__builtin_ia32_|_mm|__m(64|128|256|512)|\w*mmintrin\b|arm_neon\b)`,
	`\btarget\("`, // attributes of functions
	`(?i)\b(__)?(x86|x86_64|x64|amd64|i386|arm64|aarch64)\b`,
	`\b([re](ax|bx|cx|dx|si|di|bp|sp)|rip|r(8|9|1[0-5])|[xyz]mm\d+)\b`,
	`\b(cpuid|rdtscp?|ud2|clflush|[lms]fence)\b`,
	`\b(REG_R\w+|ucontext|ucontext_t|mcontext_t|gregs|sa_restorer)\b`,
}, "|"))

// TestAgentMachine keeps what one machine has in its folder of agent/src/arch, so that another machine is another
// folder.
func TestAgentMachine(t *testing.T) {
	agentFiles(t, func(rel, text string) {
		if strings.HasPrefix(rel, "arch/") || rel == generated { // constants have comments that say why
			return
		}
		for i, line := range strings.Split(text, "\n") {
			if m := ofMachine.FindString(line); m != "" {
				t.Errorf("agent/src/%s:%d names %q, which belongs to agent/src/arch", rel, i+1, m)
			}
		}
	})
}

// TestAgentMachines keeps that each machine provides the same names: the rest of the agent uses them on all.
func TestAgentMachines(t *testing.T) {
	names := map[string]map[string]bool{}
	given := regexp.MustCompile(`(?m)^#define (\w+)|^[\w ]*?\b(?:inline|bool|uintptr_t|frame_shape) \*?(\w+)\(|` +
		`\b(?:PROBE|STUB|PROBED_STUBS|PROBED_IL_STUBS|BARE_STUB|HOOK_STUBS)\((\w+)`)
	private := regexp.MustCompile(`^(CLRPROF_MACHINE_H|HOOK_STUBS?|STUB|[A-Z]+_STUBS?|PROBED_\w+|PROBE|PUSH\w*|POP\w*|CALL|` +
		`(KEEP|GIVE)_\w+|TEXT\w*|AT_\w+|NUMBERED|ARGUMENTS|NEAR_WORDS|CLAUSE_LINKS|name|immediate|starts)$`)
	agentFiles(t, func(rel, text string) {
		machine := path.Base(path.Dir(rel))
		if path.Dir(path.Dir(rel)) != "arch" {
			return
		}
		if names[machine] == nil {
			names[machine] = map[string]bool{}
		}
		for _, m := range given.FindAllStringSubmatch(text, -1) {
			if name := m[1] + m[2] + m[3]; !private.MatchString(name) {
				names[machine][name] = true
			}
		}
	})
	all := map[string]bool{}
	for _, of := range names {
		maps.Copy(all, of)
	}
	if len(names) < 2 || len(all) < 50 {
		t.Fatalf("%d machines with %d names", len(names), len(all))
	}
	for machine, of := range names {
		for name := range all {
			if !of[name] {
				t.Errorf("agent/src/arch/%s does not provide %s", machine, name)
			}
		}
	}
}

var (
	included = regexp.MustCompile(`(?m)^#include "([^"]+\.h)"`)
	comment  = regexp.MustCompile(`(?s)/\*.*?\*/`)
	declared = regexp.MustCompile(
		`(?m)^#define (\w+)|^(?:extern|typedef) [^;]*?(\w+)(?:\[[^\]]*\])?(?: AT_FIXED_PLACE)?;|` +
			`^(?:struct|enum) (\w+) \{|^[A-Za-z][^\n=;{}]*?(\w+)\(`)
)

// TestAgentHeaders keeps who may include whom, and that each header is included by those who use it and no others.
// Two include for those who include them: core/agent.h, and the header of the machine.
func TestAgentHeaders(t *testing.T) {
	texts, parts, needless := map[string]string{}, partsOfFiles(), map[string]bool{}
	agentFiles(t, func(rel, text string) { texts[rel] = comment.ReplaceAllString(text, "") })
	for _, part := range agentParts {
		for _, other := range strings.Fields(part.uses) {
			needless[part.name+" uses "+other] = true
		}
	}
	may := maps.Clone(needless)
	for rel, text := range texts {
		for _, m := range included.FindAllStringSubmatch(text, -1) {
			header := path.Clean(m[1])
			other := parts[header]
			if strings.HasPrefix(header, "../") || header == generated {
				continue // a variant for tests
			}
			edge := parts[rel] + " uses " + other
			delete(needless, edge)
			if other != parts[rel] && other != "ground" && !may[edge] {
				t.Errorf("agent/src/%s must not include %s: %s", rel, header, edge)
			}
			if header != "core/agent.h" && rel != "core/agent.h" && rel != "arch/arch.h" && !usesHeader(text, header, texts) {
				t.Errorf("agent/src/%s includes %s and uses nothing of it", rel, header)
			}
		}
	}
	for edge := range needless {
		t.Errorf("%s, the table says, and need not", edge)
	}
}

// usesHeader says whether the text has one of the names that the header declares, or what the header of the machine
// does.
func usesHeader(text, header string, texts map[string]string) bool {
	declaring := texts[header]
	if path.Dir(header) == "arch" {
		for rel, more := range texts {
			if strings.HasPrefix(rel, "arch/") && path.Ext(rel) == ".h" {
				declaring += more
			}
		}
	}
	for _, m := range declared.FindAllStringSubmatch(declaring, -1) {
		name := m[1] + m[2] + m[3] + m[4]
		if strings.HasSuffix(name, "_H") && strings.HasPrefix(name, "CLRPROF_") {
			continue
		}
		if regexp.MustCompile(`\b` + name + `\b`).MatchString(text) {
			return true
		}
	}
	return false
}
