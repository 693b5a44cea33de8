package cli

import (
	"slices"

	"github.com/spf13/cobra"

	"github.com/clrprof/clrprof/internal/analysis"
	"github.com/clrprof/clrprof/internal/present/report"
	"github.com/clrprof/clrprof/internal/present/report/words"
	"github.com/clrprof/clrprof/internal/session"
)

// shapeFlags say how the stacks, or the call tree, of an export are put together.
type shapeFlags struct {
	async, root, by           string
	hot, fold, reverse, merge bool
	share                     float64
}

func (f *shapeFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.async, "async", "", "stacks and call trees: logical, async methods below their callers, or "+
		"physical, as they were (default: physical for stacks, logical for call trees)")
	flags.StringVar(&f.root, "root", "", "stacks and call trees: only this function and what is below it")
	flags.BoolVar(&f.fold, "fold-recursion", false, "stacks and call trees without recursion: a call of a function "+
		"that is already there is part of its first call")
	flags.StringVar(&f.by, "by", "", "stacks and call trees of modules or of namespaces: module, namespace")
	flags.Float64Var(&f.share, "min-share", 0, "stacks and call trees: what has less than this percent of the "+
		"whole is [left out] of its caller (default: 0.1 for html, otherwise 0)")
	flags.BoolVar(&f.merge, "merge-threads", false, "merge threads of one name in a process")
	flags.BoolVar(&f.hot, "hot", false, "csv, xml, json: only the hot path of the call tree")
	flags.BoolVar(&f.reverse, "bottom-up", false, "csv, xml, json: the call tree from below")
}

// isTree reports whether the call tree is another one.
func (f *shapeFlags) isTree() bool {
	return f.async != "" || f.root != "" || f.by != "" || f.fold || f.hot || f.reverse || f.share != 0
}

// check refuses what a format cannot have.
func (f *shapeFlags) check(chosen exportFormat) error {
	switch {
	case f.share < 0:
		return usage("--min-share cannot be negative")
	case f.async != "" && !slices.Contains(report.AsyncOptions(), f.async):
		return exit(exitUsage, report.Unknown("--async", f.async, report.AsyncOptions()))
	case f.by != "" && !slices.Contains(shapeGroups, f.by):
		return exit(exitUsage, report.Unknown("--by", f.by, shapeGroups))
	case f.hot && f.reverse:
		return usage("--hot is the path from the root down, so it does not work with --bottom-up")
	case chosen.name == "html" && (f.async != "" || f.root != "" || f.by != "" || f.fold || f.merge || f.hot ||
		f.reverse):
		return usage("a page without its session has the call tree as in report, except for --min-share: clrprof " +
			"view has the other shapes")
	case !chosen.stacks && !chosen.hasTree() && chosen.name != "html" && (f.isTree() || f.merge):
		return usage("the format %s has neither stacks nor a call tree, so it does not take --async, --root, "+
			"--fold-recursion, --by, --min-share, --hot, --bottom-up and --merge-threads", chosen.name)
	case chosen.stacks && f.hot:
		return usage("the format %s has all stacks, and a hot path only some of them: --hot is for csv, xml and json",
			chosen.name)
	case chosen.stacks && f.reverse:
		return usage("the format %s has stacks, which its viewers turn around themselves: --bottom-up is for csv, "+
			"xml and json",
			chosen.name)
	}
	return nil
}

// shapeGroups are what a call tree can be of in place of functions.
var shapeGroups = []string{string(analysis.ByModule), string(analysis.ByNamespace)}

// tree returns the options of the view calltree.
func (f *shapeFlags) tree() report.Options {
	return report.Options{Physical: f.async == "physical", Root: f.root, Fold: f.fold, By: analysis.By(f.by),
		MinShare: f.share, Hot: f.hot, BottomUp: f.reverse}
}

// threads returns the options of the view threads.
func (f *shapeFlags) threads() report.Options {
	if f.merge {
		return report.Options{By: analysis.ByName, Depth: 1}
	}
	return report.Options{}
}

// treeNotes say what the call tree of csv, xml and json is.
func (f *shapeFlags) treeNotes(s *session.Session, sel analysis.Selection) ([]string, error) {
	if !f.isTree() {
		return nil, nil
	}
	_, notes, err := shapeOf(s, sel, f.tree())
	return words.Notes(notes), err
}

// shapeOf returns the shape of a call tree and what it is.
func shapeOf(s *session.Session, sel analysis.Selection, o report.Options) (*analysis.SampleShape, []report.Note,
	error) {
	src, err := analysis.Open(s, sel)
	if err != nil {
		return nil, nil, err
	}
	reader, err := report.NewReader(src, false)
	if err != nil {
		return nil, nil, err
	}
	return reader.SampleShape(o)
}

// onSamples adds the shape of stacks to a selection.
func (f *shapeFlags) onSamples(s *session.Session, sel analysis.Selection) (analysis.Selection, error) {
	o := f.tree()
	o.Physical = f.async != "logical"
	if sel.FoldRecursion = f.fold; o.Physical && f.root == "" && f.by == "" && f.share == 0 { // with all lines
		if f.merge {
			sel.Shape = &analysis.SampleShape{MergeThreads: true, Notes: []string{mergedNote}}
		}
		return sel, nil
	}
	sel.FoldRecursion = false
	shape, notes, err := shapeOf(s, sel, o)
	if err != nil {
		return sel, err
	}
	if shape.Notes = words.Notes(notes); f.merge {
		shape.MergeThreads, shape.Notes = true, append(shape.Notes, mergedNote)
	}
	sel.Shape = shape
	return sel, nil
}

// mergedNote says what merged threads are.
const mergedNote = "Threads of one name in a process are merged, with the number of the first of them."
