package sessiontest

import (
	"flag"
	"strconv"
)

// Cases makes rapid try so many random cases of each property, unless -rapid.checks says how many. Sessions are files
// of 70 tables: a case takes a hundred times as long as one that is in memory alone, and "make soak" has many more.
// Flags must have been parsed.
func Cases(n int) error {
	const name = "rapid.checks"
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == name })
	if given {
		return nil
	}
	return flag.Set(name, strconv.Itoa(n))
}
