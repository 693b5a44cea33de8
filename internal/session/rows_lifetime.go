package session

import q "github.com/clrprof/clrprof/internal/quantity"

// Generations is the number of generations: 0, 1, 2, the large object heap and the pinned object heap.
const Generations = 5

// The generations that are heaps of their own.
const (
	GenerationLarge  = 3
	GenerationPinned = 4
)

// GenerationName is what a generation is called: gen 0, gen 1, gen 2, LOH, POH.
func GenerationName(generation int64) string {
	switch generation {
	case GenerationLarge:
		return "LOH"
	case GenerationPinned:
		return "POH"
	}
	return "gen " + q.Count(generation).String()
}

// ProcessLifetime is a row of the table process_lifetime.
type ProcessLifetime struct {
	Process    ProcessID
	GCs        q.Count
	AliveKnown bool // what is alive at the end is known to be reachable: SiteAlive
}

// LeftOut is a row of the table process_left_out.
type LeftOut struct {
	Process  ProcessID
	Walked   q.Count // collections that took longer because the runtime walked generation 0 first
	q.Amount         // made by the runtime for the agent's purposes, or after the last collection: not the program's
}

// Signs by which a process was seen to begin to end.
const (
	SignSignal = "signal" // a signal came that the program handles
	SignHost   = "host"   // the host of a service was told to stop
	SignExit   = "exit"   // Main had returned or Environment.Exit was called, before handlers of ProcessExit
)

// ProcessEnding is a row of the table process_ending.
type ProcessEnding struct {
	Process  ProcessID
	Sign     string
	GCNumber int64
	Begin    q.Nanoseconds
}

// Has reports whether objects that are alive at the end were alive when the process began to end; otherwise they were
// made later.
func (e *ProcessEnding) Has(alive *SiteAlive) bool { return alive.Born < e.GCNumber }

// GCFreed is a row of the table gc_freed; Allocations are objects.
type GCFreed struct {
	GC         GCID
	Generation int64
	q.Amount
}

// SiteFreed is a row of the table site_freed; Allocations are objects.
type SiteFreed struct {
	Site       SiteID
	Generation int64
	q.Amount
}

// GC is a row of the table gc.
type GC struct {
	ID          GCID
	Process     ProcessID
	Number      int64
	Generation  int64 // the oldest of 0, 1 and 2 that was collected
	Collected   int64 // bit n: generation n
	Induced     bool
	Begin       q.Nanoseconds
	Pause       q.Nanoseconds
	Agent       q.Nanoseconds // of the pause
	Finalizable q.Count
}

// GCGeneration is a row of the table gc_generation. Before less Dead survived.
type GCGeneration struct {
	GC         GCID
	Generation int64
	Before     q.Amount
	Dead       q.Amount
	Promoted   q.Amount
}

// GCDetail is a row of the table gc_detail.
type GCDetail struct {
	GC     GCID
	Pinned q.Count
	// number of the collection since which GCBirth and GCDeath hold what changed; the own one: a later one's do
	Since int64
}

// GCCaller is a row of the table gc_caller.
type GCCaller struct {
	GC    GCID
	Stack InteractionStackID
}

// GCHeap is a row of the table gc_heap.
type GCHeap struct {
	GC         GCID
	Generation int64
	Before     q.Amount
	After      q.Amount
	Extent     q.Bytes // of its memory at the end: objects and what is free between them; 0: not known
}

// GCBirth is a row of the table gc_birth.
type GCBirth struct {
	GC   GCID
	Site SiteID
	q.Amount
}

// GCDeath is a row of the table gc_death; Allocations are objects.
type GCDeath struct {
	GC         GCID
	Site       SiteID
	Generation int64
	q.Amount
}

// SiteDeath is a row of the table site_death; Allocations are objects.
type SiteDeath struct {
	Slice      SliceID
	Site       SiteID
	Generation int64
	q.Amount
}

// ProcessDeath is a row of the derived table process_death; Allocations are objects.
type ProcessDeath struct {
	Process    ProcessID
	Generation int64
	q.Amount
}

// SummarySection is a row of the derived table summary_section; Allocations are objects.
type SummarySection struct {
	Section string
	Sites   q.Count
	q.Amount
}

// SummarySite is a row of the derived table summary_site; Allocations are objects.
type SummarySite struct {
	Section  string
	Position int64
	Process  ProcessID
	Node     NodeID
	Type     TypeID
	Function FunctionID
	Line     LineID
	Part     q.Amount
	Born     q.Amount
	Dead     [Generations]q.Amount
}

// TypeDeath is a row of the derived table type_death; Allocations are objects.
type TypeDeath struct {
	Type       TypeID
	Generation int64
	q.Amount
}

// TypeLifetime is a row of the derived table type_lifetime. Position is from 1, in the order of the first site of each.
type TypeLifetime struct {
	Position int64
	Process  ProcessID
	Type     TypeID
	LifetimeSums
}

// FunctionLifetime is a row of the derived table function_lifetime: of what the function allocated itself.
type FunctionLifetime struct {
	Position int64
	Process  ProcessID
	Function FunctionID
	LifetimeSums
}

// LifetimeSums is what became of the objects of many sites; Allocations are objects.
type LifetimeSums struct {
	Born q.Amount
	Dead [Generations]q.Amount // by the generation in which they were found dead
	Ages
}

// Ages is how old the objects of many sites became, by bucket.
type Ages struct {
	GCs      [AgeBuckets]q.Count // of the dead: collections survived
	Time     [AgeBuckets]q.Count // of the dead: time since the end of the first collection survived
	AliveGCs [AgeBuckets]q.Count // of what is reachable at the end: collections survived
}

// Add counts what is known of the ages of objects that died. Those that survived no collection are not among it.
func (a *Ages) Add(age *SiteAge) {
	switch {
	case age.Bucket < 0 || age.Bucket >= AgeBuckets:
	case age.Measure == AgeGCs:
		a.GCs[age.Bucket] += age.Objects
		a.GCs[0] -= age.Objects
	case age.Measure == AgeTime:
		a.Time[age.Bucket] += age.Objects
	}
}

// AddAlive counts objects that are reachable at the end of a process that had so many collections.
func (a *Ages) AddAlive(alive *SiteAlive, gcs int64) {
	a.AliveGCs[gcBucket(gcs-alive.Born)] += alive.Allocations
}

// gcBucket is the bucket of an age in collections, as agents count it.
func gcBucket(survived int64) int {
	most := [...]int64{0, 1, 2, 4, 8, 16, 64}
	for i, m := range most {
		if survived <= m {
			return i
		}
	}
	return len(most)
}

// Measures of ages.
const (
	AgeGCs  = "gcs"  // garbage collections survived
	AgeTime = "time" // time since the end of the first collection survived
)

// AgeBuckets is the number of buckets of both measures; bucket 0 of AgeGCs is never stored, as it
// holds the dead that survived nothing.
const AgeBuckets = 8

var ageNames = map[string][AgeBuckets]string{
	AgeGCs: {"0", "1", "2", "3–4", "5–8", "9–16", "17–64", "65 and more"},
	AgeTime: {"less than 1 ms", "1–10 ms", "10–100 ms", "0.1–1 s", "1–10 s", "10–100 s", "100–1000 s",
		"1000 s and more"},
}

// AgeName says which ages a bucket holds.
func AgeName(measure string, bucket int64) string {
	if bucket < 0 || bucket >= AgeBuckets {
		return ""
	}
	return ageNames[measure][bucket]
}

// SiteAge is a row of the table site_age.
type SiteAge struct {
	Site    SiteID
	Measure string
	Bucket  int64
	Objects q.Count
}

// SiteAlive is a row of the table site_alive; Allocations are objects.
type SiteAlive struct {
	Site       SiteID
	Generation int64
	Born       int64 // number of the last collection before their birth
	q.Amount
}

// Survival is a row of the table survival.
type Survival struct {
	GC          GCID
	Site        SiteID
	Uncollected q.Amount
	Rooted      q.Amount
	Reachable   q.Amount
}

// Kinds of roots.
const (
	RootOther     = "other"
	RootStack     = "stack"
	RootFinalizer = "finalizer"
	RootHandle    = "handle"
)

// Flags of roots.
const (
	RootPinning    = 1
	RootWeak       = 2
	RootInterior   = 4
	RootRefCounted = 8
)

// Root is a row of the table root.
type Root struct {
	GC         GCID
	Site       SiteID
	Kind       string
	Flags      int64
	Function   FunctionID
	References q.Count
}
