// Package wire is the one description of what the agent writes and the collector reads: the arena.
//
// An arena is one file in shared memory, one per .NET process, made and written by the agent (C) and read by the
// collector (Go). It is laid out as
//
//	Header (4096 bytes) | log | ips | nodes | sites
//
// The header says where each region lies and how many of its bytes are valid ("used"). The log holds records of
// varying length: who a thread, module, type, function or body is, said once, on first use. The other three regions
// are plain tables of the fixed-size structs of this package, indexed by id. The counters of a site are updated in
// place by one thread, without atomics; everything else is written once, before "used" grows past it.
//
// All numbers are little-endian. Ids start at 1; 0 means none. Id 1 of ips and of nodes is reserved, see the constants.
//
// The C header agent/src/core/wire_gen.h and docs/wire.md are generated from this package by internal/wire/gen; the Go
// structs are the source. A change that an older reader would misread raises Version.
package wire

//go:generate go run ./gen
