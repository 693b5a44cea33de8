package mcp

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/clrprof/clrprof/internal/analysis"
	"github.com/clrprof/clrprof/internal/present/report"
	q "github.com/clrprof/clrprof/internal/quantity"
)

// summedSite is a stack and a type, and what it has of the value that sites are ordered by. Without a type it is where
// time passed.
type summedSite struct {
	node  int32
	typ   string
	value int64
}

// compare orders sites: the greater one first, of equal ones that with the smaller node.
func (a summedSite) compare(b summedSite) int {
	return cmp.Or(cmp.Compare(b.value, a.value), cmp.Compare(a.node, b.node), strings.Compare(a.typ, b.typ))
}

// siteSums adds up one value by stack and type. There can be millions of stacks, most of them with times alone: those
// are in a slice by node.
type siteSums struct {
	times []int64
	types map[summedSite]int64 // by node and type, with the value zero
}

// sumSites adds up the value at a position.
func sumSites(ctx context.Context, samples *analysis.SampleSet, at int) (sums *siteSums, total int64, err error) {
	sums = &siteSums{times: make([]int64, samples.Nodes()), types: map[summedSite]int64{}}
	err = samples.EachSum(func(x *analysis.Sample) error {
		v := x.Values[at]
		switch {
		case v == 0:
			return nil
		case x.Type == "" && x.Node >= 0:
			sums.times[x.Node] += v
		default:
			sums.types[summedSite{node: x.Node, typ: x.Type}] += v
		}
		total += v
		return ctx.Err()
	})
	return sums, total, err
}

// greatest returns the sites with most, so many at most, in order, and how many sites there are.
func (s *siteSums) greatest(most int) (list []summedSite, all int) {
	least := summedSite{}
	take := func(x summedSite) {
		all++
		if len(list) >= most && x.compare(least) > 0 {
			return
		}
		list = append(list, x)
		if len(list) == 2*most || len(list) == most {
			slices.SortFunc(list, summedSite.compare)
			list = list[:min(most, len(list))]
			least = list[len(list)-1]
		}
	}
	for node, v := range s.times {
		if v != 0 {
			take(summedSite{int32(node), "", v})
		}
	}
	for x, v := range s.types {
		x.value = v
		take(x)
	}
	slices.SortFunc(list, summedSite.compare)
	return list[:min(most, len(list))], all
}

// summedSites answers from all samples of a session: they are read twice, so that of most sites one number is kept.
func summedSites(ctx context.Context, src *analysis.Source, in explainRequest) (map[string]any, error) {
	samples, err := analysis.Samples(src.Session(), src.Selection())
	if err != nil {
		return nil, err
	}
	at, err := samples.Find(in.By)
	if err != nil {
		return nil, report.Known(err)
	}
	sums, total, err := sumSites(ctx, samples, at)
	if err != nil {
		return nil, err
	}
	list, all := sums.greatest(in.Offset + cmp.Or(in.Limit, defaultSites))
	list = list[min(in.Offset, len(list)):]
	values, sampled := map[summedSite][]int64{}, map[summedSite]q.Sampled{}
	for _, x := range list {
		values[summedSite{node: x.node, typ: x.typ}] = make([]int64, len(samples.Values))
	}
	err = samples.EachSum(func(x *analysis.Sample) error {
		if x.Values[at] == 0 {
			return nil
		}
		key := summedSite{node: x.Node, typ: x.Type}
		for i, to := 0, values[key]; i < len(to); i++ {
			to[i] += x.Values[i]
		}
		if x.Sampled.Samples > 0 && values[key] != nil {
			sampled[key] = sampled[key].Add(x.Sampled)
		}
		return ctx.Err()
	})
	if err != nil {
		return nil, err
	}
	out, shown := []site{}, int64(0)
	for _, x := range list {
		one := site{Type: x.typ, Values: map[string]int64{}}
		key := summedSite{node: x.node, typ: x.typ}
		for i, v := range values[key] {
			if v != 0 {
				one.Values[samples.Values[i].Name] = v
			}
		}
		one.estimate(q.Amount{Allocations: q.Count(one.Values["allocations"]), Bytes: q.Bytes(one.Values["bytes"]),
			Sampled: sampled[key]})
		one.Stack, one.Cut = stackOf(samples, x.node)
		shown += x.value
		out = append(out, one)
	}
	v := samples.Values[at]
	return explained(in, all-min(in.Offset, all)-len(out), map[string]any{"by": v.Name, "unit": v.Unit,
		"total": total, "shown": shown, "sites": out})
}
