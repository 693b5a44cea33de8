package dotnettest

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"os"
	"runtime"
	"strings"
)

// Variables that say which of the tests to run; docs/testing.md describes the suites.
const (
	suiteVariable = "CLRPROF_TEST_SUITE"

	// SeedVariable chooses what Drawn draws.
	SeedVariable = "CLRPROF_TEST_SEED"
)

// Values of suiteVariable. Without one, as "go test" by hand, tests are run in pairs: each way to run a program on the
// newest runtime and on one other.
const (
	suiteQuick = "quick" // make test
	suiteAll   = "all"   // make test-all
)

// EveryRuntime reports whether each way to run a program is to be tried on each runtime: in "make test-all".
func EveryRuntime() bool { return os.Getenv(suiteVariable) == suiteAll }

// Quick reports whether only what one needs to trust a change is to be run: in "make test".
func Quick() bool { return os.Getenv(suiteVariable) == suiteQuick }

// LeftToAll begins the reasons of tests that the quick suite skips. Tools look for it in the output of tests.
const LeftToAll = "left to make test-all: "

// NotQuick skips a test in the quick suite, because it takes long for what it finds. The reason says what is dear.
func NotQuick(t TB, why string) {
	t.Helper()
	if Quick() {
		t.Skipf("%s%s", LeftToAll, why)
	}
}

// Drawn reports whether the quick suite runs the i-th of several cases that are alike: about one in n, chosen by
// the seed. The other suites run all.
func Drawn(i, n int) bool { return !Quick() || drawn(i, n) == 0 }

// Some returns which of several ways to try the same the quick suite takes: the first, and often one of the others,
// which the seed chooses. The other suites take all.
func Some[Way any](all []Way) []Way {
	if i := drawn(0, len(all)); !Quick() {
		return all
	} else if i > 0 {
		return []Way{all[0], all[i]}
	}
	return all[:1]
}

// Paired reports whether the quick suite runs the i-th of m values of one kind together with the j-th of n of another:
// each value of both kinds is in some case, and which are together is chosen by the seed. The other suites run the
// whole product.
func Paired(i, m, j, n int) bool {
	return !Quick() || (i+j+drawn(0, m*n))%min(m, n) == 0
}

// drawn returns a number below n. It depends on the seed, on the lines of the tests that ask for it, and on i.
func drawn(i, n int) int {
	h := sha256.New()
	fmt.Fprintf(h, "%s %d\n", os.Getenv(SeedVariable), i)
	callers := make([]uintptr, 16)
	frames := runtime.CallersFrames(callers[:runtime.Callers(2, callers)])
	for {
		f, more := frames.Next()
		test := strings.HasSuffix(f.File, "_test.go")
		if test {
			fmt.Fprintf(h, "%s:%d\n", f.File, f.Line)
		}
		if !more {
			break
		}
	}
	return int(binary.LittleEndian.Uint64(h.Sum(nil)) % uint64(n))
}

// Guest returns .NET Core 3.1, which Runtimes leaves out. The quick suite does not look at it.
func Guest(t TB) Runtime {
	t.Helper()
	NotQuick(t, ".NET Core 3.1, which is not supported any more")
	return Need(t).Net31()
}
