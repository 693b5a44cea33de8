package eventpipe

// Fields takes the fields of an event of the runtime's own, whose layout is in its documentation and not in the stream.
// Once there are too few bytes, all values are zero, and Failed says so.
type Fields struct{ d decoder }

// Fields returns the event's fields, from the first on.
func (e *Event) Fields() Fields { return Fields{decoder{data: e.payload}} }

// Failed reports whether the event has had too few bytes.
func (f *Fields) Failed() bool { return f.d.failed }

// Left is how many bytes are left.
func (f *Fields) Left() int { return len(f.d.data) }

// Uint16 takes a number of 16 bits.
func (f *Fields) Uint16() uint16 { return f.d.uint16() }

// Uint32 takes a number of 32 bits.
func (f *Fields) Uint32() uint32 { return f.d.uint32() }

// Uint64 takes a number of 64 bits.
func (f *Fields) Uint64() uint64 { return f.d.uint64() }

// Text takes UTF-16 up to a 0.
func (f *Fields) Text() string { return f.d.text() }

// GUID takes the bytes of a GUID.
func (f *Fields) GUID() (id [idBytes]byte) {
	copy(id[:], f.d.take(idBytes))
	return id
}

// Skip leaves out so many bytes.
func (f *Fields) Skip(n int) { f.d.skip(n) }
