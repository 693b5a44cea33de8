package report

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/clrprof/clrprof/internal/analysis"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
	"github.com/clrprof/clrprof/internal/testkit/sessiontest"
)

// TestEmbeddedText: where a file is not what was compiled, its text is that in the symbols of its module, if they are
// those of the module and hold it; and it is said which it is.
func TestEmbeddedText(t *testing.T) {
	in := dotnettest.Need(t)
	const text = "class Shop\n{\n    static void Main()\n    {\n        new Shop().Sell();\n    }\n\n    object " +
		"Sell() { return new object(); }\n}\n"
	const other = "class Shop\n{\n    // another one\n}\n"
	began := time.Now().Add(-time.Hour)
	source := filepath.Join(t.TempDir(), "Shop.cs")
	if err := os.WriteFile(source, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	type what struct {
		embed bool
		debug dotnettest.DebugType
	}
	compiled := map[what]string{}
	for _, w := range []what{{true, dotnettest.DebugPortable}, {true, dotnettest.DebugEmbedded},
		{false, dotnettest.DebugPortable}} {
		var err error
		if compiled[w], err = in.Compile([]string{source}, t.TempDir(),
			dotnettest.Options{Debug: w.debug, Embed: w.embed}); err != nil {
			t.Fatal(err)
		}
	}
	for name, tt := range map[string]struct {
		embed bool
		debug dotnettest.DebugType
		file  string // what it holds now; "": it is not there
		gone  bool   // the symbols
		note  string // after the file's name
		want  string // the text of line 3
	}{
		"there": {true, dotnettest.DebugPortable, text, false, "", "static void Main()"},
		"gone": {true, dotnettest.DebugPortable, "", false,
			" is from the symbols: no such file or directory.", "static void Main()"},
		"another": {true, dotnettest.DebugPortable, other, false,
			" is from the symbols: the file is not what was compiled.", "static void Main()"},
		"in the module": {true, dotnettest.DebugEmbedded, "", false,
			" is from the symbols: no such file or directory.", "static void Main()"},
		"not embedded": {false, dotnettest.DebugPortable, "", false, "Without the text of", ""},
		"another, no source": {false, dotnettest.DebugPortable, other, false,
			" is not what was compiled: its lines may differ.", "// another one"},
		"no symbols": {true, dotnettest.DebugPortable, "", true, "Without the text of", ""},
		"another, no symbols": {true, dotnettest.DebugPortable, other, true,
			" was changed after the recording began: its lines may differ now.",
			"// another one"},
	} {
		t.Run(name, func(t *testing.T) {
			dll := compiled[what{tt.embed, tt.debug}]
			if tt.gone {
				dll = filepath.Join(t.TempDir(), "Shop.dll")
				if err := os.Link(compiled[what{tt.embed, tt.debug}], dll); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.Remove(source); err != nil && !errors.Is(err, fs.ErrNotExist) {
				t.Fatal(err)
			}
			if tt.file != "" {
				if err := os.WriteFile(source, []byte(tt.file), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			b := sessiontest.New()
			b.Info[session.KeyCreated] = began.Format(time.RFC3339)
			p := b.Process("Shop", 7)
			m := b.Module(p, "Shop.dll", true)
			f := b.Function(m, "Shop.Sell()", source, 1)
			b.Allocate(1, b.Thread(p, "main"), b.Type(m, "T"), 1, 24, sessiontest.Frame{Function: f, Line: 3})
			for i := range b.Modules {
				b.Modules[i].Path, b.Modules[i].MVID, b.Modules[i].Symbols = dll, "", session.SymbolsFile
			}
			got := functionText(t, b)
			if !strings.Contains(got, tt.note) || tt.note == "" && strings.Contains(got, source+" ") || tt.want != "" &&
				!strings.Contains(got, "3      "+tt.want) {
				t.Errorf("no %q or %q in\n%s", tt.note, tt.want, got)
			}
			src, err := analysis.Open(complete(t, b, filepath.Join(t.TempDir(), "s")), analysis.Selection{})
			if err != nil {
				t.Fatal(err)
			}
			r, err := NewReader(src, false)
			if err != nil {
				t.Fatal(err)
			}
			sources := r.Sources()
			if lines, said, err := r.SourceText(b.SourceFiles[0].ID, sources); err != nil || len(lines)+len(said) > 0 {
				t.Errorf("before files are read: %q, %v, %v", lines, said, err)
			}
			sources.Load()
			lines, said, err := r.SourceText(b.SourceFiles[0].ID, sources)
			notes := Writers.Words(said)
			if err != nil || (tt.want == "") != (len(lines) == 0) || len(lines) > 3 && lines[2] != "    "+tt.want {
				t.Errorf("%q, %v", lines, err)
			}
			if tt.note == "" && len(notes) != 0 || tt.note != "" &&
				(len(notes) != 1 || !strings.Contains(notes[0], tt.note)) {
				t.Errorf("notes: %q", notes)
			}
		})
	}
}
