package heapsim

import (
	"slices"

	"github.com/clrprof/clrprof/internal/testkit/heap"
	"github.com/clrprof/clrprof/internal/wire"
)

// survivor is an object of a collected generation that lives on.
type survivor struct {
	*object
	from       uint64
	generation uint32 // at the start
}

// plan is a collection in the making.
type plan struct {
	*simulation
	collected uint32
	oldest    int // generation
	gc        heap.GC
	survivors []survivor
	rows      [][]*object // neighbours that move together
	compacted []*area
	chance    [wire.GenerationCount]int // of survival, in percent
	cluster   int                       // so many neighbours live equally long
	strategy  int                       // see where
	old       []*area                   // those that were there at the start
}

// collect is one garbage collection of the generations up to k. If the last one was asked for, the first full one is
// it.
func (s *simulation) collect(k int, induced, asked bool) {
	final := asked && k == 2
	p := &plan{simulation: s, oldest: k, cluster: 1 << s.r.IntN(6), strategy: s.r.IntN(4), old: slices.Clone(s.areas)}
	p.collected = []uint32{1, 3, 15}[p.oldest]
	if p.oldest == 2 && s.Pinned {
		p.collected = 31
	}
	p.gc = heap.GC{Collected: p.collected, Induced: induced}
	for g := range p.chance {
		p.chance[g] = []int{0, 5, 20, 50, 80, 95, 99, 100}[s.r.IntN(8)]
	}
	s.emit(heap.GCStart{Collected: p.collected, Induced: p.gc.Induced, Asked: asked, Final: final, Bounds: s.bounds()})
	s.gcs++
	s.now += []uint64{1, 1000, 900_000, 5_000_000, 80_000_000, 700_000_000, 8e9, 9e10, 2e12}[s.r.IntN(9)]
	s.ends = append(s.ends, s.now)
	p.population(func(g *wire.GCGeneration) *wire.Population { return &g.Before })
	for _, a := range p.old {
		p.mark(a)
	}
	if s.oneIn(3) {
		shuffle(s.r, p.rows)
	}
	for _, row := range p.rows {
		p.move(row)
	}
	for _, a := range p.old {
		p.promote(a)
	}
	p.count()
	p.tell()
	after := s.bounds()
	s.emit(heap.GCEnd{NS: s.now, Bounds: after})
	for _, b := range after {
		p.gc.Generations[b.Generation].Extent += b.Length
	}
	if !s.truth.AliveKnown {
		p.population(func(g *wire.GCGeneration) *wire.Population { return &g.After })
		s.truth.GCs = append(s.truth.GCs, p.gc)
		s.changes()
	}
	if final {
		s.alive()
	}
}

// population counts what there is in each generation.
func (p *plan) population(of func(*wire.GCGeneration) *wire.Population) {
	for _, a := range p.areas {
		for _, o := range a.objects {
			heap.Add(of(&p.gc.Generations[a.generation(o.address)]), o.bytes)
		}
	}
}

// changes notes the sites that are not as they were at the end of the last collection.
func (s *simulation) changes() {
	s.reported = append(s.reported, make([]heap.Site, len(s.truth.Sites)-len(s.reported))...)
	for i, now := range s.truth.Sites {
		if now.Allocated != s.reported[i].Allocated || now.Dead != s.reported[i].Dead {
			s.truth.Changes = append(s.truth.Changes, heap.Change{GC: len(s.truth.GCs), Site: uint32(i) + 1,
				Allocated: now.Allocated, Dead: now.Dead})
		}
		s.reported[i] = now
	}
}

func (p *plan) isCollected(generation uint32) bool { return p.collected>>generation&1 != 0 }

// collectedFrom is where the collected part of an area begins, or its limit.
func (p *plan) collectedFrom(a *area) uint64 {
	for _, piece := range a.pieces {
		if p.isCollected(piece.generation) {
			return piece.start
		}
	}
	return a.limit
}

// mark decides who lives, takes the dead away, and what is going to move.
func (p *plan) mark(a *area) {
	compact := a.kind == small && !p.oneIn(3) || a.kind == large && p.oneIn(4)
	if compact && p.collectedFrom(a) < a.limit {
		p.compacted = append(p.compacted, a)
	}
	var kept []*object
	var previous *object // that moves
	lives := true
	for i, o := range a.objects {
		g := a.generation(o.address)
		if !p.isCollected(g) {
			kept = append(kept, o)
			continue
		}
		if i%p.cluster == 0 {
			lives = p.r.IntN(100) < p.chance[g]
		}
		if !lives && o.thread == 0 {
			p.bury(o, g)
			continue
		}
		p.survivors = append(p.survivors, survivor{o, o.address, g})
		switch {
		case !compact || o.pinned:
			kept = append(kept, o)
		case previous != nil && previous.end() == o.address && !p.oneIn(20):
			p.rows[len(p.rows)-1] = append(p.rows[len(p.rows)-1], o)
			previous = o
		default:
			p.rows = append(p.rows, []*object{o})
			previous = o
		}
	}
	a.objects = kept
}

func (p *plan) bury(o *object, generation uint32) {
	if p.truth.AliveKnown {
		return // it was reported as alive
	}
	site := p.site(o.site)
	heap.Add(&p.gc.Generations[generation].Dead, o.bytes)
	heap.Add(&site.Dead[generation], o.bytes)
	survived := p.gcs - 1 - o.born
	site.ByCollections[heap.CollectionsBucket(uint32(survived))]++
	if survived > 0 {
		site.ByTime[heap.TimeBucket(p.now-p.ends[o.born])]++
	}
}

// move finds a new place for neighbours, which may be the old one. If there is none for all, each finds its own.
func (p *plan) move(row []*object) {
	bytes := row[len(row)-1].end() - row[0].address
	from := row[0].area
	for range 3 {
		a, start := p.where(from)
		if a == nil || a.kind != from.kind {
			continue
		}
		if at, ok := a.gap(start, bytes); ok && !p.straddles(a, at, at+bytes) {
			put(row, a, at)
			return
		}
	}
	if len(row) > 1 && p.oneIn(2) {
		for _, o := range row {
			p.move([]*object{o})
		}
		return
	}
	a := p.newArea(from.kind, bytes)
	put(row, a, a.start)
}

// straddles says whether a boundary between generations would lie between these addresses. Those behind the start of
// the collected part are going to be drawn anew.
func (p *plan) straddles(a *area, start, end uint64) bool {
	fixed := p.collectedFrom(a)
	return slices.ContainsFunc(a.pieces, func(x piece) bool {
		return x.start <= fixed && start < x.start && x.start < end
	})
}

func put(row []*object, a *area, at uint64) {
	delta := at - row[0].address
	for _, o := range row {
		a.insert(o, o.address+delta)
	}
}

// where draws an area to move to, and from where on to look for room. Strategies: 0 down within the own area; 1 a
// compacted area; 2 any area, also one that is swept or not collected; 3 a different one each time.
func (p *plan) where(from *area) (*area, uint64) {
	strategy := p.strategy
	if strategy == 3 {
		strategy = p.r.IntN(3)
	}
	switch strategy {
	case 0:
		return from, p.collectedFrom(from)
	case 1:
		a := p.compacted[p.r.IntN(len(p.compacted))]
		return a, p.collectedFrom(a)
	}
	a := p.areas[p.r.IntN(len(p.areas))]
	return a, a.start
}

// promote gives a collected area its new generations, and frees it if it is empty.
func (p *plan) promote(a *area) {
	from := p.collectedFrom(a)
	if from == a.limit {
		return
	}
	end := a.start
	if n := len(a.objects); n > 0 {
		end = a.objects[n-1].end()
	}
	if slices.Contains(p.compacted, a) || p.oneIn(2) || from > a.used {
		a.used = max(end, from)
	}
	if len(a.objects) == 0 && p.oneIn(2) {
		p.release(a)
		return
	}
	if a.kind != small {
		return
	}
	if p.Segments {
		p.cut(a, from)
		return
	}
	old := a.pieces[0].generation
	switch n := p.r.IntN(10); {
	case len(a.objects) == 0:
		a.pieces[0].generation = 0
	case n < 7:
		a.pieces[0].generation = min(old+1, 2)
	case n == 9:
		a.pieces[0].generation = uint32(p.r.IntN(3))
	}
}

// cut divides the collected part of a segment anew: what is oldest lies first. Mostly all becomes one generation
// older; otherwise the cuts are anywhere between objects.
func (p *plan) cut(a *area, from uint64) {
	first := a.index(from)
	old := slices.IndexFunc(a.pieces, func(x piece) bool { return x.start == from && p.isCollected(x.generation) })
	highest := uint32(min(p.oldest+1, 2))
	if old > 0 {
		highest = min(highest, a.pieces[old-1].generation)
	}
	a.pieces = a.pieces[:old]
	at := from
	for g := int(highest); g >= 0; g-- {
		if n := len(a.pieces); n == 0 || a.pieces[n-1].generation != uint32(g) {
			a.pieces = append(a.pieces, piece{at, uint32(g)})
		}
		at = a.used
		if rest := a.objects[first:]; p.oneIn(3) && len(rest) > 0 {
			skip := p.r.IntN(len(rest))
			if rest[skip].address >= a.last().start {
				at = rest[skip].address
				first += skip
			}
		} else {
			first = len(a.objects)
		}
	}
}

// count notes which survivors are in a higher generation now.
func (p *plan) count() {
	for _, s := range p.survivors {
		if is := s.area.generation(s.address); is > s.generation && s.generation < 2 {
			heap.Add(&p.gc.Generations[s.generation].Promoted, s.bytes)
		}
	}
}

// tell reports the survivors as ranges.
func (p *plan) tell() {
	var ranges []heap.Range
	for _, s := range p.survivors {
		if n := len(ranges); n > 0 && !p.oneIn(50) {
			if r := &ranges[n-1]; r.From+r.Length == s.from && r.To+r.Length == s.address {
				r.Length += s.bytes
				continue
			}
		}
		ranges = append(ranges, heap.Range{From: s.from, To: s.address, Length: s.bytes})
	}
	if n := len(ranges); n > 0 && p.oneIn(8) {
		ranges = append(ranges, heap.Range{From: ranges[n-1].From, To: ranges[n-1].From}) // of nothing
	}
	if !p.oneIn(3) {
		shuffle(p.r, ranges)
	}
	if p.oneIn(2) { // what stays first, so that it comes in batches of its own
		slices.SortStableFunc(ranges, func(a, b heap.Range) int { return int(moves(a)) - int(moves(b)) })
	}
	most := []int{1, 10, 512}[p.r.IntN(3)]
	for len(ranges) > 0 {
		n := min(1+p.r.IntN(most), len(ranges))
		batch := ranges[:n:n]
		ranges = ranges[n:]
		if slices.ContainsFunc(batch, func(r heap.Range) bool { return moves(r) != 0 }) || p.oneIn(4) {
			p.emit(heap.Moved{Ranges: batch})
		} else {
			p.emit(heap.Survived{Ranges: batch})
		}
	}
}

func moves(r heap.Range) int8 {
	if r.From == r.To {
		return 0
	}
	return 1
}

// alive is what is there after the last collection.
func (s *simulation) alive() {
	cohorts := map[heap.Cohort]wire.Population{}
	for _, a := range s.areas {
		for _, o := range a.objects {
			if o.site == 0 {
				continue
			}
			key := heap.Cohort{Site: o.site, Generation: a.generation(o.address), Born: uint32(o.born)}
			sum := cohorts[key]
			heap.Add(&sum, o.bytes)
			cohorts[key] = sum
		}
	}
	s.truth.Alive, s.truth.AliveKnown = heap.SortCohorts(cohorts), true
}
