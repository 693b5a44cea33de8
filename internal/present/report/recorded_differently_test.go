package report

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/testkit/sessiontest"
)

// TestRecordedDifferently: each thing that differs between sessions is said, with the sessions, and nothing else.
func TestRecordedDifferently(t *testing.T) {
	changed := func(change func(*sessiontest.Builder)) *sessiontest.Builder {
		b := sessiontest.Shop()
		change(b)
		return b
	}
	info := func(key, value string) *sessiontest.Builder {
		return changed(func(b *sessiontest.Builder) { b.Info[key] = value })
	}
	for _, c := range []struct {
		what string
		old  *sessiontest.Builder
		new  *sessiontest.Builder
		want []string
	}{
		{"the same", sessiontest.Shop(), sessiontest.Shop(), nil},
		{"another folder", sessiontest.Shop(), changed(func(b *sessiontest.Builder) {
			b.Info[session.KeyDirectory], b.Processes[0].Path = "/other", "/other/Shop"
			b.Modules[0].Path = "/other/Shop.dll"
		}), nil},
		{"another name of the program", sessiontest.Shop(), changed(func(b *sessiontest.Builder) {
			b.Processes[0].Name = "Shop2"
		}), nil},
		{"another program", sessiontest.Shop(), changed(func(b *sessiontest.Builder) {
			b.Processes[0].Name = "Bank"
			for i := range b.Modules {
				if b.Modules[i].Name == "Shop.dll" {
					b.Modules[i].Name = "Bank.dll"
				}
			}
		}), []string{"These are different programs, with no module of user code in common: Shop in old.clrprof, " +
			"Bank in new.clrprof."}},
		{"times", sessiontest.Shop(), info(session.KeyMode, session.ModeMemoryTime), []string{
			"old.clrprof was recorded without times, new.clrprof with: with times the program can allocate more."}},
		{"lifetimes", info(session.KeyMode, session.ModeLifetime), sessiontest.Shop(), []string{"old.clrprof was " +
			"recorded with lifetimes, new.clrprof without: with lifetimes no collection is in the background."}},
		{"runtimes", sessiontest.Shop(), changed(func(b *sessiontest.Builder) {
			b.Processes[0].RuntimeVersion = "10.0.1"
		}), []string{"Runtimes differ: .NET 9.0.7 in old.clrprof, .NET 10.0.1 in new.clrprof."}},
		{"flags", info(session.KeyOptions, `{"include":["A.*","B"],"exclude_small":16,"trace":"a"}`),
			info(session.KeyOptions, `{"mine":["Shop"],"exclude_small":8,"attach":true,"trace":"b"}`), []string{
				"clrprof attach differs: not given in old.clrprof, given in new.clrprof.",
				"--exclude-small differs: 16 in old.clrprof, 8 in new.clrprof.",
				"--include differs: A.*,B in old.clrprof, not given in new.clrprof.",
				"--mine differs: not given in old.clrprof, Shop in new.clrprof."}},
		{"damaged flags", info(session.KeyOptions, `{`), info(session.KeyOptions, `[]`), nil},
		{"losses", sessiontest.Shop(), changed(func(b *sessiontest.Builder) {
			b.Losses = []session.Loss{{Process: 1, Reason: session.LossArenaFull, Events: 1}}
		}), []string{"Something is missing or inexact in new.clrprof: see report FILE losses."}},
		{"cut off", sessiontest.Shop(), changed(func(b *sessiontest.Builder) { b.State = session.Recording }),
			[]string{"The recording of new.clrprof was cut off: it has the numbers up to then."}},
	} {
		t.Run(c.what, func(t *testing.T) {
			dir := t.TempDir()
			var all []*session.Session
			for name, b := range map[string]*sessiontest.Builder{"old.clrprof": c.old, "new.clrprof": c.new} {
				path := filepath.Join(dir, name)
				if err := b.Write(path); err != nil {
					t.Fatal(err)
				}
			}
			for _, name := range []string{"old.clrprof", "new.clrprof"} {
				s, err := session.Open(filepath.Join(dir, name))
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { s.Close() })
				all = append(all, s)
			}
			got, err := RecordedDifferently(all...)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Errorf("what differs (-want +got):\n%s", d)
			}
		})
	}
}
