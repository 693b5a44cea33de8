package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
)

// TestSourceFromSymbols: a recorded program's source is shown when its file is gone, or another one, if the symbols
// hold it.
func TestSourceFromSymbols(t *testing.T) {
	t.Parallel()
	in := dotnettest.Need(t)
	for _, debug := range []dotnettest.DebugType{dotnettest.DebugPortable, dotnettest.DebugEmbedded} {
		source := filepath.Join(t.TempDir(), "Program.cs") // not in the cache: it is changed
		if err := os.WriteFile(source, []byte(growingProgram), 0o600); err != nil {
			t.Fatal(err)
		}
		dll, err := in.Compile([]string{source}, t.TempDir(), dotnettest.Options{Embed: true, Debug: debug})
		if err != nil {
			t.Fatal(err)
		}
		r := mustRecord(t, in.Newest().Command(dll), "--time", "--memory")
		check := func(note string) {
			t.Helper()
			texts := 0
			for _, l := range view[struct {
				Type   string
				Source string `json:"source_text"`
				Line   int64  `json:"line_begin"`
			}](t, r.session, "function", "Program.Join") {
				if l.Type == "line" && l.Line == 7 && strings.Contains(l.Source, "last = string.Concat(text") {
					texts++
				}
			}
			if texts == 0 {
				t.Errorf("%s: line 7 has no text", debug)
			}
			said := run(t, "report", r.session, "function", "Program.Join")
			if said.exit != 0 || !strings.Contains(said.stdout, "last = string.Concat(text") ||
				strings.Contains(said.stdout, "The text of "+source) != (note != "") ||
				!strings.Contains(said.stdout, note) {
				t.Errorf("%s: no %q in\n%s", debug, note, said.stdout)
			}
		}
		check("")
		if err := os.WriteFile(source, []byte(strings.ReplaceAll(growingProgram, "Concat", "Join")),
			0o600); err != nil {
			t.Fatal(err)
		}
		check("is from the symbols: the file is not what was compiled.")
		if err := os.Remove(source); err != nil {
			t.Fatal(err)
		}
		check("is from the symbols: no such file or directory.")
	}
}
