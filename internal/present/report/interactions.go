package report

import (
	"cmp"

	"github.com/clrprof/clrprof/internal/analysis"
	q "github.com/clrprof/clrprof/internal/quantity"
)

// interactionsView is the list of calls to databases and over HTTP.
var interactionsView = View{
	Name:    "interactions",
	Short:   "calls to databases and over HTTP: what was sent, how long it took, and by whom",
	Text:    Options{Top: 40},
	Grouped: true,
	places:  true,
	ways:    []string{string(analysis.ByText), string(analysis.ByExact), string(analysis.ByLine)},
	columns: keys("interaction_kind interaction_text interaction_texts interaction_calls interaction_ended interaction_failed " +
		"interaction_unwaited interaction_total interaction_min interaction_average interaction_max " +
		"function module source_file line process_id process_name"),
	text:  keys(interactionText),
	build: buildInteractions,
	timed: timedView{text: keys(interactionText), both: keys(interactionText)},
}

const interactionText = "interaction_text interaction_calls interaction_total interaction_average interaction_max place " +
	"function interaction_failed interaction_min interaction_unwaited interaction_kind"

// noText is shown in the place of a text for which there was no room.
const noText = "(other texts)"

// interactionColumns are those of the view interactions.
var interactionColumns = []Column{
	{Key: "interaction_kind", Title: "Kind", Kind: Text, cell: interactionCell(func(i *analysis.Interaction) Cell {
		return textCell(i.Kind)
	})},
	{Key: "interaction_text", Title: "Text", Kind: Name, Cut: CutEnd,
		cell: interactionCell(func(i *analysis.Interaction) Cell {
			switch {
			case !i.HasText && i.Texts > 1:
				return textCell("(" + counted(i.Texts, "text") + ")")
			case !i.HasText:
				return textCell(noText)
			}
			return textCell(i.Text)
		})},
	interactionNumber("texts", "Texts", Count, func(i *analysis.Interaction) int64 { return int64(i.Texts) }),
	interactionNumber("calls", "Calls", Count, func(i *analysis.Interaction) int64 { return int64(i.Calls) }),
	interactionNumber("ended", "Ended", Count, func(i *analysis.Interaction) int64 { return int64(i.Ended) }),
	interactionNumber("failed", "Failed", Count, func(i *analysis.Interaction) int64 { return int64(i.Failed) }),
	interactionNumber("unwaited", "Not waited", Count, func(i *analysis.Interaction) int64 {
		return int64(i.Unwaited)
	}),
	interactionTime("total", "Total", func(i *analysis.Interaction) q.Nanoseconds { return i.Total }),
	interactionTime("min", "Min", func(i *analysis.Interaction) q.Nanoseconds { return i.Min }),
	interactionTime("average", "Average", (*analysis.Interaction).Average),
	interactionTime("max", "Max", func(i *analysis.Interaction) q.Nanoseconds { return i.Max }),
}

func interactionCell(value func(*analysis.Interaction) Cell) func(*context, *Row) Cell {
	return func(_ *context, r *Row) Cell {
		if r.interaction == nil {
			return Cell{Empty: true}
		}
		return value(r.interaction)
	}
}

func interactionNumber(key, title string, kind Kind, value func(*analysis.Interaction) int64) Column {
	return Column{Key: "interaction_" + key, Title: title, Kind: kind,
		cell: interactionCell(func(i *analysis.Interaction) Cell { return Cell{Number: value(i)} })}
}

// interactionTime makes a column of a time of calls that ended.
func interactionTime(key, title string, value func(*analysis.Interaction) q.Nanoseconds) Column {
	return Column{Key: "interaction_" + key, Title: title, Kind: Duration,
		cell: interactionCell(func(i *analysis.Interaction) Cell {
			return Cell{Number: int64(value(i)), Empty: i.Ended == 0}
		})}
}

// buildInteractions lists calls, those that took longest in all first.
func buildInteractions(b *builder) error {
	list, err := analysis.Interactions(b.source.Session(), cmp.Or(b.options.By, analysis.ByText))
	if err != nil {
		return err
	}
	if len(list) == 0 {
		if err := b.noteNone("interactions", "interactions", "--interactions"); err != nil {
			return err
		}
	}
	var rows []Row
	for i := range list {
		in := &list[i]
		if !b.source.Selection().HasProcess(in.Process) {
			continue
		}
		rows = append(rows, Row{kind: rowInteraction, process: in.Process, function: in.From.Function,
			line: in.From.Line, module: b.functions.get(in.From.Function).Module, interaction: in})
	}
	if b.options.Sort != "" {
		b.sorted(rows)
	}
	b.table.Rows = b.first(rows, "more row")
	return nil
}
