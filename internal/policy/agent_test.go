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
	{"ground", 748, "agent.h clr.c clr.h freestanding.h list.c list.h map.c map.h", "memory"},
	{"door", 365, "agent.c",
		"allocations changeable control dormant ending guest inlined instrument interactions lifetime memory names probes rejit runtime threads " +
			"statics time trace user_frames"},
	{"machine", 390, "arch.c arch/arch.h arch/x64/machine.h arch/x64/code.c arch/x64/stubs.c arch/x64/system.c",
		"probes time"},
	// What the agent takes, and leaves to others; what keeps it small, and lets it go.
	{"memory", 730, "arena.c arena.h", "guest"},
	{"guest", 475, "thread_sets.c thread_sets.h watch.c watch.h", "lifetime memory names threads time"},
	{"names", 905, "names.c names.h record.h", "allocations instrument lifetime machine memory probes runtime threads"},
	{"threads", 555, "threads.c threads.h", "allocations control dormant exceptions guest interactions memory names scopes time"},
	{"allocations", 2015, "allocations.c allocations.h recent.c recent.h stack.c stack.h cfi.c cfi.h above.c above.h",
		"control dormant ending guest lifetime machine memory names reachable threads time"},
	{"lifetime", 2765, "lifetime.c lifetime.h collection.h generations.c walk.c alive.c heap.c heap.h survival.c " +
		"survival.h snapshot.c snapshot.h changes.c changes.h events.c events.h",
		"allocations control dormant ending guest machine memory names reachable statics threads time"},
	// When a program begins to end.
	{"ending", 320, "ending.c ending.h", "guest instrument lifetime memory names time"},
	// What is alive at the end only because finalizers have not run.
	{"reachable", 430, "reachable.c reachable.h", "control dormant lifetime memory"},
	// Which static fields hold objects.
	{"statics", 500, "statics.c statics.h", "dormant lifetime memory names"},
	// What is recorded at the moment, and what the program can call.
	{"control", 879, "control.c control.h api.c requests.c cuts.c", "dormant guest lifetime memory rejit scopes threads time"},
	// Probes that are taken out while nothing is recorded.
	{"rejit", 260, "rejit.c rejit.h", "control guest memory probes"},
	// In which functions a thread is recorded.
	{"scopes", 307, "scopes.c scopes.h", "control exceptions guest interactions machine memory threads time"},
	// What else is done at functions.
	{"actions", 75, "actions.c actions.h", "control guest memory threads"},
	// Calls to databases and over HTTP: which methods make them, what they send, and how long it takes.
	{"interactions", 1195, "interactions.c interactions.h operations.c",
		"allocations control guest machine memory meters names signatures threads time"},
	// What instruments of meters measure.
	{"meters", 145, "meters.c meters.h", "dormant guest instrument memory"},
	// Processes that are recorded later than they start.
	{"dormant", 577, "dormant.c dormant.h variables.c",
		"allocations attached control guest inlined lifetime memory names probes runtime threads time"},
	// Calls of processes that run already.
	{"attached", 668, "attached.c attached.h visits.c",
		"changeable control dormant exceptions inlined instrument memory names precompiled probes time"},
	// What the JIT puts into other code before anything is recorded.
	{"inlined", 287, "inlined.c inlined.h", "origin"},
	// What is the runtime's own.
	{"runtime", 300, "helpers.c helpers.h boxes.c boxes.h", "machine memory names"},
	// Whose code a module is, before it runs.
	{"origin", 650, "origin.c origin.h modules.c modules.h", "memory"},
	// What collections stop, and how long.
	{"pauses", 120, "pauses.c pauses.h", "control guest memory time"},
	{"time", 3285, "time.c calls.h timer.h timers.c timings.c timings.h tails.c fold.c hooks.c hooks.h time_hooks.h os.c os.h",
		"allocations control counters events exceptions guest instrument machine memory pauses probes scopes threads trace"},
	// What the processor and the kernel count, for who wants it.
	{"counters", 515, "counters.c counters.h left_out.c", "machine memory system_calls time"},
	// Which system calls these were.
	{"system_calls", 105, "system_calls.c system_calls.h", ""},
	// Intervals in which the operating system acted, one by one, for who wants them.
	{"events", 120, "system_events.c system_events.h", "memory system_calls time"},
	// The events of calls in their order, for who wants them.
	{"trace", 260, "trace.c trace.h", "control guest machine memory names time"},
	{"instrument", 615, "instrument.c instrument.h",
		"interactions memory names origin precompiled probes runtime scopes time trace"},
	// The user's code that the JIT may not put into other code.
	{"user_frames", 85, "user_frames.c user_frames.h", "guest instrument"},
	// How the runtime is kept from harm by being asked about exceptions.
	{"exceptions", 150, "pins.c pins.h", "memory"},
	// The rewriter knows nothing of the rest.
	{"rewriter", 1115, "il.h il_read.c il_write.c il_keep.c", ""},
	{"probes", 1720, "probes.c probes.h callees.c callees.h effects.c effects.h",
		"actions attached changeable guest instrument interactions machine memory names precompiled probes rejit rewriter runtime scopes signatures time trace"},
	// What metadata say of what a method takes and returns.
	{"signatures", 190, "signatures.h signatures.c", ""},
	// Modules that hot reload may change.
	{"changeable", 60, "changeable.c changeable.h", ""},
	// What of precompiled code may run. The reader of images knows nothing of the rest.
	{"images", 280, "r2r.h r2r.c", ""},
	{"precompiled", 340, "inliners.h inliners.c", "images instrument memory names runtime"},
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
const generated = "wire_gen.h"

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
		if strings.HasPrefix(rel, "arch/") || rel == "arch.c" { // which chooses the folder
			return
		}
		for i, line := range strings.Split(text, "\n") {
			if m := ofMachine.FindString(line); m != "" {
				t.Errorf("agent/src/%s:%d names %q, which belongs to agent/src/arch", rel, i+1, m)
			}
		}
	})
}

var (
	included = regexp.MustCompile(`(?m)^#include "([^"]+\.h)"`)
	comment  = regexp.MustCompile(`(?s)/\*.*?\*/`)
	declared = regexp.MustCompile(
		`(?m)^#define (\w+)|^(?:extern|typedef) [^;]*?(\w+)(?:\[[^\]]*\])?(?: AT_FIXED_PLACE)?;|` +
			`^(?:struct|enum) (\w+) \{|^[A-Za-z][^\n=;{}]*?(\w+)\(`)
)

// TestAgentHeaders keeps who may include whom, and that each header is included by those who use it and no others.
// Two include for those who include them: agent.h, and the header of the machine.
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
			header := path.Join(path.Dir(rel), m[1])
			other := parts[header]
			if strings.HasPrefix(header, "../") || header == generated {
				continue // a variant for tests
			}
			edge := parts[rel] + " uses " + other
			delete(needless, edge)
			if other != parts[rel] && other != "ground" && !may[edge] {
				t.Errorf("agent/src/%s must not include %s: %s", rel, header, edge)
			}
			if header != "agent.h" && rel != "agent.h" && rel != "arch/arch.h" && !usesHeader(text, header, texts) {
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
