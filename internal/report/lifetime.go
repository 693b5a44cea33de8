package report

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/clrprof/clrprof/internal/analysis"
	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
)

// grouped are the columns that say what a row of lifetimes is about, by Options.By: for programs and in text.
var grouped = map[analysis.By][2]string{
	analysis.ByType:     {"name module module_path process_id process_name ", "name "},
	analysis.BySite:     {"name function from stack module module_path source_file line process_id process_name ", "name function from "},
	analysis.ByFunction: {identity, "name "},
	analysis.ByLine:     {position + "line_name ", "place function "},
}

// byNames are the values of Options.By.
var byNames = []string{string(analysis.ByType), string(analysis.BySite), string(analysis.ByFunction), string(analysis.ByLine)}

// groupedBy returns the view with the columns for its groups.
func (v View) groupedBy(by analysis.By) (View, error) {
	if v.groups != nil && by != "" {
		return v.inGroups(by)
	}
	if !v.Grouped {
		if by != "" {
			return v, &UnknownError{What: "grouping", Name: string(by)}
		}
		return v, nil
	}
	g, ok := grouped[cmp.Or(by, analysis.ByType)]
	if !ok {
		return v, Unknown("grouping", string(by), byNames)
	}
	v.columns = slices.Concat(keys(g[0]), v.columns)
	v.text = slices.Concat(keys(g[1]), v.text)
	v.places = true
	if cmp.Or(by, analysis.ByType) != analysis.BySite && by != analysis.ByLine {
		v.text = append(v.text, "module")
	}
	return v, nil
}

// groupRow makes a row about a group.
func (c *context) groupRow(g analysis.Group) Row {
	row := Row{process: g.Process, typ: g.Type, function: g.Function, line: g.Line, node: g.Node}
	switch {
	case g.Node != 0:
		row.kind, row.module = rowSite, c.functions.get(g.Function).Module
	case g.Line != 0:
		row.kind, row.module = rowLine, c.functions.get(g.Function).Module
	case g.Function != 0:
		row.kind, row.module = rowFunction, c.functions.get(g.Function).Module
	default:
		row.kind, row.module = rowType, c.types.get(g.Type).Module
	}
	return row
}

// groups returns a row for each group with its lifetime, and the positions of the groups of sites.
func (b *builder) groups() ([]Row, map[session.SiteID]int, error) {
	lifetimes, err := b.source.Lifetimes()
	if err != nil {
		return nil, nil, err
	}
	groups, values, of := lifetimes.Groups(cmp.Or(b.options.By, analysis.ByType))
	list := make([]Row, len(groups))
	for i, g := range groups {
		list[i] = b.groupRow(g)
		list[i].values, list[i].lifetime = both(values[i].Born), &values[i]
	}
	return list, of, nil
}

func buildLifetime(b *builder) error {
	list, of, err := b.groups()
	if err != nil {
		return err
	}
	if b.source.Selection().InGCs() { // where the living are is known of the end alone
		b.table.Notes = append(b.table.Notes, backgroundNote, spanNote)
		b.table.Rows = b.limit(list, exclusiveCost)
		return nil
	}
	if err := b.attachWhere(list, of); err != nil {
		return err
	}
	notes, err := b.lifetimeNotes()
	b.table.Notes = append(b.table.Notes, notes...)
	b.table.Rows = b.limit(list, exclusiveCost)
	return err
}

// alive is a cohort with the collections that its process had.
type aliveRow struct {
	session.SiteAlive
	gcs int64
}

// aliveAtEnd returns what is reachable at the end at the sites that are wanted.
func (b *builder) aliveAtEnd(of map[session.SiteID]int) ([]aliveRow, error) {
	s := b.source.Session()
	cohorts, err := s.SiteAlive()
	if err != nil {
		return nil, err
	}
	collections, err := s.GCs()
	if err != nil {
		return nil, err
	}
	last := map[session.ProcessID]int64{}
	for _, g := range collections {
		last[g.Process] = max(last[g.Process], g.Number)
	}
	sites, err := s.Sites()
	if err != nil {
		return nil, err
	}
	threads := map[session.SiteID]session.ThreadID{}
	for _, r := range sites {
		threads[r.ID] = r.Thread
	}
	var out []aliveRow
	for _, a := range cohorts {
		if _, wanted := of[a.Site]; wanted {
			out = append(out, aliveRow{a, last[b.threads.get(threads[a.Site]).Process]})
		}
	}
	return out, nil
}

// buildDiffGCs shows what was born between two collections and is still alive.
func buildDiffGCs(b *builder) error {
	words := strings.Fields(b.options.Argument)
	if len(words) != 2 {
		return &UnknownError{What: "pair of collections", Name: b.options.Argument}
	}
	var numbers [2]int64
	for i, word := range words {
		n, err := strconv.ParseInt(word, 10, 64)
		if err != nil || n < 0 {
			return &UnknownError{What: "collection", Name: word}
		}
		numbers[i] = n
	}
	from, to := numbers[0], numbers[1]
	if from >= to {
		return &UnknownError{What: "pair of collections", Name: b.options.Argument}
	}
	list, of, err := b.groups()
	if err != nil {
		return err
	}
	if err := b.source.CheckGCs(from, to); err != nil {
		return err
	}
	cohorts, err := b.aliveAtEnd(of)
	if err != nil {
		return err
	}
	sums := make([]q.Amount, len(list))
	ends := make([]analysis.Lifetime, len(list)) // Dead here means: alive in this generation
	for _, a := range cohorts {
		if a.Born < from || a.Born >= to {
			continue
		}
		g := of[a.Site]
		sums[g] = sums[g].Add(a.Amount)
		if a.Generation >= 0 && a.Generation < session.Generations {
			ends[g].Dead[a.Generation] = ends[g].Dead[a.Generation].Add(a.Amount)
		}
	}
	var out []Row
	for i, r := range list {
		if !sums[i].IsZero() {
			r.values, r.lifetime = both(sums[i]), &ends[i]
			out = append(out, r)
		}
	}
	b.table.Notes = append(b.table.Notes, fmt.Sprintf("Born after collection %d and before collection %d, and reachable at the end; by the generation in which they are.", from, to))
	b.table.Next = append(b.table.Next, fmt.Sprintf("What was born and died between them: lifetime --gc %d..%d", from, to))
	known, err := b.aliveKnown()
	if !known {
		b.table.Notes = append(b.table.Notes, "There was no last collection (--final-gc=false, or the process died): when the living were born is not known.")
	}
	b.table.Rows = b.limit(out, exclusiveCost)
	return err
}

// aliveKnown reports whether a process ended with a last collection.
func (c *context) aliveKnown() (bool, error) {
	rows, err := c.source.Session().ProcessLifetimes()
	return slices.ContainsFunc(rows, func(r session.ProcessLifetime) bool { return r.AliveKnown }), err
}

// ageKeys are the keys of the columns of a measure of ages; those of the living begin with alive_.
func ageKeys(measure string) string {
	var b strings.Builder
	for i := range session.AgeBuckets {
		fmt.Fprintf(&b, "%s ", ageKey(measure, i))
	}
	return b.String()
}

// ageNames end the keys of ages: the least age of a bucket.
var ageSuffixes = map[string][session.AgeBuckets]string{
	session.AgeGCs:  {"0", "1", "2", "3", "5", "9", "17", "65"},
	session.AgeTime: {"0", "1ms", "10ms", "100ms", "1s", "10s", "100s", "1000s"},
}

func ageKey(measure string, bucket int) string {
	if measure == "alive" {
		return "alive_gcs_" + ageSuffixes[session.AgeGCs][bucket]
	}
	return measure + "_" + ageSuffixes[measure][bucket]
}

// ageRow is the distribution of the ages of a group's objects.
type ageRow struct {
	dead                    q.Count
	byGCs, byTime, aliveGCs [session.AgeBuckets]q.Count
}

// ageColumns makes the columns of ages.
func ageColumns() []Column {
	out := []Column{{Key: "dead_instances", Title: "Died", Kind: Count, cell: ageCell(func(a *ageRow) q.Count { return a.dead })}}
	for i := range session.AgeBuckets {
		title := session.AgeName(session.AgeGCs, int64(i))
		title = strings.Replace(title, " and more", "+", 1)
		out = append(out,
			Column{Key: ageKey(session.AgeGCs, i), Title: title + pick(i == 1, " GC", " GCs"), Kind: Count, cell: ageCell(func(a *ageRow) q.Count { return a.byGCs[i] })},
			Column{Key: ageKey("alive", i), Title: "Alive " + title, Kind: Count, cell: ageCell(func(a *ageRow) q.Count { return a.aliveGCs[i] })},
			Column{Key: ageKey(session.AgeTime, i), Title: session.AgeName(session.AgeTime, int64(i)), Kind: Count, cell: ageCell(func(a *ageRow) q.Count { return a.byTime[i] })})
	}
	return out
}

func ageCell(value func(*ageRow) q.Count) func(*context, *Row) Cell {
	return func(_ *context, r *Row) Cell {
		if r.ages == nil {
			return Cell{Empty: true}
		}
		return numberCell(value(r.ages))
	}
}

// gcBucket is the bucket of an age in collections, as agents count it.
func gcBucket(survived int64) int {
	most := [...]int64{0, 1, 2, 4, 8, 16, 64}
	for i, m := range most {
		if survived <= m {
			return i
		}
	}
	return len(most)
}

func buildAges(b *builder) error {
	list, of, err := b.groups()
	if err != nil {
		return err
	}
	ages, err := b.source.Session().SiteAges()
	if err != nil {
		return err
	}
	rows := make([]ageRow, len(list))
	for i := range list {
		rows[i].dead = list[i].lifetime.Collected().Allocations
		rows[i].byGCs[0] = rows[i].dead
		list[i].ages = &rows[i]
	}
	for _, a := range ages {
		g, wanted := of[a.Site]
		switch {
		case !wanted || a.Bucket < 0 || a.Bucket >= session.AgeBuckets:
		case a.Measure == session.AgeGCs:
			rows[g].byGCs[a.Bucket] += a.Objects
			rows[g].byGCs[0] -= a.Objects
		case a.Measure == session.AgeTime:
			rows[g].byTime[a.Bucket] += a.Objects
		}
	}
	cohorts, err := b.aliveAtEnd(of)
	for _, a := range cohorts {
		row := &rows[of[a.Site]]
		row.aliveGCs[gcBucket(a.gcs-a.Born)] += a.Allocations
	}
	b.table.Notes = append(b.table.Notes, "How many collections the objects survived that died (GCs) or are reachable at the end (alive); times, of those that survived one, with --columns.")
	if b.source.Selection().Spans() {
		b.table.Notes = append(b.table.Notes, "Ages are those of the whole run.")
		for i := range rows {
			rows[i].byGCs[0] = 0 // how many survived nothing is known of the whole only
		}
	}
	b.table.Rows = b.limit(list, exclusiveCost)
	return err
}
