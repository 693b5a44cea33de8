package analysis

import (
	"flag"
	"fmt"
	"os"
	"testing"

	"github.com/clrprof/clrprof/internal/session/sessiontest"
)

// cases of each property are tried, with new seeds in each run; "make soak" tries more.
const cases = 30

func TestMain(m *testing.M) {
	flag.Parse()
	if err := sessiontest.Cases(cases); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}
