package analysis

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/testkit/differ"
	"github.com/clrprof/clrprof/internal/testkit/sessiontest"
)

// TestFilterSpans: clauses of marks and collections select what the flags of that name do.
func TestFilterSpans(t *testing.T) {
	for _, c := range []struct {
		sample, filter string
		want           Terms
		err            error
	}{
		{"several", "mark >= load and mark < #3", Terms{From: 1e9, To: 2e9}, nil},
		{"several", "(mark > load and type = *) and (process = 100 and mark <= warm)",
			Terms{From: 1e9, Processes: []string{"100"}, Filter: "type = *"}, nil},
		{"several", "mark < load", Terms{To: 1e9}, nil},
		{"several", "mark >= load and time < 2s", Terms{From: 1e9, To: 2e9}, nil},
		{"several", "mark >= warm and mark >= load", Terms{From: 2e9}, nil}, // warm was made within its slice
		{"several", "mark <= warm and mark < #3", Terms{To: 2e9}, nil},
		{"several", "mark >= warm and mark < load", Terms{}, ErrMarkOrder},
		{"several", "mark >= load and time < 1s", Terms{}, ErrFilter},
		{"aging", "gc > 1 and gc <= 3", Terms{GCs: GCSpan{1, 3}}, nil},
		{"aging", "gc >= 2 and gc < 4", Terms{GCs: GCSpan{1, 3}}, nil},
		{"aging", "gc = 2", Terms{GCs: GCSpan{1, 2}}, nil},
		{"aging", "gc >= 3 and (process = 77 and gc > 1)", Terms{GCs: GCSpan{2, 0}, Processes: []string{"77"}}, nil},
		{"aging", "gc <= 1", Terms{GCs: GCSpan{0, 1}}, nil},
	} {
		s := open(t, sessiontest.Samples[c.sample](), filepath.Join(t.TempDir(), "s"))
		defer s.Close()
		d, err := Load(s)
		if err != nil {
			t.Fatal(err)
		}
		have, err := Terms{Filter: c.filter}.Select(s)
		if c.err != nil {
			if !errors.Is(err, c.err) {
				t.Errorf("%s: %v", c.filter, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.filter, err)
			continue
		}
		want, err := c.want.Select(s)
		if err != nil {
			t.Fatal(err)
		}
		if have.From != want.From || have.To != want.To || have.GCs != want.GCs {
			t.Errorf("%s: %s to %s, %v; want %s to %s, %v", c.filter, have.From, have.To, have.GCs, want.From, want.To,
				want.GCs)
		}
		if diff := differ.Of(totalsOf(t, part(t, d, want)), totalsOf(t, part(t, d, have)), cmp.AllowUnexported(totals{}),
			cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s (-terms +filter):\n%s", c.filter, diff)
		}
	}
}

// TestFilterMarks: a filter that names a mark that there is not says which there are; flags and clauses narrow one
// span together.
func TestFilterMarks(t *testing.T) {
	s := open(t, sessiontest.Several(), filepath.Join(t.TempDir(), "s"))
	defer s.Close()
	var term *TermError
	if _, err := (Terms{Filter: "mark < lod"}).Select(s); !errors.As(err, &term) || term.What != fieldMark ||
		len(term.Names) == 0 {
		t.Errorf("%v", err)
	}
	sel, err := Terms{From: 1e9, Filter: "mark < #3"}.Select(s)
	if err != nil || sel.From != 1e9 || sel.To != q.Nanoseconds(2e9) {
		t.Errorf("%s to %s, %v", sel.From, sel.To, err)
	}
	if _, err := (Terms{From: 2e9, Filter: "mark < load"}).Select(s); !errors.Is(err, ErrFilter) {
		t.Errorf("%v", err)
	}
}
