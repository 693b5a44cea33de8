package cli

import (
	"bytes"
	"errors"
	"path/filepath"
	"testing"

	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/testkit/sessiontest"
)

// TestNothingWithoutReport: where no summary is printed, it is said that no call was recorded, and why.
func TestNothingWithoutReport(t *testing.T) {
	for _, c := range []struct {
		options string
		calls   bool
		made    string // the function of an object that is made without times, as in metadata; "": there is none
		want    string
	}{
		{`{"include":["Nope.*"]}`, false, session.NameExcluded, "clrprof: No object counts for a function: none that " +
			"made one is selected by --include 'Nope.*', so all count for (excluded); clrprof list-functions shows what " +
			"there is.\n"},
		{`{"include":["Quiet.*"]}`, false, "Quiet.Main", ""},
		{"", false, session.NameExcluded, ""},
		{`{"include":["Nope.*"]}`, false, "", "clrprof: No call was recorded: nothing that ran is selected by " +
			"--include 'Nope.*'; clrprof list-functions shows what there is.\n"},
		{"", true, "", ""},
	} {
		b := sessiontest.New()
		p := b.Process("Quiet", 1)
		main := b.Thread(p, "main")
		if c.made == "" {
			b.Timed(p, 20, 30)
		} else {
			module := b.Module(p, "Quiet.dll", true)
			b.Allocate(1, main, b.Type(module, "Thing"), 1, 24,
				sessiontest.Frame{Function: b.Function(module, c.made+"()", "/src/Quiet.cs", 1)})
		}
		if c.calls {
			of := b.Function(b.Module(p, "Quiet.dll", true), "Quiet.Main()", "/src/Quiet.cs", 1)
			b.Run(main).Call(0, of, sessiontest.Interval{}).End(sessiontest.Interval{Elapsed: 10})
		}
		if f := b.Functions; c.made == session.NameExcluded {
			f[0].Kind, f[0].Name, f[0].RawName = session.FunctionPseudo, session.NameExcluded, session.NameExcluded
		}
		if c.options != "" {
			b.Info[session.KeyOptions] = c.options
		}
		path := filepath.Join(t.TempDir(), "quiet.clrprof")
		if err := writeComplete(b, path); err != nil {
			t.Fatal(err)
		}
		var said bytes.Buffer
		r := &runFlags{noReport: true, time: c.made == ""}
		if c.options != "" {
			r.plan.include = []string{"given.*"} // which decides only whether the session is looked at
		}
		s, err := session.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(r.summarize(&environment{}, newNotes(&said), s), s.Close()); err != nil {
			t.Fatal(err)
		}
		if want := "clrprof: session " + path + "\n" + c.want; said.String() != want {
			t.Errorf("%q, want %q", said.String(), want)
		}
	}
}
