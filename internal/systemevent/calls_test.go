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

var update = flag.Bool("update", false, "write calls_x64.txt")

// TestCallNames: the table is that of golang.org/x/sys, which makes it of the kernel's headers.
func TestCallNames(t *testing.T) {
	folder, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "golang.org/x/sys").Output()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(folder)), "unix", "zsysnum_linux_amd64.go"))
	if err != nil {
		t.Fatal(err)
	}
	var want strings.Builder
	for _, m := range regexp.MustCompile(`(?m)^\s+SYS_([A-Z0-9_]+)\s+= (\d+)$`).FindAllSubmatch(text, -1) {
		fmt.Fprintf(&want, "%s %s\n", m[2], strings.ToLower(string(m[1])))
	}
	if *update {
		if err := os.WriteFile("calls_x64.txt", []byte(want.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(want.String(), callTable); diff != "" && !*update {
		t.Errorf("-update writes it (-want +have):\n%s", diff)
	}
	for number, name := range map[uint32]string{0: "read", 202: "futex", 257: "openat", 110: "getppid", 1 << 31: ""} {
		if have := CallName(number); have != name && !*update {
			t.Errorf("%d: %q, want %q", number, have, name)
		}
	}
}
