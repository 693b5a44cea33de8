package heap

// Event is one of the events of a recording: Alloc, Attributed, GCStart, Moved, Survived, GCEnd, End.
type Event interface{ event() }

// Alloc is a new object.
type Alloc struct {
	Address uint64 // its ObjectID
	Bytes   uint64 // on the heap: rounded up to 8
	Site    uint32 // number of who allocated it, from 1; 0 if Thread is going to say so
	Thread  uint32 // not 0: the thread that says the site later, by Attributed, and keeps the object alive until then
	Frozen  bool   // on the frozen heap, which is not collected
}

// Attributed gives the site to the object that the thread allocated last.
type Attributed struct {
	Thread, Site uint32
}

// Bound is where a part of a generation is, by GetGenerationBounds.
type Bound struct {
	Start      uint64
	Length     uint64 // bytes that may hold objects
	Reserved   uint64 // bytes that may come to hold objects
	Generation uint32 // 0, 1, 2, wire.GenerationLarge, wire.GenerationPinned
}

// Range is a row of adjacent survivors.
type Range struct {
	From, To uint64
	Length   uint64 // bytes
}

// GCStart is GarbageCollectionStarted.
type GCStart struct {
	Collected uint32 // bit n: generation n is collected
	Induced   bool
	Asked     bool // the agent waits for the one that it asked for at the end; this may be another one
	// the first full one since the agent asked for it, after which it says what is alive and looks at no other
	Final  bool
	Bounds []Bound
}

// Moved is a call of MovedReferences.
type Moved struct {
	Ranges []Range
}

// Survived is a call of SurvivingReferences: From and To are equal.
type Survived struct {
	Ranges []Range
}

// GCEnd is GarbageCollectionFinished.
type GCEnd struct {
	NS     uint64 // when, on any clock that does not run backwards
	Bounds []Bound
}

// End closes a recording.
type End struct{}

func (Alloc) event()      {}
func (Attributed) event() {}
func (GCStart) event()    {}
func (Moved) event()      {}
func (Survived) event()   {}
func (GCEnd) event()      {}
func (End) event()        {}
