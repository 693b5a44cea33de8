package policy

import (
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// agentFloors are the folders of agent/src, the ground first. A file may include headers of its own folder and of those
// before it: so folders cannot have a cycle.
var agentFloors = strings.Fields("core arch il os control metadata threads filter stacks calls heap probes agent")

// maxAgentLines bounds the agent as a whole, without generated lines: who adds a part to a guest in other people's
// processes has to think about the size of it. It is a tenth more than was there when it was set.
const maxAgentLines = 29_000

// agentFilesOverLimit are files of C with more lines than maxFileLines, with the most that each may have: they only shrink.
var agentFilesOverLimit = map[string]int{"calls/call_stack.c": 1293}

func TestAgentSize(t *testing.T) {
	lines := 0
	agentFiles(t, func(rel, text string) {
		if rel == generated {
			return
		}
		n := strings.Count(text, "\n")
		lines += n
		most, listed := agentFilesOverLimit[rel]
		switch {
		case !listed && n > maxFileLines:
			t.Errorf("agent/src/%s: %d lines, limit %d", rel, n, maxFileLines)
		case listed && (n > most || n <= maxFileLines):
			t.Errorf("agent/src/%s: %d lines; agentFilesOverLimit says %d", rel, n, most)
		}
	})
	if lines > maxAgentLines {
		t.Errorf("the agent has %d lines of C, limit %d", lines, maxAgentLines)
	}
}

// TestAgentFloors keeps the order of the agent's folders.
func TestAgentFloors(t *testing.T) {
	seen := map[string]bool{}
	agentFiles(t, func(rel, text string) {
		folder, _, _ := strings.Cut(rel, "/")
		floor := slices.Index(agentFloors, folder)
		seen[folder] = true
		if floor < 0 {
			t.Errorf("agent/src/%s is on no floor", rel)
		}
		for _, m := range included.FindAllStringSubmatch(comment.ReplaceAllString(text, ""), -1) {
			header := path.Clean(m[1])
			if strings.HasPrefix(header, "../") {
				continue // a variant for tests
			}
			if below, _, _ := strings.Cut(header, "/"); slices.Index(agentFloors, below) > floor {
				t.Errorf("agent/src/%s must not include %s, which is on a floor above", rel, header)
			}
		}
	})
	for _, folder := range agentFloors {
		if !seen[folder] {
			t.Errorf("agentFloors names %s, which does not exist", folder)
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

// TestAgentHeaders keeps that each header is included by those who use it and no others. Two include for those who
// include them: core/agent.h, and the header of the machine.
func TestAgentHeaders(t *testing.T) {
	texts := map[string]string{}
	agentFiles(t, func(rel, text string) { texts[rel] = comment.ReplaceAllString(text, "") })
	for rel, text := range texts {
		for _, m := range included.FindAllStringSubmatch(text, -1) {
			header := path.Clean(m[1])
			if strings.HasPrefix(header, "../") || header == generated {
				continue // a variant for tests
			}
			if header != "core/agent.h" && rel != "core/agent.h" && rel != "arch/arch.h" && !usesHeader(text, header, texts) {
				t.Errorf("agent/src/%s includes %s and uses nothing of it", rel, header)
			}
		}
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
