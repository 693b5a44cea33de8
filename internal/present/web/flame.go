package web

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/clrprof/clrprof/internal/analysis"
	"github.com/clrprof/clrprof/internal/present/report"
	"github.com/clrprof/clrprof/internal/present/report/text"
	"github.com/clrprof/clrprof/internal/present/report/words"
	q "github.com/clrprof/clrprof/internal/quantity"
)

// flameFrames is how many frames of a call tree are sent unless more are asked for, mostFrames how many can be: 18
// bytes each, with what differs 26 and with colours 23.
const (
	flameFrames = 1_000_000
	mostFrames  = 8_000_000
	mostOfFrame = 26
)

// flameHead is what comes before the arrays of a call tree.
type flameHead struct {
	Metric    report.FlameMetric `json:"metric"`
	Frames    int                `json:"frames"` // of the whole tree
	Sent      int                `json:"sent"`
	Modules   []string           `json:"modules"`
	User      []bool             `json:"user_code"` // of modules
	Short     []string           `json:"short"`
	Full      []string           `json:"full"`
	Module    []int              `json:"module"`
	Colors    []string           `json:"colors"`         // null: frames have none
	Gone      *report.Gone       `json:"gone,omitempty"` // of a comparison
	Notes     []string           `json:"notes"`          // of its shape
	Command   string             `json:"command"`
	Threads   q.Count            `json:"threads,omitempty"`   // over which elapsed times are added up
	Estimated bool               `json:"estimated,omitempty"` // values are, by samples
}

// flame answers with a call tree for drawing: the length of the head, the head as JSON up to a multiple of 8, and then
// arrays, all little-endian: values (float64, exact as they are below 2^53), in a comparison the values of the other
// session (likewise), names and hidden, with colours also colours (uint32), depths (uint16), and with colours their
// shares (uint8).
func (s *Server) flame(w http.ResponseWriter, r *http.Request) error {
	v := r.URL.Query()
	most, err := number(v, "most", flameFrames)
	if err != nil {
		return err
	}
	if err := s.lock(r.Context()); err != nil {
		return err
	}
	defer s.mu.Unlock()
	shape, err := treeOptions(v)
	if err != nil {
		return err
	}
	o := report.FlameOptions{
		Metric:   v.Get("metric"),
		BottomUp: v.Has("up"),
		Most:     min(most, mostFrames),
		Color:    v.Get("color"),
		FlameShape: report.FlameShape{Logical: v.Has("async") && !shape.Physical, Root: shape.Root,
			Fold: shape.Fold},
	}
	of, err := s.flameReaders(r, &o)
	if err != nil {
		return err
	}
	f, err := of.views.Flame(o)
	if err != nil {
		return report.Known(err)
	}
	head := flameHead{
		Metric:  f.Metric,
		Frames:  f.Frames,
		Sent:    len(f.Name),
		Modules: f.Modules,
		User:    f.UserCode,
		Short:   []string{},
		Full:    []string{},
		Module:  []int{},
		Notes:   append([]string{}, words.Notes(f.Notes)...),
	}
	if head.Threads, err = of.threadsOf([]string{f.Metric.Key}); err != nil {
		return err
	}
	if head.Command, err = s.flameCommand(r, &o, f.Metric.Key); err != nil {
		return err
	}
	if isOfObjects := head.Metric.Kind != report.Duration.String(); isOfObjects && of.source.HasEstimates() {
		head.Estimated = true
	}
	if o.Color != "" {
		head.Colors = append([]string{}, f.Colors...)
	}
	if o.Against != nil {
		head.Gone = &f.Gone
	}
	for _, n := range f.Names {
		head.Short, head.Full, head.Module = append(
			head.Short,
			text.Printable(n.Short),
		), append(
			head.Full,
			text.Printable(n.Full),
		), append(
			head.Module,
			n.Module,
		)
	}
	return writeFlame(w, head, f)
}

// flameCommand is what to type for the frames of a call tree, "" if nothing prints them: no view of the command line
// has ends of objects from below, or compares trees of another shape.
func (s *Server) flameCommand(r *http.Request, o *report.FlameOptions, metric string) (string, error) {
	v := r.URL.Query()
	itself := strings.Replace(metric, "inclusive", "exclusive", 1)
	if o.Against != nil {
		switch {
		case o.FlameShape != report.FlameShape{}:
			return "", nil
		case o.BottomUp: // the frames that stand by themselves
			return s.diffCommand(r, "functions", itself), nil
		}
		return s.diffCommand(r, "calltree", metric), nil
	}
	view, err := report.FindView("calltree")
	if err != nil {
		return "", err
	}
	if view.IsOfRecorded(metric) && (o.BottomUp || o.FlameShape != report.FlameShape{}) {
		return "", nil
	}
	flags := s.flags(v, "root", "async") + switches(v, "fold-recursion")
	if o.BottomUp {
		metric, flags = itself, flags+" --bottom-up"
	}
	if slices.Contains(view.OptionalKeys(), metric) {
		flags += " --columns name,level," + metric
	}
	has, err := analysis.HasAsync(s.sessions[0])
	if has && !v.Has("async") { // the view shows the logical one
		flags += " --async physical"
	}
	return s.command(r, "calltree") + " --sort " + metric + flags, err
}

// flameReaders returns the reader of the call tree that is drawn. With the parameter diff that is the session (new) or
// the older one (old), which is compared with the other.
func (s *Server) flameReaders(r *http.Request, o *report.FlameOptions) (*reader, error) {
	diff := r.URL.Query().Get("diff")
	switch {
	case diff == "":
		return s.reader(r)
	case diff != "new" && diff != "old":
		return nil, bad("diff %q is unknown: want new or old", diff)
	case len(s.sessions) < 2:
		return nil, errNoOlder
	}
	drawn, with := s.sessions[0], s.sessions[1]
	if diff == "old" {
		drawn, with = with, drawn
	}
	against, err := s.readerOf(with, r, true)
	if err != nil {
		return nil, err
	}
	o.Against = against.views
	return s.readerOf(drawn, r, true)
}

// writeFlame writes the head and the arrays.
func writeFlame(w http.ResponseWriter, head flameHead, f *report.Flame) error {
	b, err := json.Marshal(head)
	if err != nil {
		return fmt.Errorf("writing a call tree: %w", err)
	}
	for (4+len(b))%8 != 0 {
		b = append(b, ' ')
	}
	out := make([]byte, 0, 4+len(b)+mostOfFrame*len(f.Name))
	out = binary.LittleEndian.AppendUint32(out, uint32(len(b)))
	out = append(out, b...)
	arrays := []any{
		floats(f.Value),
		floats(f.Other),
		f.Name,
		f.Hidden,
		f.Color,
		f.Depth,
		f.Share,
	} // those that are not there are empty
	for _, array := range arrays {
		if out, err = binary.Append(out, binary.LittleEndian, array); err != nil {
			return fmt.Errorf("writing a call tree: %w", err)
		}
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	_, _ = w.Write(out) // who went away needs no answer
	return nil
}

func floats(list []int64) []float64 {
	out := make([]float64, len(list))
	for i, n := range list {
		out[i] = float64(n)
	}
	return out
}
