package web

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/clrprof/clrprof/internal/report"
)

// flameFrames is how many frames of a call tree are sent unless more are asked for, mostFrames how many can be: 18 bytes each.
const (
	flameFrames = 1_000_000
	mostFrames  = 8_000_000
)

// flameHead is what comes before the arrays of a call tree.
type flameHead struct {
	Metric  report.FlameMetric `json:"metric"`
	Frames  int                `json:"frames"` // of the whole tree
	Sent    int                `json:"sent"`
	Modules []string           `json:"modules"`
	Short   []string           `json:"short"`
	Full    []string           `json:"full"`
	Module  []int              `json:"module"`
	Command string             `json:"command"`
}

// flame answers with a call tree for drawing: the length of the head, the head as JSON up to a multiple of 8, and then arrays, all
// little-endian: values (float64, exact as they are below 2^53), names and hidden (uint32), depths (uint16).
func (s *Server) flame(w http.ResponseWriter, r *http.Request) error {
	v := r.URL.Query()
	most, err := number(v, "most", flameFrames)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	of, err := s.reader(r)
	if err != nil {
		return err
	}
	f, err := of.views.Flame(report.FlameOptions{Metric: v.Get("metric"), BottomUp: v.Has("up"), Most: min(most, mostFrames)})
	if err != nil {
		return err
	}
	head := flameHead{Metric: f.Metric, Frames: f.Frames, Sent: len(f.Name), Modules: f.Modules, Short: []string{}, Full: []string{}, Module: []int{},
		Command: s.command(r, "calltree") + " --sort " + f.Metric.Key}
	for _, n := range f.Names {
		head.Short, head.Full, head.Module = append(head.Short, report.Printable(n.Short)), append(head.Full, report.Printable(n.Full)), append(head.Module, n.Module)
	}
	b, err := json.Marshal(head)
	if err != nil {
		return fmt.Errorf("writing a call tree: %w", err)
	}
	for (4+len(b))%8 != 0 {
		b = append(b, ' ')
	}
	out := binary.LittleEndian.AppendUint32(nil, uint32(len(b)))
	out = append(out, b...)
	values := make([]float64, len(f.Value))
	for i, n := range f.Value {
		values[i] = float64(n)
	}
	for _, array := range []any{values, f.Name, f.Hidden, f.Depth} {
		if out, err = binary.Append(out, binary.LittleEndian, array); err != nil {
			return fmt.Errorf("writing a call tree: %w", err)
		}
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	_, _ = w.Write(out) // who went away needs no answer
	return nil
}
