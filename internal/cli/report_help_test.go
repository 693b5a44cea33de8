package cli

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/clrprof/clrprof/internal/export/pprof"
	"github.com/clrprof/clrprof/internal/present/report"
	"github.com/clrprof/clrprof/internal/present/report/text"
)

// maxHelpLines and maxHelpColumns are what a help that fits on a screen has at most.
const (
	maxHelpLines   = 50
	maxHelpColumns = 100
)

// TestHelpFits: the helps of report and export fit on a screen and name every flag.
func TestHelpFits(t *testing.T) {
	var help bytes.Buffer
	cmd := newReportCommand(&environment{})
	writeReportHelp(&help, cmd)
	testHelpFits(t, cmd, help.String(), maxHelpLines)
	help.Reset()
	cmd = newExportCommand(&environment{})
	writeExportHelp(&help, cmd)
	testHelpFits(t, cmd, help.String(), 40)
	for _, cmd := range []*cobra.Command{newPsCommand(&environment{}), newDoctorCommand(&environment{})} {
		for line := range strings.Lines(cmd.Long) {
			if line = strings.TrimSuffix(line, "\n"); text.Width(line) > maxHelpColumns {
				t.Errorf("%s: %d columns: %s", cmd.Name(), len(line), line)
			}
		}
	}
	for _, of := range []struct {
		cmd    *cobra.Command
		common string
		groups []flagGroup
	}{{newRunCommand(&environment{}), commonRunFlags, runFlagGroups}, {newAttachCommand(&environment{}), "",
		attachFlagGroups}, {newDiffCommand(&environment{}), "", diffFlagGroups}} {
		help.Reset()
		writeGroupedHelp(&help, of.cmd, of.common, of.groups)
		testHelpFits(t, of.cmd, help.String(), maxHelpLines)
	}
}

func testHelpFits(t *testing.T, cmd *cobra.Command, help string, most int) {
	t.Helper()
	lines := strings.Split(strings.TrimRight(help, "\n"), "\n")
	if len(lines) > most {
		t.Errorf("%s: %d lines", cmd.Name(), len(lines))
	}
	for _, line := range lines {
		if text.Width(line) > maxHelpColumns {
			t.Errorf("%s: %d columns: %s", cmd.Name(), len(line), line)
		}
	}
	named := map[string]bool{}
	for _, w := range strings.Fields(strings.ReplaceAll(help, ",", "")) {
		named[w] = true
	}
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if f.Name != "help" && !f.Hidden && !named["--"+f.Name] {
			t.Errorf("%s: --%s is not named", cmd.Name(), f.Name)
		}
	})
	_, groups, _ := strings.Cut(help, " says what ")
	for _, w := range strings.Fields(strings.ReplaceAll(groups, ",", "")) {
		if name, ok := strings.CutPrefix(w, "--"); ok && name != "help" && !strings.HasSuffix(name, ")") &&
			cmd.Flags().Lookup(name) == nil {
			t.Errorf("%s: there is no --%s", cmd.Name(), name)
		}
	}
}

// TestViewHelp: the help of a view says what each of its columns is, and tells of the flags that the view takes and
// others do not; what is common to all of them is in one place.
func TestViewHelp(t *testing.T) {
	cmd := newReportCommand(&environment{})
	var common bytes.Buffer
	writeCommonHelp(&common, cmd)
	reported := map[string]bool{"help": true}
	isTold := func(help string) {
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			reported[f.Name] = reported[f.Name] || strings.Contains(help, "--"+f.Name+" ")
		})
	}
	isTold(common.String())
	for _, view := range report.Views() {
		var help bytes.Buffer
		testShortViewHelp(t, cmd, view)
		writeWholeViewHelp(&help, cmd, view)
		isTold(help.String())
		_, flags, _ := strings.Cut(help.String(), "\nFlags:\n")
		for _, key := range slices.Concat(view.ColumnKeys(), view.TimeKeys(), view.OptionalKeys()) {
			base := strings.TrimSuffix(key, "_percent")
			if !strings.Contains(help.String(), "\n  "+key+" ") && !strings.Contains(help.String(), "\n  "+base+" % ") {
				t.Errorf("%s: its help does not say what %s is", view.Name, key)
			}
		}
		for flag, takes := range map[string]bool{"by": view.HasBy(), "hot": view.Shaped, "root": view.Shaped,
			"depth": view.IsTree() || view.HasBy(), "range": view.Ranged, "disable": view.Judges, "top": false} {
			if has := strings.Contains(flags, " --"+flag+" "); has != takes {
				t.Errorf("%s: --%s is in its help: %v", view.Name, flag, has)
			}
		}
		for line := range strings.Lines(help.String()) {
			if n := text.Width(line) - 1; n > maxHelpColumns {
				t.Errorf("%s: %d columns: %s", view.Name, n, line)
			}
		}
	}
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if !reported[f.Name] {
			t.Errorf("no help says what --%s does", f.Name)
		}
	})
}

// testShortViewHelp: what is printed first of a view's help fits on a screen, and names all columns and flags.
func testShortViewHelp(t *testing.T, cmd *cobra.Command, view report.View) {
	t.Helper()
	var out bytes.Buffer
	writeViewHelp(&out, cmd, view)
	help := out.String()
	if n := strings.Count(help, "\n"); n > maxHelpLines {
		t.Errorf("%s: %d lines", view.Name, n)
	}
	named := map[string]bool{}
	for _, w := range strings.FieldsFunc(help, func(r rune) bool {
		return r != '_' && r != '-' && !unicode.IsLetter(r) && !unicode.IsDigit(r)
	}) {
		named[w] = true
	}
	for _, key := range slices.Concat(view.ColumnKeys(), view.TimeKeys(), view.OptionalKeys()) {
		base := strings.TrimSuffix(key, "_percent")
		for _, of := range []string{"avg_", "min_", "max_"} {
			base = strings.TrimPrefix(base, of)
		}
		rule := strings.NewReplacer("inclusive_", "", "exclusive_", "", "_inclusive", "", "_exclusive", "").Replace(base)
		if !named[key] && !named[base] && !named[rule] {
			t.Errorf("%s: its help does not name %s", view.Name, key)
		}
	}
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if _, here := ofView(f, view); here && !named["--"+f.Name] {
			t.Errorf("%s: its help does not name --%s", view.Name, f.Name)
		}
	})
	for line := range strings.Lines(help) {
		if n := text.Width(line) - 1; n > maxHelpColumns {
			t.Errorf("%s: %d columns: %s", view.Name, n, line)
		}
	}
}

// TestFormatHelp: each format has a help, whose flags are those that it takes.
func TestFormatHelp(t *testing.T) {
	for _, format := range exportFormats {
		cmd := newExportCommand(&environment{})
		var help bytes.Buffer
		writeFormatHelp(&help, cmd, format)
		if !strings.HasPrefix(help.String(), format.name+" is for ") {
			t.Errorf("%s: %s", format.name, help.String())
		}
		for flag, value := range map[string]string{"value": "bytes", "sample-types": "go", "labels": "type",
			"disable": "linq", "root": "Main", "fold-recursion": "true", "by": "module", "async": "physical",
			"hot": "true", "bottom-up": "true", "merge-threads": "true", "min-share": "1"} {
			x := &exportFlags{format: format.name, sampleTypes: string(pprof.Clrprof)}
			set := &cobra.Command{}
			x.flags(set)
			if err := set.Flags().Set(flag, value); err != nil {
				t.Fatal(err)
			}
			err := x.check(format)
			if _, refused := x.pprofOptions(format); err == nil {
				err = refused
			}
			if named := strings.Contains(help.String(), "--"+flag+" "); named != (err == nil) {
				t.Errorf("%s: --%s is in its help: %v, but: %v", format.name, flag, named, err)
			}
		}
	}
}

// TestFlagsAreWrapped: no command's flags are described in lines that a terminal would break anywhere.
func TestFlagsAreWrapped(t *testing.T) {
	for _, cmd := range newRoot(&environment{}).Commands() {
		_, flags, _ := strings.Cut(cmd.UsageString(), "\nFlags:\n")
		for line := range strings.Lines(flags) {
			if len(line) > helpWidth+1 {
				t.Errorf("%s: %d columns: %s", cmd.Name(), len(line), line)
			}
		}
	}
}
