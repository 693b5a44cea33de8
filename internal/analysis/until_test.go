package analysis

import (
	"testing"

	"pgregory.net/rapid"
)

// moreCases is how many cases until adds at most. What one session in twenty has is missing among these once in 25,000
// runs.
const moreCases = 200

// until checks a property of random cases as rapid.Check does, and then of more until enough says that those were there
// that the property is about: of few cases all can be without. It reports whether they were.
func until(t *testing.T, enough func() bool, property func(*rapid.T)) bool {
	t.Helper()
	rapid.Check(t, property)
	more := rapid.Custom(func(rt *rapid.T) bool {
		property(rt)
		return true
	})
	for seed := 0; seed < moreCases && !enough() && !t.Failed(); seed++ {
		more.Example(seed)
	}
	return enough()
}
