package rules

import (
	"cmp"
	"slices"

	"github.com/clrprof/clrprof/internal/analysis"
	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
)

// Severity says how grave a finding is.
type Severity string

// Severities.
const (
	Warning     Severity = "warning"     // costs much, and can be avoided
	Information Severity = "information" // worth to know
)

// data is what a rule needs of a session.
type data int

const (
	memory data = iota
	lifetimes
	times
	paramsArrays // of objects
	readCalls    // of processes, by samples
	writeCalls   // likewise
)

// missing says which option of a recording a rule lacks.
var missing = map[data]string{memory: "--memory", lifetimes: "--lifetime", times: "--time", paramsArrays: "--memory",
	readCalls: "--sample-counters", writeCalls: "--sample-counters"}

// newer is what a session lacks that was recorded before clrprof knew what a rule needs.
const newer = "a newer clrprof"

// uncalled is what a session lacks in which nothing that ran was to be recorded.
const uncalled = "a call of your code (--time recorded none)"

// Rule is a mistake that can be seen in a session.
type Rule struct {
	ID       string // in lower case, with hyphens; it does not change
	Severity Severity
	Title    string // what is wrong, without numbers
	Advice   string // what to do
	Waiting  bool   // it is about threads that wait
	// its findings are about objects, and a snapshot of the heap would show what holds them
	AsksWhoHolds bool
	Of           Cost          // what the share of a finding is a share of
	Each         q.Nanoseconds // what one of its calls costs, by estimate; 0: that is known otherwise
	needs        data
	find         finder
}

// finder is how the findings of a rule are looked for.
type finder struct {
	search func(*facts, *Rule) search
	where  string                                          // how a whole program's Evidence begins to say its place
	floor  string                                          // from when on there is a finding
	says   func(*Finding, Names) string                    // its evidence; nil: it is about the whole program
	place  func(sum *analysis.PlaceSum, all q.Amount) bool // whether a place can break it; nil: none can
	calls  func(name string) bool                          // functions that it is about where they take time; nil: none
}

// search is how a rule looks at a session: at each of its uses, if add is there, and then found says what it found.
type search struct {
	add   func(*analysis.Use)
	found func() []Finding
}

// Needs returns the option of a recording without which the rule cannot be judged.
func (r *Rule) Needs() string { return missing[r.needs] }

// Floor says from when on there is a finding.
func (r *Rule) Floor() string { return r.find.floor }

// Finding is a place at which a rule is broken, or the whole program.
type Finding struct {
	Rule     *Rule
	From     analysis.Place     // in user code; zero: the whole program
	Function session.FunctionID // the framework function that From called; 0: From itself
	Type     session.TypeID     // of most of the objects; 0: it is not about objects
	Amount   q.Amount           // objects that it is about
	OfType   q.Amount           // of these: of Type
	Text     string             // of what is about the whole program: what is found, without its place
	Calls    q.Count
	Waited   q.Nanoseconds // without a processor
	Waits    q.Count
	says     func(*Finding, Names) string
}

// Names gives the names of what a finding is about.
type Names interface {
	Type(session.TypeID) string
	Function(session.FunctionID) string
	Place(analysis.Place) string
	// Holder is the static field that retains most objects of a type from a place, and how much of them; "": it is not
	// known of any.
	Holder(analysis.Place, session.TypeID) (string, q.Bytes)
}

// Evidence says in a sentence what was found, without the place, but of the whole program with it.
func (f *Finding) Evidence(n Names) string {
	switch {
	case f.Text == "":
		return f.says(f, n)
	case f.From.Function == 0:
		return f.Text
	}
	return f.Text + "; " + f.Rule.find.where + " " + n.Place(f.From)
}

// IsWhole reports whether a finding is about the whole program, which its Evidence says with the place to begin at.
func (f *Finding) IsWhole() bool { return f.Text != "" }

// WantsTimes reports whether times would say which place a finding about the whole program is of.
func (f *Finding) WantsTimes() bool { return f.IsWhole() && f.Rule.find.calls != nil && f.Calls == 0 }

// weight orders findings of one rule.
func (f *Finding) weight() int64 {
	return max(int64(f.Waited), int64(f.Amount.Bytes), int64(f.Calls))
}

// Unjudged is a rule of which a session cannot tell.
type Unjudged struct {
	Rule  *Rule
	Needs string // what the recording lacks: an option, a newer clrprof, or a call
}

// Result is what the rules say of a session.
type Result struct {
	Findings []Finding
	Unjudged []Unjudged
	Hidden   int            // findings beyond the limit of a rule
	HiddenOf map[string]int // of these, by the id of the rule
}

// maxFindings is how many findings of a rule are kept: more of one kind tell a reader nothing new.
const maxFindings = 20

// All returns the rules, in the order of id.
func All() []*Rule {
	out := make([]*Rule, 0, len(all))
	for i := range all {
		out = append(out, &all[i])
	}
	slices.SortFunc(out, func(a, b *Rule) int { return cmp.Compare(a.ID, b.ID) })
	return out
}

// IDs returns the ids of the rules, sorted.
func IDs() []string {
	var out []string
	for _, r := range All() {
		out = append(out, r.ID)
	}
	return out
}

// Judge applies all rules but those that are disabled, by id, to what is selected. Errors are those of reading.
func Judge(src *analysis.Source, disabled []string) (*Result, error) {
	return JudgeBetween(src, disabled, func() error { return nil })
}

// JudgeBetween is Judge, and calls between after each of its parts, which take long; an error of it ends the judging.
func JudgeBetween(src *analysis.Source, disabled []string, between func() error) (*Result, error) {
	all, err := (*judged)(nil), error(nil)
	if src.Stored() {
		all, err = stored(src.Session())
	}
	if all == nil && err == nil {
		all, err = judgeAll(src)
	}
	if err != nil {
		return nil, err
	}
	if err := between(); err != nil {
		return nil, err
	}
	return all.without(disabled), nil
}

// without returns what rules say that are not disabled.
func (j *judged) without(disabled []string) *Result {
	out := &Result{HiddenOf: map[string]int{}}
	for _, r := range All() {
		hidden, judged := j.hidden[r.ID]
		switch {
		case slices.Contains(disabled, r.ID):
		case judged:
			out.Hidden += hidden
			out.HiddenOf[r.ID] = hidden
		default:
			needs := r.Needs()
			switch {
			case j.lacks[r.needs] != "":
				needs = j.lacks[r.needs]
			case r.needs == readCalls || r.needs == writeCalls: // programs that end sooner lack them, too
				needs = "two samples of counters (" + needs + ")"
			}
			out.Unjudged = append(out.Unjudged, Unjudged{r, needs})
		}
	}
	for _, f := range j.findings {
		if !slices.Contains(disabled, f.Rule.ID) {
			out.Findings = append(out.Findings, f)
		}
	}
	return out
}

// judge applies all rules that the session can be judged by, and looks at each use once.
func (f *facts) judge() *judged {
	out := &judged{hidden: map[string]int{}, lacks: f.lacks}
	var searches []search
	for _, r := range All() {
		if f.has(r.needs) {
			out.hidden[r.ID] = 0
			searches = append(searches, r.find.search(f, r))
		}
	}
	f.Each(func(u *analysis.Use) {
		for i := range searches {
			if searches[i].add != nil {
				searches[i].add(u)
			}
		}
	})
	for _, s := range searches {
		found := s.found()
		slices.SortStableFunc(found, func(a, b Finding) int { return cmp.Compare(b.weight(), a.weight()) })
		if more := len(found) - maxFindings; more > 0 {
			out.hidden[found[0].Rule.ID] = more
			found = found[:maxFindings]
		}
		out.findings = append(out.findings, found...)
	}
	slices.SortStableFunc(out.findings, func(a, b Finding) int { return cmp.Compare(rank(a.Rule), rank(b.Rule)) })
	return out
}

func rank(r *Rule) int { return slices.Index([]Severity{Warning, Information}, r.Severity) }
