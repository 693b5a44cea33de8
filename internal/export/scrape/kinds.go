package scrape

import (
	"slices"

	"github.com/clrprof/clrprof/internal/export/pprof"
)

// kind is a kind of profile that can be had.
type kind struct {
	name      string
	says      string // what it has, for the index
	lifetimes bool   // objects are followed
	values    []string
	first     string // of values, the one to look at first
}

// kinds are those that are recorded. Their values have the names that Go's profiles have, where these have such values.
var kinds = []kind{
	{name: "allocs", says: "what was allocated while it was recorded",
		values: []string{"allocations", "bytes"}, first: "bytes"},
	{name: "heap", says: "the same, and what of it was alive at the end; gc=1 collects garbage before that", lifetimes: true,
		values: []string{"allocations", "bytes", "alive_objects", "alive_bytes"}, first: "alive_bytes"},
	{name: "lifetime", says: "the same, and in which generation each object died", lifetimes: true, first: "bytes"},
}

// threadCreate is the profile of threads, for which nothing is recorded.
const threadCreate = "threadcreate"

// impossible are profiles of Go that cannot be had, with what has the answer instead.
var impossible = map[string]string{
	"profile": "there are no processor samples: clrprof attach %s --time --for 30s records the calls of your code, with " +
		"their processor time",
	"block": "blocking is not profiled: clrprof attach %s --time --for 30s records the calls of your code, with elapsed " +
		"and processor time",
	"mutex":     "contended locks are not profiled: clrprof attach %s --meter System.Runtime --for 30s counts contentions",
	"goroutine": "stacks of waiting threads cannot be had: threadcreate lists the threads of process %s",
	"trace":     "a trace of calls needs a start under clrprof: clrprof run --trace FILE (process %s was not)",
}

// find returns the kind of profile with a name.
func find(name string) (kind, bool) {
	at := slices.IndexFunc(kinds, func(k kind) bool { return k.name == name })
	if at < 0 {
		return kind{}, false
	}
	return kinds[at], true
}

// options say how the profile is written.
func (k kind) options(labels, notes []string) pprof.Options {
	return pprof.Options{Names: pprof.Go, Labels: labels, Values: k.values, First: k.first, Notes: notes}
}
