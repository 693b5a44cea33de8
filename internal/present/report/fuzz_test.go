package report

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/clrprof/clrprof/internal/analysis"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
	"github.com/clrprof/clrprof/internal/testkit/sessiontest"
)

// damagedEvery is of how many pages of a session the quick suite damages one: all views are shown for each.
const damagedEvery = 3

// FuzzViews changes two places of a good session and shows all views of it, in all formats:
// there may be errors, but no panic and no end of it.
func FuzzViews(f *testing.F) {
	b := sessiontest.Shop()
	b.Losses = sessiontest.Several().Losses[:1]
	path := filepath.Join(f.TempDir(), "good")
	complete(f, b, path)
	good, err := os.ReadFile(path)
	if err != nil {
		f.Fatal(err)
	}
	for at := uint32(4096); at < uint32(len(good)); at += 4096 {
		if !dotnettest.Drawn(int(at/4096), damagedEvery) {
			continue
		}
		f.Add(at+4090, []byte{0x7f, 0xff, 0xff}, at+4000, []byte{0x80, 0, 1}, false)
		f.Add(at+4070, []byte{0, 1, 1, 0, 2}, at+100, []byte{1}, true)
	}
	f.Fuzz(func(t *testing.T, at uint32, x []byte, then uint32, y []byte, recorded bool) {
		bad := bytes.Clone(good)
		copy(bad[int(at)%len(bad):], x)
		copy(bad[int(then)%len(bad):], y)
		if recorded { // values are computed, not read
			bad = bytes.Replace(bad, []byte("statecomplete"), []byte("staterecorded"), 1)
		}
		path := filepath.Join(t.TempDir(), "f")
		if err := os.WriteFile(path, bad, 0o644); err != nil {
			t.Fatal(err)
		}
		showAll(path)
	})
}

// showAll writes every view of a session to nowhere.
func showAll(path string) {
	s, err := session.Open(path)
	if err != nil {
		return
	}
	defer s.Close()
	analysis.Check(s)
	selections := []analysis.Selection{{}, {Processes: []session.ProcessID{1}, From: 1},
		{Threads: []session.ThreadID{2}}}
	for _, terms := range []analysis.Terms{
		{Functions: []string{"/[A-M]/"}, Types: []string{"!string"}, MayMiss: true},
		{Focus: []string{"!/Run/"}, Hide: []string{"/./"}, MayMiss: true},
		{GCs: analysis.GCSpan{After: 1, To: 2}},
	} {
		if sel, err := terms.Select(s); err == nil {
			selections = append(selections, sel)
		}
	}
	for _, selection := range selections {
		src, err := analysis.Open(s, selection)
		if err != nil {
			continue
		}
		exportAll(s, src, selection)
		if summary, err := Summarize(src, Options{Top: 3}); err == nil {
			for _, write := range []func(io.Writer, *Summary) error{Writers.SummaryText, Writers.SummaryJSON,
				Writers.SummaryCSV} {
				write(io.Discard, summary)
			}
		}
		for _, view := range views {
			for _, o := range []Options{view.Text, {Argument: "a"}, {Depth: 3, Top: 1, Min: 5}} {
				if table, err := view.Build(src, o); err == nil {
					Writers.Narrow(io.Discard, table)
					Writers.JSON(io.Discard, table)
				}
			}
		}
	}
}

// exportAll has everything made that exporters and comparisons are made of.
func exportAll(s *session.Session, src *analysis.Source, selection analysis.Selection) {
	for _, view := range analysis.ComparedViews() {
		analysis.Compare([]*analysis.Source{src}, []*analysis.Source{src}, view, "")
	}
	if samples, err := analysis.Samples(s, selection); err == nil {
		samples.Each(func(x *analysis.Sample) error {
			if samples.PathOf(x.Node) >= 0 {
				samples.Path(samples.PathOf(x.Node))
			}
			return nil
		})
		samples.Frames()
	}
	if d, err := analysis.Load(s); err == nil {
		keys := d.Keys()
		for i := range d.Sites {
			keys.Site(i)
		}
		for i := range d.Lines {
			keys.Line(i)
		}
	}
}
