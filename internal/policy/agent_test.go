package policy

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// agentFiles calls f with each file of C of the agent, by its path in agent/src, and its text.
func agentFiles(t *testing.T, f func(rel, text string)) {
	t.Helper()
	found := false
	err := filepath.WalkDir(root+"/agent/src", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || (filepath.Ext(path) != ".c" && filepath.Ext(path) != ".h") {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root+"/agent/src", path)
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

// TestAgentMachine keeps what one machine has in its folder of agent/src/arch, so that another machine is another folder.
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
