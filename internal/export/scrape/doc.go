// Package scrape serves profiles of a running process by HTTP, below the paths of Go's net/http/pprof and in the format
// of pprof: go tool pprof reads them as those of a program in Go.
//
// A request is a recording: the process is recorded while the request waits, and left alone before and after. So each
// profile has what happened in so many seconds, exactly where the process lets each object be counted.
//
// The server is for machines on which others are, and for browsers:
//
//   - Without a token it answers only requests for its own address that no page of another site has sent.
//   - With a token it answers only requests that have it.
//   - Only one recording goes on at a time; how many requests wait, and for how long, is bounded, as are connections.
//   - There is no method but GET, and nothing that a request says becomes part of a command or a path.
package scrape
