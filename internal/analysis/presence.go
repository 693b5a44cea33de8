package analysis

import (
	"runtime"
	"slices"

	"github.com/clrprof/clrprof/internal/analysis/calltree"
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

// grouping is which group each node is in: below groups, or none.
type grouping struct {
	of     []int32
	groups int
}

const (
	// turnsAtOnce is how many nodes are fetched before they are visited: they stay in the processor's cache.
	turnsAtOnce = 1 << 10
	// leastTurns is how many nodes a goroutine visits at least: each begins with the path to its first one, and has
	// times of all groups.
	leastTurns = 1 << 16
	// mostWalks bounds how many goroutines visit nodes: the times of a group take 150 bytes for each of them.
	mostWalks = 4
)

// presence adds up the times of groups as calltree.Presence does, for each of some groupings. The nodes are visited
// depth first, and their times added up to one sum: what a node has with all that is below it is by how much that grew
// meanwhile. So no sums of all nodes are kept, most of which the operating system makes large.
func (s *sums) presence(tree calltree.Tree, each bool, groupings ...grouping) []presence {
	return s.presenceIn(min(runtime.GOMAXPROCS(0), mostWalks, 1+tree.Len()/leastTurns), tree, each, groupings)
}

// presenceIn is presence by some goroutines, each of which visits a part of the nodes. A node that is open where a part
// ends is open, too, where the next one begins, and has what each of them adds up.
func (s *sums) presenceIn(walks int, tree calltree.Tree, each bool, groupings []grouping) []presence {
	turn, below := tree.Turns()
	order := make([]int32, len(turn)) // the node of each turn
	for node, at := range turn {
		order[at] = int32(node)
	}
	found := make([][]presence, walks)
	var all together
	for i := range found {
		all.Go(func() {
			w := walk{sums: s, order: order, below: below, groups: make([]openGroups, len(groupings))}
			for k, g := range groupings {
				w.groups[k] = newOpenGroups(g, each)
			}
			first, end := i*len(order)/walks, (i+1)*len(order)/walks
			if first > 0 && first < end {
				w.enter(tree, turn, order[first])
			}
			found[i] = w.visit(first, end)
		})
	}
	all.Wait()
	out := found[0]
	for _, part := range found[1:] {
		for k := range out {
			out[k].add(&part[k])
		}
	}
	return out
}

// add adds the times that another one has of the same groups.
func (p *presence) add(o *presence) {
	for g := range p.inclusive {
		p.inclusive[g] = p.inclusive[g].Add(o.inclusive[g])
	}
	for g, t := range o.each {
		e := &p.each[g]
		e.elapsed, e.application, e.cpu = e.elapsed+t.elapsed, e.application+t.application, e.cpu+t.cpu
	}
}

// walk visits nodes depth first.
type walk struct {
	sums         *sums
	order, below []int32 // the node of each turn; how many nodes are below each node
	groups       []openGroups
	sum          q.Time // of what was visited
}

// openGroups is a grouping while nodes are visited.
type openGroups struct {
	presence
	grouping
	open []openNode
	ends []int32 // the first turn that is below no node of a group
	next []int32 // the groups of the nodes that are visited next
}

func newOpenGroups(g grouping, each bool) openGroups {
	out := openGroups{grouping: g, ends: make([]int32, g.groups), next: make([]int32, turnsAtOnce)}
	out.inclusive = make([]q.Time, g.groups)
	if each {
		out.each = make([]singleTime, g.groups)
	}
	return out
}

// enter opens the nodes above one, as if they had been visited.
func (w *walk) enter(tree calltree.Tree, turn []int32, node int32) {
	var path []int32
	for n := tree.Parent[node]; n >= 0; n = tree.Parent[n] {
		path = append(path, n)
	}
	for _, n := range slices.Backward(path) {
		for k := range w.groups {
			g := &w.groups[k]
			g.enter(g.of[n], turn[n], turn[n]+w.below[n]+1, &w.sum)
		}
	}
}

// visit visits the nodes of some turns, and returns the times of all groups. It closes what is open in the end.
func (w *walk) visit(first, end int) []presence {
	type visit struct {
		below int32
		own   smallSum
	}
	var visits [turnsAtOnce]visit
	for first < end {
		nodes := w.order[first:min(first+turnsAtOnce, end)]
		for i, node := range nodes { // one after the other at other places in memory: nothing is to wait for a look
			visits[i] = visit{w.below[node], w.sums.small[node]}
		}
		for k := range w.groups {
			g := &w.groups[k]
			for i, node := range nodes {
				g.next[i] = g.of[node]
			}
		}
		for i := range nodes {
			at, v := int32(first+i), &visits[i]
			for k := range w.groups {
				g := &w.groups[k]
				if n := len(g.open); n > 0 && g.open[n-1].end <= at {
					g.open = g.closeUntil(g.open, at, &w.sum)
				}
				g.enter(g.next[i], at, at+v.below+1, &w.sum)
			}
			w.sums.addSum(&w.sum, &v.own)
		}
		first += len(nodes)
	}
	out := make([]presence, len(w.groups))
	for k := range w.groups {
		g := &w.groups[k]
		g.closeUntil(g.open, int32(len(w.order)), &w.sum)
		out[k] = g.presence
	}
	return out
}

// enter opens a node of a group, or of none, given its turn and the first one that is not below it, and the time of all
// that was visited before.
func (g *openGroups) enter(group, at, end int32, sum *q.Time) {
	if group < 0 {
		return
	}
	top := at >= g.ends[group]
	if top {
		g.ends[group] = end
	}
	if top || g.each != nil {
		g.open = append(g.open, openNode{group, end, top, *sum})
	}
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
