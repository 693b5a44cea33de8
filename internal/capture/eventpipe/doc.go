// Package eventpipe is a client of the diagnostics socket of a .NET process, and reads the stream of events that
// comes of it.
//
// Each .NET process from 3.1 on listens at a Unix socket in its directory for temporary files. A session ([Start])
// makes the runtime send the events of some providers, in the nettrace format of version 4, until the process ends or
// the session is closed. [Stream] reads that format, [Counters] makes values of the events of
// EventCounters.
//
// What a process sends is not trusted: all sizes are bounded, and a stream that is not as it should be is an error.
// What is sent to a process is, by its runtime: a request that is not as it should be can end it, so nothing but what
// this package makes is ever sent.
package eventpipe
