package systemevent

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the tables of system calls")

// TestCallNames: the tables are those of golang.org/x/sys, which makes them of the kernel's headers.
func TestCallNames(t *testing.T) {
	folder, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "golang.org/x/sys").Output()
	if err != nil {
		t.Fatal(err)
	}
	for machine, path := range map[string]string{"x64": "calls_x64.txt", "arm64": "calls_arm64.txt"} {
		text, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(folder)), "unix",
			"zsysnum_linux_"+strings.Replace(machine, "x64", "amd64", 1)+".go"))
		if err != nil {
			t.Fatal(err)
		}
		var want strings.Builder
		for _, m := range regexp.MustCompile(`(?m)^\s+SYS_([A-Z0-9_]+)\s+= (\d+)$`).FindAllSubmatch(text, -1) {
			fmt.Fprintf(&want, "%s %s\n", m[2], strings.ToLower(string(m[1])))
		}
		if *update {
			if err := os.WriteFile(path, []byte(want.String()), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		have, err := os.ReadFile(path)
		if diff := cmp.Diff(want.String(), string(have)); err != nil || diff != "" {
			t.Errorf("%s: -update writes it (-want +have), %v:\n%s", path, err, diff)
		}
		if string(have) != callTables[machine] {
			t.Errorf("%s is not the table of %s", path, machine)
		}
	}
	for number, names := range map[uint32][2]string{0: {"read", "io_setup"}, 202: {"futex", "accept"},
		257: {"openat", ""}, 63: {"uname", "read"}, 1 << 31: {}} {
		if x64, arm64 := CallName("x64", number), CallName("arm64", number); [2]string{x64, arm64} != names {
			t.Errorf("%d: %q, %q, want %q", number, x64, arm64, names)
		}
	}
}
