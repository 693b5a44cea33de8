// Package speedscope writes a session for speedscope (https://www.speedscope.app): JSON with a profile for each
// kind of value, the same kinds as in package pprof, and, of the one to look at first, a profile for each thread.
//
// A frame is a function with its file and first line, so calls of it at several places are one frame. The weights
// of a profile add up to the session's sum. In a session of several processes the first frame of each stack is the
// process. Values that can be less than zero, those alive at the end of a span, have no profile.
//
// The output depends on nothing but the session and what is selected of it, which the file's name says.
package speedscope

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/clrprof/clrprof/internal/analysis"
	"github.com/clrprof/clrprof/internal/session"
)

// schema is the address that says what the file is.
const schema = "https://www.speedscope.app/file-format-schema.json"

// frame is an entry of shared.frames.
type frame struct {
	Name string `json:"name"`
	File string `json:"file,omitempty"`
	Line int64  `json:"line,omitempty"`
}

// weights are the values of one profile, by path: of all threads, or of one, which has few paths.
type weights struct {
	name, unit string
	all        []int64
	one        map[int32]int64
}

// Write writes the part of s that is selected: all values, or the one with a name. Errors are those of reading s,
// of the selection, of SampleSet.Find, and of w.
func Write(w io.Writer, s *session.Session, sel analysis.Selection, value string) error {
	samples, err := analysis.Samples(s, sel)
	if err != nil {
		return err
	}
	profiles, active, err := collect(samples, value)
	if err != nil {
		return err
	}
	used := map[int32]bool{}
	for _, p := range profiles {
		for path, sum := range p.each() {
			if used[path] = true; sum < 0 {
				return fmt.Errorf("session %s: %w: a stack has %d of the value %s", s.Path(), session.ErrCorrupt, sum,
					p.name)
			}
		}
	}
	frames, stacks := resolve(samples, used)
	name := samples.Title()
	out := bufio.NewWriter(w)
	if err := write(out, name, active, frames, stacks, profiles); err != nil {
		return fmt.Errorf("writing a speedscope profile: %w", err)
	}
	return nil
}

// collect sums the values by path, and of the first also by thread. active is the profile to look at first.
func collect(samples *analysis.SampleSet, value string) (profiles []weights, active int, err error) {
	first, err := samples.Find(value)
	if err != nil {
		return nil, 0, err
	}
	var chosen []int
	for i, v := range samples.Values {
		if value == "" && !v.Difference || i == first {
			if i == first {
				active = len(profiles)
			}
			chosen = append(chosen, i)
			profiles = append(profiles, newWeights(v.Title(), v.Unit))
			profiles[len(profiles)-1].all = make([]int64, samples.Paths())
		}
	}
	threads := map[session.ThreadID]*weights{}
	err = samples.Each(func(x *analysis.Sample) error {
		for i, at := range chosen {
			profiles[i].add(samples.PathOf(x.Node), x.Values[at])
		}
		t := threads[x.Thread.ID]
		if t == nil {
			v := samples.Values[first]
			made := newWeights(fmt.Sprintf("%s, thread %d %s", v.Title(), x.Thread.OSID, x.Thread.Name), v.Unit)
			t = &made
			threads[x.Thread.ID] = t
		}
		t.add(samples.PathOf(x.Node), x.Values[first])
		return nil
	})
	for _, id := range slices.Sorted(maps.Keys(threads)) {
		if len(threads) > 1 && len(threads[id].one) > 0 {
			profiles = append(profiles, *threads[id])
		}
	}
	return profiles, active, err
}

func newWeights(name, unit string) weights {
	if unit == "count" {
		unit = "none"
	}
	return weights{name: strings.TrimSpace(name), unit: unit, one: map[int32]int64{}}
}

func (p *weights) add(path int32, value int64) {
	switch {
	case value == 0 || path < 0:
	case p.all != nil:
		p.all[path] += value
	default:
		p.one[path] += value
	}
}

// each returns the paths that have a value, in their order, and their values.
func (p *weights) each() iter.Seq2[int32, int64] {
	return func(yield func(int32, int64) bool) {
		for path, sum := range p.all {
			if sum != 0 && !yield(int32(path), sum) {
				return
			}
		}
		for _, path := range slices.Sorted(maps.Keys(p.one)) {
			if !yield(path, p.one[path]) {
				return
			}
		}
	}
}

// resolve returns the frames of the paths that are used, and their stacks, the root first.
func resolve(samples *analysis.SampleSet, used map[int32]bool) ([]frame, map[int32][]int) {
	frames, numbers, stacks := []frame{}, map[frame]int{}, map[int32][]int{}
	number := func(f frame) int {
		n, known := numbers[f]
		if !known {
			n = len(frames)
			frames, numbers[f] = append(frames, f), n
		}
		return n
	}
	for _, at := range slices.Sorted(maps.Keys(used)) {
		path, stack := samples.Path(at), []int{}
		if samples.Processes > 1 {
			stack = append(stack, number(frame{Name: fmt.Sprintf("%s (%d)", path.Process.Name, path.Process.PID)}))
		}
		for i, f := range path.Functions {
			stack = append(stack, number(frame{f.DisplayName(), path.Files[i], f.Line}))
		}
		stacks[at] = stack
	}
	return frames, stacks
}

// write writes the file, profile by profile: the whole would be as large again in memory.
func write(out *bufio.Writer, name string, active int, frames []frame, stacks map[int32][]int,
	profiles []weights) error {
	put := func(v any) error {
		b, err := json.Marshal(v)
		if err == nil {
			_, err = out.Write(b)
		}
		return err
	}
	fmt.Fprintf(out, `{"$schema":%q,"exporter":"clrprof","activeProfileIndex":%d,"name":`, schema, active)
	if err := put(name); err != nil {
		return err
	}
	out.WriteString(`,"shared":{"frames":`)
	if err := put(frames); err != nil {
		return err
	}
	out.WriteString(`},"profiles":[`)
	for i, p := range profiles {
		samples, values, end := [][]int{}, []int64{}, int64(0)
		for path, sum := range p.each() {
			samples, values, end = append(samples, stacks[path]), append(values, sum), end+sum
		}
		if i > 0 {
			out.WriteString(",\n")
		}
		profile := map[string]any{"type": "sampled", "name": p.name, "unit": p.unit,
			"startValue": 0, "endValue": end, "samples": samples, "weights": values}
		if err := put(profile); err != nil {
			return err
		}
	}
	out.WriteString("]}\n")
	return out.Flush()
}
