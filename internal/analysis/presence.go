package analysis

import (
	"github.com/clrprof/clrprof/internal/calltree"
	q "github.com/clrprof/clrprof/internal/quantity"
)

// presence is the time of each group of nodes, with what is below them.
type presence struct {
	inclusive []q.Time     // while a node of the group was on the stack, each interval once
	each      []singleTime // of each node by itself, also of one within another of the group; nil: nobody asked
}

// singleTime is what is known of single calls.
type singleTime struct{ elapsed, application, cpu q.Nanoseconds }

// openNode is a node on the path to the one that is visited.
type openNode struct {
	group int32
	end   int32 // the first turn that is not below it
	top   bool  // no node of its group is above it
	began q.Time
}

// presence adds up the times of groups as calltree.Presence does: group[i] is in [0, groups), or none. The nodes are
// visited depth first, and their times added up to one sum: what a node has with all that is below it is by how much
// that grew meanwhile. So no sums of all nodes are kept, most of which the operating system makes large.
func (s *sums) presence(tree calltree.Tree, group []int32, groups int, each bool) presence {
	type visit struct {
		group, below int32
		own          smallSum
	}
	turn, below := tree.Turns()
	visits := make([]visit, len(turn)) // by turn: one look for each node at another place in memory, instead of three
	for i, at := range turn {
		visits[at] = visit{group[i], below[i], s.small[i]}
	}
	out := presence{inclusive: make([]q.Time, groups)}
	if each {
		out.each = make([]singleTime, groups)
	}
	ends := make([]int32, groups) // the first turn that is below no node of a group
	var open []openNode
	var sum q.Time
	for at := range visits {
		v := &visits[at]
		open = out.closeUntil(open, int32(at), &sum)
		if g, end := v.group, int32(at)+v.below+1; g >= 0 {
			top := int32(at) >= ends[g]
			if top {
				ends[g] = end
			}
			if top || each {
				open = append(open, openNode{g, end, top, sum})
			}
		}
		s.addSum(&sum, &v.own)
	}
	out.closeUntil(open, int32(len(visits)), &sum)
	return out
}

// closeUntil takes the nodes off a path below which a turn is not, given the time of all that was visited.
func (p *presence) closeUntil(open []openNode, turn int32, sum *q.Time) []openNode {
	for len(open) > 0 && open[len(open)-1].end <= turn {
		n := &open[len(open)-1]
		open = open[:len(open)-1]
		elapsed, application := sum.Elapsed-n.began.Elapsed, sum.Application-n.began.Application
		cpu := sum.CPU - n.began.CPU
		if p.each != nil {
			e := &p.each[n.group]
			e.elapsed, e.application, e.cpu = e.elapsed+elapsed, e.application+application, e.cpu+cpu
		}
		if !n.top {
			continue
		}
		to := &p.inclusive[n.group]
		if sum.Waits == n.began.Waits && sum.Counters == n.began.Counters { // the operating system did nothing
			to.Elapsed, to.Application, to.CPU = to.Elapsed+elapsed, to.Application+application, to.CPU+cpu
			to.Overhead += sum.Overhead - n.began.Overhead
		} else {
			*to = to.Add(sum.Sub(n.began))
		}
	}
	return open
}
