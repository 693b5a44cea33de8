package session

import q "github.com/clrprof/clrprof/internal/quantity"

var processLifetimeTable = tableOf("process_lifetime", func(c *cells, r *ProcessLifetime) {
	integer(c, &r.Process)
	integer(c, &r.GCs)
	c.bool(&r.AliveKnown)
})

var leftOutTable = tableOf("process_left_out", func(c *cells, r *LeftOut) {
	integer(c, &r.Process)
	integer(c, &r.Walked)
	amount(c, &r.Amount)
})

var endingTable = tableOf("process_ending", func(c *cells, r *ProcessEnding) {
	integer(c, &r.Process)
	c.text(&r.Sign)
	c.int64(&r.GCNumber)
	integer(c, &r.Begin)
})

var gcFreedTable = tableOf("gc_freed", func(c *cells, r *GCFreed) {
	integer(c, &r.GC)
	c.int64(&r.Generation)
	amount(c, &r.Amount)
})

var siteFreedTable = tableOf("site_freed", func(c *cells, r *SiteFreed) {
	integer(c, &r.Site)
	c.int64(&r.Generation)
	amount(c, &r.Amount)
})

var gcTable = tableOf("gc", func(c *cells, r *GC) {
	integer(c, &r.ID)
	integer(c, &r.Process)
	c.int64(&r.Number)
	c.int64(&r.Generation)
	c.int64(&r.Collected)
	c.bool(&r.Induced)
	integer(c, &r.Begin)
	integer(c, &r.Pause)
	integer(c, &r.Agent)
	integer(c, &r.Finalizable)
})

var gcGenerationTable = tableOf("gc_generation", func(c *cells, r *GCGeneration) {
	integer(c, &r.GC)
	c.int64(&r.Generation)
	amount(c, &r.Before)
	amount(c, &r.Dead)
	amount(c, &r.Promoted)
})

var processDeathTable = tableOf("process_death", func(c *cells, r *ProcessDeath) {
	integer(c, &r.Process)
	c.int64(&r.Generation)
	amount(c, &r.Amount)
})

var typeDeathTable = tableOf("type_death", func(c *cells, r *TypeDeath) {
	integer(c, &r.Type)
	c.int64(&r.Generation)
	amount(c, &r.Amount)
})

var typeLifetimeTable = tableOf("type_lifetime", func(c *cells, r *TypeLifetime) {
	c.int64(&r.Position)
	integer(c, &r.Process)
	integer(c, &r.Type)
	lifetimeSums(c, &r.LifetimeSums)
})

var functionLifetimeTable = tableOf("function_lifetime", func(c *cells, r *FunctionLifetime) {
	c.int64(&r.Position)
	integer(c, &r.Process)
	integer(c, &r.Function)
	lifetimeSums(c, &r.LifetimeSums)
})

func lifetimeSums(c *cells, r *LifetimeSums) {
	amount(c, &r.Born)
	for i := range r.Dead {
		amount(c, &r.Dead[i])
	}
	for _, ages := range []*[AgeBuckets]q.Count{&r.GCs, &r.Time, &r.AliveGCs} {
		for i := range ages {
			integer(c, &ages[i])
		}
	}
}

var summarySectionTable = tableOf("summary_section", func(c *cells, r *SummarySection) {
	c.text(&r.Section)
	integer(c, &r.Sites)
	amount(c, &r.Amount)
})

var summarySiteTable = tableOf("summary_site", func(c *cells, r *SummarySite) {
	c.text(&r.Section)
	c.int64(&r.Position)
	integer(c, &r.Process)
	integer(c, &r.Node)
	integer(c, &r.Type)
	integer(c, &r.Function)
	integer(c, &r.Line)
	amount(c, &r.Part)
	amount(c, &r.Born)
	for g := range r.Dead {
		amount(c, &r.Dead[g])
	}
})

var gcDetailTable = tableOf("gc_detail", func(c *cells, r *GCDetail) {
	integer(c, &r.GC)
	integer(c, &r.Pinned)
	c.int64(&r.Since)
})

var gcCallerTable = tableOf("gc_caller", func(c *cells, r *GCCaller) {
	integer(c, &r.GC)
	integer(c, &r.Stack)
})

var gcHeapTable = tableOf("gc_heap", func(c *cells, r *GCHeap) {
	integer(c, &r.GC)
	c.int64(&r.Generation)
	amount(c, &r.Before)
	amount(c, &r.After)
	integer(c, &r.Extent)
})

var gcBirthTable = tableOf("gc_birth", func(c *cells, r *GCBirth) {
	integer(c, &r.GC)
	integer(c, &r.Site)
	amount(c, &r.Amount)
}).directly(func(c [][]int64, at int, r *GCBirth) int64 {
	*r = GCBirth{GCID(c[0][at]), SiteID(c[1][at]), amountAt(c[2:], at)}
	return c[1][at]
})

var gcDeathTable = tableOf("gc_death", func(c *cells, r *GCDeath) {
	integer(c, &r.GC)
	integer(c, &r.Site)
	c.int64(&r.Generation)
	amount(c, &r.Amount)
}).directly(func(c [][]int64, at int, r *GCDeath) int64 {
	*r = GCDeath{GCID(c[0][at]), SiteID(c[1][at]), c[2][at], amountAt(c[3:], at)}
	return c[1][at]
})

var siteDeathTable = tableOf("site_death", func(c *cells, r *SiteDeath) {
	integer(c, &r.Slice)
	integer(c, &r.Site)
	c.int64(&r.Generation)
	amount(c, &r.Amount)
}).directly(func(c [][]int64, at int, r *SiteDeath) int64 {
	*r = SiteDeath{SliceID(c[0][at]), SiteID(c[1][at]), c[2][at], amountAt(c[3:], at)}
	return c[1][at]
})

var siteAgeTable = tableOf("site_age", func(c *cells, r *SiteAge) {
	integer(c, &r.Site)
	c.text(&r.Measure)
	c.int64(&r.Bucket)
	integer(c, &r.Objects)
})

var siteAliveTable = tableOf("site_alive", func(c *cells, r *SiteAlive) {
	integer(c, &r.Site)
	c.int64(&r.Generation)
	c.int64(&r.Born)
	amount(c, &r.Amount)
})

var survivalTable = tableOf("survival", func(c *cells, r *Survival) {
	integer(c, &r.GC)
	integer(c, &r.Site)
	amount(c, &r.Uncollected)
	amount(c, &r.Rooted)
	amount(c, &r.Reachable)
})

var rootTable = tableOf("root", func(c *cells, r *Root) {
	integer(c, &r.GC)
	integer(c, &r.Site)
	c.text(&r.Kind)
	c.int64(&r.Flags)
	integer(c, &r.Function)
	integer(c, &r.References)
})
