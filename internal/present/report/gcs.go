package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/clrprof/clrprof/internal/analysis"
	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
)

// gcsView is the list of collections.
var gcsView = View{
	Name:  "gcs",
	Short: "garbage collections, in order of time",
	Text:  Options{Top: 60},
	columns: keys("number process_id process_name generation induced at_ns pause_ns agent_ns finalizable " +
		"before_objects before_bytes dead_objects dead_bytes survived_objects survived_bytes promoted_objects " +
		"promoted_bytes pinned heap_before_objects heap_before_bytes heap_after_objects heap_after_bytes " +
		"heap_size_bytes heap_free_bytes from source_file line_begin"),
	places: true,
	text: keys("number generation at_ns pause_ns before_bytes dead_bytes survived_bytes chart pause_chart " +
		"heap_after_bytes heap_free_bytes promoted_bytes pinned induced finalizable agent_ns from"),
	sort:     "at_ns",
	adapt:    adaptGCs,
	build:    buildGCs,
	optional: keys(gcGenerationKeys()),
}

// adaptGCs leaves out of text what an imported file does not say.
func adaptGCs(c *context, v View) View {
	if c.imported {
		v.text = keys("number generation at_ns pause_ns pause_chart heap_size_bytes pinned induced finalizable")
	}
	return v
}

// gcRow is a garbage collection.
type gcRow struct {
	session.GC
	generations            [session.Generations]session.GCGeneration
	before, dead, promoted q.Amount // of the collected generations together
	heaps                  [session.Generations]session.GCHeap
	heap                   session.GCHeap // of all generations together
	known                  bool           // of heaps and pinned
	followed               bool           // objects were: otherwise how many there were is not known
	pinned                 q.Count
	longest                q.Nanoseconds
	largest                q.Bytes
}

func (g *gcRow) survived() q.Amount { return g.before.Sub(g.dead) }

// gcParts are what a collection counts.
var gcParts = []struct {
	key, title string
	of         func(before, dead, promoted q.Amount) q.Amount
}{
	{"before", "Before", func(before, _, _ q.Amount) q.Amount { return before }},
	{"dead", "Dead", func(_, dead, _ q.Amount) q.Amount { return dead }},
	{"survived", "Survived", func(before, dead, _ q.Amount) q.Amount { return before.Sub(dead) }},
	{"promoted", "Promoted", func(_, _, promoted q.Amount) q.Amount { return promoted }},
}

// heapParts are what there is in all generations, collected or not. Sessions of the first clrprof do not say it.
var heapParts = []struct {
	key, title string
	of         func(*session.GCHeap) q.Amount
}{
	{"heap_before", "Heap before", func(h *session.GCHeap) q.Amount { return h.Before }},
	{"heap_after", "Heap after", func(h *session.GCHeap) q.Amount { return h.After }},
}

// gcHeapColumns are the columns of all generations together, and of single ones.
func gcHeapColumns() []Column {
	column := func(key, title string, kind Kind, value func(*gcRow) int64) Column {
		return Column{Key: key, Title: title, Kind: kind, cell: gcCell(func(_ *context, g *gcRow) Cell {
			return Cell{Number: value(g), Empty: !g.known}
		})}
	}
	out := []Column{column("pinned", "Pinned", Count, func(g *gcRow) int64 { return int64(g.pinned) }),
		{Key: "heap_size_bytes", Title: "Heap size", Kind: Bytes, cell: gcCell(func(c *context, g *gcRow) Cell {
			return Cell{Number: int64(g.heap.Extent), Empty: g.heap.Extent == 0 || !c.imported}
		})}}
	for _, part := range heapParts {
		ofHeap := func(g *gcRow, i int) q.Amount { return part.of(&g.heaps[i]) }
		known := func(g *gcRow) bool { return g.known && g.followed }
		out = append(out, gcAmounts(part.key, part.title, allGenerations, known, ofHeap)...)
		for i := range session.Generations {
			out = append(out, gcAmounts(endKeys[i]+"_"+part.key, endTitles[i]+" "+strings.ToLower(part.title), []int{i},
				known, ofHeap)...)
		}
	}
	free := func(key, title string, of func(*gcRow) *session.GCHeap) Column {
		return Column{Key: key, Title: title, Kind: Bytes, cell: gcCell(func(c *context, g *gcRow) Cell {
			bytes, known := c.freeBytes(of(g))
			if !known {
				return Cell{Empty: true}
			}
			return Cell{Number: int64(bytes)}
		})}
	}
	out = append(out, free("heap_free_bytes", "Heap free", func(g *gcRow) *session.GCHeap { return &g.heap }))
	for i := range session.Generations {
		out = append(out, free(endKeys[i]+"_heap_free_bytes", endTitles[i]+" heap free",
			func(g *gcRow) *session.GCHeap { return &g.heaps[i] }))
	}
	return out
}

// freeBytes is what was free between the objects of a generation, or of several, when a collection ended, if that is
// known.
func (c *context) freeBytes(h *session.GCHeap) (q.Bytes, bool) {
	return max(0, h.Extent-h.After.Bytes), h.Extent != 0 && !c.late && !c.imported
}

// gcGenerationKeys are the keys of the columns of single generations.
func gcGenerationKeys() string {
	var b strings.Builder
	for g := range session.Generations {
		for _, part := range gcParts {
			fmt.Fprintf(&b, "%s_%s_objects %s_%s_bytes ", endKeys[g], part.key, endKeys[g], part.key)
		}
		for _, part := range heapParts {
			fmt.Fprintf(&b, "%s_%s_objects %s_%s_bytes ", endKeys[g], part.key, endKeys[g], part.key)
		}
		fmt.Fprintf(&b, "%s_heap_free_bytes ", endKeys[g])
	}
	return b.String()
}

func gcCell(cell func(*context, *gcRow) Cell) func(*context, *Row) Cell {
	return func(c *context, r *Row) Cell {
		if r.gc == nil {
			return Cell{Empty: true}
		}
		return cell(c, r.gc)
	}
}

// allGenerations are the generations of a heap.
var allGenerations = []int{0, 1, 2, session.GenerationLarge, session.GenerationPinned}

// gcAmounts are the columns of what there is in some generations, of collections of which that is known.
func gcAmounts(key, title string, generations []int, known func(*gcRow) bool, of func(*gcRow, int) q.Amount) []Column {
	cell := func(value func(q.Amount) int64) func(*context, *Row) Cell {
		return gcCell(func(c *context, g *gcRow) Cell {
			if !known(g) {
				return Cell{Empty: true}
			}
			sum := q.Amount{}
			for _, i := range generations {
				sum = sum.Add(of(g, i))
			}
			return c.ofCollection(g, value(sum), generations, func(i int) q.Amount { return of(g, i) })
		})
	}
	return []Column{{Key: key + "_objects", Title: title, Kind: Count, cell: cell(func(a q.Amount) int64 {
		return int64(a.Allocations)
	})}, {Key: key + "_bytes", Title: title, Kind: Bytes, cell: cell(func(a q.Amount) int64 { return int64(a.Bytes) })}}
}

// ofCollection is a cell of a collection with a number that depends on what there is in some generations. Where objects
// were sampled, all but large ones are estimates: of how many samples a collection does not say, but what so many
// bytes are from at least.
func (c *context) ofCollection(g *gcRow, n int64, generations []int, of func(int) q.Amount) Cell {
	if c.processes.get(g.Process).Sampler == "" || slices.Equal(generations, []int{session.GenerationLarge}) {
		return Cell{Number: n}
	}
	small := q.Bytes(0)
	for _, i := range generations {
		if i != session.GenerationLarge {
			small += of(i).Bytes
		}
	}
	samples := q.SamplesIn(small)
	return Cell{Number: n, Empty: samples < q.LeastSamples, Estimate: &Estimate{Samples: samples}}
}

func gcColumns() []Column {
	column := func(key, title string, kind Kind, value func(*gcRow) int64) Column {
		return Column{Key: key, Title: title, Kind: kind, cell: gcCell(func(_ *context, g *gcRow) Cell {
			return Cell{Number: value(g)}
		})}
	}
	out := []Column{
		column("number", "GC", Number, func(g *gcRow) int64 { return g.Number }),
		column("generation", "Gen", Number, func(g *gcRow) int64 { return g.Generation }),
		column("induced", "Induced", Number, func(g *gcRow) int64 {
			if g.Induced {
				return 1
			}
			return 0
		}),
		column("at_ns", "At", Time, func(g *gcRow) int64 { return int64(g.Begin) }),
		column("pause_ns", "Pause", Duration, func(g *gcRow) int64 { return int64(g.Pause) }),
		{Key: "agent_ns", Title: "Agent's part", Kind: Duration, cell: gcCell(func(c *context, g *gcRow) Cell {
			return Cell{Number: int64(g.Agent), Empty: c.imported}
		})},
		column("finalizable", "Finalizable", Count, func(g *gcRow) int64 { return int64(g.Finalizable) }),
		{Key: "chart", Title: "Survived █ dead ░", Kind: Text, Drawn: true,
			cell: gcCell(func(_ *context, g *gcRow) Cell { return textCell(g.chart()) })},
		{Key: "pause_chart", Title: "Pause", Kind: Text, Drawn: true, cell: gcCell(func(_ *context, g *gcRow) Cell {
			return textCell(bar(int64(g.Pause), int64(g.longest), pauseWidth, "▆"))
		})},
	}
	for _, part := range gcParts {
		followed := func(g *gcRow) bool { return g.followed }
		value := func(g *gcRow, i int) q.Amount {
			x := &g.generations[i]
			return part.of(x.Before, x.Dead, x.Promoted)
		}
		out = append(out, gcAmounts(part.key, part.title, allGenerations, followed, value)...)
		for i := range session.Generations {
			out = append(out, gcAmounts(endKeys[i]+"_"+part.key, endTitles[i]+" "+strings.ToLower(part.title), []int{i},
				followed, value)...)
		}
	}
	return append(out, gcHeapColumns()...)
}

// Widths of the bars of the longest pause and of the largest heap.
const (
	pauseWidth = 8
	chartWidth = 24
)

// bar draws a part of a whole; what is not nothing has at least one mark.
func bar(part, whole int64, width int64, mark string) string {
	if part <= 0 || whole <= 0 {
		return ""
	}
	return strings.Repeat(mark, int(max(1, q.Percent{Part: part * width, Whole: whole}.Round(0)/100)))
}

// chart draws what the collection found, on the scale of the largest: first what survived.
func (g *gcRow) chart() string {
	all := bar(int64(g.before.Bytes), int64(g.largest), chartWidth, "░")
	survived := bar(int64(g.survived().Bytes), int64(g.largest), chartWidth, "█")
	rest := max(0, len([]rune(all))-len([]rune(survived)))
	if rest == 0 && g.dead.Bytes > 0 {
		rest = 1
	}
	return survived + strings.Repeat("░", rest)
}

// gcRows returns the collections that the filter lets through.
func (c *context) gcRows() ([]gcRow, error) {
	s := c.source.Session()
	followed, err := s.ProcessLifetimes()
	if err != nil {
		return nil, err
	}
	all, err := s.GCs()
	if err != nil {
		return nil, err
	}
	if len(followed) == 0 && len(all) == 0 {
		_, err := c.source.Lifetimes() // says that there are none
		return nil, err
	}
	generations, err := s.GCGenerations()
	if err != nil {
		return nil, err
	}
	var out []gcRow
	at := map[session.GCID]int{}
	sel := c.source.Selection()
	for _, g := range all {
		if !sel.HasGC(&g) {
			continue
		}
		at[g.ID] = len(out)
		out = append(out, gcRow{GC: g, followed: len(followed) > 0})
	}
	for _, g := range generations {
		i, wanted := at[g.GC]
		if !wanted || g.Generation < 0 || g.Generation >= session.Generations {
			continue
		}
		row := &out[i]
		row.generations[g.Generation] = g
		row.before, row.dead, row.promoted = row.before.Add(g.Before), row.dead.Add(g.Dead), row.promoted.Add(
			g.Promoted)
	}
	return out, readHeaps(s, out, at)
}

// readHeaps adds what there was in all generations.
func readHeaps(s *session.Session, out []gcRow, at map[session.GCID]int) error {
	details, err := s.GCDetails()
	if err != nil {
		return err
	}
	heaps, err := s.GCHeaps()
	if err != nil {
		return err
	}
	for _, d := range details {
		if i, wanted := at[d.GC]; wanted {
			out[i].known, out[i].pinned = true, d.Pinned
		}
	}
	for _, h := range heaps {
		i, wanted := at[h.GC]
		if !wanted || h.Generation < 0 || h.Generation >= session.Generations {
			continue
		}
		row := &out[i]
		row.heaps[h.Generation] = h
		row.heap.Before, row.heap.After = row.heap.Before.Add(h.Before), row.heap.After.Add(h.After)
		row.heap.Extent += h.Extent
	}
	return nil
}

func buildGCs(b *builder) error {
	list, err := b.gcRows()
	if err != nil {
		return err
	}
	longest, largest := q.Nanoseconds(0), q.Bytes(0)
	for i := range list {
		longest, largest = max(longest, list[i].Pause), max(largest, list[i].before.Bytes)
	}
	callers, err := analysis.GCCallers(b.source.Session())
	if err != nil {
		return err
	}
	rows := make([]Row, len(list))
	for i := range list {
		list[i].longest, list[i].largest = longest, largest
		rows[i] = Row{kind: rowGC, process: list[i].Process, gc: &list[i], values: both(list[i].dead),
			text: fmt.Sprintf("GC %d", list[i].Number)}
		at := callers[list[i].ID]
		rows[i].from, rows[i].function, rows[i].line = at, at.Function, at.Line
	}
	if b.imported {
		b.note(NoteImportedGCs)
	} else {
		b.note(NoteBackground)
		b.note(NoteGCs)
	}
	if b.source.Selection().Divides() {
		b.note(NoteWholeGCs)
	}
	b.sorted(rows)
	b.table.Rows = b.first(rows, "more collection")
	return nil
}
