// Package differ tells tests what differs.
package differ

import (
	"reflect"

	"github.com/google/go-cmp/cmp"
)

// Of is cmp.Diff for what is nearly always equal: whether it is, reflect.DeepEqual knows in a tenth of the time. What
// that takes for equal is equal to cmp, too.
func Of(want, have any, options ...cmp.Option) string {
	if reflect.DeepEqual(want, have) {
		return ""
	}
	return cmp.Diff(want, have, options...)
}
