// Package calltrace keeps the events of a call trace, as agents record them, until they are written in a format that
// others read.
//
// Problem: agents have room for a second or so of events, which are worth nothing without names, and names are known at
// the end. What others read has the events of all threads in the order of time.
//
// Idea: a Store is a file of blocks. A block is what one chunk of an agent's memory held (wire.TraceChunk), 16 bytes
// for each event, so writing one is a copy. Blocks come in any order; each says where it belongs, so a file whose
// writer was killed can be read on. At the end Records merges threads, a small part of each at a time.
//
// Bounds: MaxSize of a store, which counts and drops what is too much; of each thread, partEvents events are in memory.
package calltrace
