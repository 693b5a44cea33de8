package session

var processLifetimeTable = table[ProcessLifetime]{
	"process_lifetime", "process_id, gcs, alive_known", "process_id",
	func(c *cells, r *ProcessLifetime) {
		integer(c, &r.Process)
		integer(c, &r.GCs)
		c.bool(&r.AliveKnown)
	},
}

var leftOutTable = table[LeftOut]{
	"process_left_out", "process_id, walked_gcs, objects, bytes", "process_id",
	func(c *cells, r *LeftOut) {
		integer(c, &r.Process)
		integer(c, &r.Walked)
		amount(c, &r.Amount)
	},
}

var gcTable = table[GC]{
	"gc", "id, process_id, number, generation, collected, induced, begin_ns, pause_ns, agent_ns, finalizable", "id",
	func(c *cells, r *GC) {
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
	},
}

var gcGenerationTable = table[GCGeneration]{
	"gc_generation", "gc_id, generation, before_objects, before_bytes, dead_objects, dead_bytes, promoted_objects, promoted_bytes",
	"gc_id, generation",
	func(c *cells, r *GCGeneration) {
		integer(c, &r.GC)
		c.int64(&r.Generation)
		amount(c, &r.Before)
		amount(c, &r.Dead)
		amount(c, &r.Promoted)
	},
}

var processDeathTable = table[ProcessDeath]{
	"process_death", "process_id, generation, objects, bytes", "process_id, generation",
	func(c *cells, r *ProcessDeath) {
		integer(c, &r.Process)
		c.int64(&r.Generation)
		amount(c, &r.Amount)
	},
}

var summarySectionTable = table[SummarySection]{
	"summary_section", "section, sites, objects, bytes", "section",
	func(c *cells, r *SummarySection) {
		c.text(&r.Section)
		integer(c, &r.Sites)
		amount(c, &r.Amount)
	},
}

var summarySiteTable = table[SummarySite]{
	"summary_site", "section, position, process_id, node_id, type_id, function_id, line_id, objects, bytes, allocations, allocated, " +
		"gen0_objects, gen0_bytes, gen1_objects, gen1_bytes, gen2_objects, gen2_bytes, loh_objects, loh_bytes, poh_objects, poh_bytes", "section, position",
	func(c *cells, r *SummarySite) {
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
	},
}

var gcDetailTable = table[GCDetail]{
	"gc_detail", "gc_id, pinned, since", "gc_id",
	func(c *cells, r *GCDetail) {
		integer(c, &r.GC)
		integer(c, &r.Pinned)
		c.int64(&r.Since)
	},
}

var gcHeapTable = table[GCHeap]{
	"gc_heap", "gc_id, generation, before_objects, before_bytes, after_objects, after_bytes", "gc_id, generation",
	func(c *cells, r *GCHeap) {
		integer(c, &r.GC)
		c.int64(&r.Generation)
		amount(c, &r.Before)
		amount(c, &r.After)
	},
}

var gcBirthTable = table[GCBirth]{
	"gc_birth", "gc_id, site_id, allocations, bytes", "gc_id, site_id",
	func(c *cells, r *GCBirth) {
		integer(c, &r.GC)
		integer(c, &r.Site)
		amount(c, &r.Amount)
	},
}

var gcDeathTable = table[GCDeath]{
	"gc_death", "gc_id, site_id, generation, objects, bytes", "gc_id, site_id, generation",
	func(c *cells, r *GCDeath) {
		integer(c, &r.GC)
		integer(c, &r.Site)
		c.int64(&r.Generation)
		amount(c, &r.Amount)
	},
}

var siteDeathTable = table[SiteDeath]{
	"site_death", "slice_id, site_id, generation, objects, bytes", "slice_id, site_id, generation",
	func(c *cells, r *SiteDeath) {
		integer(c, &r.Slice)
		integer(c, &r.Site)
		c.int64(&r.Generation)
		amount(c, &r.Amount)
	},
}

var siteAgeTable = table[SiteAge]{
	"site_age", "site_id, measure, bucket, objects", "site_id, measure, bucket",
	func(c *cells, r *SiteAge) {
		integer(c, &r.Site)
		c.text(&r.Measure)
		c.int64(&r.Bucket)
		integer(c, &r.Objects)
	},
}

var siteAliveTable = table[SiteAlive]{
	"site_alive", "site_id, generation, born, objects, bytes", "site_id, generation, born",
	func(c *cells, r *SiteAlive) {
		integer(c, &r.Site)
		c.int64(&r.Generation)
		c.int64(&r.Born)
		amount(c, &r.Amount)
	},
}

var survivalTable = table[Survival]{
	"survival", "gc_id, site_id, uncollected_objects, uncollected_bytes, rooted_objects, rooted_bytes, reachable_objects, reachable_bytes",
	"gc_id, site_id",
	func(c *cells, r *Survival) {
		integer(c, &r.GC)
		integer(c, &r.Site)
		amount(c, &r.Uncollected)
		amount(c, &r.Rooted)
		amount(c, &r.Reachable)
	},
}

var rootTable = table[Root]{
	"root", "gc_id, site_id, kind, flags, function_id, reference_count", "gc_id, site_id, kind, flags, function_id",
	func(c *cells, r *Root) {
		integer(c, &r.GC)
		integer(c, &r.Site)
		c.text(&r.Kind)
		c.int64(&r.Flags)
		integer(c, &r.Function)
		integer(c, &r.References)
	},
}
