package sessiontest

import (
	"flag"
	"strconv"
	"testing"

	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
)

// cases are how many random ones of each property are tried, with new seeds in each run. Sessions are files of 70
// tables: a case takes a hundred times as long as one that is in memory alone, and "make soak" has many more. The quick
// suite tries quickCases: it is run more often, each time with other seeds.
const cases, quickCases = 30, 12

// Main runs the tests of a package whose random cases are sessions: as many of these as are tried, unless -rapid.checks
// says how many. It returns the exit code.
func Main(m *testing.M) int {
	flag.Parse()
	const name = "rapid.checks"
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == name })
	if !given {
		tried := cases
		if dotnettest.Quick() {
			tried = quickCases
		}
		if err := flag.Set(name, strconv.Itoa(tried)); err != nil {
			panic(err) // the package has no random cases
		}
	}
	return m.Run()
}
